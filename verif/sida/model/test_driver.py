"""The driver: on the model of the device every problem's solution is that of ``solve``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.elementwise.program import words_of
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.device.driver import JobRegisters, NoRoom
from tilewright.sim.device.protocol import JobError
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sida.driver import SidaDriver
from tilewright.sim.sida.images import ROWS, job_images, program_words, spilled_bytes
from tilewright.sim.sida.iterations.conjugate import conjugate_gradients
from tilewright.sim.sida.iterations.graphs import (
    coreness,
    pagerank,
    reach,
    shortest_paths,
    undirected,
)
from tilewright.sim.sida.iterations.jobs import Job, Machine, ModelMachine, Setup
from tilewright.sim.sida.iterations.linear import labels, pipelined_gradients
from tilewright.sim.sida.iterations.problem import Problem, Solution, solve
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import SequenceDriver, sum_of
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.sida.configs import WINDOWED, small
from tilewright.verif.sida.held.matrices import drawn
from tilewright.verif.sida.iterations.solving import EVERY_JOB, drawn_setup, random_graph

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


# Sequences of jobs on the model of the device, against the golden model.

SMALL_SEQUENCE = small()
MEMORY_BYTES_SEQUENCE = 1 << 17


def setup(seed: int, size: int) -> Setup:
    """Two matrices, and drawn vectors."""
    return drawn_setup(seed, size, SMALL_SEQUENCE.format)


def test_jobs() -> None:
    """Compares all of memory after products of either matrix, once or twice, and after sweeps over
    vectors. Each job uses vectors and scalars of the one before."""
    for seed in range(by_size(2, 3, 40)):
        made = setup(seed, 11 + 9 * (seed % 5))
        model, driver = (
            ModelMachine(Rules.of(SMALL_SEQUENCE), made),
            SequenceDriver(SidaModel(SMALL_SEQUENCE, MEMORY_BYTES_SEQUENCE), made),
        )
        seen = []
        for job in EVERY_JOB:
            model.run(job)
            driver.run(job)
            assert driver.scalars() == model.scalars()
            for name in made.vectors:
                assert (driver.vector(name) == model.vector(name)).all()
            assert (driver.state()["vector a"] == model.vector("a")).all()
            seen.append((driver.vector("a").tobytes(), driver.vector("b").tobytes()))
        assert len(set(seen)) > 3
        assert [job for job, _ in driver.jobs] == list(EVERY_JOB)
        elements = [len(made.matrices[job.matrix].rows) if job.matrix else 0 for job in EVERY_JOB]
        assert [counts["elements"] for _, counts in driver.jobs] == elements
        whole = sum_of([counts for _, counts in driver.jobs])
        assert whole["elements"] == sum(elements)
        assert whole["passes_done"] == len(EVERY_JOB)


def test_vectors_and_scalars_from_job_to_job() -> None:
    """A program's names stand for other vectors, and scalars get other values; by hand, too."""
    made = setup(3, 30)
    rules = Rules.of(SMALL_SEQUENCE)
    model, driver = (
        ModelMachine(rules, made),
        SequenceDriver(SidaModel(SMALL_SEQUENCE, MEMORY_BYTES_SEQUENCE), made),
    )
    matrix = made.matrices["right"]
    dense = np.zeros((30, 30))
    dense[matrix.rows, matrix.columns] = decode(matrix.values, SMALL_SEQUENCE.format)
    first = {
        name: decode(values[:, 0], SMALL_SEQUENCE.format) for name, values in made.vectors.items()
    }
    machines: list[Machine] = [model, driver]
    for machine in machines:
        machine.give({"s": -2.0, "second": 0.75})
        job = Job(program="one", x="a", matrix="right", second=False,
                  stored={"a": "c", "b": "a"})  # fmt: skip
        machine.run(job)
        assert machine.scalars() == {"s": -2.0, "first": 0.0, "second": 0.75}
        expected = -2 * (0.75 * (first["a"] @ dense) + first["a"])
        found = decode(machine.vector("c")[:, 0], SMALL_SEQUENCE.format)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        for name in ("a", "b"):
            assert (machine.vector(name) == made.vectors[name]).all()
        machine.run(Job(program="both", x="c", matrix="left", stored={"a": "b", "b": "a"}))
        assert (machine.vector("b") == made.vectors["b"]).all()
        assert (machine.vector("a") != made.vectors["a"]).any()
        for stored, said in (
            ({"a": "b"}, "`stored` must have each vector once, not b again"),
            ({"d": "a"}, "`stored` must be of vectors of both, not d"),
        ):
            wrong = Job(program="both", x="a", stored=stored)
            assert refusal(lambda wrong=wrong, to=machine: to.run(wrong)) == said  # type: ignore[misc]
        assert refusal(lambda to=machine: to.give({"t": 1.0})) == (  # type: ignore[misc]
            "`values` must be of s, first, second, not t"
        )
    for name in ("a", "b", "c"):
        assert (driver.vector(name) == model.vector(name)).all()
    assert (driver.state()["scalars"][:3, 0] != 0).all()
    assert driver.scalars() == model.scalars()


