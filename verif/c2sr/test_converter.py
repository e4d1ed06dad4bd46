"""The converter between CSR and C2SR, RTL at native speed: byte for byte, on any memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES, job_spec
from tilewright.registry import entries
from tilewright.sim.c2sr_converter.driver import ConverterDriver
from tilewright.sim.c2sr_converter.model import conversion_cycles
from tilewright.sim.device.protocol import JobError
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr, to_csr
from tilewright.sim.timing.memories import FLAT
from tilewright.verif.c2sr.jobs import (
    ConverterCase,
    any_case,
    check,
    load,
    matrix_of,
    place,
    run,
    scattered,
)
from tilewright.verif.kit.far_memory import FarAccelerator
from tilewright.verif.kit.job_checks import (
    QuietAtEnd,
)
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, cases, draw_until, slow_but

MEMORY_BYTES = 1 << 19
CONFIGS: dict[str, dict[str, Any]] = {
    "small": {**entries()["c2sr_converter"].small},
    "two": {"channels": 2, "outstanding": 16},
    "one": {"channels": 1, "data_bits": 64, "outstanding": 4},
    "three": {"channels": 3, "data_bits": 512, "value": "fp64", "outstanding": 16,
              "interleave": 128},
    "eight": {"channels": 8, "data_bits": 512, "value": "fp16", "index_bits": 16,
              "outstanding": 8, "addr_bits": 64},
    "narrow": {"channels": 3, "data_bits": 64, "value": "bf16", "index_bits": 16,
               "interleave": 256, "outstanding": 2},
    "one_wide": {"channels": 1, "data_bits": 256, "value": "int32", "outstanding": 4,
                 "interleave": 2048},
    "entry_is_beat": {"channels": 2, "value": "fp64", "outstanding": 16},
    "two_of_four": {"channels": 4, "lanes": 2, "outstanding": 8},
    "one_of_three": {"channels": 3, "lanes": 1, "outstanding": 16},
    "three_of_six": {"channels": 6, "lanes": 3, "data_bits": 64, "outstanding": 8},
    "four": {"channels": 4, "outstanding": 64},
}  # fmt: skip

Converter = NativeAccelerator[C2srConverterConfig]


@cache
def emitted(name: str) -> Emitted:
    return emit("c2sr_converter", C2srConverterConfig(**CONFIGS[name]))


@pytest.fixture(scope="module", params=slow_but(["small"], CONFIGS, []))
def device(request: pytest.FixtureRequest) -> Iterator[Converter]:
    config = C2srConverterConfig(**CONFIGS[request.param])
    made = emitted(request.param)
    with FarAccelerator(
        made,
        config,
        job_spec(config),
        config.addr_bits,
        memory_bytes=MEMORY_BYTES,
        inverted=True,
        time_out=300_000,
    ) as device:
        yield device


def rng_of(device: Converter, seed: int) -> np.random.Generator:
    device.reset()
    device.behave(AxiBehaviour())
    return np.random.default_rng(seed)


def good_case(rng: np.random.Generator, config: C2srConverterConfig, mode: str) -> ConverterCase:
    """Some entries in every channel."""
    lengths = rng.integers(1, 30, 50).astype(np.int64)
    return place(rng, config, mode, matrix_of(rng, config, lengths, 40), spare=5)


@pytest.mark.parametrize("direction", MODES)
def test_any_matrix_on_a_perfect_memory(device: Converter, direction: str) -> None:
    rng = rng_of(device, 1)
    entries = 0
    for _ in range(cases(60)):
        entries += check(rng, device, any_case(rng, device.config, direction)).counts["entries"]
    assert entries > 0
    assert device.faults == []


@pytest.mark.parametrize("direction", MODES)
def test_any_matrix_on_any_memory(device: Converter, direction: str) -> None:
    rng = rng_of(device, 2)
    for _ in range(cases(40)):
        device.behave(any_behaviour(rng))
        check(rng, device, any_case(rng, device.config, direction))
    assert device.faults == []


@pytest.mark.parametrize("direction", MODES)
def test_all_small_numbers_of_rows(device: Converter, direction: str) -> None:
    """Ends of beats, blocks and stripes, of pairs and pointers; a row of no, one, some entries."""
    config = device.config
    rng = rng_of(device, 3)
    last = 2 * config.channels * config.beat_bytes // PAIR_BYTES + 2
    for rows in range(1, by_size(min(last, 4), last, last)):
        for length in (0, 1, 3):
            lengths = np.full(rows, length, np.int64)
            check(rng, device, place(rng, config, direction, matrix_of(rng, config, lengths, 9)))


@pytest.mark.parametrize("direction", MODES)
def test_rates(device: Converter, direction: str) -> None:
    """Measures the cycles that a job takes longer if its rows are doubled, on a memory with one
    beat per cycle: an entry per lane and cycle, or ``step_rows`` rows per cycle.

    The channels' beats alone can make it less, if rows are short: pairs and row pointers take
    some, and so do beats with little in them.
    """
    config = device.config
    rng = rng_of(device, 4)
    lanes, step = config.lane_count, config.step_rows
    for length, rows in ((1, 3000), (2, 2000), (8, 800), (64, 80), (1000, 2 * lanes)):
        counts = []
        for count in (rows, 2 * rows):
            matrix = matrix_of(rng, config, np.full(count, length, np.int64), 1000)
            case = place(rng, config, direction, matrix)
            counts.append(check(rng, device, case).counts)
        more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
        bytes_moved = max(more["bytes_read"], more["bytes_written"])
        beats = bytes_moved / config.beat_bytes / config.channels
        least = max(more["entries"] / lanes, rows / step, beats)
        rate, bound = (more["entries"] / cycles for cycles in (more["cycles"], least))
        print(f"{config} {direction} {length}: {rate:.3f} of {bound:.3f}")
        guess = conversion_cycles(config, direction, matrix.lengths, replace(FLAT, latency=1), 1.0)
        print(f"estimate {guess / counts[1]['cycles']:.3f}")
        if length >= 8:
            assert rate >= (0.98 if length > 8 or config.outstanding > 2 else 0.9) * bound
            if config.outstanding >= 8:
                assert 0.92 <= guess / counts[1]["cycles"] <= 1.01
        elif config.outstanding > 2:
            # Two bursts in flight are two short rows. One row per beat leaves strobes of a beat,
            # each with its request.
            assert rate >= (0.9 if length > 1 else 0.5) * bound


@pytest.mark.parametrize("direction", MODES)
def test_region(device: Converter, direction: str) -> None:
    """Writes nothing after the region if the result is larger than announced."""
    config = device.config
    rng = rng_of(device, 6)

    def draw(capacity: int) -> tuple[ConverterCase, int] | None:
        """Draws a case and the first row that does not fit."""
        lengths = rng.integers(0, 30, 60).astype(np.int64)
        lengths[-config.channels :] = 30
        groups = 1 if direction == "c2sr_to_csr" else config.channels
        sums = np.zeros(60, np.int64)
        for group in range(groups):
            sums[group::groups] = np.cumsum(lengths[group::groups])
        if sums.max() <= capacity:
            return None
        case = place(rng, config, direction, matrix_of(rng, config, lengths, 40))
        return case, int(np.argmax(sums > capacity))

    for capacity in (1, 7, 100):
        device.behave(any_behaviour(rng))
        case, row = draw_until(partial(draw, capacity))
        memory = load(rng, device, case)
        status = run(QuietAtEnd(device), case, {"CAPACITY": capacity})
        assert (status.error, status.detail) == ("region", row)
        outside = ~case.written(MEMORY_BYTES, capacity)
        assert (device.memory == memory)[outside].all()
        check(rng, device, good_case(rng, config, direction))
    assert device.faults == []


@pytest.mark.parametrize("first", [False, True])
def test_pointers_that_do_not_ascend(device: Converter, first: bool) -> None:
    config = device.config
    rng = rng_of(device, 7)
    case = good_case(rng, config, "csr_to_c2sr")
    starts = case.matrix.patterns().starts
    for row in [0] if first else rng.integers(1, 49, 3).tolist():
        load(rng, device, case)
        # The end of the row, or the first pointer.
        address = case.base["csr_pointers"] + POINTER_BYTES * (row if first else row + 1)
        value = 1 if first else int(starts[row]) - 1
        device.write_memory(address, value.to_bytes(POINTER_BYTES, "little"))
        status = run(QuietAtEnd(device), case)
        assert (status.error, status.detail) == ("unsorted", row)
        check(rng, device, good_case(rng, config, "c2sr_to_csr"))
        check(rng, device, case)


def test_driver(device: Converter) -> None:
    """Converts to and from the format, compares with SciPy, and checks the refusals."""
    config = device.config
    rng = rng_of(device, 11)
    device.behave(any_behaviour(rng))
    driver = ConverterDriver(device, first_address=100)
    assert driver.counts == {}
    dense = rng.integers(-3, 4, (37, 21)) * (rng.random((37, 21)) < 0.3)
    for array in (dense, dense[:1], dense[:, :1], 0 * dense, dense[:0]):
        source = csr_array(array.astype(np.float64))
        matrix = from_csr(source, config.layout)
        for direction in MODES:
            found = driver.convert(direction, matrix)
            assert found.same_as(matrix)
            assert (found.pointers == matrix.pointers).all()
            assert driver.counts["entries"] == source.nnz
        again = driver.convert("c2sr_to_csr", scattered(rng, matrix))
        assert np.array_equal(to_csr(again).toarray(), array)
    with pytest.raises(ValueError, match="`direction` must be one of csr_to_c2sr, c2sr_to_csr"):
        driver.convert("c2sr", matrix)
    wide = from_csr(csr_array(np.ones((600, 200))), config.layout)
    full = r"^\d+ bytes of memory are needed for both forms of the matrix; \d+ are left$"
    with pytest.raises(ValueError, match=full):
        driver.convert("csr_to_c2sr", wide)
    other = C2srConverterConfig(**CONFIGS["three" if config.channels != 3 else "two"])
    foreign = matrix_of(rng, other, np.ones(3, np.int64), 4)
    with pytest.raises(ValueError, match="`matrix` must be in layout"):
        driver.convert("csr_to_c2sr", foreign)
    # The pointers' block is the first one behind the first address.
    bad = {-(-100 // config.layout.stripe_bytes) * config.layout.stripe_bytes: 3}
    device.behave(AxiBehaviour(read_errors=bad))
    with pytest.raises(JobError, match=rf"error bus_read \(address {min(bad):#x}\)"):
        driver.convert("csr_to_c2sr", from_csr(csr_array(dense.astype(np.float64)), config.layout))
    device.behave(AxiBehaviour())
    assert driver.convert("csr_to_c2sr", matrix).shape == matrix.shape


def test_configurations_that_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"`channels` must be an integer in 1\.\.16, not 17"):
        C2srConverterConfig(channels=17)
    with pytest.raises(ValueError, match="`data_bits` must be at least 128 for entries of fp64"):
        C2srConverterConfig(value="fp64", data_bits=64)
