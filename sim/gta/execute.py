"""Computes what an EXECUTE leaves in the memories of the lanes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import (
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    ROWS,
    element_bytes,
    is_float,
    limbs,
)
from ...hw.spec.jobs.gta_commands import OPERATIONS
from ...hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    operand_memories,
    vector_result_bytes,
)
from .golden.float_chain import chains
from .golden.integer_sums import integer_sums
from .lane_memories import LaneMemories
from .regions import Region
from .vector.functions import octet_results
from .vector.octets import from_planes, to_planes


def execute_vectors(memories: LaneMemories, region: Region, fields: Mapping[str, int]) -> None:
    """Do an EXECUTE that holds: every lane of the region by itself, every bank by itself."""
    format = FORMATS_OF_GTA[fields["format"]]
    function = tuple(VECTOR_FUNCTIONS)[fields["function"]]
    size, width = element_bytes(format), vector_result_bytes(function, format)
    lanes = list(region.lanes)

    def octets(memory: str, count: int, each: int) -> tuple[int, int]:
        begin = fields[f"{memory}_base"] * LEFT_WORD_BYTES
        return begin, begin + count * OCTET * each

    operands = []
    for memory in operand_memories(function, format):
        begin, end = octets(memory, fields["time"] * fields["chain"], size)
        operands.append(from_planes(memories.memory(memory)[lanes, :, begin:end], size))
    begin, end = octets("result", fields["time"], width)
    start = None
    if fields["use_c"] and function in ("dot", "sum"):
        start = from_planes(memories.result[lanes, :, begin:end], width).reshape(-1, OCTET)
    found = octet_results(
        function,
        format,
        [operand.reshape(-1, OCTET) for operand in operands],
        chain=fields["chain"],
        amount=fields["amount"],
        start=start,
    )
    shape = len(lanes), memories.result.shape[1], fields["time"], OCTET
    memories.result[lanes, :, begin:end] = to_planes(found.reshape(shape), width)


Bytes = npt.NDArray[np.uint8]
Patterns = npt.NDArray[np.uint64]


def execute(memories: LaneMemories, region: Region, fields: Mapping[str, int]) -> None:
    """Do an EXECUTE that holds, on the lanes of its region."""
    name = FORMATS_OF_GTA[fields["format"]]
    operation = OPERATIONS[fields["operation"]]
    if operation == "simd":
        execute_vectors(memories, region, fields)
    elif operation == "ws":
        _held_weights(memories, region, fields, name)
    else:
        _held_sums(memories, region, fields, name)


def _rows(memories: LaneMemories, region: Region, fields: Mapping[str, int], fold: int) -> Bytes:
    """The bytes of the strings of all rows of a fold, (rows, bytes to the bank's end)."""
    begin = (fields["left_base"] + fold * fields["left_stride"]) * LEFT_WORD_BYTES
    lanes = [memories.left[region.lane(row, 0), :, begin:] for row in range(region.rows)]
    return np.concatenate(lanes)


def _cols(memories: LaneMemories, region: Region, fields: Mapping[str, int], fold: int) -> Bytes:
    """The same of all columns."""
    begin = (fields["top_base"] + fold * fields["top_stride"]) * LEFT_WORD_BYTES
    lanes = [memories.top[region.lane(0, col), :, begin:] for col in range(region.cols)]
    return np.concatenate(lanes)


def _elements(strings: Bytes, count: int, name: str) -> Patterns:
    """Whole elements that follow each other, (strings, count)."""
    size = element_bytes(name)
    content = np.ascontiguousarray(strings[:, : count * size])
    return content.view(f"<u{size}").astype(np.uint64)


def _limbs(strings: Bytes, count: int, name: str) -> Patterns:
    """Elements whose limbs are in strings beside each other, (strings / limbs, count)."""
    parts = strings[:, :count].reshape(-1, limbs(name), count)
    return _elements(
        np.ascontiguousarray(np.moveaxis(parts, 1, 2)).reshape(len(parts), -1), count, name
    )


def _sums(a: Patterns, b: Patterns, c: Bytes, name: str) -> Bytes:
    """Results as bytes, (M, N, width), of addends of that form."""
    width = c.shape[2]
    words = np.ascontiguousarray(c).view(f"<u{min(width, 8)}").astype(np.uint64)
    if is_float(name):
        made = chains(name, a, b, words[..., 0])
    elif width == 16:
        made = integer_sums(name, a, b, words, 64, "long")
    else:
        made = integer_sums(name, a, b, words[..., 0], 8 * width, "wrap")
    return made.reshape(*words.shape).astype(f"<u{min(width, 8)}").view(np.uint8).reshape(c.shape)


def _held_weights(
    memories: LaneMemories, region: Region, fields: Mapping[str, int], name: str
) -> None:
    """WS: K along the rows, fold after fold; M in time."""
    rows, cols = region.array
    folds, time = fields["row_folds"], fields["time"]
    strings = [
        _elements(_rows(memories, region, fields, fold), time, name) for fold in range(folds)
    ]
    a = np.concatenate(strings).T.copy()
    a[:, (folds - 1) * rows + fields["rows_last"] :] = 0
    for fold in range(fields["col_folds"]):
        b = _limbs(_cols(memories, region, fields, fold), folds * rows, name).T
        places = _group_places(region, fields, fold, np.arange(time), cols // limbs(name), name)
        _add(memories, fields, a, b, places, name)


def _held_sums(
    memories: LaneMemories, region: Region, fields: Mapping[str, int], name: str
) -> None:
    """OS: M along the rows; K in time."""
    rows, cols = region.array
    folds, time = fields["row_folds"], fields["time"]
    each = _elements if is_float(name) else _limbs
    count = 1 if is_float(name) else limbs(name)
    for row_fold in range(folds):
        used = (fields["rows_last"] if row_fold == folds - 1 else rows) // count
        a = each(_rows(memories, region, fields, row_fold), time, name)[:used]
        for fold in range(fields["col_folds"]):
            b = each(_cols(memories, region, fields, fold), time, name).T
            if is_float(name):
                places = _own_places(region, fields, fold, row_fold, used)
            else:
                turns = row_fold * (rows // count) + np.arange(used)
                places = _group_places(region, fields, fold, turns, cols // count, name)
            _add(memories, fields, a, b, places, name)


Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _begin(fields: Mapping[str, int], fold: int) -> int:
    return (fields["result_base"] + fold * fields["result_stride"]) * LEFT_WORD_BYTES


def _group_places(
    region: Region,
    fields: Mapping[str, int],
    fold: int,
    turns: npt.NDArray[np.int64],
    groups: int,
    name: str,
) -> Places:
    """Lane, bank and first byte of results below the columns, (turns, groups)."""
    count = limbs(name)
    column = np.arange(groups)[None, :] * count
    lane = region.lane(region.rows - 1, 0) + column // COLS + 0 * turns[:, None]
    bank = column % COLS + turns[:, None] % count
    byte = _begin(fields, fold) + turns[:, None] // count * (4 << fields["result_size"])
    return lane, bank, byte + 0 * column


def _own_places(
    region: Region, fields: Mapping[str, int], fold: int, row_fold: int, used: int
) -> Places:
    """The same of results of floats, in the lanes that compute them."""
    row, column = np.arange(used)[:, None], np.arange(region.array[1])[None, :]
    lane = region.first + row // ROWS * region.across + column // COLS
    byte = _begin(fields, fold) + (row_fold * ROWS + row % ROWS) * (4 << fields["result_size"])
    return lane, column % COLS + 0 * row, byte + 0 * column


def _add(
    memories: LaneMemories,
    fields: Mapping[str, int],
    a: Patterns,
    b: Patterns,
    places: Places,
    name: str,
) -> None:
    """Add products to what is there, or to nothing."""
    lane, bank, byte = (part[..., None] for part in places)
    where = lane, bank, byte + np.arange(4 << fields["result_size"])
    before = memories.result[where]
    memories.result[where] = _sums(a, b, before if fields["use_c"] else before * 0, name)
