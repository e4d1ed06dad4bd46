"""Sequences of jobs on the model of the device, against the golden model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.device.placement import NoRoom
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.images import spilled_bytes
from tilewright.sim.sida.iterations.conjugate import conjugate_gradients
from tilewright.sim.sida.iterations.graphs import undirected
from tilewright.sim.sida.iterations.jobs import Job, Machine, ModelMachine, Setup
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import SequenceDriver, sum_of
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.sida.configs import WINDOWED, small
from tilewright.verif.sida.iterations.random_graphs import random_graph
from tilewright.verif.sida.sequences import EVERY_JOB, drawn_setup

SMALL = small()
MEMORY_BYTES = 1 << 17


def setup(seed: int, size: int) -> Setup:
    """Two matrices, and drawn vectors."""
    return drawn_setup(seed, size, SMALL.format)


def test_jobs() -> None:
    """Compares all of memory after products of either matrix, once or twice, and after sweeps over
    vectors. Each job uses vectors and scalars of the one before."""
    for seed in range(by_size(2, 3, 40)):
        made = setup(seed, 11 + 9 * (seed % 5))
        model, driver = (
            ModelMachine(Rules.of(SMALL), made),
            SequenceDriver(SidaModel(SMALL, MEMORY_BYTES), made),
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
    rules = Rules.of(SMALL)
    model, driver = (
        ModelMachine(rules, made),
        SequenceDriver(SidaModel(SMALL, MEMORY_BYTES), made),
    )
    matrix = made.matrices["right"]
    dense = np.zeros((30, 30))
    dense[matrix.rows, matrix.columns] = decode(matrix.values, SMALL.format)
    first = {name: decode(values[:, 0], SMALL.format) for name, values in made.vectors.items()}
    machines: list[Machine] = [model, driver]
    for machine in machines:
        machine.give({"s": -2.0, "second": 0.75})
        job = Job(program="one", x="a", matrix="right", second=False,
                  stored={"a": "c", "b": "a"})  # fmt: skip
        machine.run(job)
        assert machine.scalars() == {"s": -2.0, "first": 0.0, "second": 0.75}
        expected = -2 * (0.75 * (first["a"] @ dense) + first["a"])
        found = decode(machine.vector("c")[:, 0], SMALL.format)
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
    config = replace(SMALL, value=value)
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

        driver = SequenceDriver(SidaModel(config, MEMORY_BYTES), method.setup)
        found = solved(driver)
        assert found == solved(ModelMachine(rules, method.setup))
        assert found[0].settled
        assert len(driver.jobs) == 2 * found[0].iterations


def test_nothing_is_written_outside_of_the_arrays() -> None:
    device = SidaModel(SMALL, MEMORY_BYTES)
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


def test_refusals() -> None:
    made = setup(1, 20)
    with pytest.raises(NoRoom):
        SequenceDriver(SidaModel(SMALL, 1 << 10), made)
    config = replace(SMALL, semirings=("minplus",))
    said = refusal(lambda: SequenceDriver(SidaModel(config, MEMORY_BYTES), made))
    assert said == "`semiring` must be one of minplus, which are built, not mma"
    large = setup(1, SMALL.vector_words + 1)
    said = refusal(lambda: SequenceDriver(SidaModel(SMALL, MEMORY_BYTES), large))
    assert said.startswith("the matrix must have between 1 and ")
