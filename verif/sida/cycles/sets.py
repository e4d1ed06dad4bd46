"""Random sets, as arrays that a compiled loop hands to the machine, and as inputs of a part."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.timing.compiled import inlined
from tilewright.sim.timing.parts import fields

Ints = npt.NDArray[np.int64]

_SET = np.dtype(fields("base", "columns", "final", "begin", "end"))


class Sets(NamedTuple):
    """``sets`` [set]: records; ``rows``, ``offsets`` [set, leaf]."""

    sets: Any
    rows: Any
    offsets: Any


def any_sets(config: SidaConfig, rng: np.random.Generator, count: int) -> Sets:
    """Sets of any rows, many of them again and again, of columns that do not descend."""
    pes, size = config.pes, config.vector_words
    found = Sets(
        np.zeros(count, _SET),
        rng.integers(0, size, (count, pes)),
        np.sort(rng.integers(0, pes, (count, pes)), axis=1),
    )
    hubs = rng.integers(0, size, 3)
    which = rng.random((count, pes)) < rng.random()
    found.rows[which] = rng.choice(hubs, int(which.sum()))
    found.sets["base"] = np.sort(rng.integers(0, size, count))
    found.sets["columns"] = rng.integers(0, pes + 1, count)
    ends = np.sort(rng.integers(0, pes + 1, (count, 2)), axis=1)
    ends[rng.random(count) < 0.7] = [0, pes]
    found.sets["begin"], found.sets["end"] = ends.T
    return found


def set_inputs(config: SidaConfig, given: Sets, shown: Ints) -> dict[str, npt.NDArray[Any]]:
    """Inputs of a part's stream of sets: by cycle the set that is there, -1: none."""
    leaves = np.arange(config.pes)
    sets = given.sets[shown]
    there = shown >= 0
    inside = (sets["begin"][:, None] <= leaves) & (leaves < sets["end"][:, None])
    # The fields of an absent leaf may have any value.
    return {
        "i_valid": there,
        **{f"i_{name}": sets[name] for name in ("base", "columns", "final")},
        "i_leaves_valid": inside,
        "i_leaves_row": given.rows[shown],
        "i_leaves_offset": given.offsets[shown],
    }


@inlined
def show_set(m: Any, given: Sets, number: int) -> None:
    """A set at ``m.set``."""
    record, one = m.set, given.sets[number]
    record.base = one.base
    record.columns = one.columns
    record.final = one.final
    record.begin = one.begin
    record.end = one.end
    for leaf in range(m.pes):
        record.present[leaf] = one.begin <= leaf < one.end
        record.row[leaf] = given.rows[number, leaf]
        record.offset[leaf] = given.offsets[number, leaf]
