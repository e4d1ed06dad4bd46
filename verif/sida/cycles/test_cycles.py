"""The cycle model of SIDA against the RTL: every counter is equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.sida import SIDA, SidaConfig
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sida.cycles.device import SidaCycles
from tilewright.sim.sida.images import ROWS
from tilewright.sim.timing.dram import FLAT
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.configs import CONFIGS, small
from tilewright.verif.sida.jobs import JOB_SHAPES, Placed, place, random_case, random_job

SidaDevice = NativeAccelerator[SidaConfig]


class _Noting(QuietAtEnd[SidaConfig]):
    """Notes the cycle of the interrupt."""

    def __init__(self, device: SidaDevice) -> None:
        super().__init__(device)
        self._clock, self.end = device, 0

    def wait(self) -> None:
        super().wait()
        # The device does not count the first cycle without reset.
        self.end = self._clock.cycles + 1


def compare_counts(device: SidaDevice, job: Placed, latency: int) -> dict[str, int]:
    """Compares the counters of a job on a flat memory, and the memory after it; both must be
    equal."""
    found, model = compare_status(device, job, latency)
    assert found.error == "none"
    content = device.read_memory(0, device.memory_bytes)
    assert content == model.read_memory(0, device.memory_bytes)
    (times,) = model.cycles
    assert sum(times.memory_read) == found.counts["bytes_read"]
    return found.counts


def compare_status(device: SidaDevice, job: Placed, latency: int) -> tuple[JobStatus, SidaCycles]:
    """Compares the status of a job on a flat memory, and its counters if it ends without error.
    Returns the status and the model's device."""
    spec = job_spec(device.config)
    device.reset()
    device.behave(AxiBehaviour(latency=(latency, latency)))
    noting = _Noting(device)
    noting.write_memory(0, job.memory.tobytes())
    status = JobRegisters(noting, spec).submit(job.registers)
    model = SidaCycles(
        device.config,
        device.memory_bytes,
        memory=replace(FLAT, latency=latency),
        phase=noting.end - status.counts["cycles"],
    )
    model.write_memory(0, job.memory.tobytes())
    found = JobRegisters(model, spec).submit(job.registers)
    assert (found.error, found.detail) == (status.error, status.detail), job.registers
    assert found.error != "none" or found.counts == status.counts, job.registers
    return status, model


def any_latency(rng: np.random.Generator) -> int:
    """Draws the latency of a flat memory."""
    return int(rng.choice([1, 3, 20, 60]))


pytestmark = pytest.mark.slow

MEMORY_BYTES = 1 << 18

_LATE_ROWS_SIZE = 100

OTHERS: dict[str, dict[str, Any]] = {
    # Walks over panels and chunks that end within the job.
    "many chunks": {"buffer_words": 16384, "subtensor": 4, "vector_words": 2048,
                    "semirings": ("minplus",)},
    "narrow window": {"pes": 8, "subtensor": 64, "window": 2, "adder_stages": 2, "value": "fp16",
                      "multiplier_stages": 1, "semirings": ("minplus",), "vector_words": 256},
    "wide window": {"pes": 8, "subtensor": 8, "window": 64, "adder_stages": 2, "value": "int32",
                    "buffer_words": 64, "semirings": ("mma",), "channels": 3},
    "one panel": {"subtensor": 128, "buffer_words": 64, "window": 8, "channels": 1,
                  "outstanding": 2, "value": "fp16", "semirings": ("orand",)},
}  # fmt: skip
ALL = CONFIGS | OTHERS


@pytest.fixture(scope="module", params=slow_but([], ALL, ["tiny"]))
def device(request: pytest.FixtureRequest) -> Iterator[SidaDevice]:
    config = small(**ALL[request.param])
    with NativeAccelerator(
        emit(SIDA, config), config, memory_bytes=MEMORY_BYTES, time_out=1_000_000
    ) as device:
        yield device


def test_jobs_of_one_product(device: SidaDevice) -> None:
    """Jobs have any program, any matrix and some passes."""
    rng = np.random.default_rng(1)
    built = device.config.operators
    for number in range(by_size(0, 20, 300)):
        shape = JOB_SHAPES[number % len(JOB_SHAPES)]
        semirings = (built[number % len(built)], None)
        job = random_job(rng, device.config, MEMORY_BYTES, shape=shape, semirings=semirings)
        assert compare_counts(device, job, any_latency(rng))["cycles"]


def test_jobs_of_two_products(device: SidaDevice) -> None:
    """The same; both of any semirings."""
    rng = np.random.default_rng(2)
    built = device.config.operators
    for number in range(by_size(0, 20, 300)):
        shape = JOB_SHAPES[number % len(JOB_SHAPES)]
        semirings = (built[number % len(built)], built[int(rng.integers(len(built)))])
        job = random_job(rng, device.config, MEMORY_BYTES, shape=shape, semirings=semirings)
        assert compare_counts(device, job, any_latency(rng))["cycles"]


