"""The driver: on the model of the device every problem's solution is that of ``solve``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import eye_array
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.elementwise.program import words_of
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.device.placement import NoRoom
from tilewright.sim.device.protocol import JobError
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.driver import SidaDriver
from tilewright.sim.sida.images import ROWS, job_images, program_words
from tilewright.sim.sida.iterations.graphs import (
    coreness,
    pagerank,
    reach,
    shortest_paths,
    undirected,
)
from tilewright.sim.sida.iterations.linear import labels, pipelined_gradients
from tilewright.sim.sida.iterations.problem import Problem, Solution, solve
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.sida.held.matrices import drawn
from tilewright.verif.sida.iterations.random_graphs import random_graph

SMALL = SidaConfig(pes=4, subtensor=4, vector_words=64)
MEMORY_BYTES = 1 << 16
PROBLEMS: dict[str, Any] = {
    "pagerank": pagerank,
    "reach": lambda rules, graph: reach(rules, graph, [0]),
    "paths": lambda rules, graph: shortest_paths(rules, graph, 0),
    "core": lambda rules, graph: coreness(rules, undirected(graph)),
    "labels": lambda rules, graph: labels(rules, undirected(graph), [0, 1], tolerance=1e-4),
    "conjugate": lambda rules, graph: pipelined_gradients(
        rules, undirected(graph) + 9 * eye_array(graph.shape[0]), np.ones(graph.shape[0]),
        tolerance=1e-4,
    ),
}  # fmt: skip


def same(found: Solution, expected: Solution) -> None:
    for name in ("iterations", "passes", "wasted", "settled", "scalars"):
        assert getattr(found, name) == getattr(expected, name), name
    assert (found.result == expected.result).all()
    assert found.vectors.keys() == expected.vectors.keys()
    for name, values in expected.vectors.items():
        assert (found.vectors[name] == values).all(), name


@pytest.mark.parametrize("value", ["fp32", "fp64"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions(name: str, value: str) -> None:
    """The driver solves to the end and to a limit, in one job and in jobs of a pass or two."""
    config = replace(SMALL, value=value)
    rules = Rules.of(config)
    ends = set()
    for seed in range(by_size(3, 3, 40)):
        problem = PROBLEMS[name](rules, random_graph(seed, size=5 + 9 * (seed % 6), density=0.1))
        for most, passes in ((500, None), (3, None), (4, 1), (500, 1), (7, 2)):
            if passes and name == "conjugate":
                continue  # its operand is in no vector that has the result
            expected = solve(rules, problem, most)
            driver = SidaDriver(SidaModel(config, MEMORY_BYTES))
            same(driver.solve(problem, most, passes_a_job=passes), expected)
            elements = expected.passes * len(problem.matrix.rows)
            assert sum(job["elements"] for job in driver.jobs) == elements
            if passes:
                assert len(driver.jobs) == -(-expected.passes // passes)
            ends.add((expected.settled, expected.wasted))
    assert {settled for settled, _ in ends} == {True, False}
    assert {wasted for _, wasted in ends} == {0, 1}


def test_without_a_stop() -> None:
    rules = Rules.of(SMALL)
    problem = replace(reach(rules, random_graph(3), [0]), stop=None)
    for most in range(1, 6):
        expected = solve(rules, problem, most)
        same(SidaDriver(SidaModel(SMALL, MEMORY_BYTES)).solve(problem, most), expected)


def test_memory() -> None:
    """Plain Python reads back both arrangements of the matrix and everything else."""
    rng = np.random.default_rng(5)
    for shape in ("sparse", "gaps", "empty", "dense", "power"):
        matrix = drawn(rng, SMALL, 23, shape)
        problem = PROBLEMS["core"](Rules.of(SMALL), random_graph(1))
        program = problem.program
        words, entry = program_words(program)
        x = encode(rng.normal(size=23), SMALL.format)
        images = job_images(matrix, x, [7, 8], words, {3: x[::-1]}, SMALL.format)
        numbers = {
            name: [int.from_bytes(content[n : n + 4], "little") for n in range(0, len(content), 4)]
            for name, content in images.items()
        }
        elements = {
            arrangement: {
                (k, inner): value
                for k in range(23)
                for inner, value in list(zip(numbers[others], numbers[values], strict=True))[
                    numbers[ends][k] : numbers[ends][k + 1]
                ]
            }
            for arrangement, ends, others, values in (
                ("columns", "column_pointers", "row_numbers", "column_values"),
                ("rows", "row_pointers", "column_numbers", "row_values"),
            )
        }
        assert {(i, j): v for (j, i), v in elements["columns"].items()} == elements["rows"]
        assert len(elements["rows"]) == len(matrix.rows)
        expected = zip(matrix.columns.tolist(), matrix.rows.tolist(), strict=True)
        assert list(elements["columns"]) == list(expected)
        assert list(elements["rows"]) == sorted(elements["rows"])
        assert list(elements["columns"].values()) == matrix.values.tolist()
        late = job_images(matrix, x, [7, 8], words, {3: x[::-1]}, SMALL.format, SMALL.subtensor)
        assert late.keys() == images.keys()
        assert late["row_pointers"] == _words(_late_ends(elements["rows"], 23))
        kept = {place: value for place, value in elements["rows"].items() if _is_late(*place)}
        assert late["column_numbers"] == _words([j for _, j in kept])
        assert late["row_values"] == _words(list(kept.values()))
        assert numbers["x"] == x.tolist()
        assert numbers["vector_3"] == x[::-1].tolist()
        assert numbers["scalars"] == [7, 8] + 30 * [0]
        assert numbers["program_base"][:entry] == words_of(program.e1)
        assert numbers["program_base"][entry:] == words_of(program.e2)
    assert program_words(program, second=False) == (words_of(program.e1), 0)


def _is_late(row: int, column: int) -> bool:
    """Returns whether a column is before the end of the step after the row's own; a step has
    four."""
    return column < 4 * (row // 4 + 2)


def _late_ends(elements: dict[tuple[int, int], int], size: int) -> list[int]:
    return [sum(_is_late(i, j) for i, j in elements if i < row) for row in range(size + 1)]


def _words(numbers: list[int]) -> bytes:
    return b"".join(one.to_bytes(4, "little") for one in numbers)


def test_either_rows() -> None:
    """Solutions are the same; late elements take less memory."""
    config = SMALL
    problem = PROBLEMS["core"](Rules.of(config), random_graph(1))
    solutions, written = [], []
    for rows in ROWS:
        device = SidaModel(config, MEMORY_BYTES)
        device.memory[:] = 0xA5
        solutions.append(SidaDriver(device, rows=rows).solve(problem, 10))
        written.append(int((device.memory != 0xA5).sum()))
    same(*solutions)
    assert written[0] < written[1]


def test_nothing_is_written_outside_of_the_arrays() -> None:
    """Memory before ``first_address``, and outside the driver's own arrays, does not change."""
    problem = PROBLEMS["pagerank"](Rules.of(SMALL), random_graph(2))
    device = SidaModel(SMALL, MEMORY_BYTES)
    device.memory[:] = 0xA5
    SidaDriver(device, 1 << 15).solve(problem, 10)
    assert (device.memory[: 1 << 15] == 0xA5).all()
    assert (device.memory[1 << 15 :] != 0xA5).any()


