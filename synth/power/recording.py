"""Recorded cycles of a simulation, read from a value change dump (VCD)."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

__all__ = ["Recording", "check_vcd", "read_vcd"]

Words = npt.NDArray[np.uint64]
_CHUNK = 1 << 24


class _Signal:
    """A signal's changes: number of the time step, and the value as text."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.steps = array("q")
        self.values: list[bytes] = []


@dataclass
class Recording:
    """The value of each signal before each rising edge of the clock.

    Members
    -------
    path: of the file, for messages
    signals: by their names below the top module, by dots
    edges: time step of each rising edge
    """

    path: Path
    signals: dict[str, _Signal]
    edges: npt.NDArray[np.int64]

    @property
    def cycles(self) -> int:
        """How many cycles are recorded."""
        return len(self.edges)

    def window(self, first: int, count: int) -> Recording:
        """``count`` of the cycles, or those that there are, from the ``first`` on."""
        return Recording(self.path, self.signals, self.edges[first : first + count])

    def bits(self, name: str, bit: int | None) -> Words:
        """The values of a bit, 64 cycles a word, the first in the lowest bit; ``bit`` is None for a
        signal of one bit.

        Raises ValueError if it is not recorded, or if a value is not known.
        """
        if name not in self.signals and bit is not None:
            name, bit = f"{name}[{bit}]", None  # a word of one bit
        signal = self.signals.get(name)
        if signal is None or (bit or 0) >= signal.width:
            at = "" if bit is None else f"[{bit}]"
            raise ValueError(f"{self.path} has no record of register {name}{at}")
        packed: Words = self._packed(name, signal)[bit or 0]
        return packed

    def _packed(self, name: str, signal: _Signal) -> Words:
        """All bits of a signal, a row each."""
        if name not in self._kept:
            self._kept.clear()
            self._kept[name] = self._expanded(name, signal)
        return self._kept[name]

    def __post_init__(self) -> None:
        self._kept: dict[str, Words] = {}

    def _expanded(self, name: str, signal: _Signal) -> Words:
        # The last change before an edge counts; in the time step of an edge it comes behind it.
        steps = np.array(signal.steps, np.int64)
        last = np.searchsorted(steps, self.edges, side="left") - 1
        used, place = np.unique(last, return_inverse=True)
        if len(used) and used[0] < 0:
            raise ValueError(f"{self.path}: signal {name} has no value in the first cycle")
        texts = [signal.values[n] for n in used.tolist()]
        whole = b"".join(text.rjust(signal.width, b"0")[-signal.width :] for text in texts)
        letters = np.frombuffer(whole, np.uint8).reshape(len(texts), signal.width)
        wrong = (letters != 48) & (letters != 49)
        if wrong.any():
            cycle = int(np.flatnonzero(wrong.any(axis=1)[place])[0])
            raise ValueError(f"{self.path}: signal {name} is not known in cycle {cycle}")
        values = (letters[:, ::-1] & 1)[place].T
        padded = np.zeros((signal.width, -(-values.shape[1] // 64) * 64), np.uint8)
        padded[:, : values.shape[1]] = values
        return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _header(file: BinaryIO, path: Path) -> Iterator[tuple[tuple[str, ...], str, int, bytes]]:
    """Yields scope, name, width and identifier of each variable."""
    scope: list[str] = []
    words: list[bytes] = []
    for line in file:
        words += line.split()
        while b"$end" in words:
            end = words.index(b"$end")
            one, words = words[:end], words[end + 1 :]
            if one[:1] == [b"$enddefinitions"]:
                return
            if one[:1] == [b"$scope"]:
                scope.append(one[2].decode())
            elif one[:1] == [b"$upscope"]:
                scope.pop()
            elif one[:1] == [b"$var"] and one[1] not in (b"real", b"string"):
                # A range follows the name, with a blank or without.
                name = one[4].decode().partition("[")[0] if one[-1] == one[4] else one[4].decode()
                ranged = one[4].decode() if int(one[2]) == 1 and len(one) == 5 else name
                yield tuple(scope), ranged, int(one[2]), one[3]
    raise ValueError(f"{path} is not a value change dump: it has no $enddefinitions")


def _opened(
    file: BinaryIO, path: Path, module: str, clock: str
) -> tuple[list[tuple[tuple[str, ...], str, int, bytes]], tuple[str, ...]]:
    """Returns the variables of a dump, and the scope of its top module, which has the clock."""
    variables = list(_header(file, path))
    scopes = sorted((scope for scope, *_ in variables if scope[-1:] == (module,)), key=len)
    if not scopes:
        raise ValueError(f"{path} has no module {module}")
    if not any((scope, name) == (scopes[0], clock) for scope, name, *_ in variables):
        raise ValueError(f"{path} has no clock {clock} in module {module}")
    return variables, scopes[0]


def check_vcd(path: Path, module: str, clock: str) -> None:
    """Raises as :func:`read_vcd`, as far as the beginning of the file tells."""
    with path.open("rb") as file:
        _opened(file, path, module, clock)


def read_vcd(
    path: Path, module: str, clock: str, wanted: Collection[str] | None = None
) -> Recording:
    """Read a dump.

    Parameters
    ----------
    module: name of the top module; its instance, the outermost one of that name, is the top
    clock: name of its clock there
    wanted: names below the top, by dots, whose changes are kept; by default all

    Raises ValueError for a file that is no dump or lacks the module or the clock, OSError for one
    that cannot be read.
    """
    with path.open("rb") as file:
        variables, top = _opened(file, path, module, clock)
        names: dict[str, bytes] = {}
        by_code: dict[bytes, _Signal] = {}
        for scope, name, width, code in variables:
            if scope[: len(top)] == top:
                whole = ".".join((*scope[len(top) :], name))
                names[whole] = code
                if wanted is None or whole in wanted or whole == clock:
                    by_code.setdefault(code, _Signal(width))
        _read_changes(file, by_code)
    clock_signal = by_code[names[clock]]
    edges = [
        step
        for step, value, before in zip(
            clock_signal.steps, clock_signal.values, [b"", *clock_signal.values], strict=False
        )
        if value == b"1" and before != b"1"
    ]
    found = {name: by_code[code] for name, code in names.items() if code in by_code}
    return Recording(path, found, np.array(edges, np.int64))


def _read_changes(file: BinaryIO, signals: dict[bytes, _Signal]) -> None:
    step, rest = 0, b""
    find = signals.get
    while chunk := file.read(_CHUNK):
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        for line in lines:
            head = line[:1]
            if head == b"b":
                value, _, code = line[1:].partition(b" ")
            elif head == b"#":
                step += 1
                continue
            else:
                value, code = head, line[1:]
            signal = find(code)
            if signal is not None:
                signal.steps.append(step)
                signal.values.append(value)
