"""SIDA's RTL at native speed: any matrix, program, semirings and memory, its errors and resets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.sida import BY_ROWS, job_spec
from tilewright.hw.spec.sida import SIDA, SidaConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.broken_rules import wrong_values
from tilewright.verif.kit.job_checks import check_interrupt
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but
from tilewright.verif.sida.configs import CONFIGS, WINDOWED, small
from tilewright.verif.sida.jobs import JOB_SHAPES, check_job, place, random_case, random_job
from tilewright.verif.sida.wrong_jobs import (
    beyond_the_model,
    check_bus_error,
    check_changed,
    check_reset,
    check_restarts,
    check_wrong_columns,
    check_wrong_rows,
)

ALL = CONFIGS | WINDOWED
Device = NativeAccelerator[SidaConfig]


@pytest.fixture(scope="module", params=slow_but([], ALL, ["small", "tiny", "int32"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = small(**ALL[request.param])
    with NativeAccelerator(
        emit(SIDA, config),
        config,
        memory_bytes=1 << (19 if config.windowed else 18),
        time_out=4_000_000 if config.windowed else 1_000_000,
    ) as device:
        yield device


def test_random_jobs(device: Device) -> None:
    """On a memory that answers at once and on any other."""
    rng = rng_of(1)
    lost = 0
    for number in range(by_size(40, 60, 2000)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        lost += check_job(device, random_job(rng, device.config, device.memory_bytes)).counts[
            "lost"
        ]
    if device.config.buffer_words <= 4 * device.config.subtensor:
        assert lost > 0


@pytest.mark.parametrize("shape", JOB_SHAPES)
def test_every_shape_with_two_products(device: Device, shape: str) -> None:
    rng = rng_of(2)
    device.behave(AxiBehaviour())
    built = device.config.operators
    for number in range(by_size(1, 2, 20)):
        pair = (built[number % len(built)], built[-1 - number % len(built)])
        for transposed in (False, True):
            job = random_job(rng, device.config, device.memory_bytes, shape=shape, semirings=pair,
                             transposed=transposed)  # fmt: skip
            check_job(device, job)


def test_every_second_semiring_with_the_transpose(device: Device) -> None:
    """Matrices of which what waits does not fit, where the buffer is small."""
    rng = rng_of(12)
    lost = 0
    for number in range(by_size(4, 6, 60)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        for second in device.config.operators:
            pair = (device.config.operators[0], second)
            job = random_job(rng, device.config, device.memory_bytes, shape="half", semirings=pair,
                             transposed=True)  # fmt: skip
            lost += check_job(device, job).counts["lost"]
    if device.config.buffer_words <= 4 * device.config.subtensor:
        assert lost > 0


def test_jobs_that_cannot_run(device: Device) -> None:
    """Every rule that a register can break; then a good job."""
    rng = rng_of(3)
    config, spec = device.config, job_spec(device.config)
    device.behave(AxiBehaviour())
    pair = (config.operators[0], config.operators[-1])
    placed = random_job(rng, config, device.memory_bytes, semirings=pair, transposed=False)
    found = wrong_values(spec, placed.registers)
    assert {name.upper() for name in BY_ROWS} < {rule.register for rule in found}
    assert check_job(device, placed).counts["passes_done"] > 0
    for rule, value in found.items():
        status = check_job(device, placed.with_registers(**{rule.register: value}))
        assert status.error == rule.error
        assert status.detail == spec.registers[rule.register].offset
        assert not any(status.counts.values())
    assert check_job(device, placed).error == "none"


def test_addresses_that_a_job_does_not_use(device: Device) -> None:
    """Of rows that are not read, and of sums that there are none of: any, misaligned or out of
    range, one by one."""
    rng = rng_of(18)
    config, spec = device.config, job_spec(device.config)
    device.behave(AxiBehaviour())
    one, two = (config.operators[0], None), (config.operators[0], config.operators[-1])
    unused = {*BY_ROWS, *(["w_spill"] if config.windowed else [])}
    for semirings, transposed, names in ((one, False, unused), (two, True, set(BY_ROWS))):
        placed = random_job(
            rng, config, device.memory_bytes, size=9, semirings=semirings, transposed=transposed
        )
        assert {name for name in names if placed.registers[name.upper()] & 1} == names
        used = {rule.register for rule in wrong_values(spec, placed.registers)}
        assert not used & {name.upper() for name in names}
        for name in sorted(names):
            for value in (1, config.line_bytes // 2, 1 << config.addr_bits, (1 << 64) - 1):
                changed = placed.with_registers(**{name.upper(): value % (1 << 64)})
                assert check_job(device, changed).error == "none"


def test_matrices_and_programs_that_are_wrong(device: Device) -> None:
    """Any word in place of a pointer, a row, or an instruction: errors as the model finds them,
    and a good job afterwards."""
    rng = rng_of(4)
    seen = set()
    for number in range(by_size(40, 80, 1500)):
        device.behave(any_behaviour(rng))
        placed = random_job(rng, device.config, device.memory_bytes)
        array = ("column_pointers", "row_numbers", "program_base")[number % 3]
        words = placed.spans[array][1] // 4
        if not words:
            continue
        place = int(rng.integers(words))
        near = max(0, placed.word(array, place) + int(rng.choice([-9, -1, 1, 9])))
        word = int(rng.choice([near, int(rng.integers(1 << 32)), placed.registers["ROWS"]]))
        if array == "column_pointers" and place == words - 1:
            # With elements behind the memory there are two errors, and time decides.
            word = near
        spoilt = placed.with_word(array, place, word)
        if beyond_the_model(spoilt):
            continue
        seen.add(check_wrong_columns(device, spoilt).error)
        assert check_job(device, placed).error == "none"
    assert {"pointers", "index", "unsorted", "program"} <= seen


def test_programs_that_end_too_soon(device: Device) -> None:
    """Of fewer words than they need, whatever is in the program's memory from before; then a good
    job."""
    rng = rng_of(8)
    seen = set()
    for _ in range(by_size(6, 10, 200)):
        device.behave(any_behaviour(rng))
        placed = random_job(rng, device.config, device.memory_bytes)
        assert check_job(device, placed).error == "none"
        words = int(rng.integers(1, placed.registers["WORDS"]))
        seen.add(check_job(device, placed.with_registers(WORDS=words)).error)
        assert check_job(device, placed).error == "none"
    assert "program" in seen


def test_rows_that_are_wrong(device: Device) -> None:
    """Any words in place of pointers or columns by rows, which are read where elements were given
    up: jobs end, with the first error of a panel, and a good one works afterwards."""
    rng = rng_of(9)
    pair = (device.config.operators[0], device.config.operators[-1])
    seen = set()
    for number in range(by_size(20, 40, 600)):
        device.behave(any_behaviour(rng))
        shape = JOB_SHAPES[int(rng.integers(len(JOB_SHAPES)))]
        good = random_job(rng, device.config, device.memory_bytes, shape=shape, semirings=pair,
                          transposed=False)  # fmt: skip
        placed, rows = good, good.registers["ROWS"]
        array = ("row_pointers", "column_numbers")[number % 2]
        for _ in range(int(rng.integers(1, 4)) if good.spans[array][1] else 0):
            place = int(rng.integers(good.spans[array][1] // 4))
            near = max(0, good.word(array, place) + int(rng.choice([-9, -1, 1, 9])))
            word = int(rng.choice([near, int(rng.integers(1 << 32)), rows]))
            placed = placed.with_word(array, place, word)
        seen.add(check_wrong_rows(device, placed).error)
        assert check_job(device, good).error == "none"
    if device.config.buffer_words <= 4 * device.config.subtensor:
        assert {"none", "rows_pointers", "rows_index", "rows_unsorted", "disagree"} <= seen


def test_values_by_rows_that_disagree(device: Device) -> None:
    """A bit of any of them, which is an error where it is read; then a good job."""
    rng = rng_of(15)
    pair = (device.config.operators[0], device.config.operators[-1])
    size = device.config.format.bits // 8
    seen = set()
    for _ in range(by_size(6, 12, 200)):
        device.behave(any_behaviour(rng))
        good = random_job(rng, device.config, device.memory_bytes, size=100, shape="half",
                          semirings=pair, transposed=False)  # fmt: skip
        place = int(rng.integers(good.spans["row_values"][1] // size))
        word = good.word("row_values", place, size) ^ 1 << int(rng.integers(8 * size))
        spoilt = good.with_word("row_values", place, word, size)
        seen.add(check_wrong_rows(device, spoilt).error)
        assert check_job(device, good).error == "none"
    assert seen <= {"none", "disagree"}
    if device.config.buffer_words <= 4 * device.config.subtensor:
        assert "disagree" in seen


def test_rows_are_not_read_for_the_transpose(device: Device) -> None:
    """What is wrong with them does not matter."""
    rng = rng_of(13)
    device.behave(AxiBehaviour())
    pair = (device.config.operators[0], device.config.operators[-1])
    for _ in range(by_size(2, 3, 30)):
        placed = random_job(rng, device.config, device.memory_bytes, shape="half", semirings=pair,
                            transposed=True)  # fmt: skip
        for array in ("row_pointers", "column_numbers"):
            placed = placed.with_word(array, 1, int(rng.integers(1 << 32)))
        assert check_job(device, placed).error == "none"


@pytest.mark.parametrize(
    ("array", "word", "error"),
    [("row_numbers", 0xFFFF_FFFF, "index"), ("row_numbers", 0, "unsorted"),
     ("column_pointers", 0, "pointers")],
)  # fmt: skip
def test_columns_that_change_until_they_are_read_again(
    device: Device, array: str, word: int, error: str
) -> None:
    """Where some had to be given up the error is that of a column of the last steps; then a good
    job."""
    rng = rng_of(14)
    config = device.config
    device.behave(AxiBehaviour())
    pair = (config.operators[0], config.operators[-1])
    good = random_job(rng, config, device.memory_bytes, size=100, shape="dense", semirings=pair,
                      passes=1, transposed=True)  # fmt: skip
    count = good.spans[array][1] // 4
    words = np.arange(count, 0, -1) if array == "column_pointers" else np.full(count, word)
    # Ends of columns are read long before their elements.
    come = 80 * 100 if array == "column_pointers" else 100 * 100
    found = check_changed(device, good, array, words.astype("<u4").tobytes(), come)
    assert found.error in ("none", error)
    if found.error == "none":
        assert 100 * config.subtensor <= config.buffer_words
    else:
        assert come // 100 - 4 * config.subtensor <= found.detail < 100
    assert check_job(device, good).error == "none"


@pytest.mark.parametrize("array", ["column_pointers", "row_numbers", "column_values", "x",
                                   "scalars", "program_base"])  # fmt: skip
def test_reads_that_fail_end_the_job(device: Device, array: str) -> None:
    """Any beat of what every job reads; then a good job."""
    rng = rng_of(5)
    beat = device.config.geometry.beat_bytes
    for _ in range(by_size(3, 5, 60)):
        placed = random_job(rng, device.config, device.memory_bytes, shape="half")
        first, size = placed.spans[array]
        bad = (first + int(rng.integers(size))) // beat * beat
        where = np.zeros(device.memory_bytes, np.bool_)
        where[bad : bad + beat] = True
        device.behave(any_behaviour(rng, read_errors={bad: 2}))
        check_bus_error(device, placed, "bus_read", where)
        device.behave(any_behaviour(rng))
        assert check_job(device, placed).error == "none"


@pytest.mark.parametrize("array", ["row_pointers", "column_numbers", "row_values"])
def test_reads_again_that_fail_end_the_job(device: Device, array: str) -> None:
    """The last beat of a matrix that does not fit; then a good job."""
    rng = rng_of(15)
    pair = (device.config.operators[0], device.config.operators[-1])
    beat = device.config.geometry.beat_bytes
    for _ in range(by_size(1, 1, 20)):
        placed = random_job(rng, device.config, device.memory_bytes, size=100, shape="dense",
                            semirings=pair, passes=1, transposed=False)  # fmt: skip
        first, size = placed.spans[array]
        bad = (first + size - 1) // beat * beat
        device.behave(any_behaviour(rng))
        assert check_job(device, placed).counts["lost"] > 0
        device.behave(any_behaviour(rng, read_errors={bad: 2}))
        where = np.zeros(device.memory_bytes, np.bool_)
        where[bad : bad + beat] = True
        check_bus_error(device, placed, "bus_read", where)
        device.behave(any_behaviour(rng))
        assert check_job(device, placed).error == "none"


def test_writes_that_fail_end_the_job(device: Device) -> None:
    """Blocks of what a job writes, the scalars at the end included; then a good job."""
    rng = rng_of(6)
    step = device.config.geometry.interleave
    for _ in range(by_size(3, 5, 60)):
        placed = random_job(rng, device.config, device.memory_bytes)
        arrays = ("scalars", *placed.stored)
        first, size = placed.spans[arrays[int(rng.integers(len(arrays)))]]
        bad = (first + int(rng.integers(size))) // step * step
        where = np.zeros(device.memory_bytes, np.bool_)
        where[bad : bad + step] = True
        responses = dict.fromkeys(range(bad, bad + step, device.config.geometry.beat_bytes), 2)
        device.behave(any_behaviour(rng, write_errors=responses))
        check_bus_error(device, placed, "bus_write", where)
        device.behave(any_behaviour(rng))
        assert check_job(device, placed).error == "none"


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(7)
    stopped = 0
    count = by_size(16, 24, 400)
    for _ in range(count):
        device.behave(any_behaviour(rng))
        placed = random_job(rng, device.config, device.memory_bytes)
        stopped += check_reset(device, placed, int(rng.integers(0, 3000)))
        assert check_job(device, placed).error == "none"
    assert stopped > count // 4


def test_interrupt(device: Device) -> None:
    device.behave(AxiBehaviour())
    placed = random_job(rng_of(17), device.config, device.memory_bytes, size=5)
    device.write_memory(0, placed.memory.tobytes())
    check_interrupt(device, job_spec(placed.config), placed.registers, 20_000)


def test_starts_and_soft_resets_in_any_order(device: Device) -> None:
    rng = rng_of(16)
    for _ in range(by_size(8, 12, 300)):
        device.behave(any_behaviour(rng))
        placed = random_job(rng, device.config, device.memory_bytes)
        check_restarts(device, placed, rng)
        assert check_job(device, placed).error == "none"


def test_soft_reset_in_every_cycle(device: Device) -> None:
    """Of a small job whose parts last a few cycles each, two products in two passes; afterwards
    another one."""
    rng = rng_of(10)
    config = device.config
    pair = (config.operators[0], config.operators[1])
    device.behave(AxiBehaviour())
    case = random_case(rng, config, size=3, semirings=pair, passes=2, length=2)
    first, other = (
        place(rng, config, replace(case, stops=None, transposed=transposed), 1 << 15)
        for transposed in (True, False)
    )
    cycles = np.arange(check_job(device, first).counts["cycles"] + 4)
    for cycle in rng.permutation(cycles)[: by_size(40, 80, len(cycles))].tolist():
        check_reset(device, first, cycle)
        assert check_job(device, other).error == "none", cycle


def test_counters_do_not_see_the_job_before(device: Device) -> None:
    """Nothing is held by one product a pass; a column that a reset broke off does not come."""
    rng = rng_of(11)
    config = device.config
    one, two = (config.operators[0], None), (config.operators[0], config.operators[-1])
    device.behave(AxiBehaviour())
    large = random_job(
        rng, config, device.memory_bytes, size=90, shape="lower", semirings=two, passes=1
    )
    small_one = random_job(rng, config, device.memory_bytes, size=1, semirings=one, passes=1)
    expected = check_job(device, small_one).counts
    counts = check_job(device, large).counts
    assert counts["held"] > 0
    check_job(device, small_one)
    found = check_job(device, small_one).counts
    assert not any(found[name] for name in ("held", "lost", "bytes_again", "wait_held"))
    assert check_reset(device, large, counts["cycles"] // 2)
    found = check_job(device, small_one).counts
    assert abs(found["column_cycles"] - expected["column_cycles"]) < 10
    assert not any(found[name] for name in ("held", "lost", "bytes_again", "wait_held"))
