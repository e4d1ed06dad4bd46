"""SIDA's vectors in memory: random jobs, errors when these vectors are read and written, resets,
and stores to the place of x."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.sida import SIDA, SidaConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sida.iterations.jobs import ModelMachine
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import SequenceDriver
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but
from tilewright.verif.sida.configs import WINDOWED, small
from tilewright.verif.sida.iterations.solving import EVERY_JOB, drawn_setup
from tilewright.verif.sida.jobs import Placed, check_job, random_job
from tilewright.verif.sida.wrong_jobs import check_bus_error, check_reset

pytestmark = pytest.mark.long

Device = NativeAccelerator[SidaConfig]
KEPT = ("x_spill", "z_spill", "w_spill")

SIZE = 90
"""Rows of matrices that are too large, but where all is on chip."""


@pytest.fixture(scope="module", params=slow_but([], WINDOWED, ["windowed"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = small(**WINDOWED[request.param])
    with NativeAccelerator(
        emit(SIDA, config), config, memory_bytes=1 << 19, time_out=4_000_000
    ) as device:
        yield device


def large_job(device: Device, rng: np.random.Generator, *, passes: int | None = None,
              transposed: bool = False) -> Placed:  # fmt: skip
    """Draws two products with a matrix whose rows all have elements, more than the chip has space
    for."""
    pair = (device.config.operators[0], device.config.operators[-1])
    return random_job(rng, device.config, device.memory_bytes, size=SIZE, shape="half",
                      semirings=pair, passes=passes, transposed=transposed)  # fmt: skip


def test_random_jobs_and_resets(device: Device) -> None:
    """The memory behaves in any way; ``test_native.py`` runs more jobs."""
    rng = rng_of(5)
    stopped = 0
    for number in range(by_size(6, 8, 200)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        check_job(device, random_job(rng, device.config, device.memory_bytes, passes=1))
        placed = large_job(device, rng, passes=2, transposed=number % 3 == 0)
        stopped += check_reset(device, placed, int(rng.integers(3000)))
    assert stopped > 0


def test_what_is_missing_is_read_again(device: Device) -> None:
    """x and w at least once; where there is no room for all of it many times."""
    rng = rng_of(1)
    device.behave(AxiBehaviour())
    counts = check_job(device, large_job(device, rng, passes=1)).counts
    vector = SIZE * device.config.format.bits // 8
    assert counts["bytes_windows_read"] >= 2 * vector
    assert counts["bytes_windows_written"] >= 4 * vector
    if device.config.vector_words < SIZE:
        assert counts["bytes_windows_read"] >= 10 * vector


@pytest.mark.parametrize("array", KEPT)
def test_reads_that_fail_end_the_job(device: Device, array: str) -> None:
    rng = rng_of(2)
    beat = device.config.geometry.beat_bytes
    for number in range(by_size(1, 2, 40)):
        placed = large_job(device, rng, passes=1)
        bad = place_of(rng, device.config, placed, array, read=True) // beat * beat
        where = np.zeros(device.memory_bytes, np.bool_)
        where[bad : bad + beat] = True
        device.behave(any_behaviour(rng, read_errors={bad: 2}) if number else
                      AxiBehaviour(read_errors={bad: 2}))  # fmt: skip
        check_bus_error(device, placed, "bus_read", where)
        device.behave(any_behaviour(rng))
        assert check_job(device, placed).error == "none"


@pytest.mark.parametrize("array", KEPT)
def test_writes_that_fail_end_the_job(device: Device, array: str) -> None:
    rng = rng_of(3)
    step, beat = device.config.geometry.interleave, device.config.geometry.beat_bytes
    for number in range(by_size(1, 2, 40)):
        placed = large_job(device, rng, passes=1, transposed=bool(number % 2))
        bad = place_of(rng, device.config, placed, array) // step * step
        where = np.zeros(device.memory_bytes, np.bool_)
        where[bad : bad + step] = True
        responses = dict.fromkeys(range(bad, bad + step, beat), 2)
        device.behave(any_behaviour(rng, write_errors=responses))
        check_bus_error(device, placed, "bus_write", where)
        device.behave(any_behaviour(rng))
        assert check_job(device, placed).error == "none"


def place_of(rng: np.random.Generator, config: SidaConfig, placed: Placed, array: str, *,
             read: bool = False) -> int:  # fmt: skip
    """Draws a byte of an element of one of the vectors. Each row of w has its own piece; the last
    steps of z are not read."""
    first, size = placed.spans[array]
    if array == "z_spill" and read:
        size = config.subtensor * config.format.bits // 8
    if array != "w_spill":
        return first + int(rng.integers(size))
    row = int(rng.integers(size // config.piece_bytes))
    return first + row * config.piece_bytes + config.piece_bytes - 1


def test_operands_that_the_program_overwrites(device: Device) -> None:
    """Each vector in turn is at the place of x: the operand of the first pass is the content before
    the job."""
    rng = rng_of(4)
    overwritten = 0
    for number in range(by_size(2, 3, 100)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        placed = large_job(device, rng, passes=2)
        if placed.stored:
            overwritten += 1
            register = placed.stored[number % len(placed.stored)].upper()
            check_job(device, placed.with_registers(X=placed.registers[register]))
    assert overwritten > 0


def test_sequences_of_jobs(device: Device) -> None:
    """Each job uses vectors and scalars of the one before, and nothing that is still on chip from
    it."""
    rng = rng_of(6)
    for number in range(by_size(1, 2, 60)):
        device.behave(any_behaviour(rng) if number else AxiBehaviour())
        device.write_memory(0, rng.bytes(device.memory_bytes))
        made = drawn_setup(int(rng.integers(1 << 30)), SIZE + number % 9, device.config.format, 0.1)
        model, driver = ModelMachine(Rules.of(device.config), made), SequenceDriver(device, made)
        seen = set()
        for job in EVERY_JOB:
            model.run(job)
            driver.run(job)
            for name in made.vectors:
                assert (driver.vector(name) == model.vector(name)).all(), (job, name)
            assert driver.scalars() == model.scalars()
            seen.add(driver.vector("a").tobytes() + driver.vector("b").tobytes())
        assert len(seen) > 1
