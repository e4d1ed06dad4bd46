"""Random jobs on any device with a SIDA's RTL, compared with the model of the device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.elementwise.instructions import SCALARS, Instruction
from tilewright.hw.spec.elementwise.program import Program
from tilewright.hw.spec.jobs.sida import BY_ROWS, VECTOR_BASES, WINDOW_BASES, job_spec
from tilewright.hw.spec.semirings import Semiring
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.device.protocol import AcceleratorDevice
from tilewright.sim.numbers.values import Patterns
from tilewright.sim.sida.images import (
    ROWS,
    job_images,
    late_step,
    program_words,
    spilled_bytes,
)
from tilewright.sim.sida.model import SidaModel, timeless
from tilewright.sim.sida.result.products import Columns
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd
from tilewright.verif.sida.elementwise.random_programs import random_program, random_values
from tilewright.verif.sida.held.matrices import SHAPES, drawn

SidaRtl = JobRtl[SidaConfig]
"""Device that runs the jobs."""

JOB_SHAPES = (*SHAPES, "power")
"""Shapes of the matrices."""

Bytes = npt.NDArray[np.uint8]

_CHECKS = ("zero_size", "size_limit", "misaligned_base", "semiring", "address_range")
"""Errors of jobs that never began."""


@dataclass(frozen=True, kw_only=True)
class SidaCase:
    """A job, wherever it may lie.

    Parameters
    ----------
    matrix, x: the operands; ``x``: (size,) patterns
    program: E2 counts only if there is a second product
    semirings: of the first product, and of the second; None: there is none
    scalars: all ``SCALARS`` patterns
    vectors: (size,) patterns by number
    passes: at most
    stops: the scalars STOP_1, STOP_2 and LIMIT; None: the job does not stop
    transposed: the second product is with the transpose
    rows: what is in memory by rows, see ``images.ROWS``
    """

    matrix: Columns
    x: Patterns
    program: Program
    semirings: tuple[Semiring, Semiring | None]
    scalars: Patterns
    vectors: dict[int, Patterns]
    passes: int = 1
    stops: tuple[int, int, int] | None = None
    transposed: bool = False
    rows: str = "whole"


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A job in memory.

    Parameters
    ----------
    config: of the device
    registers: of the job
    memory: before it
    spans: by the names of registers with addresses, where its arrays begin and how long they are
    stored: registers of the vectors that the program stores
    """

    config: SidaConfig
    registers: dict[str, int]
    memory: Bytes
    spans: dict[str, tuple[int, int]]
    stored: tuple[str, ...]

    def with_registers(self, **changes: int) -> Placed:
        """The same job with other registers."""
        return replace(self, registers=self.registers | changes)

    def with_word(self, array: str, number: int, word: int, size: int = 4) -> Placed:
        """The same job with another word of an array, which is of words of ``size`` bytes."""
        memory = self.memory.copy()
        first = self.spans[array][0] + number * size
        memory[first : first + size] = np.frombuffer(word.to_bytes(size, "little"), np.uint8)
        return replace(self, memory=memory)

    def word(self, array: str, number: int, size: int = 4) -> int:
        """A word of an array."""
        first = self.spans[array][0] + number * size
        return int.from_bytes(self.memory[first : first + size].tobytes(), "little")

    def inside(self, *arrays: str) -> npt.NDArray[np.bool_]:
        """Returns a mask of the bytes of memory that belong to these arrays."""
        found = np.zeros(len(self.memory), np.bool_)
        for name in arrays:
            first, size = self.spans[name]
            found[first : first + size] = True
        return found


