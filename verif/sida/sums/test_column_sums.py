"""Sums of columns in hardware, bit for bit and cycle for cycle, against the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator
from tilewright.hw.sida.layouts import sums_layout, terms_layout
from tilewright.hw.sida.sums.column_sums import ColumnSums
from tilewright.hw.sida.sums.segment_tree import SegmentTree
from tilewright.hw.spec.formats import Format, IntFormat
from tilewright.hw.spec.semirings import Semiring
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.semirings import combine, product
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.result.products import (
    Columns,
    Rules,
    input_stationary,
    output_stationary,
)
from tilewright.sim.sida.result.sums import tree_sums
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but

Ints = npt.NDArray[np.int64]

KINDS = ("mixed", "long", "short", "pairs", "sparse", "dense", "diagonal", "one", "nothing")


def _lengths(rng: np.random.Generator, kind: str, size: int, pes: int) -> Ints:
    """Elements of each column."""
    if kind == "mixed":
        lengths = rng.choice([0, 0, 1, 2, pes - 1, pes, pes + 1, 3 * pes, size], size)
    elif kind == "long":
        lengths = rng.integers(size // 2, size + 1, size)
    elif kind == "short":
        lengths = rng.integers(0, 4, size)
    elif kind == "pairs":
        # In every set a column ends and another one begins.
        lengths = np.full(size, pes)
        lengths[0] = pes // 2
    elif kind == "sparse":
        lengths = (rng.random(size) < 0.1) * rng.integers(1, size + 1, size)
    else:
        lengths = np.full(size, {"dense": size, "diagonal": 1, "one": 1, "nothing": 0}[kind])
    return np.minimum(lengths, size).astype(np.int64)


def drawn_values(rng: np.random.Generator, count: int, fmt: Format) -> Patterns:
    """Draws numbers of a few magnitudes, some zeros, and sometimes any pattern."""
    if isinstance(fmt, IntFormat):
        return encode(rng.integers(-9, 10, count), fmt)
    found = encode(rng.normal(size=count) * 2.0 ** rng.integers(-4, 5, count), fmt)
    odd = [0, 1 << (fmt.bits - 1), fmt.infinity, fmt.nan, 1, fmt.one, fmt.largest]
    which = rng.random(count) < 0.02
    found[which] = rng.choice(np.array(odd, np.uint64), int(which.sum()))
    found[rng.random(count) < 0.1] = 0
    return found


def drawn_columns(rng: np.random.Generator, kind: str, size: int, config: SidaConfig) -> Columns:
    """A matrix of a kind, see :data:`KINDS`."""
    size = 1 if kind == "one" else size
    lengths = _lengths(rng, kind, size, config.pes)
    rows = [np.sort(rng.choice(size, length, replace=False)) for length in lengths]
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return Columns(
        pointers=pointers.astype(np.int64),
        rows=np.concatenate(rows).astype(np.int64),
        values=drawn_values(rng, int(pointers[-1]), config.format),
    )


@dataclass
class Issued:
    """A set, or a part of one: leaves to elements of the matrix."""

    base: int
    columns: int
    elements: dict[int, int] = field(default_factory=dict)


def sets_of(
    rng: np.random.Generator, matrix: Columns, config: SidaConfig, cut: float
) -> Iterator[Issued]:
    """Returns the sets, in order. A set may end early after a column, with probability ``cut``.

    Columns are at most ``pes``, of one step; what is of one column and one set of the matrix comes
    together.
    """
    pes, step = config.pes, config.subtensor
    base, place, total = 0, 0, int(matrix.pointers[-1])
    while base < matrix.size:
        end = min(base + pes, matrix.size, (base // step + 1) * step)
        limit = min((place // pes + 1) * pes, total)
        one = Issued(base, 0)
        column = base
        while column < end:
            last = min(int(matrix.pointers[column + 1]), limit)
            one.elements.update({n % pes: n for n in range(place, last)})
            place = last
            if place < matrix.pointers[column + 1]:
                break
            column += 1
            # Nothing more of a set of the matrix that is used up.
            if rng.random() < cut or (place == limit and rng.random() < 0.5):
                break
        one.columns = column - base
        base = column
        yield one


pytestmark = pytest.mark.long

Patterns = npt.NDArray[np.uint64]
Cycle = tuple[int, int, bool]
"""The word that comes in, the semiring, whether all is forgotten."""
Result = tuple[int, tuple[int, ...]]
"""First column, and the sums of the columns from it on."""

SMALL = SidaConfig(pes=4, subtensor=8, buffer_words=64, vector_words=64)
CONFIGS = {
    "fp32": SMALL,
    "fp16 2": SidaConfig(
        pes=4, subtensor=4, buffer_words=64, vector_words=64, value="fp16",
        semirings=("addnorm", "maxmul", "aril-add"), adder_stages=2, multiplier_stages=1,
    ),
    "int32 1": SidaConfig(
        pes=8, subtensor=8, buffer_words=64, vector_words=64, value="int32",
        semirings=("mma", "minplus", "maxmin"), adder_stages=1, multiplier_stages=2,
    ),
    "fp64": SidaConfig(
        pes=4, subtensor=16, buffer_words=64, vector_words=64, value="fp64", semirings=("mma",)
    ),
    "fp32 16": SidaConfig(pes=16, subtensor=32, buffer_words=64, vector_words=64),
}  # fmt: skip


class Pass:
    """One of the two products with a matrix: its inputs by cycle, and its expected results."""

    def __init__(
        self,
        rng: np.random.Generator,
        config: SidaConfig,
        kind: str,
        *,
        cut: float | None = None,
        gap: float | None = None,
    ) -> None:
        size = int(rng.integers(1, min(5 * config.pes, config.vector_words) + 1))
        self.config = config
        self.matrix = matrix = drawn_columns(rng, kind, size, config)
        self.vector = drawn_values(rng, matrix.size, config.format)
        self.number = int(rng.integers(len(config.operators)))
        step = config.subtensor
        second = bool(rng.random() < 0.5)
        ready = matrix.rows // step + 2 <= matrix.columns // step
        self.present = ready if second else np.ones(len(matrix.rows), bool)
        self.results = first_sums(config, self.semiring, matrix, self.vector, self.present)
        self._cut = float(rng.choice([0.0, 0.1, 0.5])) if cut is None else cut
        self._gap = float(rng.choice([0.0, 0.3])) if gap is None else gap
        self._rng = rng

    @property
    def semiring(self) -> Semiring:
        return self.config.operators[self.number]

    def cycles(self) -> Iterator[tuple[Cycle, Result | None]]:
        """Yields the input of each cycle and its result."""
        matrix, config = self.matrix, self.config
        layout = terms_layout(config)
        for one in sets_of(self._rng, matrix, config, self._cut):
            while self._rng.random() < self._gap:
                word = self._junk() & ~1
                yield (word, self.number, False), None
            junk = layout.from_bits(self._junk())
            fields: dict[str, Any] = {
                "valid": 1,
                "base": one.base,
                "columns": one.columns,
                "present": sum(int(self.present[n]) << leaf for leaf, n in one.elements.items()),
            }
            offset = [junk.offset[n] for n in range(config.pes)]
            operand = [junk.operand[n] for n in range(config.pes)]
            value = [junk.value[n] for n in range(config.pes)]
            for leaf, n in one.elements.items():
                offset[leaf] = int(matrix.columns[n]) - one.base
                operand[leaf] = int(self.vector[matrix.rows[n]])
                value[leaf] = int(matrix.values[n])
            fields |= {"offset": offset, "operand": operand, "value": value}
            word = layout.const(fields).as_bits()
            found = self.results[one.base : one.base + one.columns].tolist()
            yield (word, self.number, False), ((one.base, tuple(found)) if found else None)

    def _junk(self) -> int:
        """Draws any word."""
        return int.from_bytes(self._rng.bytes(terms_layout(self.config).size // 8), "little")


def first_sums(
    config: SidaConfig,
    row: Semiring,
    matrix: Columns,
    vector: Patterns,
    present: npt.NDArray[np.bool_],
) -> Patterns:
    """Returns the sums of the present elements, in the model's order."""
    fmt = config.format
    terms = product(row, vector[matrix.rows[present]], matrix.values[present], fmt, fmt)
    columns, sums = tree_sums(
        np.flatnonzero(present),
        matrix.columns[present],
        terms,
        partial(combine, row, fmt=fmt),
        leaves=config.pes,
        partials=config.partials,
    )
    identity = row.identity_in(fmt)
    assert identity is not None
    found = np.full(matrix.size, identity, np.uint64)
    found[columns] = sums
    return found


