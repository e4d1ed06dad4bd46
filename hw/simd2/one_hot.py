"""One-hot selection between sets of named values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Signal, Value, signed

__all__ = ["select_fields"]


def select_fields(
    m: Module, choices: Collection[tuple[Value, Mapping[str, Value]]]
) -> dict[str, Value]:
    """Each field from the choice that is selected; what is ``held`` is aligned at the top.

    A field that only one of the choices has comes from there, selected or not.

    Parameters
    ----------
    choices: of each, whether it is selected, as at most one is, and its fields; the field
        ``exponent`` is signed
    """
    merged: dict[str, Value] = {}
    for name in dict.fromkeys(name for _, fields in choices for name in fields):
        having = [(selected, fields[name]) for selected, fields in choices if name in fields]
        width = max(len(value) for _, value in having)
        shape = signed(width) if name == "exponent" else width
        field = Signal(shape, name=name)
        parts: list[Value] = []
        for selected, value in having:
            part = Signal(shape, name=f"{name}_choice_{len(parts)}")
            below = width - len(value) if name == "held" else 0
            m.d.comb += part.eq(Cat(C(0, below), value) if below else value)
            parts.append(part & selected.replicate(width) if len(having) > 1 else part)
        m.d.comb += field.eq(reduce(or_, parts))
        merged[name] = field
    return merged
