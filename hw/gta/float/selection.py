"""Choice of a value by signals of which at most one is set."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Value

__all__ = ["one_of"]


def one_of(selected: Sequence[Value], values: Sequence[Value]) -> Value:
    """The value that is selected; 0 if none is."""
    found: Value = C(0, len(values[0]))
    for here, value in zip(selected, values, strict=True):
        found = found | (Value.cast(value) & here.replicate(len(value)))
    return found
