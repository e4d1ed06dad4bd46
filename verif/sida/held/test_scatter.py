"""Elements of sets to banks: each in its order, and a set a cycle where columns are long."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.sida.held.held_elements import SETS
from tilewright.hw.sida.held.scatter import Scatter, scatter_layout
from tilewright.hw.sida.held.scatter_bank import scattered_layout
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Sink, Source, run_agents

pytestmark = pytest.mark.long

NUMBER_BITS = 16
Set = tuple[list[tuple[int, int]], bool]
"""Leaves with an element, and its bank; whether there is a mark."""


def run(width: int, window: int, sets: list[Set], gap: float, stall: float) -> float:
    """Elements carry their numbers; each bank gets its own, and all marks behind those before them.
    Returns sets a cycle."""
    layout = scatter_layout(NUMBER_BITS, width)
    words, expected, number = [], [[] for _ in range(width)], 0  # type: ignore[var-annotated]
    for leaves, mark in sets:
        content: list[dict[str, int]] = [{} for _ in range(width)]
        for leaf, bank in leaves:
            content[leaf] = {"valid": 1, "bank": bank, "payload": number}
            expected[bank].append(number)
            number += 1
        if mark:
            for bank in range(width):
                expected[bank].append("mark")
        fields: Any = {"mark": mark, "leaves": content}
        words.append(layout.const(fields).as_bits())
    part = Scatter(NUMBER_BITS, width, window)
    source = Source(part.i, words, gap=gap, seed="sets")
    sinks = [Sink(port, stall=stall, seed=n) for n, port in enumerate(part.o)]

    def found() -> list[list[Any]]:
        banks: list[list[Any]] = []
        for sink in sinks:
            banks.append([])
            for word in sink.words:
                sent: Any = scattered_layout(NUMBER_BITS).from_bits(word)
                assert sent.present or sent.mark
                banks[-1] += [sent.payload] * sent.present + ["mark"] * sent.mark
        return banks

    # Each transfer brings an element, or a mark alone; marks come with the element before them.
    def until(sim: Any, cycle: int) -> bool:
        return source.done and cycle - source.cycles[-1] > 20 + 2 * width * (window + 2)

    run_agents(part, [source, *sinks], until=until)
    assert found() == expected
    return len(sets) / (source.cycles[-1] - source.cycles[0] + 1)


@pytest.mark.parametrize("width", slow_but([4], [4, 8]))
def test_every_bank_gets_its_elements_in_order(width: int) -> None:
    for seed in range(by_size(2, 4, 40)):
        rng = random.Random(seed)
        few = rng.choice([1, 2, width])
        banks = rng.sample(range(width), few)
        sets: list[Set] = [
            (
                [(n, rng.choice(banks)) for n in range(width) if rng.random() < 0.7],
                rng.random() < 0.2,
            )
            for _ in range(40)
        ]
        run(width, rng.choice([2, 4]), sets, gap=0.3 * (seed % 2), stall=0.2 * (seed % 3))


def places(rng: np.random.Generator, kind: str, size: int) -> npt.NDArray[np.int64]:
    """Rows and columns of a matrix with eight elements a column or more, by columns."""
    columns = []
    hubs = rng.permutation(1 / (np.arange(size) + 10.0))
    for j in range(size):
        if kind == "dense":
            rows = np.arange(size)
        elif kind == "banded":
            rows = np.arange(max(0, j - 8), min(size, j + 9))
        else:
            power = kind == "power law"
            count = min(size, int(8 * (1 - rng.random()) ** -0.7)) if power else rng.integers(8, 24)
            rows = np.sort(rng.choice(size, count, replace=False, p=hubs / hubs.sum()
                                      if power else None))  # fmt: skip
        columns.append(np.stack([rows, np.full(len(rows), j)]))
    return np.concatenate(columns, axis=1).astype(np.int64)


@pytest.mark.parametrize("step", slow_but([], [16, 64], [64]))
@pytest.mark.parametrize("kind", ["dense", "banded", "power law", "random"])
def test_a_set_a_cycle(kind: str, step: int) -> None:
    """Of 16 elements, each in the bank of its column and panel."""
    width = 16
    rng = np.random.default_rng(1)
    rows, columns = places(rng, kind, 128 if kind == "dense" else 512)
    late = rows // step + 2 > columns // step
    banks = (columns + rows // step) % width
    most = by_size(150, 150, 600)
    sets: list[Set] = []
    for first in range(0, min(len(rows), most * width), width):
        part = range(first, min(first + width, len(rows)))
        sets.append(([(n % width, int(banks[n])) for n in part if late[n]], False))
    given = [one for one in sets if one[0]]
    assert run(width, SETS, given, 0, 0) >= 0.95
