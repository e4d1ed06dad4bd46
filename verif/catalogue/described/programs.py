"""Jobs whose sidecar has a program: random ones, put into memory by what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.verif.catalogue.described.operations import random_words

Memory = npt.NDArray[np.uint8]

Written = tuple[str, tuple[tuple[str, int], ...]]
"""An instruction by its name; of each operand what it is of, and its number there."""

_LENGTH = 6
"""Instructions that compute, of each part."""

_SCALARS = 32


class ProgramJob:
    """A job in memory.

    Members
    -------
    registers: of the job, by name
    memory: before it
    results: base and bytes of what it may change and defines
    work: base and bytes of what it leaves in any state
    parts: of a program, as they are written
    elements: of its matrix: row, column, word
    given: of a list of commands: what it computes, on what
    """

    def __init__(self, memory: Memory, registers: dict[str, int]) -> None:
        self.memory, self.registers = memory, registers
        self.results: list[tuple[int, int]] = []
        self.work: list[tuple[int, int]] = []
        self.parts: list[list[Written]] = []
        self.elements: list[tuple[int, int, int]] = []
        self.given: dict[str, Any] = {}
        self._end = 0

    def put(self, base: str, align: int, content: bytes) -> tuple[int, int]:
        """Appends content to memory and writes its address to a register."""
        first = -(-self._end // align) * align
        self.memory[first : first + len(content)] = np.frombuffer(content, np.uint8)
        self.registers[base] = first
        self._end = first + len(content)
        return first, len(content)


def word_of(program: Mapping[str, Any], name: str, *operands: tuple[str, int]) -> int:
    """The word of an instruction; an operand is what it is of, and its number there."""
    (known,) = (one for one in program["instructions"] if one["name"] == name)
    found: int = known["opcode"] << program["parts"]["opcode"]["low"]
    for kind, (of, number) in zip(known["operands"], operands, strict=True):
        described = program["kinds"][kind]
        (numbers,) = (x for x in described["numbers"] if x["of"] == of)
        assert number < numbers["count"]
        found |= (numbers["first"] + number) << program["parts"][described["part"]]["low"]
    return found


def _part(
    rng: np.random.Generator, program: Mapping[str, Any], loads: list[int], stores: int, scalar: int
) -> list[Written]:
    """A part: loads, instructions on what was written, a reduction to a scalar, a store."""
    written = [0]
    found: list[Written] = []
    scalars = [n for n in range(_SCALARS) if n != scalar]
    for number in loads:
        register = int(rng.integers(1, 16))
        found.append(("load", (("registers", register), ("vectors", number))))
        written.append(register)
    reducing = [one for one in program["instructions"] if "identity" in one]
    plain = [
        one
        for one in program["instructions"]
        if one["operands"] and one["operands"][0] == "d" and set(one["operands"][1:]) <= set("abc")
    ]

    def read() -> tuple[str, int]:
        if rng.random() < 0.2:
            return "scalars", int(rng.choice(scalars))
        return "registers", int(rng.choice(written))

    for _ in range(_LENGTH):
        one = plain[int(rng.integers(len(plain)))]
        register = int(rng.integers(16))
        reads = [read() for _ in one["operands"][1:]]
        found.append((one["name"], (("registers", register), *reads)))
        written.append(register)
    chosen = reducing[int(rng.integers(len(reducing)))]["name"]
    found.append((chosen, (("scalars", scalar), read())))
    found.append(("store", (("vectors", stores), read())))
    found.append(("out", (read(),)))
    found.append((program["ends_with"], ()))
    return found


def _compressed(
    rng: np.random.Generator,
    job: ProgramJob,
    place: Mapping[str, Any],
    elements: list[tuple[int, int, int]],
    size: int,
) -> None:
    """The arrays of a sparse matrix of (row, column, word)."""
    by_rows = place["major"] == "rows"
    number = "column" if by_rows else "row"
    kept = elements
    if late := place.get("late"):
        step, behind = late["step"], late["behind"]
        # Unused entries may be present or absent.
        kept = [x for x in kept if x[1] < (x[0] // step + behind) * step or rng.random() < 0.5]
    ordered = sorted((r, c, word) if by_rows else (c, r, word) for r, c, word in kept)
    starts = np.searchsorted([x[0] for x in ordered], np.arange(size + 1)).tolist()
    for array, part, values in (
        (place["pointers"], "start", starts),
        (place["numbers"], number, [x[1] for x in ordered]),
        (place["values"], "value", [x[2] for x in ordered]),
    ):
        low = array["parts"][part]["low"]
        content = b"".join((x << low).to_bytes(array["bytes"], "little") for x in values)
        job.put(array["base"], place["align"], content)


def program_job(
    rng: np.random.Generator, sidecar: Mapping[str, Any], memory_bytes: int, most: int
) -> ProgramJob:
    """A random job of the one operation that the sidecar has."""
    (operation,) = sidecar["operations"]
    program = operation["program"]
    memory = rng.integers(0, 256, memory_bytes, np.uint8)
    job = ProgramJob(memory, dict.fromkeys(sidecar["jobs"]["registers"], 0))
    registers = job.registers
    sizes = {}
    for size in operation["sizes"]:
        sizes[size["name"]] = size.get("value", 0)
        if "register" in size:
            registers[size["register"]] = sizes[size["name"]] = int(rng.integers(1, most + 1))
    for parameter in operation["parameters"]:
        if choices := parameter.get("choices"):
            chosen = choices[int(rng.integers(len(choices)))]
            registers[parameter["register"]] = chosen["value"]
    registers["PASSES"] = int(rng.integers(1, 4))
    first, second = 0, 1
    registers |= {"STOP_1": first, "STOP_2": second, "LIMIT": 2}
    loads = [[0, 1], [2, 3]]
    job.parts = [_part(rng, program, loads[n], 4 + n, (first, second)[n]) for n in range(2)]
    parts = [[word_of(program, name, *of) for name, of in part] for part in job.parts]
    for entry, at in zip(program["entries"], (0, len(parts[0])), strict=True):
        if "register" in entry:
            registers[entry["register"]] = at
        else:
            assert entry["at"] == at
    content = b"".join(
        word.to_bytes(program["bytes"], "little") for words in parts for word in words
    )
    registers[program["count"]] = sum(map(len, parts))
    job.put(program["base"], program["align"], content)
    _operands(rng, sidecar, operation, sizes, job)
    return job


def _operands(
    rng: np.random.Generator,
    sidecar: Mapping[str, Any],
    operation: Mapping[str, Any],
    sizes: Mapping[str, int],
    job: ProgramJob,
) -> None:
    """Returns all operands of a job, one after the other."""
    size = sizes["N"]
    matrix: list[tuple[int, int, int]] | None = None
    for operand in operation["operands"]:
        place = operand["placement"]
        if place["kind"] == "compressed":
            if matrix is None:
                there = np.argwhere(rng.random((size, size)) < 0.3).tolist()
                words = random_words(rng, sidecar["formats"], operand["format"], len(there))
                matrix = [(r, c, int(w)) for (r, c), w in zip(there, words.tolist(), strict=True)]
                job.elements = matrix
            _compressed(rng, job, place, matrix, size)
            continue
        rows = sizes[operand["rows"]] or -(-size // sizes["lanes"])
        count = rows * sizes[operand["columns"]]
        words = random_words(rng, sidecar["formats"], operand["format"], count)
        content = b"".join(int(x).to_bytes(place["element_bytes"], "little") for x in words)
        if "row_bytes" in place:
            content = bytes(rows * place["row_bytes"])
        span = job.put(place["base"], place["align"], content)
        if operand["direction"] == "work":
            job.work.append(span)
        elif operand["direction"] in ("inout", "program"):
            job.results.append(span)
