"""A SIDA as software sees it: registers and a memory, jobs done in no time by the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ...hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    REDUCTIONS,
    REGISTERS,
    SCALARS,
    VECTORS,
    Instruction,
    scalar_operand,
)
from ...hw.spec.elementwise.program import Program, Scalar
from ...hw.spec.formats import FloatFormat, Format
from ...hw.spec.jobs.sida import job_spec
from ...hw.spec.semirings import Semiring
from ...hw.spec.sida import SidaConfig
from ..device.model import ModelDevice
from ..numbers.container_words import from_bytes, to_bytes
from ..numbers.values import Patterns, decode
from .images import first_fault
from .result.elementwise import run
from .result.products import (
    Columns,
    Rules,
    input_stationary,
    output_stationary,
    transposed_product,
)

_FIELD_BITS = 6
_FIELDS = {"d": 0, "s": 0, "a": 1, "b": 2, "c": 3, "v": 3}
_SIZES = {"d": REGISTERS, "s": SCALARS, "v": VECTORS}


@dataclass
class WordFault(Exception):
    """The word at ``place`` is no instruction of the core, or a second result, or there is
    none."""

    place: int


def part_of_words(words: Sequence[int], entry: int, fmt: Format) -> Program:
    """Decodes a program whose E1 is the part that begins at a word, with all scalars.

    What of a word no instruction has does not count, nor do high bits of an operand's number; *dot*
    the core does not have, *div* and *sqrt* only for floats.

    Raises WordFault.
    """
    by_opcode = {
        one.opcode: one
        for one in INSTRUCTIONS.values()
        if one.name != "dot" and (isinstance(fmt, FloatFormat) or not one.floats)
    }
    found: list[Instruction] = []
    kinds = [""] * SCALARS
    given = False
    for place in range(entry, len(words)):
        operation = by_opcode.get(_field(words[place], 0))
        if operation is None or (given and operation.name == "out"):
            raise WordFault(place)
        given = given or operation.name == "out"
        if operation.name == "end":
            scalars = tuple(Scalar(reduction=kind) for kind in kinds)
            return Program(scalars=scalars, e1=tuple(found))
        operands = tuple(_operand(kind, words[place]) for kind in operation.operands)
        one = Instruction(operation=operation, operands=operands)
        found.append(one)
        if operation.name in REDUCTIONS:
            kinds[one.of("s")[0]] = operation.name
    raise WordFault(max(entry, len(words)))


def _field(word: int, number: int) -> int:
    return word >> _FIELD_BITS * number & (1 << _FIELD_BITS) - 1


def _operand(kind: str, word: int) -> int:
    number = _field(word, 1 + _FIELDS[kind])
    if kind in _SIZES:
        return number % _SIZES[kind]
    scalar = number >= scalar_operand(0)
    return scalar_operand(number % SCALARS) if scalar else number % REGISTERS


Ints = npt.NDArray[np.int64]


TIMELESS = ("operations", "elements", "passes_done", "ended", "bytes_written")
"""Counters that do not depend on time; bytes that are written only if no part stores a vector
twice, and without those of vectors that are kept in memory on their way."""


def timeless(counts: Mapping[str, int]) -> dict[str, int]:
    """Selects the counters that do not depend on time."""
    found = {name: counts[name] for name in TIMELESS}
    found["bytes_written"] -= counts.get("bytes_windows_written", 0)
    return found


class _Stopped(Exception):
    """A job that ends with an error: its name, and ERROR_DETAIL."""

    def __init__(self, error: str, detail: int) -> None:
        super().__init__(error)
        self.error, self.detail = error, detail


class SidaModel(ModelDevice):
    """Passes over the matrix in memory. What a job leaves there is the hardware's, bit for bit; of
    what it counts only that which does not depend on time (``TIMELESS``), the rest being zero.

    The matrix is taken by columns. By rows the hardware reads it only if the buffer is too small,
    so what is wrong with it there is not found. Of several things that are wrong, the matrix comes
    before the program. Vectors that a part loads are read when it begins, and what it stores is
    written when it ends: they should not overlap.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    """

    def __init__(self, config: SidaConfig, memory_bytes: int = 1 << 20) -> None:
        self.config: Final = config
        super().__init__(job_spec(config), memory_bytes)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        try:
            return "none", 0, _Job(self, self._values).run()
        except _Stopped as stop:
            return stop.error, stop.detail, {}


class _Job:
    """A job that obeys the rules of its registers."""

    def __init__(self, device: SidaModel, values: dict[str, int]) -> None:
        self._device, self._values = device, values
        config = device.config
        self._format, self._rows = config.format, values["ROWS"]
        self._rules = Rules.of(config)
        self._window = min(config.pes, config.subtensor)
        by_opcode = {one.opcode: one for one in config.operators}
        self._first: Semiring = by_opcode[values["FIRST"]]
        self._second: Semiring | None = None
        if values["SECOND_PRODUCT"]:
            self._second = by_opcode[values["SECOND"]]
        self._scalars = self._numbers("SCALARS", SCALARS).tolist()
        words = self._read("PROGRAM_BASE", 4 * values["WORDS"])
        self._words = np.frombuffer(words, "<u4").tolist()
        self._counts = dict.fromkeys(TIMELESS, 0)

    def run(self) -> dict[str, int]:
        """Runs all passes; returns the counters."""
        values, counts = self._values, self._counts
        x = self._numbers("X", self._rows)
        matrix = self._matrix()
        products = 1 if self._second is None else 2
        while counts["passes_done"] < values["PASSES"] and not counts["ended"]:
            z = self._part(0, output_stationary(self._rules, self._first, matrix, x))
            x = z
            if self._second is not None:
                second = transposed_product if values["TRANSPOSED"] else input_stationary
                x = self._part(values["ENTRY"], second(self._rules, self._second, matrix, z))
            counts["passes_done"] += 1
            counts["elements"] += len(matrix.rows)
            counts["operations"] += 2 * products * len(matrix.rows)
            counts["ended"] = self._ended()
        self._write("SCALARS", np.array(self._scalars, np.uint64))
        return counts

    def _ended(self) -> int:
        """The product that met the limit."""
        values = self._values
        products = (1,) if self._second is None else (1, 2)
        for number in products if values["STOPS"] else ():
            pair = [self._scalars[values[f"STOP_{number}"]], self._scalars[values["LIMIT"]]]
            found, limit = decode(np.array(pair, np.uint64), self._format)
            if found < limit:
                return number
        return 0

    def _part(self, entry: int, product: Patterns) -> Patterns:
        """A part of the program on what a product gave; returns its result."""
        try:
            program = part_of_words(self._words, entry, self._format)
        except WordFault as fault:
            raise _Stopped("program", fault.place) from None
        vectors = {n: self._numbers(f"VECTOR_{n}", self._rows) for n in _loaded(program)}
        found = run(self._rules, program, "e1", product, self._scalars, vectors)
        for number, patterns in found.vectors.items():
            self._write(f"VECTOR_{number}", patterns)
        for number, pattern in found.reductions.items():
            self._scalars[number] = pattern
        return found.result

    def _matrix(self) -> Columns:
        pointers = self._indices("COLUMN_POINTERS", self._rows + 1)
        # Bad ends are seen before rows that would be read far behind them.
        fault = first_fault(pointers, None, self._window)
        elements = int(pointers[-1])
        rows = np.zeros(0, np.int64)
        values = np.zeros(0, np.uint64)
        if elements and not (fault and fault.column < self._window):
            rows = self._indices("ROW_NUMBERS", elements)
            values = self._numbers("COLUMN_VALUES", elements)
            fault = first_fault(pointers, rows, self._window)
        if fault:
            raise _Stopped(fault.error, fault.column)
        return Columns(pointers=pointers, rows=rows, values=values)

    def _indices(self, register: str, count: int) -> Ints:
        return np.frombuffer(self._read(register, 4 * count), "<u4").astype(np.int64)

    def _numbers(self, register: str, count: int) -> Patterns:
        return from_bytes(self._read(register, count * self._format.bits // 8), self._format)

    def _read(self, register: str, count: int) -> bytes:
        address = self._values[register]
        try:
            return self._device.read_memory(address, count)
        except IndexError:
            raise _Stopped("bus_read", max(address, self._device.memory_bytes)) from None

    def _write(self, register: str, patterns: Patterns) -> None:
        address, content = self._values[register], to_bytes(patterns, self._format)
        try:
            self._device.write_memory(address, content)
        except IndexError:
            raise _Stopped("bus_write", max(address, self._device.memory_bytes)) from None
        self._counts["bytes_written"] += len(content)


def _loaded(program: Program) -> set[int]:
    """Vectors that E1 loads before it stores them."""
    loaded: set[int] = set()
    stored: set[int] = set()
    for one in program.e1:
        if one.operation.name == "load":
            loaded |= set(one.of("v")) - stored
        elif one.operation.name == "store":
            stored |= set(one.of("v"))
    return loaded
