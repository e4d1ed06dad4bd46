"""Sidecars that the texts are made of: those of all units, and one with unfriendly names."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from tilewright.hw.emit.unit import describe
from tilewright.registry import entries
from tilewright.verif.catalogue.sidecars import as_read
from tilewright.verif.kit.sampling import slow_but

UNITS = list(entries())

ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs is not None]


_FIRST = ["matraptor", "unfriendly"]
SOME_ACCELERATORS = slow_but(_FIRST, [*ACCELERATORS, "unfriendly"])
SOME_UNITS = slow_but(["m3xu", *_FIRST], [*UNITS, "unfriendly"])
"""Parameters of tests: all, and one whose names are unfriendly; few of them in the quick test."""


@cache
def _read(name: str) -> dict[str, Any]:
    entry = entries()[name]
    return as_read(describe(entry.unit, entry.small_config))


def sidecar_of(name: str) -> dict[str, Any]:
    """The sidecar of a unit's small configuration, as its file has it; or `unfriendly`'s."""
    return unfriendly() if name == "unfriendly" else copy.deepcopy(_read(name))


def unfriendly() -> dict[str, Any]:
    """An accelerator whose names are words of the languages, whose remarks hold their marks, and
    whose addresses have 64 bits."""
    sidecar = copy.deepcopy(_read("c2sr_converter"))
    sidecar |= {"unit": "module", "module": "module"}
    remark = 'ends */ -- "quoted" `ticks` <less> & ]]> \\ // é'
    sidecar["summary"] = remark
    sidecar["config"] |= {"initial": remark, "endmodule": 1 << 40}
    renamed = {"MODE": "REG", "ROWS": "REGISTER", "CAPACITY": "FIELD", "CSR_POINTERS": "INT"}
    for register in sidecar["registers"]:
        register["name"] = renamed.get(register["name"], register["name"])
        register["doc"] = remark
        for field in register["fields"]:
            field["doc"] = remark
    fields = next(x for x in sidecar["registers"] if x["name"] == "CONFIG0")["fields"]
    for field, name in zip(fields, ("class", "default", "signal", "wire"), strict=True):
        field["name"] = name
    (mode,) = next(x for x in sidecar["registers"] if x["name"] == "REG")["fields"]
    mode["values"] = {"enum": 0, "to-and.fro": 1}
    sidecar["jobs"]["registers"] = [renamed.get(x, x) for x in sidecar["jobs"]["registers"]]
    for error, name in zip(sidecar["jobs"]["errors"], ("property", "switch"), strict=False):
        error |= {"name": name, "doc": remark}
    sidecar["operations"] = []
    for port in sidecar["axi"]:
        if port["role"] == "manager":
            port["addr_bits"] = 64
    return sidecar
