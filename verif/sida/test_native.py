"""SIDA's RTL at native speed: any matrix, program, semirings and memory, its errors and resets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.sida import SIDA, SidaConfig
from tilewright.registry import entries
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.far_memory import FarAccelerator
from tilewright.verif.kit.pages import examples, page, register_rows
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but
from tilewright.verif.sida.configs import CONFIGS, WINDOWED, small
from tilewright.verif.sida.jobs import JOB_SHAPES, check_job, random_job
from tilewright.verif.sida.wrong_jobs import (
    beyond_the_model,
    check_changed,
    check_reset,
    check_restarts,
    check_wrong_columns,
    check_wrong_rows,
)

ALL = {"registered": {**entries()["sida"].small}} | CONFIGS | WINDOWED
Device = NativeAccelerator[SidaConfig]


@pytest.fixture(scope="module", params=slow_but([], ALL, ["registered", "tiny"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = small(**ALL[request.param])
    with FarAccelerator(
        emit(SIDA, config),
        config,
        job_spec(config),
        config.addr_bits,
        inverted=True,
        memory_bytes=1 << (19 if config.windowed else 18),
        time_out=4_000_000 if config.windowed else 1_000_000,
    ) as device:
        yield device


def many(config: SidaConfig) -> int:
    """Rows of a matrix that is large, but in one window."""
    return min(100, config.vector_words)


def test_random_jobs(device: Device) -> None:
    """The memory answers at once, or behaves in any other way."""
    rng = rng_of(1)
    lost = 0
    for number in range(by_size(40, 40, 2000)):
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
    """The matrices have more waiting elements than the buffer holds, where it is small."""
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


def test_matrices_and_programs_that_are_wrong(device: Device) -> None:
    """Any word in place of a pointer, a row, or an instruction: errors as the model finds them,
    and a good job afterwards."""
    rng = rng_of(4)
    seen = set()
    for number in range(by_size(20, 30, 1500)):
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
            # Elements after the end of memory would cause two errors, and timing would decide.
            word = near
        spoilt = placed.with_word(array, place, word)
        if beyond_the_model(spoilt):
            continue
        seen.add(check_wrong_columns(device, spoilt).error)
        assert check_job(device, placed).error == "none"
    assert {"pointers", "index", "unsorted", "program"} <= seen


def test_programs_that_end_too_soon(device: Device) -> None:
    """The program has fewer words than it needs, and the program memory has words from before. A
    good job follows."""
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
    """Pointers or columns by rows, which are read where elements were evicted, have any value. Jobs
    end with the first error of a panel, and a good job follows."""
    rng = rng_of(9)
    pair = (device.config.operators[0], device.config.operators[-1])
    seen = set()
    for number in range(by_size(10, 14, 600)):
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
    for _ in range(by_size(3, 4, 200)):
        device.behave(any_behaviour(rng))
        rows = by_size(50, 50, many(device.config))
        good = random_job(rng, device.config, device.memory_bytes, size=rows,
                          shape="half", semirings=pair, transposed=False)  # fmt: skip
        place = int(rng.integers(good.spans["row_values"][1] // size))
        word = good.word("row_values", place, size) ^ 1 << int(rng.integers(8 * size))
        spoilt = good.with_word("row_values", place, word, size)
        seen.add(check_wrong_rows(device, spoilt).error)
        assert check_job(device, good).error == "none"
    assert seen <= {"none", "disagree"}
    if device.config.buffer_words <= 4 * device.config.subtensor:
        assert "disagree" in seen


def test_rows_are_not_read_for_the_transpose(device: Device) -> None:
    """Errors in the rows have no effect."""
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
    """If columns were evicted, the error is in a column of the last steps. A good job follows."""
    rng = rng_of(14)
    config = device.config
    device.behave(AxiBehaviour())
    pair = (config.operators[0], config.operators[-1])
    size = many(config)
    good = random_job(rng, config, device.memory_bytes, size=size, shape="dense", semirings=pair,
                      passes=1, transposed=True)  # fmt: skip
    count = good.spans[array][1] // 4
    words = np.arange(count, 0, -1) if array == "column_pointers" else np.full(count, word)
    # Ends of columns are read long before their elements.
    come = (size - 20 if array == "column_pointers" else size) * size
    found = check_changed(device, good, array, words.astype("<u4").tobytes(), come)
    assert found.error in ("none", error)
    if found.error == "none":
        assert size * config.subtensor <= config.buffer_words
    else:
        assert come // size - 4 * config.subtensor <= found.detail < size
    assert check_job(device, good).error == "none"


def test_starts_and_soft_resets_in_any_order(device: Device) -> None:
    rng = rng_of(16)
    for _ in range(by_size(8, 12, 300)):
        device.behave(any_behaviour(rng))
        placed = random_job(rng, device.config, device.memory_bytes)
        check_restarts(device, placed, rng)
        assert check_job(device, placed).error == "none"


def test_counters_do_not_see_the_job_before(device: Device) -> None:
    """One product per pass buffers no elements. A column that a reset interrupted does not
    appear."""
    rng = rng_of(11)
    config = device.config
    one, two = (config.operators[0], None), (config.operators[0], config.operators[-1])
    device.behave(AxiBehaviour())
    large = random_job(
        rng, config, device.memory_bytes, size=many(config), shape="lower", semirings=two, passes=1
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


# Configurations that are refused.

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"subtensor": 8}, "`subtensor` must be at least `pes`, 16, not 8"),
    ({"subtensor": 256, "vector_words": 128},
     "`subtensor` must be at most `vector_words`, 128, not 256"),
    ({"pes": 32, "buffer_words": 64},
     "`buffer_words` must be at least 128, four for each of `pes`, not 64"),
    ({"pes": 64, "vector_words": 64},
     "`vector_words` must be at least 128, two for each of `pes`, not 64"),
    ({"rows_limit": 8192}, "`rows_limit` must be 0 or at least `vector_words`, 16384, not 8192"),
    ({"rows_limit": 1 << 23},
     "`rows_limit` must be at most 4194304, 65536 steps of `subtensor` columns, not 8388608"),
    ({"rows_limit": 32768, "subtensor": 16},
     "`subtensor` must be at least 32 where `rows_limit` is not 0, elements of the vectors that "
     "are read at once, not 16"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    assert refusal(lambda: SidaConfig(**changes)) == message


# The example of docs/sida.md works; docs/sida-job.md lists the registers of vectors in memory.

PAGE, JOB_PAGE = page("sida.md"), page("sida-job.md")


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)


def test_registers_of_vectors_in_memory() -> None:
    """The page lists exactly the additional registers; all other registers are the same."""
    config = SidaConfig()
    windowed = SidaConfig(rows_limit=config.vector_words)
    every = register_rows(job_spec(windowed).registers)
    others = register_rows(job_spec(config).registers)
    section = (
        JOB_PAGE.read_text().partition("## Matrices with more rows\n")[2].partition("\n## ")[0]
    )
    listed = [line for line in section.splitlines() if line.startswith("| 0x")]
    assert listed == [row for row in every if row not in others]
    assert [row for row in every if row not in listed] == others
