"""SystemRDL, as systemrdl-compiler reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.messages import MessagePrinter
from systemrdl.node import FieldNode, RegNode
from tilewright.hw.emit.integration.rdl import rdl
from tilewright.verif.emit.integration.described import ACCELERATORS, sidecar_of


class _Silent(MessagePrinter):
    """What the compiler says is raised anyway, but for warnings, which must not be."""

    def print_message(self, severity: Any, text: str, src_ref: Any) -> None:
        assert severity.name not in ("WARNING",), text


def compiled(text: str, folder: Path) -> Any:
    """The address map of a text."""
    path = folder / "unit.rdl"
    path.write_text(text)
    compiler = RDLCompiler(message_printer=_Silent())
    compiler.compile_file(str(path))
    return compiler.elaborate().top


def access(field: FieldNode) -> str:
    """The sidecar's word for what software may do."""
    software, change = field.get_property("sw").name, field.get_property("onwrite")
    if change is not None:
        return {"woclr": "w1c"}[change.name] if software == "rw" else "?"
    return {"rw": "rw", "r": "ro", "w": "wo"}[software]


def meanings(field: FieldNode) -> dict[str, int]:
    encoded = field.get_property("encode")
    return {} if encoded is None else {x.name: x.value for x in encoded}


def compare_field(sidecar: dict[str, Any], register: str, field: FieldNode, said: Any) -> None:
    where = (register, said["name"])
    assert field.inst_name == said["name"]
    assert (field.low, field.width, access(field)) == (said["low"], said["width"], said["access"])
    assert field.get_property("reset") == said["reset"], where
    assert (field.get_property("hw").name == "na") == said["constant"], where
    expected = {x.replace("-", "_").replace(".", "_"): v for x, v in said.get("values", {}).items()}
    if where == ("STATUS", "error_code"):
        expected = {"none": 0} | {x["name"]: x["code"] for x in sidecar["jobs"]["errors"]}
    assert meanings(field) == expected, where


@pytest.mark.parametrize("name", [*ACCELERATORS, "unfriendly"])
def test_every_register_and_field(name: str, tmp_path: Path) -> None:
    """Names, places, widths, accesses, resets, constants and the names of values."""
    sidecar = sidecar_of(name)
    text = rdl(sidecar)
    assert text == rdl(sidecar_of(name))
    top = compiled(text, tmp_path)
    assert top.inst_name == sidecar["module"]
    found: list[RegNode] = list(top.registers())
    assert [node.inst_name for node in found] == [x["name"] for x in sidecar["registers"]]
    for node, said in zip(found, sidecar["registers"], strict=True):
        assert node.absolute_address == said["offset"]
        assert (node.get_property("regwidth"), node.get_property("accesswidth")) == (
            said["bits"],
            32,
        )
        for field, one in zip(node.fields(), said["fields"], strict=True):
            compare_field(sidecar, said["name"], field, one)


def test_a_register_at_a_wrong_place_is_found(tmp_path: Path) -> None:
    """The compiler reads places and widths, and refuses those that overlap."""
    text = rdl(sidecar_of("matraptor"))
    moved = text.replace("} CAPACITY @ 0x108;", "} CAPACITY @ 0x104;")
    assert moved != text
    with pytest.raises(RDLCompileError):
        compiled(moved, tmp_path)


def test_a_unit_without_registers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^m3xu has no registers$"):
        rdl(sidecar_of("m3xu"))
