"""Values of a program as Python."""

from __future__ import annotations

from collections.abc import Mapping

from ....hw.spec.t2s.affine import Affine, variable
from ....hw.spec.t2s.expressions import (
    Apply,
    BufferRead,
    Flagged,
    Fold,
    Load,
    Name,
    Neutral,
    Pack,
    Together,
    Value,
)
from ....hw.spec.t2s.loops import Loop
from ....hw.spec.t2s.program import Buffer
from ..sizes import trip_count

__all__ = ["element_text", "lanes_text", "place_text", "sum_text", "tuple_text", "value_text"]


def value_text(
    value: Value,
    bounds: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    loops: Mapping[str, Loop],
) -> str:
    """An expression. Names of ``machine_names`` in it are the machine's that runs it.

    Parameters
    ----------
    bounds: of the computation's indices
    buffers, loops: of the function, by name
    """

    def text(one: Value) -> str:
        return value_text(one, bounds, buffers, loops)

    if isinstance(value, Neutral):
        return "identity"
    if isinstance(value, Name):
        return f"n_{value.name}"
    if isinstance(value, Load):
        place = place_text(value, bounds, loops)
        if value.lanes is None:
            return f"load({value.tensor!r}, {place})"
        lanes = f"v_{value.lanes.name} in range({trip_count(value.lanes, bounds)})"
        return f"tuple([load({value.tensor!r}, {place}) for {lanes}])"
    if isinstance(value, BufferRead):
        return element_text(buffers[value.buffer], value.indices, writes=False)
    if isinstance(value, Pack):
        return f"pack({', '.join(map(text, value.parts))})"
    if isinstance(value, Fold) and isinstance(value.vector, Together):
        return f"fold_each({', '.join(map(text, (value.start, *value.vector.terms)))})"
    if isinstance(value, Fold):
        return f"fold({text(value.start)}, {text(value.vector)})"
    if isinstance(value, Flagged):
        flags = [
            " and ".join(f"v_{name} == {sum_text(at)}" for name, at in its) or "True"
            for its in (value.first, value.last)
        ]
        return f"flagged({text(value.value)}, {', '.join(flags)})"
    assert isinstance(value, Apply)
    return f"{value.operator}({', '.join(map(text, value.arguments))})"


def place_text(load: Load, bounds: Mapping[str, int], loops: Mapping[str, Loop]) -> str:
    """The place of a word; none where an index is beyond its bound."""
    sums: dict[str, Affine] = {}
    lanes = {load.lanes.name: load.lanes} if load.lanes else {}
    for name in dict.fromkeys(name for one in load.indices for name in one.variables):
        one = lanes.get(name) or loops[name]
        sums[one.index] = sums.get(one.index, Affine()) + variable(name).times(one.step)
    held = [f"{sum_text(one)} < {bounds[index]}" for index, one in sums.items()]
    place = tuple_text(load.indices)
    return f"{place} if {' and '.join(held)} else None" if held else place


def element_text(buffer: Buffer, indices: tuple[Affine, ...], *, writes: bool) -> str:
    """An element of a buffer: of a rotating one, the first; of the half that a side works on."""
    if buffer.rotating:
        return f"b_{buffer.name}[r_{buffer.name}[0]]"
    if buffer.level is None:
        return f"b_{buffer.name}[{tuple_text(indices)}]"
    half = f"s_{buffer.name}[{0 if writes else 1}] % {1 + buffer.double}"
    return f"b_{buffer.name}[{half}, {tuple_text(indices)}]"


def sum_text(given: Affine) -> str:
    """A sum of loop variables."""
    terms = [f"{by} * v_{name}" if by != 1 else f"v_{name}" for name, by in given.terms]
    return " + ".join([*terms, str(given.constant)] if given.constant or not terms else terms)


def tuple_text(indices: tuple[Affine, ...]) -> str:
    """Indices, a tuple."""
    return "(" + "".join(f"{sum_text(one)}, " for one in indices) + ")"


def lanes_text(indices: tuple[Affine, ...], lanes: Loop, bounds: Mapping[str, int]) -> str:
    """Indices in all lanes, a list of tuples."""
    return f"[{tuple_text(indices)} for v_{lanes.name} in range({trip_count(lanes, bounds)})]"
