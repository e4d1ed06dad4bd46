"""GTA's commands, and rows of operands and results in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Job", "put_rows", "up"]

Array = npt.NDArray[Any]


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
    """A list of commands.

    Parameters
    ----------
    commands: the bits of commands, which the operation in the sidecar has
    """

    def __init__(self, commands: dict[str, Any]) -> None:
        self.commands: list[bytes] = []
        self._described = commands
        self._kinds = {kind["name"]: kind for kind in commands["kinds"]}
        self._counts = dict.fromkeys(self._kinds, 0)

    def add(self, kind: str, **fields: int | str) -> int:
        """Append a command; return how many of its kind there are now.

        A field's value is a number or, where the sidecar has names, a name. Other fields are 0.
        """
        described = self._kinds[kind]
        number = 0
        for name, value in {"kind": described["value"], **fields}.items():
            field = described["fields"][name]
            if isinstance(value, str):
                value = self._number(field, value)
            if not 0 <= value < 1 << field["bits"]:
                raise ValueError(f"{name} has {field['bits']} bits: {value}")
            number |= value << field["low"]
        self.commands.append(number.to_bytes(self._described["bytes"], "little"))
        self._counts[kind] += 1
        return self._counts[kind]

    def _number(self, field: dict[str, Any], name: str) -> int:
        """Return the number of a name: of the field itself, or of a table that it refers to."""
        named: dict[str, int] = field.get("values") or {
            entry["name"]: entry["value"] for entry in self._described[field["of"]]
        }
        return named[name]

    @property
    def content(self) -> Array:
        """The list in memory."""
        return np.frombuffer(b"".join(self.commands), np.uint8)
