"""The model of the device: jobs in memory, their results and counters, and their errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.sida import SIDA_SEMIRINGS, SidaConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.numbers.container_words import from_bytes
from tilewright.sim.numbers.values import Patterns, decode, encode
from tilewright.sim.sida.images import MatrixFault, first_fault
from tilewright.sim.sida.model import SidaModel, WordFault, part_of_words
from tilewright.sim.sida.result.passes import one_pass
from tilewright.sim.sida.result.products import Columns, Rules
from tilewright.verif.kit.job_checks import Mismatch, wrong_values
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.sida.exercise import exercise
from tilewright.verif.sida.jobs import (
    Placed,
    SidaCase,
    check_job,
    compare,
    place,
    random_case,
    random_job,
)

pytestmark = pytest.mark.quick

MEMORY_BYTES = 1 << 18
SMALL = SidaConfig(pes=4, subtensor=8, vector_words=128, semirings=tuple(SIDA_SEMIRINGS))
CONFIGS = [
    SMALL,
    replace(SMALL, value="fp64", channels=1, subtensor=4),
    replace(SMALL, value="int32", pes=8, semirings=("mma", "minplus")),
    replace(SMALL, value="fp16", pes=16, subtensor=64, program_words=8),
]


class Rtl(SidaModel):
    """A model that reports the properties of a hardware simulation."""

    under_way = 0

    def __init__(self, config: SidaConfig, memory_bytes: int) -> None:
        super().__init__(config, memory_bytes)
        self.moved = [(0, 0)]

    def run(self, cycles: int) -> None:
        del cycles

    def wait(self) -> None:
        super().wait()
        read, written = self.moved[0]
        self.moved = [(read, written + self._values["BYTES_WRITTEN"])]


def some(seed: int, config: SidaConfig = SMALL) -> Placed:
    return random_job(np.random.default_rng(seed), config, MEMORY_BYTES, size=30, shape="half")


def run(placed: Placed) -> tuple[SidaModel, dict[str, int], str, int]:
    """The device afterwards, its counters, error and detail."""
    device = SidaModel(placed.config, len(placed.memory))
    device.write_memory(0, placed.memory.tobytes())
    found = JobRegisters(device, job_spec(placed.config)).submit(placed.registers)
    return device, found.counts, found.error, found.detail


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.value)
def test_random_jobs(config: SidaConfig) -> None:
    """Memory has the results of the passes, one after the other, and nothing else changes."""
    rng = np.random.default_rng(1)
    seen: Counter[str] = Counter()
    for _ in range(by_size(15, 40, 600)):
        case = random_case(rng, config)
        placed = place(rng, config, case, MEMORY_BYTES)
        scalars, vectors, passes, ended = passed(config, case)
        device, counts, error, _ = run(placed)
        assert error == "none"
        expected = placed.memory.copy()
        content = {"scalars": scalars}
        content |= {name: vectors[int(name.removeprefix("vector_"))] for name in placed.stored}
        for name, patterns in content.items():
            first, size = placed.spans[name]
            expected[first : first + size] = patterns.astype(f"<u{config.format.bits // 8}").view(
                np.uint8
            )
        assert (device.memory == expected).all()
        products = 2 if case.semirings[1] else 1
        elements = passes * len(case.matrix.rows)
        assert (counts["passes_done"], counts["ended"]) == (passes, ended)
        assert (counts["elements"], counts["operations"]) == (elements, 2 * products * elements)
        assert counts["cycles"] == 0
        seen[f"{products} products"] += 1
        seen["transposed"] += case.transposed and products == 2
        seen[f"{passes} of {case.passes} passes"] += 1
        seen[f"ended {ended}"] += 1
    assert {"1 products", "2 products", "ended 1", "1 of 2 passes", "3 of 3 passes"} <= set(seen)
    assert seen["transposed"] > 0


def passed(config: SidaConfig, case: SidaCase) -> tuple[Patterns, dict[int, Patterns], int, int]:
    """Returns the scalars and vectors after the passes of a job, the number of passes, and the
    reason for the end."""
    scalars, vectors, x = case.scalars.tolist(), dict(case.vectors), case.x
    for number in range(1, case.passes + 1):
        found = one_pass(
            Rules.of(config),
            case.matrix,
            x,
            case.program,
            case.semirings,
            scalars,
            vectors,
            transposed=case.transposed,
        )
        scalars, vectors, x = found.scalars, found.vectors, found.x
        whole = case.scalars.copy()
        whole[: len(scalars)] = scalars
        scalars = whole.tolist()
        if case.stops is not None:
            one, other, limit = decode(whole, config.format)[list(case.stops)]
            if one < limit:
                return whole, vectors, number, 1
            if case.semirings[1] and other < limit:
                return whole, vectors, number, 2
    return np.array(scalars, np.uint64), vectors, case.passes, 0


def test_a_job_by_hand() -> None:
    """A path of three vertices, numbers that can be followed, read from memory."""
    program = assemble(
        "scalar a\nvector u\nreduce s sum\nreduce t max\n"
        "e1:\n add r1, y, a\n store u, r1\n reduce s, r1\n out r1\n"
        "e2:\n load r1, u\n mul r1, y, r1\n reduce t, r1\n store u, r1\n out y"
    )
    fmt = SMALL.format
    case = SidaCase(
        matrix=Columns(
            pointers=np.array([0, 0, 1, 2]),
            rows=np.array([0, 1]),
            values=encode(np.array([10.0, 100.0]), fmt),
        ),
        x=encode(np.array([1.0, 2.0, 3.0]), fmt),
        program=program,
        semirings=(SEMIRINGS["mma"], SEMIRINGS["mma"]),
        scalars=encode(np.concatenate([[0.5], np.zeros(SCALARS - 1)]), fmt),
        vectors={0: encode(np.zeros(3), fmt)},
    )
    placed = place(np.random.default_rng(0), SMALL, case, MEMORY_BYTES)
    device, counts, error, _ = run(placed)
    assert error == "none"
    # y = 0, 10, 200; z = y + 0.5; w = 0, 5, 1050; u = w z
    first, size = placed.spans["vector_0"]
    found = decode(from_bytes(device.read_memory(first, size), fmt), fmt)
    assert found.tolist() == [0.0, 52.5, 1050 * 200.5]
    first, size = placed.spans["scalars"]
    found = decode(from_bytes(device.read_memory(first, size), fmt), fmt)
    assert found[:3].tolist() == [0.5, 211.5, 1050 * 200.5]
    assert counts["bytes_written"] == 4 * (3 + 3 + SCALARS)


def test_the_exercise_and_the_check_of_jobs() -> None:
    rng = np.random.default_rng(7)
    device = Rtl(SMALL, MEMORY_BYTES)
    assert exercise(device, rng) == len(SMALL.operators) + 2
    for _ in range(5):
        assert check_job(device, random_job(rng, SMALL, MEMORY_BYTES)).error == "none"


@pytest.mark.parametrize("what", ["memory", "counter", "error", "bus"])
def test_a_device_that_differs_is_found(what: str) -> None:
    class Wrong(Rtl):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            error, detail, counts = super()._job()
            if what == "memory":
                self.memory[-1] ^= 1
            elif what == "counter":
                counts["elements"] += 1
            elif what == "error":
                error, detail = "index", 3
            else:
                counts["bytes_read"] = 8
            return error, detail, counts

    said = {
        "memory": r"1 bytes differ, first 0x3ffff, in no array$",
        "counter": r"elements is \d+, the model's \d+$",
        "error": r"index \(column 3\), the model: none \(\)$",
        "bus": r"over the bus went \[0, \d+\], counted are \[8, \d+\]$",
    }
    with pytest.raises(Mismatch, match=said[what]):
        check_job(Wrong(SMALL, MEMORY_BYTES), some(3))


def test_registers_that_break_a_rule() -> None:
    placed = some(2)
    placed = placed.with_registers(SECOND_PRODUCT=1, SECOND=0)
    found = wrong_values(job_spec(SMALL), placed.registers)
    assert len(found) > 50
    for rule, value in found.items():
        device, _, error, detail = run(placed.with_registers(**{rule.register: value}))
        assert (error, detail) == (rule.error, job_spec(SMALL).registers[rule.register].offset)
        assert (device.memory == placed.memory).all()


def fault(pointers: list[int], rows: list[int], window: int = 2) -> tuple[str, int] | None:
    found = first_fault(np.array(pointers), np.array(rows), window)
    return None if found is None else (found.error, found.column)


def test_faults_of_matrices() -> None:
    rows = [0, 3, 1, 2, 3, 0]
    assert fault([0, 2, 2, 5, 6], rows) is None
    assert fault([0, 0, 0, 0, 0], []) is None
    assert fault([0, 2, 2, 5, 6], [0, 4, 1, 2, 3, 0]) == ("index", 0)
    assert fault([0, 2, 2, 5, 6], [0, 3, 1, 1, 3, 0]) == ("unsorted", 2)
    assert fault([0, 2, 2, 5, 6], [0, 3, 1, 9, 3, 0]) == ("index", 2)
    # Only the rows of the same column must ascend.
    assert fault([0, 2, 3, 5, 6], [0, 3, 1, 2, 3, 0]) is None
    assert fault([1, 2, 2, 5, 6], rows) == ("pointers", 0)
    assert fault([0, 2, 1, 5, 6], rows) == ("pointers", 1)
    assert fault([0, 2, 2, 9, 6], rows) == ("pointers", 2)
    # Ends of a window come before its rows, but behind those of the windows before.
    assert fault([0, 2, 2, 9, 6], [0, 3, 1, 9, 9, 9]) == ("pointers", 2)
    assert fault([0, 2, 2, 9, 6], [0, 4, 1, 2, 3, 0]) == ("index", 0)
    assert fault([0, 2, 2, 9, 6], [0, 4, 1, 2, 3, 0], 4) == ("pointers", 2)
    assert first_fault(np.array([0, 7]), None, 4) is None
    assert first_fault(np.array([2, 1]), None, 4) == MatrixFault("pointers", 0)


def test_what_is_wrong_in_memory() -> None:
    """The error and its detail are reported, and memory that no program stores does not change."""
    placed = some(5)
    rows = placed.registers["ROWS"]
    first = placed.word("column_pointers", 1)
    entry = placed.registers["ENTRY"]
    two = placed.with_registers(SECOND_PRODUCT=1, SECOND=0)
    far = MEMORY_BYTES - SMALL.line_bytes
    found = {
        "index": (placed.with_word("row_numbers", first, rows), 1),
        "unsorted": (placed.with_word("row_numbers", first + 1, 0), 1),
        "pointers": (placed.with_word("column_pointers", 9, 1 << 31), 8),
        "program": (placed.with_word("program_base", 0, 63), 0),
        "bus_read": (placed.with_registers(ROW_NUMBERS=far), MEMORY_BYTES),
    }
    assert two.registers["WORDS"] > entry > 0, "seed"
    for error, (wrong, detail) in found.items():
        device, counts, said, where = run(wrong)
        assert (said, where) == (error, detail)
        assert (device.memory == wrong.memory).all()
        assert not any(counts.values())
        assert compare(SidaModel(SMALL, MEMORY_BYTES), wrong).error == error
    assert run(two.with_word("program_base", entry, 29))[2:] == ("program", entry)
    # Without its end the second part goes on to where no words are any more.
    last = two.registers["WORDS"] - 1
    assert run(two.with_registers(WORDS=last))[2:] == ("program", last)
    stores = next(p for p in map(some, range(20)) if "vector_0" in p.stored)
    assert run(stores.with_registers(VECTOR_0=1 << 20))[2] in ("bus_write", "bus_read")


def test_words() -> None:
    fmt = FORMATS["fp32"]
    program = assemble("vector v\nreduce s min\ne1:\n load r3, v\n reduce s, r3\n out 2.5")
    words = [0x1234_5600, 7, 2 | 3 << 6, 25 | 1 << 12, 4 | 33 << 12, 0]
    # A 0 in the low bits ends a part, whatever is above.
    assert part_of_words(words, 0, fmt).e1 == ()
    assert program.e1[0].operands == (3, 0)
    found = part_of_words([2 | 3 << 6, 25 | 3 << 12, 4 | 33 << 12, 0], 0, fmt)
    assert found.e1 == program.e1
    assert [one.reduction for one in found.scalars][:2] == ["rmin", ""]
    # High bits of an operand's number, and what no operand is in.
    noise = [2 | (3 + 16) << 6 | 16 << 24 | 1 << 31, 25 | (16 + 3) << 12 | 32 << 6, *words[-2:]]
    assert part_of_words(noise, 0, fmt).e1 == program.e1
    wrongs = (
        ([4, 23, 0], fmt, 1),
        ([9], FORMATS["int32"], 0),
        ([4, 4, 0], fmt, 1),
        ([4, 1], fmt, 2),
    )
    for wrong, kind, at in wrongs:
        with pytest.raises(WordFault) as stopped:
            part_of_words(wrong, 0, kind)
        assert stopped.value.place == at
