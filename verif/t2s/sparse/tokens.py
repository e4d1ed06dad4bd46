"""Random tokens, in tiles that end iterations of the levels around them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.t2s.tokens import Coordinate, TokenLayout

__all__ = ["draw_entry", "draw_layout", "draw_nothing", "end_token", "random_ends", "token"]

LEVELS = ("i", "k", "l", "m")


def draw_layout(rng: Random, coordinates: Sequence[Coordinate] = ()) -> TokenLayout:
    """A layout of a random format, number of slots and of levels; and of coordinates, if none are
    given."""
    made = tuple(coordinates) or tuple(
        Coordinate(name, 2 * name, rng.randrange(1, 7)) for name in "klm"[: rng.randrange(1, 3)]
    )
    word = FORMATS[rng.choice(["int8", "fp16", "fp32"])]
    levels = LEVELS[: rng.randrange(1, len(LEVELS) + 1)]
    return TokenLayout(word, made, rng.choice([1, 2, 3, 8]), levels)


def token(layout: TokenLayout, **fields: int) -> int:
    """A token of these fields; the others are 0."""
    made = 0
    for name, value in fields.items():
        field = layout.field(name)
        assert value >> field.bits == 0, f"{name}={value}"
        made |= value << field.low
    return made


def draw_entry(rng: Random, layout: TokenLayout) -> dict[str, int]:
    """The fields of an entry, at a random place."""
    fields = {one.name: rng.getrandbits(one.bits) for one in layout.fields}
    places = {f"at_{one.index}": rng.randrange(one.extent) for one in layout.coordinates}
    return fields | places | {"slot": rng.randrange(layout.slots), "ends": 0, "present": 1}


def draw_nothing(rng: Random, layout: TokenLayout) -> dict[str, int]:
    """The fields of a token that says nothing, whatever its other fields are."""
    fields = {one.name: rng.getrandbits(one.bits) for one in layout.fields}
    return fields | {"ends": 0, "present": 0}


def random_ends(rng: Random, layout: TokenLayout) -> int:
    """Which iterations end with a tile: the innermost, and any number of those around it."""
    levels = len(layout.levels)
    outermost = rng.randrange(levels)
    return ((1 << levels) - 1) >> outermost << outermost


def end_token(rng: Random, layout: TokenLayout, ends: int) -> int:
    """The token behind the entries of a tile, whatever its other fields are."""
    return token(layout, **(draw_nothing(rng, layout) | {"ends": ends}))
