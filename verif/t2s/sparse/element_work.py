"""Elements of entries, random tokens and words for them, and their results.

Sums are those of :mod:`~tilewright.verif.t2s.hardware.elements`: the fused dot products of
:mod:`~tilewright.sim.numbers.fused`, every other one number by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.parts import Count, ElementPart, OperandPart
from tilewright.hw.spec.t2s.sparse_parts import Coordinate, SparseElementPart, TokenLayout
from tilewright.sim.t2s.element_sums import ElementSums
from tilewright.verif.t2s.hardware.elements import after, random_words

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
    """Draws the fields of a token without meaning; its other fields are random."""
    fields = {one.name: rng.getrandbits(one.bits) for one in layout.fields}
    return fields | {"ends": 0, "present": 0}


def random_ends(rng: Random, layout: TokenLayout) -> int:
    """Draws the iterations that end with a tile: the innermost and any number around it."""
    levels = len(layout.levels)
    outermost = rng.randrange(levels)
    return ((1 << levels) - 1) >> outermost << outermost


def end_token(rng: Random, layout: TokenLayout, ends: int) -> int:
    """Returns the token after the entries of a tile; its other fields are random."""
    return token(layout, **(draw_nothing(rng, layout) | {"ends": ends}))


Words = npt.NDArray[np.uint64]


def element_of(
    arithmetic: LaneSum,
    slots: int,
    ring: Sequence[int] = (),
    *,
    halves: int = 2,
    values: Sequence[str] = ("A",),
    dense: Sequence[str] = ("x",),
    scalars: Sequence[str] = (),
    vector: int = 1,
    union: bool = False,
) -> SparseElementPart:
    """An element. ``scalars``: dense operands of one lane, where sums stand side by side."""
    names = (*values, *dense)
    operands = tuple(
        OperandPart(name, vector if name in dense and name not in scalars else 1) for name in names
    )
    counts = tuple(Count(f"n{number}", extent) for number, extent in enumerate(ring))
    layout = TokenLayout(
        arithmetic.word, (Coordinate("k", "kk", 16),), slots, ("i", "k"), len(values), union
    )
    sums = slots * int(np.prod([*ring, 1]))
    element = ElementPart("C", operands, arithmetic, names, (), sums, vector=vector)
    return SparseElementPart(element, layout, counts, halves, union)


@dataclass(frozen=True)
class Entry:
    """A token: an entry of a row, or the end of tiles (bits of ``ends``), or neither."""

    slot: int | None = None
    ends: int = 0


THERE = "there"
"""Key of the field that tells which of a token's values are present."""

LAST, INNER = Entry(ends=0b11), Entry(ends=0b10)
"""Ends of a tile: with an iteration of the outermost level, and of the inner one alone."""


@dataclass
class Work:
    """Words of an element's streams, and their results.

    Members
    -------
    tokens: of ``t``
    words: by dense operand, payloads of its stream
    results: that it sends
    operations: that it begins
    factors: of each entry, the operands of its operations: (operations, lanes)
    """

    tokens: list[int] = field(default_factory=list)
    words: dict[str, list[int]] = field(default_factory=dict)
    results: list[int] = field(default_factory=list)
    operations: int = 0
    factors: list[dict[str, Words]] = field(default_factory=list)


def random_entries(
    slots: int, blocks: int, seed: Any, *, rows: Sequence[int] | None = None
) -> list[Entry]:
    """Blocks of one to three tiles, some of them empty; here and there a token says nothing.

    ``rows``: those that entries are of, if not of all.
    """
    rng = np.random.default_rng(seed)
    found: list[Entry] = []
    for _ in range(blocks):
        tiles = int(rng.integers(1, 4))
        for tile in range(tiles):
            for _ in range(int(rng.choice([0, 1, 3, 8, 2 * slots]))):
                slot = int(rng.choice(range(slots) if rows is None else rows))
                found.append(Entry() if rng.random() < 0.15 else Entry(slot))
            found.append(LAST if tile == tiles - 1 else INNER)
    return found


