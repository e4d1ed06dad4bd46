"""The package of types as slang has it, beside the sidecar; and what tools say of it and of the
instance to paste."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from pyslang.ast import Compilation
from pyslang.syntax import SyntaxTree
from tilewright.hw.emit.integration.package import package
from tilewright.hw.emit.integration.template import template
from tilewright.hw.emit.unit import describe
from tilewright.registry import entries
from tilewright.verif.catalogue.sidecars import as_read
from tilewright.verif.emit.integration.described import SOME_UNITS, UNITS, sidecar_of
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.sampling import slow_but


def compiled(text: str, name: str) -> Any:
    """The package of a text, in which slang finds no fault."""
    compilation = Compilation()
    compilation.addSyntaxTree(SyntaxTree.fromText(text))
    found = compilation.getPackage(name)
    assert [str(one.code) for one in compilation.getAllDiagnostics()] == []
    return found


def type_of(found: Any, name: str) -> Any:
    return found.lookupName(name).targetType.type.canonicalType


def check_streams(sidecar: dict[str, Any], found: Any) -> None:
    """Every field lies where the sidecar has it, each element where its indices say."""
    for stream in sidecar["streams"]:
        payload = type_of(found, f"{stream['name']}_t")
        assert payload.bitWidth == stream["width"]
        if not stream["fields"]:
            continue
        fields = {one.name: one for one in payload}
        assert len(fields) == len(stream["fields"])
        for field in stream["fields"]:
            one = fields[field["name"]]
            shape = field.get("shape", [])
            element = field.get("element_bits", field.get("width"))
            assert (one.bitOffset, one.type.bitWidth) == (
                field["offset"],
                element * math.prod(shape),
            )
            inner = one.type
            for size in shape:
                assert (inner.range.left, inner.range.right) == (size - 1, 0)
                inner = inner.elementType
            assert inner.bitWidth == element


def values(found: Any, name: str) -> dict[str, int]:
    """The names and values of an enumeration."""
    return {one.name: int(one.value.value) for one in type_of(found, name)}


def check(sidecar: dict[str, Any]) -> None:
    found = compiled(package(sidecar), f"{sidecar['module']}_pkg")
    check_streams(sidecar, found)
    if sidecar.get("registers"):
        assert values(found, "register_t") == {
            f"REG_{one['name']}": one["offset"] for one in sidecar["registers"]
        }
        assert values(found, "status_error_code_t") == {"STATUS_ERROR_CODE_NONE": 0} | {
            f"STATUS_ERROR_CODE_{one['name'].upper()}": one["code"]
            for one in sidecar["jobs"]["errors"]
        }


@pytest.mark.parametrize("name", SOME_UNITS)
def test_it_says_what_the_sidecar_says(name: str) -> None:
    check(sidecar_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", entries())
def test_defaults(name: str) -> None:
    unit = entries()[name].unit
    check(as_read(describe(unit, unit.config())))


def test_opcodes() -> None:
    """They are an enumeration, which the payload's field has, also under names with dots."""
    sidecar = sidecar_of("m3xu_sequencer")
    found = compiled(package(sidecar), "m3xu_sequencer_pkg")
    assert values(found, "op_t") == {
        f"OP_{name.upper().replace('.', '_')}": code for name, code in sidecar["opcodes"].items()
    }
    (op,) = type_of(found, "i_t")
    assert op.type.canonicalType.isEnum


def test_two_equal_names_are_refused() -> None:
    sidecar = sidecar_of("m3xu")
    sidecar["opcodes"] |= {"a.b": 6, "a-b": 7}
    with pytest.raises(ValueError, match=r"^two names of the package would be OP_A_B$"):
        package(sidecar)


@pytest.mark.parametrize("tool", [tool for tool in FRONT_ENDS if tool != "slang"])
def test_other_tools_read_all_packages_together(tool: str, tmp_path: Path) -> None:
    texts = [package(sidecar_of(name)) for name in UNITS]
    module = "module wire_of (input logic i, output logic o);\n  assign o = i;\nendmodule\n"
    assert complaints(tool, "\n".join([*texts, module]), "wire_of", tmp_path) == ""


@pytest.mark.parametrize("name", slow_but(["simd2", "engine_simd2"], list(entries()), []))
def test_the_instance_connects_every_port(name: str) -> None:
    """slang elaborates it: every port is there, of the width of its signal."""
    sidecar = sidecar_of(name)
    ports = [(sidecar["clock"], "input", 1), (sidecar["reset"]["name"], "input", 1)]
    for stream in sidecar["streams"]:
        ahead, back = ("input", "output")[:: 1 if stream["direction"] == "in" else -1]
        ports += [(stream["payload"], ahead, stream["width"])]
        ports += [(stream["valid"], ahead, 1), (stream["ready"], back, 1)]
    signals = [one for port in sidecar.get("axi", ()) for one in port["signals"]]
    for one in [*signals, *sidecar.get("ports", ())]:
        ports.append((one["name"], f"{one['direction']}put", one["width"]))
    declared = ",\n".join(f"{way} logic [{n - 1}:0] {port}" for port, way, n in ports)
    text = (
        f"{package(sidecar)}\nmodule {name} ({declared});\nendmodule\n"
        f"module around (input logic clk, input logic rst);\n{template(sidecar)}\nendmodule\n"
    )
    compilation = Compilation()
    compilation.addSyntaxTree(SyntaxTree.fromText(text))
    assert [str(one.code) for one in compilation.getAllDiagnostics()] == []
