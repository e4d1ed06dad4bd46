"""The order of additions in plain terms, for the benches of the array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.numbers.semirings import combine, product

Patterns = npt.NDArray[np.uint64]
Entry = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Slice:
    """A slice's entries: indices of modes 1, 2, ..., and the value, in the order of the stream."""

    number: int
    entries: Sequence[Entry]


@dataclass(frozen=True, kw_only=True)
class Operands:
    """A job, and its operands by mode, less 1: (rows, vectors, values) or (rows, scalars)."""

    kernel: str
    order: int
    vectors: int = 1
    scalars: tuple[int, int] = (1, 1)
    dense: list[Patterns] = field(default_factory=list)


def _widened(config: TensaurusConfig, values: npt.ArrayLike) -> Patterns:
    """Operands in the format of the sums."""
    found = np.asarray(values, np.uint64)
    if isinstance(config.format, FloatFormat) or config.sum_format == config.format:
        return found
    sign = np.uint64(1 << (config.format.bits - 1))
    more = np.uint64((1 << config.sum_format.bits) - (1 << config.format.bits))
    return np.where(found & sign != 0, found | more, found)


def _group_sum(config: TensaurusConfig, summands: Sequence[Patterns]) -> Patterns:
    """The sum of summands of so many vectors each."""
    count = config.partial_sums(len(summands[0]))
    sums: list[Patterns] = []
    for n, summand in enumerate(summands):
        if n < count:
            sums.append(summand)
        else:
            sums[n % count] = combine(config.operators, sums[n % count], summand, config.sum_format)
    while len(sums) > 1:
        pairs = [
            combine(config.operators, sums[n], sums[n + 1], config.sum_format)
            for n in range(0, len(sums) - 1, 2)
        ]
        sums = pairs + sums[len(pairs) * 2 :]
    return sums[0]


def slice_sum(config: TensaurusConfig, job: Operands, one: Slice) -> Patterns:
    """Returns the contribution of a slice with entries to the output: (vectors, values)."""

    def times(a: npt.ArrayLike, b: npt.ArrayLike) -> Patterns:
        return product(config.operators, a, b, config.sum_format, config.sum_format)

    def row(mode: int, index: int) -> Patterns:
        return _widened(config, job.dense[mode - 1][index])

    def innermost(entries: Sequence[Entry]) -> list[Patterns]:
        operand: Callable[[int], Patterns] = lambda k: row(job.order - 1, k)  # noqa: E731
        return [times(_widened(config, a), operand(index[-1])) for index, a in entries]

    def fiber(entries: Sequence[Entry], mode: int) -> list[Patterns]:
        """The summands of the sum over a mode, of entries that agree in all modes before."""
        if mode == job.order - 1:
            return innermost(entries)
        found = []
        for index, inner in groupby(entries, key=lambda e: e[0][mode - 1]):
            total = _group_sum(config, fiber(list(inner), mode + 1))
            operand = row(mode, index)
            if job.kernel == "mttkrp":
                found.append(times(total, operand))
            else:
                found.append(np.concatenate([times(total, scalar) for scalar in operand]))
        return found

    return _group_sum(config, fiber(list(one.entries), 1))
