"""A job's list of commands, in numbers for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import (
    BANKS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
)
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import (
    COMMAND_BYTES,
    DEALS,
    FIELDS,
    KINDS,
    MEMORIES,
    OPERATIONS,
)
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    octet_cycles,
    operand_memories,
    vector_result_bytes,
)
from ..regions import Region, region_of

# When a vector operation reads and writes its planes in the memory of results, and when it ends.
#
# Cycles are those of column 0; each other column's are one behind the one before.

MOST_PLANES = 16
"""Most planes that an octet reads, or writes."""

_SHIFTS = ("sll", "srl", "sra")
_UPPER = ("mulh", "srl", "sra")
_CHAINS = ("dot", "sum")
_FLOAT_SUMS = ("add", "sub", "sum")
_OF_FLOATS = ("mul", "fma", "dot", *_FLOAT_SUMS)


class OctetCycles(NamedTuple):
    """The timing of an octet of results.

    ``cycles``: to the next one; ``reads``, ``writes``: in which planes are read, and written
    ``late`` cycles later than those of integers; ``last``: cycles to that of the last products;
    ``behind``: from there on to the end of a command, more than integers take.
    """

    cycles: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    late: int
    last: int
    behind: int


@cache
def octet(config: GtaConfig, function: str, format: str, chain: int, use_c: bool) -> OctetCycles:
    """Returns an octet's timing for a command's fields. Raises ValueError for unknown functions."""
    cycles = octet_cycles(config, function, format, chain)
    if is_float(format) and function in _OF_FLOATS:
        return _floats(config, function, format, chain, use_c)
    reads, writes = _bytes(function, format, chain, cycles)
    adds = function in ("fma", "dot") or "result" in operand_memories(function, format)
    return OctetCycles(cycles, reads if adds else (), writes, 0, cycles, 0)


def results_of(function: str, format: str, use_c: bool) -> tuple[bool, int]:
    """Returns whether a command starts from the contents of the result memory, and the bytes of an
    octet of its own results there."""
    memories = operand_memories(function, format)
    reads = use_c if function in _CHAINS else "result" in memories
    return reads, OCTET * vector_result_bytes(function, format)


def _floats(config: GtaConfig, function: str, format: str, chain: int, use_c: bool) -> OctetCycles:
    """Rounded whole: words are read with the first product's last limbs, of fp64 a half a cycle
    sooner, and written with the last product's, of fp64 a half a cycle later."""
    cycles, length = octet_cycles(config, function, format, chain), limbs(format)
    first = length if function in _FLOAT_SUMS else length**2
    last = cycles - cycles // chain + first
    wide = format == "fp64"
    adds = use_c if function in _CHAINS else "result" in operand_memories(function, format)
    return OctetCycles(
        cycles=cycles,
        reads=tuple(range(first - 1 - wide, first)) if adds else (),
        writes=tuple(range(last - 1 - wide, last)),
        late=config.adder_stages + wide,
        last=last,
        behind=config.adder_stages + wide,
    )