def run(config: SidaConfig, cycles: list[Cycle]) -> dict[int, Result]:
    """Returns the results of the part, by cycle."""
    part = ColumnSums(config)
    layout = sums_layout(config)
    found: dict[int, Result] = {}

    async def bench(sim: Any) -> None:
        shown = None
        for number in range(len(cycles) + config.sums_latency + 1):
            word, semiring, clear = cycles[number] if number < len(cycles) else (0, shown, False)
            sim.set(Value.cast(part.i), word)
            sim.set(part.clear, clear)
            if semiring != shown:
                sim.set(part.semiring, semiring)
                shown = semiring
            if sim.get(part.o.valid):
                results = layout.from_bits(sim.get(Value.cast(part.o))).results
                columns = int(results.columns)
                values = tuple(int(results.values[n]) for n in range(columns))
                found[number] = (int(results.base), values)
            await sim.tick()

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def expected_of(
    config: SidaConfig, rng: np.random.Generator, kinds: list[str]
) -> tuple[list[Cycle], dict[int, Result]]:
    """Returns passes one after the other, and their expected results. A pass of another semiring
    begins when the one before has left, or where a clear interrupts that."""
    latency = config.sums_latency
    cycles: list[Cycle] = []
    expected: dict[int, Result] = {}
    for kind in kinds:
        one = Pass(rng, config, kind)
        if cycles and cycles[-1][1] != one.number and not cycles[-1][2]:
            cycles += [(0, cycles[-1][1], False)] * latency
        mine = list(one.cycles())
        stop = int(rng.integers(len(mine))) if rng.random() < 0.4 else len(mine)
        for inside, result in mine[:stop]:
            if result is not None:
                expected[len(cycles) + latency] = result
            cycles.append(inside)
        if stop < len(mine):
            # The clear also drops the input of that cycle, but not its outputs.
            (word, number, _), _ = mine[stop]
            now = len(cycles)
            expected = {cycle: result for cycle, result in expected.items() if cycle <= now}
            cycles.append((word, number, True))
    return cycles, expected


