"""GTA's commands of 64 bytes, and rows of operands and results in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Job", "put_rows", "up"]

Array = npt.NDArray[Any]

_ALL = {"kind": (7, 0), "loads": (63, 32), "executes": (95, 64), "stores": (127, 96)}
_ROWS = {
    "deal": (23, 16), "rows": (143, 128), "row_bytes": (191, 160), "base": (255, 192),
    "stride": (287, 256), "first": (295, 288), "step": (303, 296), "lanes": (311, 304),
    "word": (335, 320), "words": (351, 336),
}  # fmt: skip
_FIELDS = {
    "load": {**_ALL, **_ROWS, "memory": (15, 8)},
    "execute": {
        **_ALL, "operation": (15, 8), "format": (23, 16), "group": (31, 24), "use_c": (128, 128),
        "lateral": (129, 129), "overlap": (130, 130), "result_size": (143, 136),
        "rows_last": (159, 144), "row_folds": (175, 160), "col_folds": (191, 176),
        "time": (223, 192), "left_base": (239, 224), "top_base": (255, 240),
        "result_base": (271, 256), "left_stride": (287, 272), "top_stride": (303, 288),
        "result_stride": (319, 304), "function": (327, 320), "amount": (335, 328),
        "chain": (351, 336),
    },
    "store": {**_ALL, **_ROWS, "narrow": (15, 8)},
}  # fmt: skip
"""The highest and the lowest bit of each field."""

KINDS = {"load": 1, "execute": 2, "store": 3}


def up(number: int, multiple: int) -> int:
    """Return the number, rounded up to a multiple."""
    return -(-number // multiple) * multiple


def put_rows(memory: Array, base: int, rows: Array, beat: int) -> int:
    """Write a matrix by rows, each from a beat on; return the bytes from a row to the next."""
    content = np.ascontiguousarray(rows)
    bytes_of_rows = content.view(np.uint8).reshape(len(content), -1)
    stride = up(bytes_of_rows.shape[1], beat)
    for number, row in enumerate(bytes_of_rows):
        memory[base + number * stride :][: len(row)] = row
    return stride


class Job:
    """A list of commands."""

    def __init__(self) -> None:
        self.commands: list[bytes] = []
        self._counts = dict.fromkeys(KINDS, 0)

    def add(self, kind: str, **fields: int) -> int:
        """Append a command; return how many of its kind there are now. Other fields are 0."""
        number = KINDS[kind]
        for name, value in fields.items():
            high, low = _FIELDS[kind][name]
            if not 0 <= value < 1 << high - low + 1:
                raise ValueError(f"{name} has {high - low + 1} bits: {value}")
            number |= value << low
        self.commands.append(number.to_bytes(64, "little"))
        self._counts[kind] += 1
        return self._counts[kind]

    @property
    def content(self) -> Array:
        """The list in memory."""
        return np.frombuffer(b"".join(self.commands), np.uint8)