def test_refusals() -> None:
    rules = Rules.of(SMALL)
    problem: Problem = PROBLEMS["pagerank"](rules, random_graph(1))

    def said(changed: Problem = problem, config: SidaConfig = SMALL, **options: Any) -> str:
        driver = SidaDriver(SidaModel(config, MEMORY_BYTES))
        return refusal(lambda: driver.solve(changed, **{"most": 5, **options}))

    assert said(most=0) == "`most` must be at least 1, not 0"
    assert said(passes_a_job=0) == "`passes_a_job` must be at least 1, not 0"
    device = SidaModel(SMALL, MEMORY_BYTES)
    assert refusal(lambda: SidaDriver(device, rows="all")) == (
        "`rows` must be one of late, whole, not all"
    )
    large: Problem = PROBLEMS["pagerank"](rules, random_graph(1, size=65))
    assert said(large) == (
        "the matrix must have between 1 and 64 rows with `vector_words` 64, not 65"
    )
    assert said(config=replace(SMALL, semirings=("orand", "minplus"))) == (
        "`semiring` must be one of minplus, orand, which are built, not mma"
    )
    assert said(config=replace(SMALL, program_words=8)) == (
        f"`program_words` must be a power of two of at least {problem.program.words}, the words "
        "of the program, not 8"
    )
    full = replace(problem.program, scalars=problem.program.scalars * 8)
    full = replace(full, scalars=full.scalars[:SCALARS])
    assert said(replace(problem, program=full)) == (
        "the program must have less than 32 scalars and numbers, since the limit is one more"
    )
    assert said(replace(problem, x=problem.x[:-1])) == "`x` must have 60 elements, not 59"
    with pytest.raises(NoRoom, match=r"^\d+ bytes of memory are needed for the problem; 2048 are"):
        SidaDriver(SidaModel(SMALL, 2048)).solve(problem, 5)
    other = MatRaptorModel(MatRaptorConfig())
    wrong: Any = type("Other", (), {"config": SMALL, "memory_bytes": 4096})
    wrong.read_register = other.read_register
    assert refusal(lambda: SidaDriver(wrong)).startswith("the device's ID must be 0x44535754, not")


def test_errors_of_the_device() -> None:
    """The driver reports an error by its name and its place."""

    class Wrong(SidaModel):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            return "index", 7, {}

    problem = PROBLEMS["reach"](Rules.of(SMALL), random_graph(1))
    with pytest.raises(JobError, match=r"^the accelerator stopped with error index \(column 7\)$"):
        SidaDriver(Wrong(SMALL, MEMORY_BYTES)).solve(problem, 5)
