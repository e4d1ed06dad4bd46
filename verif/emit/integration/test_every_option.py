"""Every text of every configuration: defaults, and each option of each unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from systemrdl.node import RegNode
from tilewright.hw.emit.integration.c.header import header
from tilewright.hw.emit.integration.ip_xact.component import ip_xact
from tilewright.hw.emit.integration.rdl import rdl
from tilewright.hw.emit.unit import describe
from tilewright.registry import entries
from tilewright.verif.catalogue.sidecars import as_read
from tilewright.verif.emit.integration.c_programs import compile_text
from tilewright.verif.emit.integration.readers import compiled_rdl, standard_faults
from tilewright.verif.kit.options import OPTIONS, small


def check(sidecar: dict[str, Any], folder: Path) -> None:
    """The programs that are not ours take each text."""
    done = compile_text(folder, {"unit.h": header(sidecar)}, "int main(void) { return 0; }\n",
                        "-fsyntax-only")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert standard_faults(ip_xact(sidecar, ["unit.sv"])) == ""
    if sidecar.get("registers"):
        found = list(compiled_rdl(rdl(sidecar), folder).registers())
        assert all(isinstance(node, RegNode) for node in found)
        assert [x.absolute_address for x in found] == [x["offset"] for x in sidecar["registers"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", entries())
def test_defaults(name: str, tmp_path: Path) -> None:
    unit = entries()[name].unit
    check(as_read(describe(unit, unit.config())), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("label", OPTIONS)
def test_every_option(label: str, tmp_path: Path) -> None:
    name, changes = OPTIONS[label]
    check(as_read(describe(name, small(entries()[name], changes))), tmp_path)