def test_what_moves_with_columns() -> None:
    """One product without vectors moves only lines of the matrix. Otherwise the bytes fit into the
    cycles of the columns."""
    rng = np.random.default_rng(5)
    config = small()
    program = assemble("vector x\nreduce found max\ne1:\n    reduce found, y\n    out y\n")
    for number in range(by_size(4, 10, 60)):
        semirings = (config.operators[0], None if number % 2 else config.operators[-1])
        case = random_case(rng, config, semirings=semirings, length=4)
        if number % 2:
            case = replace(case, program=program, vectors={}, stops=None)
        job = place(rng, config, case, MEMORY_BYTES)
        device = SidaCycles(config, MEMORY_BYTES)
        device.write_memory(0, job.memory.tobytes())
        counts = JobRegisters(device, job_spec(config)).submit(job.registers).counts
        (times,) = device.cycles
        columns = sum(counts[f"bytes_{name}"] for name in ("pointers", "rows", "values"))
        width = config.channels * config.geometry.beat_bytes
        assert columns <= times.moved_with_columns <= width * counts["column_cycles"]
        if number % 2:
            ends = 6 * config.line_bytes * counts["passes_done"]
            assert times.moved_with_columns < columns + ends


def test_late_rows_alone(device: SidaDevice) -> None:
    """A pass uses only the late elements by rows. In each pair of jobs the second one has only
    these, reads fewer bytes and leaves the same results."""
    rng = np.random.default_rng(4)
    built = device.config.operators
    saved = 0
    for number in range(by_size(0, 6, 60)):
        before: list[bytes] = []
        semirings = (built[number % len(built)], built[-1 - number % len(built)])
        shape = ("upper", "half", "hubs")[number % 3]
        case = random_case(rng, device.config, size=_LATE_ROWS_SIZE, shape=shape,
                           semirings=semirings, transposed=False, length=4)  # fmt: skip
        latency, seed = any_latency(rng), int(rng.integers(1 << 30))
        again = []
        for rows in reversed(ROWS):
            job = place(np.random.default_rng(seed), device.config, replace(case, rows=rows),
                        MEMORY_BYTES)  # fmt: skip
            again.append(compare_counts(device, job, latency)["bytes_again"])
            written = [device.read_memory(*job.spans[name]) for name in job.stored]
            assert not before or written == before
            before = written
        saved += again[1] < again[0]
    if device.config.subtensor >= _LATE_ROWS_SIZE:
        # Elements of the only panel are there for rows, too.
        assert saved == 0
    elif device.config.buffer_words <= 128:
        assert saved > 0


def test_rows_that_disagree(device: SidaDevice) -> None:
    """A value or a column differs by rows. Device and model report the same error in the same
    panel, or none where they do not read it."""
    rng = np.random.default_rng(6)
    config = device.config
    built, size = config.operators, config.format.bits // 8
    seen = set()
    for number in range(by_size(0, 8, 100)):
        semirings = (built[number % len(built)], built[-1 - number % len(built)])
        case = random_case(rng, config, size=100, shape=("power", "half", "hubs")[number % 3],
                           semirings=semirings, transposed=False, length=4)  # fmt: skip
        job = place(rng, config, case, MEMORY_BYTES)
        columns = [
            job.word("column_numbers", at) for at in range(job.spans["column_numbers"][1] // 4)
        ]
        if number % 2:
            at = int(rng.integers(len(columns)))
            job = job.with_word("row_values", at, job.word("row_values", at, size) ^ 1, size)
        else:
            # The column behind it, which is in no row.
            follow = np.diff([*columns, 0])
            at = int(rng.choice(np.flatnonzero((follow < 0) | (follow > 1))[:-1]))
            job = job.with_word("column_numbers", at, min(99, columns[at] + 1))
        status, _ = compare_status(device, job, any_latency(rng))
        seen.add(status.error)
    assert seen <= {"none", "disagree"}
    if config.buffer_words <= 128 and by_size(0, 1, 1):
        assert "disagree" in seen


def test_rows_that_are_not_read_again(device: SidaDevice) -> None:
    """Rows that are not refetched may have any content."""
    rng = np.random.default_rng(3)
    built = device.config.operators
    semirings = (built[0], built[-1])
    job = random_job(rng, device.config, MEMORY_BYTES, size=12, shape="power", semirings=semirings)
    for number in range(13):
        job = job.with_word("row_pointers", number, int(rng.integers(1 << 32)))
    assert compare_counts(device, job, 3)["bytes_again"] == 0