def _bytes(
    function: str, format: str, chain: int, cycles: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Products of integers give a plane at the end of each diagonal of limbs, and one in each cycle
    behind the last; other functions one a cycle, those of two passes in the second."""
    length, size = limbs(format), element_bytes(format)
    if function not in ("mul", "mulh", "fma", "dot", *_SHIFTS):
        there = tuple(range(cycles))
        return there, there[cycles - size :]
    ends, at = [], 0
    for diagonal in range(2 * length - 1):
        at += chain * (min(diagonal, length - 1) - max(0, diagonal - length + 1) + 1)
        ends.append(at - 1)
    ends += range(at, cycles)
    first = length if function in _UPPER else 0
    width = vector_result_bytes(function, format)
    written = tuple(ends[first : first + width])
    # A shift to the right needs the top bit of the plane below.
    return (tuple(ends[first - 1 : first + width]) if function in _SHIFTS[1:] else written), written


LOAD, EXECUTE, STORE = range(len(KINDS))

_ROWS_CHECK, _EXECUTE_CHECK = 3, 4
"""Cycles of a check beside one for each time that rows go through the lanes, or for each lane and
fold."""

_OF_ROWS = ("rows", "row_bytes", "first", "step", "lanes")
_PLACES = ("memory", "place", "beats", "stride", "banks", "result", "narrow", "element", "parts")
_OF_VECTORS = ("function", "format", "chain", "use_c", "amount", "time", "result_base")
_OF_FOLDS = ("row_folds", "col_folds", "lateral", "use_c", "rows_last")

COMMAND = np.dtype(
    [
        ("kind", np.int64),
        # Number of commands of each kind that must be complete before this one starts.
        ("needs", np.int64, len(KINDS)),
        # Cycles from when its check begins to when it is passed on.
        ("check", np.int64),
        # A LOAD or a STORE: fields, and beats of memory.
        *[(name, np.int64) for name in _OF_ROWS],
        *[(name, np.int64) for name in _PLACES],
        # An EXECUTE: fields; its region; operation, format and width in one number; limbs.
        *[(name, np.int64) for name in _OF_FOLDS],
        *[(name, np.int64) for name in ("region", "same", "weights", "floats", "steady", "limbs")],
        # Every how many-th old sum is read: with it those behind it are.
        ("every", np.int64),
        # An EXECUTE on vectors: flag, and timing; see `OctetCycles`.
        *[(name, np.int64) for name in ("simd", "octet", "planes", "late", "last", "behind")],
        # Its results: whether it reads any; where its own begin; bytes of them in a bank.
        *[(name, np.int64) for name in ("reads", "results", "written")],
        # Cycles of a fold's stream, or of all octets; of a product; from a fold to the next.
        *[(name, np.int64) for name in ("cycles", "product", "products", "interval")],
    ]
)
"""The fields of a command."""

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Job:
    """A job that ends well.

    Parameters
    ----------
    address: of the list
    commands: of type ``COMMAND``
    regions: that commands have
    planes: [n, of reads and of writes] -> how many, and in which cycles of an octet
    """

    address: int
    commands: Any
    regions: tuple[Region, ...]
    planes: _Ints


def job_of(
    config: GtaConfig, address: int, content: bytes, masks: Sequence[int], layout: int
) -> Job:
    """Decodes a job from its list in memory; ``masks``, ``layout``: of the lanes."""
    words = np.frombuffer(content, "<u8").reshape(-1, COMMAND_BYTES // 8)
    made = np.zeros(len(words), COMMAND)
    made["kind"] = _field(words, FIELDS["load"]["kind"]) - 1
    for number, name in enumerate(KINDS):
        made["needs"][:, number] = _field(words, FIELDS["load"][f"{name}s"])
    _rows(config, words, made)
    regions = _folds(config, words, made, masks, layout)
    return Job(address, made, regions, _vectors(config, words, made))


def _field(words: npt.NDArray[np.uint64], place: tuple[int, int]) -> _Ints:
    low, bits = place
    shifted = words[:, low // 64] >> np.uint64(low % 64)
    return (shifted & np.uint64((1 << bits) - 1)).astype(np.int64)


def _rows(config: GtaConfig, words: npt.NDArray[np.uint64], made: Any) -> None:
    """LOADs and STOREs."""
    places, beat = FIELDS["load"], beat_bytes(config)
    some = made["kind"] != EXECUTE
    found = {name: _field(words[some], place) for name, place in places.items()}
    stores = made["kind"][some] == STORE
    into = {name: found[name] for name in _OF_ROWS}
    into["banks"] = np.array([deal.banks for deal in DEALS])[found["deal"]]
    into["element"] = np.array([deal.element for deal in DEALS])[found["deal"]]
    into["parts"] = np.array([deal.part_banks for deal in DEALS])[found["deal"]]
    into["memory"] = found["memory"]
    into["result"] = stores | (found["memory"] == MEMORIES.index("result"))
    # The field of a LOAD's memory is that of a STORE's narrowing.
    into["narrow"] = stores & (found["memory"] != 0)
    whole = found["row_bytes"] >> into["narrow"].astype(np.int64)
    into["place"], into["stride"] = found["base"] // beat, found["stride"] // beat
    into["beats"] = -(-whole // beat)
    goes = -(-found["rows"] * into["banks"] // (found["lanes"] * BANKS))
    into["check"] = _ROWS_CHECK + goes
    for name, values in into.items():
        made[name][some] = values


def _folds(
    config: GtaConfig, words: npt.NDArray[np.uint64], made: Any, masks: Sequence[int], layout: int
) -> tuple[Region, ...]:
    """EXECUTEs; returns the regions."""
    some = made["kind"] == EXECUTE
    found = {name: _field(words[some], place) for name, place in FIELDS["execute"].items()}
    groups = sorted(set(masks))
    regions = []
    for group in groups:
        own = region_of(masks, layout, group)
        assert own is not None
        regions.append(own)
    into = {name: found[name] for name in _OF_FOLDS}
    into["region"] = region = np.searchsorted(groups, found["group"])
    rows, cols = (np.array([one.array[side] for one in regions])[region] for side in range(2))
    into["same"] = found["operation"] << 16 | found["format"] << 8 | found["result_size"]
    into["weights"] = weights = (found["operation"] == OPERATIONS.index("ws")).astype(np.int64)
    into["simd"] = found["operation"] == OPERATIONS.index("simd")
    known = (*config.integers, *config.floats)

    def by_format(values: dict[str, int]) -> _Ints:
        return np.array([values.get(name, 0) for name in FORMATS_OF_GTA])[found["format"]]

    intervals = {name: config.interval(name) for name in config.floats}
    into["floats"] = floats = by_format({name: is_float(name) for name in known})
    into["steady"] = by_format({x: x not in intervals or intervals[x] >= BANKS for x in known})
    size = by_format({name: limbs(name) for name in known})
    into["limbs"] = np.where(floats, 1, size)
    pairs = (weights != 0) & (size == 1) & (found["result_size"] == 0)
    into["every"] = np.where(pairs, 2, 1)
    into["product"] = size * size
    into["products"] = by_format(intervals)
    time = found["time"]
    each = np.where(floats, into["products"], np.where(weights, size, 1))
    into["cycles"] = time * each
    alone = into["cycles"] + rows + rows * weights + cols - 2
    overlapped = np.maximum(into["cycles"], rows)
    if not config.second_rank:
        # Sums that stay leave before the next ones arrive.
        stays = (weights == 0) & (floats == 0)
        overlapped = np.where(stays, into["cycles"] + rows - 1, overlapped)
    into["interval"] = np.where(found["overlap"], overlapped, alone)
    most = np.maximum(found["row_folds"], found["col_folds"])
    into["check"] = _EXECUTE_CHECK + config.lanes + most
    for name, values in into.items():
        made[name][some] = values
    return tuple(regions)


def _vectors(config: GtaConfig, words: npt.NDArray[np.uint64], made: Any) -> _Ints:
    """EXECUTEs on vectors; returns where their planes are."""
    some = np.flatnonzero(made["simd"])
    fields = {name: _field(words[some], FIELDS["execute"][name]) for name in _OF_VECTORS}
    functions = tuple(VECTOR_FUNCTIONS)
    kinds, found = np.unique(
        np.array([fields[name] for name in _OF_VECTORS[:4]]).T, axis=0, return_inverse=True
    )
    which = found.reshape(-1)
    known = [
        octet(config, functions[function], FORMATS_OF_GTA[format], chain, bool(use_c))
        for function, format, chain, use_c in kinds.tolist()
    ]
    columns = np.array([(x.cycles, x.late, x.last, x.behind) for x in known]).reshape(-1, 4)
    cycles, late, last, behind = columns[which].T
    results = [
        results_of(functions[function], FORMATS_OF_GTA[format], bool(use_c))
        for function, format, _, use_c in kinds.tolist()
    ]
    reads, written = np.array(results, np.int64).reshape(-1, 2)[which].T
    same = 1 << 40 | fields["function"] << 16 | fields["format"] << 8 | fields["amount"]
    into = {"same": same, "octet": cycles, "planes": which, "late": late}
    into["cycles"] = cycles * fields["time"]
    into["reads"], into["written"] = reads, written * fields["time"]
    into["results"] = fields["result_base"] * LEFT_WORD_BYTES
    into["last"] = into["cycles"] - cycles + last + behind
    # Results that pass the adders, fp64 among them, take the adders' stages and one more.
    into["behind"] = np.where(behind != 0, config.adder_stages + 1, 0)
    into["check"] = np.full(len(some), _EXECUTE_CHECK + config.lanes)
    for name, values in into.items():
        made[name][some] = values
    planes = np.zeros((max(1, len(known)), 2, MOST_PLANES + 1), np.int64)
    for number, one in enumerate(known):
        for side, places in enumerate((one.reads, one.writes)):
            planes[number, side, 0] = len(places)
            planes[number, side, 1 : len(places) + 1] = places
    return planes
