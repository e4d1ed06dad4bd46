"""Matrices, and the sets of their elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.sida.layouts import results_layout, set_layout
from tilewright.hw.spec.semirings import Semiring
from tilewright.hw.spec.sida import DELAY, SidaConfig
from tilewright.sim.numbers.semirings import combine, product
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.result.products import Columns, Rules
from tilewright.sim.sida.result.sums import tree_sums

Bools = npt.NDArray[np.bool_]


def _shape(rng: np.random.Generator, size: int, name: str) -> Bools:
    """Returns a mask of the elements that are present."""
    rows, columns = np.indices((size, size))
    some = rng.random((size, size))
    if name == "lower":
        return (rows > columns) & (some < 0.3)
    if name == "upper":
        return (rows < columns) & (some < 0.3)
    if name == "band":
        return abs(rows - columns) <= 3
    if name == "hubs":
        return (some < 0.05) | (columns == rng.integers(size)) | (rows == rng.integers(size))
    if name == "gaps":
        return (some < 0.3) & (rng.random(size) < 0.4)[None, :] & (rng.random(size) < 0.4)[:, None]
    if name == "power":
        return some * np.sqrt((rows + 1) * (columns + 1)) < 0.6
    return some < {"sparse": 0.08, "half": 0.5, "dense": 1.0, "empty": 0.0}[name]


SHAPES = ("sparse", "lower", "upper", "band", "hubs", "gaps", "half", "dense", "empty")


def numbers(rng: np.random.Generator, config: SidaConfig, count: int) -> Any:
    """Patterns of values."""
    found = rng.integers(-9, 9, count) if config.value == "int32" else rng.normal(size=count)
    return encode(found, config.format)


def drawn(rng: np.random.Generator, config: SidaConfig, size: int, name: str) -> Columns:
    """A matrix of a shape, one of ``SHAPES``."""
    columns, rows = np.nonzero(_shape(rng, size, name).T)
    return Columns(
        pointers=np.searchsorted(columns, np.arange(size + 1)).astype(np.int64),
        rows=rows.astype(np.int64),
        values=numbers(rng, config, len(rows)),
    )


def rules_of(config: SidaConfig) -> Rules:
    """The order of additions that a configuration has."""
    return Rules.of(config)


def first_values(config: SidaConfig, semiring: Semiring, matrix: Columns, vector: Any) -> Any:
    """Returns the initial partial sums of the second product's columns."""
    step, fmt = config.subtensor, config.format
    ready = np.flatnonzero(matrix.rows // step + DELAY <= matrix.columns // step)
    found = np.full(matrix.size, rules_of(config).identity(semiring), np.uint64)
    terms = product(semiring, vector[matrix.rows[ready]], matrix.values[ready], fmt, fmt)
    plus = _plus(semiring, fmt)
    columns, sums = tree_sums(
        ready, matrix.columns[ready], terms, plus, leaves=config.pes, partials=config.partials
    )
    found[columns] = sums
    return found


def _plus(semiring: Semiring, fmt: Any) -> Any:
    return lambda x, y: combine(semiring, x, y, fmt)


@dataclass(frozen=True)
class Given:
    """A set: its word; its step; the columns that it completes."""

    word: int
    step: int
    base: int
    columns: int


def sets_of(
    config: SidaConfig, matrix: Columns, rng: np.random.Generator, partial_sets: float = 0.0
) -> Iterator[Given]:
    """The sets of a matrix, some of them cut in two."""
    layout, pes, size = set_layout(config), config.pes, matrix.size
    place, base = 0, 0
    owners = matrix.columns.tolist()
    while base < size:
        end = min(base + pes, (base // config.subtensor + 1) * config.subtensor, size)
        stop = (place // pes + 1) * pes
        if rng.random() < partial_sets:
            stop = min(stop, place + 1 + int(rng.integers(pes)))
        leaves: list[dict[str, int]] = [{} for _ in range(pes)]
        while place < min(stop, len(owners)) and owners[place] < end:
            leaves[place % pes] = {
                "valid": 1,
                "row": int(matrix.rows[place]),
                "offset": owners[place] - base,
                "value": int(matrix.values[place]),
            }
            place += 1
        complete = base
        while complete < end and matrix.pointers[complete + 1] <= place:
            complete += 1
        content: Any = {
            "base": base,
            "columns": complete - base,
            "final": int(complete == size),
            "leaves": leaves,
        }
        yield Given(
            layout.const(content).as_bits(), base // config.subtensor, base, complete - base
        )
        base = complete


def result_bits(config: SidaConfig, given: Given, values: Any) -> int:
    """The columns' results that go with a set."""
    mine = [int(x) for x in values[given.base : given.base + given.columns]]
    content: Any = {"base": given.base, "columns": given.columns, "values": mine}
    return results_layout(config).const(content).as_bits()
