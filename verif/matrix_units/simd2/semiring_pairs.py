"""Pairs of operands laid out in tiles: each alone in a result, or all lanes full of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat, Format
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.verif.oracles import stimuli

from ..matrix_stimuli import Operations
from ..semiring_stimuli import integer_values

Words = npt.NDArray[np.uint64]
Pairs = tuple[Words, Words]
Generator = np.random.Generator


def every_pair(fmt: Format) -> Pairs:
    """Every ordered pair of patterns of a narrow format."""
    return _crossed(np.arange(1 << fmt.bits, dtype=np.uint64))


def special_pairs(fmt: Format) -> Pairs:
    """Every ordered pair of special values: of floats, or ends of the range and powers of two."""
    if isinstance(fmt, FloatFormat):
        return stimuli.special_pairs(fmt)
    drawn = integer_values(np.random.default_rng(0), "extremes", (40 * fmt.bits,), fmt)
    return _crossed(np.unique(drawn))


def alone(config: Simd2Config, name: str, pairs: Pairs, rng: Generator) -> Operations:
    """Every pair in the first lane of a result, the others at padding, the identity as addend.

    Where the format has no padding the pair stands in every lane. Results that do not lie on a
    tile's diagonal pair the operands of different pairs.
    """
    tile, row = config.tile, SEMIRINGS[name]
    order = rng.permutation(len(pairs[0]))
    count = -(-len(order) // tile)
    x, y = (np.resize(column[order], (count, tile)) for column in pairs)
    a = np.repeat(x[:, :, np.newaxis], tile, axis=2)
    b = np.repeat(y[:, np.newaxis, :], tile, axis=1)
    padding, identity = row.padding_in(config.element), row.identity_in(config.result)
    assert identity is not None
    if padding is not None:
        a[:, :, 1:], b[:, 1:, :] = padding
    return _labelled(name, a, b, np.full(a.shape, identity, np.uint64), "alone")


def packed(
    config: Simd2Config, name: str, pairs: Pairs, addends: Words, rng: Generator
) -> Operations:
    """Every pair in every lane of the results on a tile's diagonal: all pairs in a random order,
    which moves on by one lane from round to round; addends picked at random."""
    tile = config.tile
    places = tile * tile
    count = -(-len(pairs[0]) // places)
    order = np.resize(rng.permutation(len(pairs[0])), count * places)
    turned = np.concatenate([np.roll(order, turn) for turn in range(places)])
    a, b = (column[turned].reshape(-1, tile, tile) for column in pairs)
    return _labelled(name, a, b.swapaxes(1, 2), rng.choice(addends, a.shape), "packed")


def mixed(config: Simd2Config, layout: Callable[[str], Operations], rng: Generator) -> Operations:
    """The operations that ``layout`` gives for each of the unit's semirings, in random order."""
    parts = [layout(name) for name in config.ops]
    op, a, b, c = (
        np.concatenate([part.fields[field] for part in parts]) for field in ("op", "a", "b", "c")
    )
    kind = [label for part in parts for label in part.kind]
    return Operations(op, a, b, c, kind).ordered(rng.permutation(len(op)))


def _crossed(patterns: Words) -> Pairs:
    left, right = np.meshgrid(patterns, patterns, indexing="ij")
    return left.ravel(), right.ravel()


def _labelled(name: str, a: Words, b: Words, c: Words, kind: str) -> Operations:
    op = np.full(len(a), SEMIRINGS[name].opcode, np.uint64)
    return Operations(op, a, b, c, [kind] * len(a))
