"""SystemRDL, as systemrdl-compiler reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from systemrdl import RDLCompileError
from systemrdl.node import RegNode
from tilewright.hw.emit.integration.rdl import rdl
from tilewright.verif.emit.integration.described import (
    SOME_ACCELERATORS,
    sidecar_of,
)
from tilewright.verif.emit.integration.readers import compiled_rdl
from tilewright.verif.emit.integration.register_trees import compare_field


@pytest.mark.parametrize("name", SOME_ACCELERATORS)
def test_every_register_and_field(name: str, tmp_path: Path) -> None:
    """Names, places, widths, accesses, resets, constants and the names of values."""
    sidecar = sidecar_of(name)
    text = rdl(sidecar)
    assert text == rdl(sidecar_of(name))
    top = compiled_rdl(text, tmp_path)
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
        compiled_rdl(moved, tmp_path)


def test_a_unit_without_registers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^m3xu has no registers$"):
        rdl(sidecar_of("m3xu"))