@pytest.mark.parametrize("name", slow_but(["int32 1"], CONFIGS, ["fp32"]))
def test_every_bit_in_its_cycle(name: str) -> None:
    """All kinds of matrices, either product, several semirings; sets in parts, gaps, or neither;
    some passes are forgotten in the middle."""
    config = CONFIGS[name]
    rng = np.random.default_rng(4)
    kinds = list(KINDS) * by_size(1, 1, 4)
    rng.shuffle(kinds)
    cycles, expected = expected_of(config, rng, kinds)
    found = run(config, cycles)
    assert found == expected
    assert len(expected) > len(kinds)


def test_a_column_may_begin_and_another_end_in_every_cycle() -> None:
    """A set a cycle in, a column a cycle out, each across two sets."""
    config = replace(SMALL, subtensor=64)
    rng = np.random.default_rng(5)
    one = Pass(rng, config, "pairs", cut=0.0, gap=0.0)
    found = run(config, [inside for inside, _ in one.cycles()])
    assert one.matrix.size > 2 * config.pes
    columns = [(n, (value,)) for n, value in enumerate(one.results.tolist())]
    assert found == {config.sums_latency + n: result for n, result in enumerate(columns)}


def test_the_bench_expects_what_the_model_computes() -> None:
    """The sums of all elements are the first product. Those of ready elements are the second
    product if there are no others."""
    rng = np.random.default_rng(6)
    rules = Rules(fmt=SMALL.format, leaves=4, partials=4, subtensor=8)
    row = SMALL.operators[0]
    matrix = drawn_columns(rng, "dense", 40, SMALL)
    vector = drawn_values(rng, 40, SMALL.format)
    everything = np.ones(len(matrix.rows), bool)
    found = first_sums(SMALL, row, matrix, vector, everything)
    assert found.tolist() == output_stationary(rules, row, matrix, vector).tolist()
    ready = matrix.rows // 8 + 2 <= matrix.columns // 8
    pointers = np.concatenate([[0], np.cumsum(np.bincount(matrix.columns[ready], minlength=40))])
    upper = Columns(pointers=pointers, rows=matrix.rows[ready], values=matrix.values[ready])
    every = np.ones(len(upper.rows), bool)
    found = first_sums(SMALL, row, upper, vector, every)
    assert found.tolist() == input_stationary(rules, row, upper, vector).tolist()


def test_a_tree_has_a_power_of_two_of_leaves() -> None:
    rows = SMALL.operators
    for leaves in (1, 6):
        said = refusal(lambda: SegmentTree(rows, SMALL.format, leaves=leaves, stages=1))  # noqa: B023
        assert said == f"`leaves` must be a power of two from 2 on, not {leaves}"