def random_case(
    rng: np.random.Generator,
    config: SidaConfig,
    *,
    size: int | None = None,
    shape: str | None = None,
    semirings: tuple[Semiring, Semiring | None] | None = None,
    passes: int | None = None,
    length: int | None = None,
    transposed: bool | None = None,
    rows: str | None = None,
) -> SidaCase:
    """Draws a job of any kind, with any patterns as values.

    Parameters
    ----------
    size: rows of the matrix; None: one, or up to 100, as far as vectors have room, or up to
        120 where they are in memory
    shape: of ``JOB_SHAPES``; None: any
    semirings: None: any that are built, with or without a second product
    passes: None: 1 to 3
    length: instructions of each part besides ``out``; None: up to what memory there is for them
    transposed: None: either
    rows: in memory, see ``images.ROWS``; None: either
    """
    (other_rng,) = rng.spawn(1)
    if size is None:
        size = 1 if rng.random() < 0.08 else _any(rng, _most_rows(config))
    matrix = drawn(rng, config, size, shape or JOB_SHAPES[int(rng.integers(len(JOB_SHAPES)))])
    matrix = replace(matrix, values=random_values(rng, config.format, len(matrix.rows)))
    built = config.operators
    if semirings is None:
        first, second = (built[int(rng.integers(len(built)))] for _ in range(2))
        semirings = (first, None if rng.random() < 0.25 else second)
    most = min(config.program_words // 2 - 2, 30)
    program = _stores_once(
        random_program(int(rng.integers(1 << 30)), config.format, length or _any(rng, most))
    )
    reductions = [number for number, one in enumerate(program.scalars) if one.reduction]
    stops = None
    if rng.random() < 0.5:
        one, other = (reductions[int(n)] for n in rng.integers(len(reductions), size=2))
        stops = (one, other, int(rng.integers(SCALARS)))
    return SidaCase(
        matrix=matrix,
        x=random_values(rng, config.format, size),
        program=program,
        semirings=semirings,
        scalars=random_values(rng, config.format, SCALARS),
        vectors={n: random_values(rng, config.format, size) for n in range(len(program.vectors))},
        passes=passes or _any(rng, 3),
        stops=stops,
        transposed=rng.random() < 0.4 if transposed is None else transposed,
        rows=rows or ROWS[int(other_rng.integers(len(ROWS)))],
    )


def _most_rows(config: SidaConfig) -> int:
    if config.windowed:
        return min(120, config.rows_limit)
    return min(100, config.vector_words)


def _any(rng: np.random.Generator, most: int) -> int:
    return int(rng.integers(1, most + 1))


def _stores_once(program: Program) -> Program:
    """Removes stores of a vector that the part has stored before."""

    def once(part: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
        kept: list[Instruction] = []
        stored: set[int] = set()
        for one in part:
            stores = set(one.of("v")) if one.operation.name == "store" else set()
            if not stores & stored:
                kept.append(one)
            stored |= stores
        return tuple(kept)

    return replace(program, e1=once(program.e1), e2=once(program.e2))


def stored_vectors(program: Program, *, second: bool) -> list[int]:
    """Numbers of the vectors that a program stores."""
    parts = program.e1 + (program.e2 if second else ())
    return sorted({n for one in parts if one.operation.name == "store" for n in one.of("v")})


def place(rng: np.random.Generator, config: SidaConfig, case: SidaCase, size: int) -> Placed:
    """A job in a memory of ``size`` bytes full of random ones: its arrays in any order, with any
    gaps between them.

    Raises ValueError if it does not fit.
    """
    first, second = case.semirings
    words, entry = program_words(case.program, second=second is not None)
    late = late_step(config, case.rows)
    images = job_images(
        case.matrix, case.x, case.scalars.tolist(), words, case.vectors, config.format, late
    )
    line = config.line_bytes
    sizes = {name: len(content) for name, content in images.items()}
    sizes |= spilled_bytes(config, case.matrix.size)
    lines = {name: -(-count // line) for name, count in sizes.items()}
    spare = size // line - sum(lines.values())
    if spare < 0:
        raise ValueError(f"`size` must be at least {sum(lines.values()) * line}, not {size}")
    memory = np.frombuffer(rng.bytes(size), np.uint8).copy()
    names = [list(sizes)[int(n)] for n in rng.permutation(len(sizes))]
    gaps = np.sort(rng.integers(0, spare + 1, len(names)))
    spans, taken = {}, 0
    for name, gap in zip(names, gaps.tolist(), strict=True):
        spans[name] = ((taken + gap) * line, sizes[name])
        taken += lines[name]
        begin, count = spans[name]
        if name in images:
            memory[begin : begin + count] = np.frombuffer(images[name], np.uint8)
    stop = case.stops or (0, 0, 0)
    registers = {
        "ROWS": case.matrix.size,
        "PASSES": case.passes,
        "FIRST": first.opcode,
        # Any operation is valid where there is no second product.
        "SECOND": second.opcode if second else int(rng.integers(256)),
        "SECOND_PRODUCT": int(second is not None),
        "TRANSPOSED": int(case.transposed),
        "WORDS": len(words),
        "ENTRY": entry,
        "STOPS": int(case.stops is not None),
        **dict(zip(("STOP_1", "STOP_2", "LIMIT"), stop, strict=True)),
        **dict.fromkeys((name.upper() for name in VECTOR_BASES), 0),
        **{name.upper(): begin for name, (begin, _) in spans.items()},
        **_unused(rng, config, case),
    }
    stored = stored_vectors(case.program, second=second is not None)
    return Placed(
        config=config,
        registers=registers,
        memory=memory,
        spans=spans,
        stored=tuple(f"vector_{n}" for n in stored),
    )


def _unused(rng: np.random.Generator, config: SidaConfig, case: SidaCase) -> dict[str, int]:
    """Anything in the registers with addresses that a job does not use, by name: odd numbers, most
    of them above all addresses."""
    (own_rng,) = rng.spawn(1)
    names: list[str] = []
    if case.semirings[1] is None or case.transposed:
        names += BY_ROWS
    if case.semirings[1] is None and config.windowed:
        names.append("w_spill")
    return {name.upper(): int(own_rng.integers(1 << 63)) | 1 for name in names}


def random_job(
    rng: np.random.Generator,
    config: SidaConfig,
    memory_bytes: int,
    *,
    size: int | None = None,
    shape: str | None = None,
    semirings: tuple[Semiring, Semiring | None] | None = None,
    passes: int | None = None,
    transposed: bool | None = None,
    rows: str | None = None,
) -> Placed:
    """A random job in a memory; see :func:`random_case`, :func:`place`.

    ``size``: None: besides, now and then as many rows as vectors or two steps have, or one less or
    more, if the memory has room.
    """
    case = random_case(
        rng,
        config,
        size=size or _edge(rng, config, memory_bytes),
        shape=shape,
        semirings=semirings,
        passes=passes,
        transposed=transposed,
        rows=rows,
    )
    return place(rng, config, case, memory_bytes)


def _edge(rng: np.random.Generator, config: SidaConfig, memory_bytes: int) -> int | None:
    """A size at which something is full, or None."""
    most, step = config.vector_words, config.subtensor
    size = min(most, int(rng.choice([2 * step - 1, 2 * step, 2 * step + 1, most - 1, most])))
    elements = size * size * 2 * (4 + config.format.bits // 8)
    return size if rng.random() < 0.15 and elements < memory_bytes * 0.9 else None


def _run(device: AcceleratorDevice[SidaConfig], placed: Placed) -> JobStatus:
    device.write_memory(0, placed.memory.tobytes())
    return JobRegisters(device, job_spec(placed.config)).submit(placed.registers)


def compare(
    device: AcceleratorDevice[SidaConfig], placed: Placed, *, disagree: bool = False
) -> JobStatus:
    """Runs a job on a device and on the model. The status, the error and its detail, and all
    counters that do not depend on time must be the same. So must all of memory, except the
    program's stores after an error.

    Of an error of the bus the address must lie behind the memory, since the first of several that
    do is a matter of time. With ``disagree`` a job that the model, which reads no rows, ends well
    may end with that error, and nothing else is compared then.

    Returns how it ended. Raises Mismatch.
    """
    model = SidaModel(placed.config, len(placed.memory))
    expected = _run(model, placed)
    found = _run(device, placed)
    what = f"{_short(placed)}: "
    if disagree and (found.error, expected.error) == ("disagree", "none"):
        return found
    if found.error != expected.error:
        raise Mismatch(
            f"{what}{found.error} ({found.where}), the model: {expected.error} ({expected.where})"
        )
    far = found.error in ("bus_read", "bus_write") and found.detail >= len(placed.memory)
    if found.detail != expected.detail and not far:
        raise Mismatch(f"{what}{found.error}: {found.where}, the model: {expected.where}")
    content = np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)
    different = content[: len(placed.memory)] != model.memory
    if found.error != "none":
        different &= ~placed.inside(*placed.stored)
    if found.error not in _CHECKS:
        different &= ~placed.inside(*(name for name in WINDOW_BASES if name in placed.spans))
    if different.any():
        raise Mismatch(what + _first_difference(placed, different))
    if found.error == "none":
        counted = timeless(expected.counts)
        for name, count in timeless(found.counts).items():
            if count != counted[name]:
                raise Mismatch(f"{what}{name} is {count}, the model's {counted[name]}")
    return found


def check_job(device: SidaRtl, placed: Placed, *, disagree: bool = False) -> JobStatus:
    """Compares a job as :func:`compare` does. It also checks that the bus is quiet at the end, that
    the counted bytes moved over it, and that the counters are consistent if the device counts
    cycles. ``placed``: in a memory of the device's size. Returns how it ended. Raises Mismatch.

    ``placed``: in a memory of the device's size. Returns how it ended. Raises Mismatch.
    """
    before = device.moved
    found = compare(QuietAtEnd(device), placed, disagree=disagree)
    moved = np.subtract(device.moved, before).sum(axis=0).tolist()
    counted = [found.counts["bytes_read"], found.counts["bytes_written"]]
    if found.error == "none" and moved != counted:
        raise Mismatch(f"{_short(placed)}: over the bus went {moved}, counted are {counted}")
    counts = found.error == "none" and found.counts["cycles"] > 0
    if counts and (wrong := _contradictions(placed, found.counts)):
        raise Mismatch(f"{_short(placed)}: {wrong}: {found.counts}")
    return found


def _contradictions(placed: Placed, counts: dict[str, int]) -> str:
    """Returns the first contradiction among a job's counters; an empty text if there is none."""
    streams = ["pointers", "rows", "values", "again", "vectors", "program"]
    if placed.config.windowed:
        streams.append("windows_read")
    late = ("held", "lost", "bytes_again", "wait_held")
    passed, pes = counts["passes_done"], placed.config.pes
    rules = {
        "bytes of streams": sum(counts[f"bytes_{name}"] for name in streams)
        == counts["bytes_read"],
        "cycles of columns": counts["wait_columns"] <= counts["column_cycles"] < counts["cycles"],
        "busy cycles": counts["busy_cycles"] + counts["stalls"] < counts["cycles"]
        and counts["busy_cycles"] <= counts["elements"] <= counts["busy_cycles"] * pes,
        "held": placed.registers["SECOND_PRODUCT"] == 1 or not any(counts[n] for n in late),
        "held at most": counts["held"] <= placed.config.buffer_words
        and counts["held"] * passed <= counts["elements"],
        "lost panels": counts["lost"] * placed.config.subtensor
        < (placed.registers["ROWS"] + placed.config.subtensor) * passed,
        "elements that are read again": bool(counts["bytes_again"]) == bool(counts["lost"]),
    }
    return ", ".join(name for name, holds in rules.items() if not holds)


def _short(placed: Placed) -> str:
    names = ("ROWS", "PASSES", "FIRST", "SECOND", "SECOND_PRODUCT", "TRANSPOSED", "STOPS", "WORDS",
             "ENTRY")  # fmt: skip
    return ", ".join(f"{name} {placed.registers[name]}" for name in names)


def _first_difference(placed: Placed, different: npt.NDArray[np.bool_]) -> str:
    first = int(np.argmax(different))
    text = f"{np.count_nonzero(different)} bytes differ, first {first:#x}"
    for name, (begin, size) in placed.spans.items():
        if begin <= first < begin + size:
            each = 4 if name == "program_base" else placed.config.format.bits // 8
            return f"{text}, element {(first - begin) // each} of {name}"
    return f"{text}, in no array"
