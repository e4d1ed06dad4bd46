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


_OCTET = 8


class Commands:
    """A list of commands.

    Parameters
    ----------
    listed: ``commands`` of an operation
    """

    def __init__(self, listed: Mapping[str, Any]) -> None:
        self._listed = listed
        self._kinds = {one["name"]: one for one in listed["kinds"]}
        self.counts = dict.fromkeys(self._kinds, 0)
        self.content = b""

    def named(self, table: str, name: str) -> Mapping[str, Any]:
        """An entry of a table of the list."""
        found: Mapping[str, Any] = next(x for x in self._listed[table] if x["name"] == name)
        return found

    def add(self, kind: str, **values: int | str) -> int:
        """Append a command, a value by its number or its name; returns how many of its kind there
        are."""
        fields = self._kinds[kind]["fields"]
        word = self._kinds[kind]["value"] << fields["kind"]["low"]
        for name, value in values.items():
            field = fields[name]
            if isinstance(value, str):
                value = (
                    field["values"][value]
                    if "values" in field
                    else self.named(field["of"], value)["value"]
                )
            assert 0 <= value < 1 << field["bits"], name
            word |= value << field["low"]
        self.content += word.to_bytes(self._listed["bytes"], "little")
        self.counts[kind] += 1
        return self.counts[kind]


def command_job(
    rng: np.random.Generator, sidecar: Mapping[str, Any], memory_bytes: int, most: int
) -> ProgramJob:
    """A function of vectors, octet by octet, in all banks of all lanes, of a format and of operands
    that are drawn; results go to memory."""
    (operation,) = sidecar["operations"]
    listed = operation["commands"]
    memory = rng.integers(0, 256, memory_bytes, np.uint8)
    job = ProgramJob(memory, dict.fromkeys(sidecar["jobs"]["registers"], 0))
    fmt = listed["formats"][int(rng.integers(len(listed["formats"])))]
    described = sidecar["formats"][fmt["format"]]
    kind = "floats" if described["kind"] == "float" else "integers"
    functions = [one for one in listed["functions"] if kind in one]
    function = functions[int(rng.integers(len(functions)))]
    chained = function["name"] in ("dot", "sum")
    size = described["container_bits"] // 8
    wide = max(fmt["result_bytes"][0], size) if function["name"] == "dot" else size
    memories = {one["name"]: one for one in listed["memories"]}
    word_bytes = memories["left"]["word_bytes"]
    # A bank holds the operands of so many octets, and an even number of words of results.
    room = memories["left"]["words"] * word_bytes // (_OCTET * size)
    octets = min(room, int(rng.integers(1, 3)) * max(1, 2 * word_bytes // (_OCTET * wide)))
    chain = int(rng.integers(1, room // octets + 1)) if chained else 1
    lanes = max(
        1 + int(one["field"].partition("_")[2])
        for one in operation["parameters"]
        if one["field"].startswith("lane_")
    )
    banks = memories["left"]["banks"] * lanes
    commands = Commands(listed)
    plain = next(
        one["value"]
        for one in listed["deals"]
        if one["banks"] == 1 and one["element_bytes"] == word_bytes
    )
    rows = {"deal": plain, "rows": banks, "first": 0, "step": 1, "lanes": lanes, "word": 0}
    loads, vectors = 0, {}
    for name in function[kind]:
        count = octets * (1 if name == "result" else chain)
        length = count * _OCTET * size
        base, stride, vectors[name] = _planes(rng, sidecar, job, listed, fmt, banks, count)
        words = -(-length // word_bytes)
        assert words <= memories[name]["words"]
        loads = commands.add(
            "load", memory=name, row_bytes=length, base=base, stride=stride, words=words, **rows
        )
    executes = commands.add(
        "execute", loads=loads, operation="simd", format=fmt["name"], group=0,
        function=function["name"], time=octets, chain=chain,
        amount=int(rng.integers(_OCTET)) if function["name"] == "slide" else 0,
    )  # fmt: skip
    length = octets * _OCTET * wide
    align = listed["row_align"]
    stride = -(-length // align) * align
    first = job.put("LIST", align, bytes(banks * stride))
    memory[first[0] : sum(first)] = rng.integers(0, 256, first[1], np.uint8)
    job.results.append(first)
    commands.add(
        "store", executes=executes, row_bytes=length, base=first[0], stride=stride,
        words=-(-length // word_bytes), **rows,
    )  # fmt: skip
    job.given = {
        "function": function["name"],
        "format": fmt["name"],
        "operands": [vectors[name] for name in function[kind]],
        "rows": (first[0], stride, banks, octets, size),
    }
    job.put(listed["base"], listed["align"], commands.content)
    job.registers[listed["count"]] = sum(commands.counts.values())
    return job


def _planes(
    rng: np.random.Generator,
    sidecar: Mapping[str, Any],
    job: ProgramJob,
    listed: Mapping[str, Any],
    fmt: Mapping[str, Any],
    banks: int,
    octets: int,
) -> tuple[int, int, npt.NDArray[np.uint64]]:
    """Octets of random elements for each bank, by planes of bytes: address and stride of rows, and
    the elements."""
    size = sidecar["formats"][fmt["format"]]["container_bits"] // 8
    count = banks * octets * _OCTET
    words = random_words(rng, sidecar["formats"], fmt["format"], count)
    content = words.astype("<u8").view(np.uint8).reshape(banks, octets, _OCTET, 8)[..., :size]
    rows = content.swapaxes(2, 3).reshape(banks, -1)
    align = listed["row_align"]
    stride = -(-rows.shape[1] // align) * align
    padded = np.pad(rows, [(0, 0), (0, stride - rows.shape[1])])
    first, _ = job.put(listed["base"], align, padded.tobytes())
    return first, stride, words.reshape(banks, octets, _OCTET)