def test_counters_in_all() -> None:
    counts = [{"cycles": 3, "held": 5, "ended": 0}, {"cycles": 4, "held": 2, "ended": 0}]
    assert sum_of(counts) == {"cycles": 7, "held": 5, "ended": 0}


@pytest.mark.parametrize("value", ["fp32", "fp64"])
def test_conjugate_gradients(value: str) -> None:
    config = replace(SMALL_SEQUENCE, value=value)
    rules = Rules.of(config)
    for seed in range(by_size(1, 3, 20)):
        graph = undirected(random_graph(seed, 30, density=0.1))
        matrix = csr_array(graph + 9 * eye_array(30))
        b = np.random.default_rng(seed).normal(size=30)
        method = conjugate_gradients(rules, matrix, b, tolerance=1e-5)

        def solved(machine: Any, method: Any = method) -> tuple[Any, bytes]:
            ours: Machine = machine
            found = method.solve(ours, 90)
            return found, ours.vector("x").tobytes()

        driver = SequenceDriver(SidaModel(config, MEMORY_BYTES_SEQUENCE), method.setup)
        found = solved(driver)
        assert found == solved(ModelMachine(rules, method.setup))
        assert found[0].settled
        assert len(driver.jobs) == 2 * found[0].iterations


def test_sequence_nothing_is_written_outside_of_the_arrays() -> None:
    device = SidaModel(SMALL_SEQUENCE, MEMORY_BYTES_SEQUENCE)
    device.memory[:] = 0xA5
    driver = SequenceDriver(device, setup(1, 20), 1 << 15)
    driver.run(Job(program="both", x="a", matrix="left"))
    assert (device.memory[: 1 << 15] == 0xA5).all()


def test_vectors_in_memory_have_places_of_their_own() -> None:
    """The result of a job does not depend on what the job before leaves in these places."""
    config, size, first = small(**WINDOWED["windowed"]), 90, 1 << 15
    device, made = SidaModel(config, 1 << 18), setup(1, size)
    registers = JobRegisters(device, job_spec(config))
    model, driver = ModelMachine(Rules.of(config), made), SequenceDriver(device, made, first)
    taken = np.zeros(device.memory_bytes, np.bool_)
    for job in (Job(program="both", x="a", matrix="left"),
                Job(program="one", x="b", matrix="right", second=False)):  # fmt: skip
        model.run(job)
        driver.run(job)
        taken[:] = False
        for name, count in spilled_bytes(config, size).items():
            begin = registers.read(name.upper())
            assert begin >= first
            assert not taken[begin : begin + count].any()
            taken[begin : begin + count] = True
        device.memory[taken] = 0xA5
        for name in made.vectors:
            assert (driver.vector(name) == model.vector(name)).all()
    assert np.count_nonzero(taken) == sum(spilled_bytes(config, size).values()) > 12 * size


def test_sequence_refusals() -> None:
    made = setup(1, 20)
    with pytest.raises(NoRoom):
        SequenceDriver(SidaModel(SMALL_SEQUENCE, 1 << 10), made)
    config = replace(SMALL_SEQUENCE, semirings=("minplus",))
    said = refusal(lambda: SequenceDriver(SidaModel(config, MEMORY_BYTES_SEQUENCE), made))
    assert said == "`semiring` must be one of minplus, which are built, not mma"
    large = setup(1, SMALL_SEQUENCE.vector_words + 1)
    said = refusal(lambda: SequenceDriver(SidaModel(SMALL_SEQUENCE, MEMORY_BYTES_SEQUENCE), large))
    assert said.startswith("the matrix must have between 1 and ")
