"""Choice of a value by signals of which at most one is set."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Value

__all__ = ["one_of"]


def one_of(selected: Sequence[Value], values: Sequence[Value]) -> Value:
    """The value that is selected; 0 if none is. Joined in pairs, which takes less than a chain."""
    found: list[Value] = [
        Value.cast(value) & here.replicate(len(value))
        for here, value in zip(selected, values, strict=True)
    ]
    while len(found) > 1:
        pairs = zip(found[::2], [*found[1::2], C(0, len(found[-1]))], strict=False)
        found = [one | other for one, other in pairs]
    return found[0]