def work_of(part: SparseElementPart, entries: Sequence[Entry], seed: Any) -> Work:
    """Random words for such tokens."""
    rng = np.random.default_rng(seed)
    found = Work(words={one.name: [] for one in part.dense})
    element, config = part.element, part.element.arithmetic
    identity = config.semirings[0].identity_in(config.result)
    shape = (part.layout.slots, part.ring_words * element.vector)
    sums = np.full(shape, identity, np.uint64)
    value_names = [one.name for one in part.layout.fields[: part.layout.words]]
    for entry in entries:
        present = entry.slot is not None
        # These fields have no meaning in a token that is not an entry.
        slot = entry.slot if entry.slot is not None else int(rng.integers(part.layout.slots))
        values = random_words(rng, config.element, (1, part.layout.words))
        there = int(rng.integers(1, 1 << part.layout.words))
        are = np.array([there >> n & 1 for n in range(part.layout.words)], np.bool_)
        if part.union:
            values[0, ~are] = _padding(part)[0]
        fields = dict(zip(value_names, values[0].tolist(), strict=True))
        fields |= {"at_k": int(rng.integers(16)), "slot": slot, "ends": entry.ends}
        if part.union:
            fields["there"] = there
        found.tokens.append(token(part.layout, **fields, present=int(present)))
        if present:
            found.operations += part.ring_words
            words = {one.name: values[:, n : n + 1] for n, one in enumerate(part.values)}
            words[THERE] = are.astype(np.uint64)
            for one in part.dense:
                here = random_words(rng, config.element, (part.ring_words, one.lanes))
                words[one.name] = here
                found.words[one.name] += [
                    _packed(row, config.element.container_bits) for row in here.tolist()
                ]
            found.factors.append(words)
            sums[slot] = _after(part, sums[slot], words)
        if entry.ends & 1:
            rows = sums.reshape(-1, element.vector).tolist()
            found.results += [_packed(row, config.result.container_bits) for row in rows]
            sums = np.full(shape, identity, np.uint64)
    return found


def _padding(part: SparseElementPart) -> tuple[np.uint64, np.uint64]:
    arithmetic = part.element.arithmetic
    padding = arithmetic.semirings[0].padding_in(arithmetic.element)
    assert padding is not None
    return np.uint64(padding[0]), np.uint64(padding[1])


def _packed(row: list[int], bits: int) -> int:
    return sum(word << bits * lane for lane, word in enumerate(row))


def _after(part: SparseElementPart, sums: Words, words: dict[str, Words]) -> Words:
    """A row's sums after an entry."""
    factors = part.factors
    flat = _lanes_of_sums(part, words)
    return after(factors.of_a_lane() if factors.vector > 1 else factors, sums, flat)


def _lanes_of_sums(part: SparseElementPart, words: dict[str, Words]) -> dict[str, Words]:
    """Returns the factors of each sum, (sums, lanes); those of adjacent sums follow one another."""
    factors, operations = part.factors, part.ring_words
    words = dict(words)
    there = words.pop(THERE).astype(np.bool_)
    if part.union:
        lanes = np.concatenate([words[one.name] for one in part.values], axis=1)
        pad = _padding(part)[1]
        words = {one.name: np.where(there, words[one.name], pad) for one in part.dense}
        words[factors.operands[0].name] = lanes
    if factors.vector > 1:
        shape = (operations, factors.vector)
        return {name: np.broadcast_to(one, shape).reshape(-1, 1) for name, one in words.items()}
    return {name: np.broadcast_to(one, (operations, one.shape[1])) for name, one in words.items()}


def results_of_model(part: SparseElementPart, entries: Sequence[Entry], work: Work) -> list[int]:
    """The same results of :class:`ElementSums`, as models compute them: entry by entry."""
    element = part.element
    model = ElementSums(element.arithmetic)
    shape = (part.layout.slots, part.ring_words * element.vector)
    bits, results = element.arithmetic.result.container_bits, list[int]()
    sums = np.full(shape, model.identity, np.uint64)
    factors = iter(work.factors)
    for entry in entries:
        if entry.slot is not None:
            flat = _lanes_of_sums(part, next(factors))
            words = [flat[one.name].T for one in part.factors.operands]
            sums[entry.slot] = model.inner(words, sums[entry.slot])
        if entry.ends & 1:
            rows = sums.reshape(-1, element.vector).tolist()
            results += [_packed(row, bits) for row in rows]
            sums = np.full(shape, model.identity, np.uint64)
    return results
