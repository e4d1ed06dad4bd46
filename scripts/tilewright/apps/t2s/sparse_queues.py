"""Queues of a design with sparse operands, by what goes through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...hw.spec.t2s.design import Design

__all__ = ["sparse_queues"]


def sparse_queues(design: Design) -> dict[str, dict[str, Any]]:
    """How many there are of a kind, the depth of each, 0 where its ends are joined as they are, and
    the widths in bits: between loaders and the unloader, in the order in which words go."""
    from ...hw.t2s.sparse.fed_element import ELEMENT_TOKENS, FEEDER_TOKENS

    plan = design.sparse
    assert plan
    count, name = plan.rows.element_extent, design.element.name
    found: dict[str, dict[str, Any]] = {}

    def add(label: str, queues: int, depth: int, bits: int) -> None:
        if queues:
            found[label] = {"queues": queues, "depth": depth, "bits": [bits]}

    for one in plan.entries:
        add(one.name, count, 0, one.layout.bits)
    token = plan.element.layout.bits
    if plan.merge:
        add("_".join((*(one.tensor for one in plan.entries), plan.merge)), 1, 1, token)
    add(f"{name}_tokens", count, ELEMENT_TOKENS, token)
    loaders = {one.tensor: one for one in design.loaders}
    for feeder in plan.gathers:
        bits = feeder.word_bits
        add(loaders[feeder.tensor].name, 1, 0, bits)
        add(f"{feeder.name}_{plan.rows.elements}_forward", count - 1, 1, bits)
        add(f"{feeder.name}_tokens", count, FEEDER_TOKENS, token)
        add(feeder.name, count, 0, bits)
    add(name, count, 0, design.element.result_bits)
    return found
