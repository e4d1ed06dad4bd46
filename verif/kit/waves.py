"""Reads wave files: VCD by its text, FST with GTKWave's own reader."""

from __future__ import annotations

import re
from pathlib import Path

import pylibfst

Waves = dict[str, list[tuple[int, str]]]
"""Changes by the signal's path: time, and the new value, binary without leading zeros."""


def read_vcd(path: Path) -> tuple[int, Waves]:
    """The unit of time, as a power of ten in seconds, and the changes."""
    head, _, body = path.read_text().partition("$enddefinitions $end")
    powers = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12, "fs": -15}
    scale = re.search(r"\$timescale\s+(1|10|100)\s*([munpf]?s)", head)
    assert scale is not None
    scopes: list[str] = []
    paths: dict[str, list[str]] = {}
    for kind, words in re.findall(r"\$(scope|upscope|var)(.*?)\$end", head, re.DOTALL):
        if kind == "scope":
            scopes.append(words.split()[1])
        elif kind == "upscope":
            scopes.pop()
        else:
            code, name = words.split()[2:4]
            paths.setdefault(code, []).append(".".join([*scopes, name]))
    found: Waves = {name: [] for names in paths.values() for name in names}
    time = 0
    for line in body.split("\n"):
        if line.startswith("#"):
            time = int(line[1:])
        elif line and not line.startswith("$"):
            value, code = line[1:].split() if line[0] == "b" else (line[0], line[1:])
            for name in paths[code]:
                _note(found[name], time, value)
    return len(scale[1]) - 1 + powers[scale[2]], found


def read_fst(path: Path) -> tuple[int, Waves]:
    """Reads an FST file; the result is that of `read_vcd`."""
    lib = pylibfst.lib
    file = lib.fstReaderOpen(str(path).encode())
    assert file != pylibfst.ffi.NULL, f"{path} is no FST file"
    names: dict[int, list[str]] = {}
    _, signals = pylibfst.get_scopes_signals2(file)
    for signal in signals.by_name.values():
        names.setdefault(signal.handle, []).append(signal.name.split(" ")[0])
    found: Waves = {name: [] for group in names.values() for name in group}

    def change(_: object, time: int, handle: int, value: object) -> None:
        for name in names[handle]:
            _note(found[name], time, pylibfst.string(value))

    lib.fstReaderSetFacProcessMaskAll(file)
    assert pylibfst.fstReaderIterBlocks(file, change)
    scale = int(lib.fstReaderGetTimescale(file))
    lib.fstReaderClose(file)
    return scale, found


def _note(changes: list[tuple[int, str]], time: int, value: str) -> None:
    value = re.sub("^([xz])\\1+", r"\1", value.lstrip("0") or "0")  # as VCD leaves them out, too
    if not changes or changes[-1][1] != value:
        changes.append((time, value))
