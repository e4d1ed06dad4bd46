"""Tokens as hardware sees them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Value
from amaranth.lib import data

from ...spec.t2s.sparse_parts import SparsePlan
from ...spec.t2s.tokens import TokenLayout

__all__ = ["ends_iteration", "key_fields", "says_nothing", "token_layout"]


def token_layout(layout: TokenLayout) -> data.StructLayout:
    """A token, its fields by name, without the zeros that fill it up in memory."""
    return data.StructLayout({one.name: one.bits for one in layout.fields})


def ends_iteration(layout: TokenLayout, token: data.View[Any], level: str) -> Value:
    """Tells whether a token ends an iteration of a level's loop."""
    found: Value = token.ends[layout.levels.index(level)]
    return found


def says_nothing(token: data.View[Any]) -> Value:
    """Tells whether a token is neither an entry nor the end of a tile, and so may be dropped."""
    found: Value = ~token.present & (token.ends == 0)
    return found


def key_fields(plan: SparsePlan) -> tuple[str, ...]:
    """Fields of a token by which an element's entries of a tile are ordered, the slowest first."""
    fields = {one.loop: f"at_{one.index}" for one in plan.entries[0].layout.coordinates}
    fields[plan.rows.slots] = "slot"
    return tuple(fields[loop] for loop in plan.order)
