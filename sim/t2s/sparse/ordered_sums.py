"""Computes whole results of elements with entries of sparse operands, entry by entry."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.program import Program
from ....hw.spec.t2s.sparse_parts import SparsePlan
from ..element_sums import ElementSums
from ..sizes import walked_indices
from .decoding import Decoded

__all__ = ["sums_of_entries"]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def sums_of_entries(
    program: Program,
    plan: SparsePlan,
    bounds: Mapping[str, int],
    entries: Decoded,
    dense: Mapping[str, Words],
) -> Words:
    """Patterns of the result's elements, its rows where they lie.

    The n-th entries of all rows are worked on at once: each row's in the order in which they come.

    Parameters
    ----------
    bounds: of indices, whole tiles
    entries: of all sparse tensors together; patterns
    dense: patterns of dense operands, by the indices that choose a word, an axis each
    """
    element = plan.element.element
    sums = ElementSums(element.arithmetic)
    result = walked_indices(program.tensor(program.result).dimensions)
    across = tuple(name for name in result if name != plan.rows.index)
    width = tuple(bounds[name] for name in across)
    rows = entries.rows(plan.rows)
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=bounds[plan.rows.index])
    first = np.cumsum(counts) - counts
    longest_first = np.argsort(-counts, kind="stable")
    numbers = {
        one.index: entries.numbers(one.index, one.extent)
        for one in plan.entries[0].layout.coordinates
    }
    tables = {
        name: _table(walked_indices(program.tensor(name).dimensions), words, across)
        for name, words in dense.items()
    }
    inner = [name for name in element.inner if name in tables]
    # Missing values are padded, in dense words too: only products of pads change no sum.
    padding = element.arithmetic.semirings[0].padding_in(element.arithmetic.element)
    pad = padding[1] if padding else 0
    total = np.full((bounds[plan.rows.index], *width), sums.identity, np.uint64)
    taken, axes = first[longest_first], (...,) + (np.newaxis,) * len(width)
    shorter = -counts[longest_first]
    for number in range(int(counts.max(initial=0))):
        some = longest_first[: int(np.searchsorted(shorter, -number))]
        which = order[taken[: len(some)] + number]
        values = [words[axes] for words in entries.words[:, which]]
        lanes = [np.stack(values)] if plan.element.union else [one[np.newaxis] for one in values]
        words = [
            table[tuple(numbers[name][which] for name in summed)][np.newaxis]
            for summed, table in (tables[name] for name in inner)
        ]
        if entries.there is not None:
            there = entries.there[:, which][axes]
            words = [np.where(there, one, np.uint64(pad)) for one in words]
        total[some] = sums.inner([*lanes, *words], total[some])
    axis = result.index(plan.rows.index)
    return np.moveaxis(total, 0, axis)


def _table(
    indices: tuple[str, ...], words: Words, across: tuple[str, ...]
) -> tuple[tuple[str, ...], Words]:
    """Indices that are summed over, and an operand's words by these and by those of the result."""
    summed = tuple(name for name in indices if name not in across)
    kept = [name for name in across if name in indices]
    axes = [indices.index(name) for name in (*summed, *kept)]
    shape = [words.shape[indices.index(name)] if name in indices else 1 for name in across]
    found = words.transpose(axes)
    return summed, found.reshape(*found.shape[: len(summed)], *shape)
