"""Golden model of the sums that a tile adds to the output, bit for bit in the hardware's order.

Source: Tensaurus, section on the compute pattern, SF3. The order of additions is ours: it follows
from the stream and the configuration alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FLOAT_FORMATS, FloatFormat, IntFormat
from ....hw.spec.tensaurus import TensaurusConfig
from ...numbers.scalars import Patterns
from ...numbers.semirings import combine, product
from .entries import Entries, pieces
from .kernel import Kernel

__all__ = [
    "Arithmetic",
    "Multiplications",
    "Numbers",
    "add_tile",
    "arithmetic_of",
    "empty_output",
    "group_sums",
    "slice_sums",
    "work_of",
]

Numbers = npt.NDArray[Any]

_OWN = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


class Arithmetic(ABC):
    """(x) and (+) of a device on arrays of numbers, which broadcast.

    Operands are of the device's format, sums and what is multiplied again of that of sums. A NaN
    may be any until it is stored.
    """

    @abstractmethod
    def load(self, patterns: Patterns) -> Numbers:
        """Numbers of patterns of operands."""

    @abstractmethod
    def store(self, numbers: Numbers) -> Patterns:
        """Patterns of sums."""

    @abstractmethod
    def times(self, a: Numbers, b: Numbers) -> Numbers:
        """``a (x) b``, rounded once."""

    @abstractmethod
    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        """``x (+) y``, rounded once."""


def arithmetic_of(config: TensaurusConfig) -> Arithmetic:
    """Returns the arithmetic of a device."""
    if config.semiring != "mma":
        return _ByPatterns(config)
    return _Bf16() if config.value == "bf16" else _Own(config)


class _Own(Arithmetic):
    """Sums of products of a format that NumPy counts in: its operations round as IEEE 754 says (of
    fp16 by way of fp32, which holds the products and has more than twice the places and two)."""

    def __init__(self, config: TensaurusConfig) -> None:
        self._format, self._sum = config.format, config.sum_format

    def load(self, patterns: Patterns) -> Numbers:
        words = patterns.astype(f"u{self._format.bits // 8}")
        if isinstance(self._format, FloatFormat):
            return words.view(_OWN[self._format.name])
        return words.view(f"i{self._format.bits // 8}").astype(np.int32)

    def store(self, numbers: Numbers) -> Patterns:
        words = numbers.view(f"u{self._sum.bits // 8}").astype(np.uint64)
        if isinstance(self._sum, IntFormat):
            return words
        return np.where(np.isnan(numbers), np.uint64(self._sum.nan), words)

    def times(self, a: Numbers, b: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            found: Numbers = a * b
        return found

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            found: Numbers = x + y
        return found


class _Bf16(Arithmetic):
    """Sums of products of bf16 in the upper halves of fp32, whose places are enough to round twice;
    every product that reaches half of the least bf16 is a multiple of the least fp32."""

    def load(self, patterns: Patterns) -> Numbers:
        return (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32)

    def store(self, numbers: Numbers) -> Patterns:
        words = (numbers.view(np.uint32) >> np.uint32(16)).astype(np.uint64)
        return np.where(np.isnan(numbers), np.uint64(FLOAT_FORMATS["bf16"].nan), words)

    def times(self, a: Numbers, b: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return self._rounded(a * b)

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return self._rounded(x + y)

    @staticmethod
    def _rounded(numbers: Numbers) -> Numbers:
        """Rounds to nearest, ties to even."""
        words = numbers.view(np.uint32)
        words = words + (np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1)))
        found = (words & np.uint32(0xFFFF_0000)).view(np.float32)
        nan = np.isnan(numbers)
        if nan.any():
            found[nan] = np.nan
        return found


class _ByPatterns(Arithmetic):
    """Any semiring on any format whose sums are of the format itself."""

    def __init__(self, config: TensaurusConfig) -> None:
        self._row, self._format = config.operators, config.format

    def load(self, patterns: Patterns) -> Numbers:
        return patterns.astype(np.uint64)

    def store(self, numbers: Numbers) -> Patterns:
        return numbers

    def times(self, a: Numbers, b: Numbers) -> Numbers:
        return product(self._row, a, b, self._format, self._format)

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        return combine(self._row, x, y, self._format)


Ints = npt.NDArray[np.int64]
Summands = Callable[[Ints], Numbers]


def group_sums(
    arithmetic: Arithmetic, summands: Summands, starts: Ints, count: int, partial_sums: int
) -> Numbers:
    """The sum of each group of summands that follow each other.

    Summand ``n`` of a group goes to partial sum ``n % partial_sums``. A partial sum begins with its
    first summand as it is, and adds the others in order; then partial sums are added pairwise, the
    first with the second, the third with the fourth, an odd last one unchanged, until one is left.

    Parameters
    ----------
    summands: gives those with some numbers, (numbers, ...)
    starts: number of the first summand of each group, ascending from 0; no group is empty
    count: of all summands
    """
    lengths = np.diff(starts, append=count)
    # A chain is a partial sum: longest first, so that those that still grow are in front.
    per_group = np.minimum(lengths, partial_sums)
    base = np.cumsum(per_group) - per_group
    group = np.repeat(np.arange(len(starts)), per_group)
    number = np.arange(len(group)) - base[group]
    links = -(-(lengths[group] - number) // partial_sums)
    order = np.argsort(-links, kind="stable")
    first = (starts[group] + number)[order]
    growing = len(links) - np.cumsum(np.bincount(links)) if len(links) else np.zeros(1, np.int64)
    sums = summands(first)
    for step, left in enumerate(growing[1:-1].tolist(), 1):
        more = summands(first[:left] + step * partial_sums)
        sums[:left] = arithmetic.plus(sums[:left], more)
    chains = np.empty_like(sums)
    chains[order] = sums
    return _pairwise(arithmetic, chains, base, per_group)


def _pairwise(arithmetic: Arithmetic, chains: Numbers, base: Ints, per_group: Ints) -> Numbers:
    """Adds up each group's chains in pairs; the chains of a group lie together from ``base`` on."""
    left, step = per_group.copy(), 1
    while (left > 1).any():
        for pair in range(int(left.max()) // 2):
            has = left > 2 * pair + 1
            at = base[has] + 2 * pair * step
            chains[at] = arithmetic.plus(chains[at], chains[at + step])
        left, step = -(-left // 2), 2 * step
    found: Numbers = chains[base]
    return found


_PIECE = 1 << 14
"""Entries of slices that are worked on at once, but for a longer slice."""

_NUMBERS = 1 << 19
"""Numbers of a level that are worked on at once."""


def empty_output(config: TensaurusConfig, kernel: Kernel, slices: int) -> Patterns:
    """The output before its first tile: the identity of (+)."""
    identity = config.operators.identity_in(config.sum_format)
    assert identity is not None
    return np.full((slices, kernel.slice_values(config)), identity, np.uint64)


def add_tile(
    config: TensaurusConfig,
    kernel: Kernel,
    output: Patterns,
    entries: Entries,
    operands: Mapping[int, Patterns],
) -> None:
    """Add a tile's slices to the output, in place; see :func:`slice_sums`."""
    slices, sums = slice_sums(config, kernel, entries, operands)
    output[slices] = combine(config.operators, output[slices], sums, config.sum_format)


def slice_sums(
    config: TensaurusConfig, kernel: Kernel, entries: Entries, operands: Mapping[int, Patterns]
) -> tuple[Ints, Patterns]:
    """The sum of each slice that has entries.

    Parameters
    ----------
    entries: of the tile's tensor
    operands: by mode, (rows, ``kernel.row_values``), patterns of the device's format

    Returns
    -------
    The slices' numbers, and (slices, ``kernel.slice_values``) of the format of sums: vector
    ``(f1 * nf2 + f2) * nv + v``, a unit a vector.

    Raises
    ------
    ValueError if the kernel does not fit the device, or an operand the kernel.
    IndexError if an operand has too few rows.
    """
    kernel.check(config)
    _check_operands(config, kernel, operands)
    first = np.flatnonzero(np.diff(entries.slices, prepend=-1))
    found = np.empty((len(first), kernel.slice_values(config)), np.uint64)
    if not len(first):
        return entries.slices[first], found
    arithmetic = arithmetic_of(config)
    loaded = {mode: arithmetic.load(operand) for mode, operand in operands.items()}
    last = kernel.order - 1
    values = loaded[last].shape[1]
    shaped = found.reshape(len(first), -1, values)
    done = 0
    for piece in pieces(entries, _PIECE):
        some = Entries(entries.slices[piece], entries.indices[:, piece], entries.values[piece])
        width = max(1, _NUMBERS // len(some.slices))
        count = 0
        for low in range(0, values, width):
            part = {**loaded, last: loaded[last][:, low : low + width]}
            if kernel.name == "mttkrp":
                part = {mode: operand[:, low : low + width] for mode, operand in loaded.items()}
            sums = _sums(arithmetic, config, kernel, some, part)
            count = len(sums)
            shaped[done : done + count, :, low : low + width] = arithmetic.store(sums)
        done += count
    return entries.slices[first], found


class Multiplications(NamedTuple):
    """Counts of the elements' work for a tile, independent of its timing.

    products: of a scalar or a vector and a vector, each in all columns
    operations: multiplications of active lanes, and as many additions
    drains: units of sums that leave the rows
    """

    products: int
    operations: int
    drains: int


def work_of(config: TensaurusConfig, kernel: Kernel, entries: Entries) -> Multiplications:
    """Counts the work of a tile."""
    products, starts = 0, np.arange(len(entries.slices))
    for mode in range(kernel.order - 1, 0, -1):
        products += len(starts) * kernel.group_vectors(mode)
        starts = starts[_groups(entries.slices[starts], entries.indices[: mode - 1, starts])]
    lanes = 1 if kernel.name == "mv" else config.unit_values
    return Multiplications(products, 2 * products * lanes, len(starts) * kernel.units)


def _groups(slices: Ints, outer: Ints) -> Ints:
    """Returns the starts of groups; a group is a run of equal outer indices in a slice."""
    new = np.diff(slices, prepend=-1) != 0
    for indices in outer:
        new |= np.diff(indices, prepend=-1) != 0
    return np.flatnonzero(new)


def _check_operands(
    config: TensaurusConfig, kernel: Kernel, operands: Mapping[int, Patterns]
) -> None:
    modes = tuple(range(1, kernel.order))
    if tuple(sorted(operands)) != modes:
        raise ValueError(f"`operands` must be of modes {modes}, not {tuple(sorted(operands))}")
    for mode in modes:
        wanted, shape = kernel.row_values(config, mode), operands[mode].shape
        if len(shape) != 2 or shape[1] != wanted:
            raise ValueError(f"operand {mode} must have rows of {wanted} values, not {shape}")


def _sums(
    arithmetic: Arithmetic,
    config: TensaurusConfig,
    kernel: Kernel,
    entries: Entries,
    operands: Mapping[int, Numbers],
) -> Numbers:
    """The slices' sums, (slices, scalars used together, columns of the array operands)."""
    terms = arithmetic.load(entries.values)[:, None, None]
    slices, indices = entries.slices, entries.indices
    for mode in range(kernel.order - 1, 0, -1):
        starts = _groups(slices, indices[: mode - 1])
        factors = _Summands(arithmetic, terms, operands[mode], indices[mode - 1], kernel, mode)
        partial = config.partial_sums(kernel.group_vectors(mode))
        terms = group_sums(arithmetic, factors, starts, len(slices), partial)
        slices, indices = slices[starts], indices[:, starts]
    return terms


class _Summands:
    """Products of terms (terms, scalars, columns) with the rows of an operand."""

    def __init__(
        self,
        arithmetic: Arithmetic,
        terms: Numbers,
        operand: Numbers,
        rows: Ints,
        kernel: Kernel,
        mode: int,
    ) -> None:
        self._arithmetic, self._terms, self._operand, self._rows = arithmetic, terms, operand, rows
        self._kronecker = kernel.name == "ttmc" and mode in kernel.scalar_modes

    def __call__(self, numbers: Ints) -> Numbers:
        terms, factors = self._terms[numbers], self._operand[self._rows[numbers]]
        if not self._kronecker:
            return self._arithmetic.times(terms, factors[:, None, :])
        found = self._arithmetic.times(terms[:, None], factors[:, :, None, None])
        return found.reshape(len(numbers), -1, terms.shape[2])
