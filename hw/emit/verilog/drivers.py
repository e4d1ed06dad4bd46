"""All parts of a signal driven in one way: by processes, if one of them is.

(SystemVerilog allows an ``assign`` to one field of a structure and a process for another; Icarus
does not.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .expressions import Node
from .registers import assigned
from .statements import Assign, Item, Process

__all__ = ["with_one_kind_of_driver"]


def _driven(target: Node) -> set[str]:
    """Returns the signals that a target consists of."""
    parts = target.parts if target.kind == "concat" else (target,)
    return {part.signal for part in parts}


def with_one_kind_of_driver(items: Sequence[Item]) -> list[Item]:
    """The items with processes in the place of assignments to such signals."""
    by_processes = {
        signal
        for item in items
        if isinstance(item, Process)
        for assignment in assigned(item.body)
        for signal in _driven(assignment.target)
    }
    return [
        Process("always_comb", [item])
        if isinstance(item, Assign) and _driven(item.target) & by_processes
        else item
        for item in items
    ]
