"""Reports for machines: where they go, and what each of them holds.

Whatever a command measures, its JSON begins with the version and the command. It ends with the
configurations that were measured, if it is not itself about one; with the seed, if the command
takes one; with the seconds that it compiled for, if it simulates; and with the files that it has
read.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from . import __version__
from .errors import UserError
from .hw.spec.host import outputs
from .hw.spec.host.activity import Stopwatch
from .hw.spec.host.notes import Notes, noting

__all__ = ["STANDARD_OUTPUT", "compiled_rows", "reported", "write_json"]

STANDARD_OUTPUT = Path("-")
"""In place of a file's name: the report, and nothing else, on standard output."""


_SIMULATING = ("run", "simulate")


@dataclass(frozen=True)
class _Command:
    """What is known of the command that runs."""

    words: Sequence[str]
    seed: int | None
    notes: Notes
    output: TextIO | None
    watch: Stopwatch


_running: list[_Command] = []


@contextmanager
def reported(words: Sequence[str], file: Path | None, seed: int | None) -> Iterator[None]:
    """While a command runs whose report goes into ``file``; if that is `STANDARD_OUTPUT`, whatever
    else is printed goes nowhere."""
    alone = file == STANDARD_OUTPUT
    with noting() as notes, open(os.devnull, "w") as nowhere:
        output = sys.stdout
        _running.append(_Command(words, seed, notes, output if alone else None, Stopwatch()))
        sys.stdout = nowhere if alone else output
        try:
            yield
        finally:
            sys.stdout = output
            _running.pop()


def compiled_rows() -> list[tuple[str, str]]:
    """The row of a table about what the command that runs has compiled; none if everything was in
    the cache."""
    seconds = _running[-1].watch.compiled if _running else 0.0
    return [("compiled, once", f"{seconds:.2f} s")] if seconds else []


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a report, indented, in the content's order, to a file or to `STANDARD_OUTPUT`.

    Outside of a command it holds the content and the version. Raises UserError if it cannot be
    written.
    """
    running = _running[-1] if _running else None
    values = {"version": __version__, **content}
    if running:
        values = _stamped(running, content)
    text = json.dumps(values, indent=2, allow_nan=False) + "\n"
    if running and running.output and path == STANDARD_OUTPUT:
        running.output.write(text)
        return
    try:
        outputs.write_whole(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


def _stamped(running: _Command, content: Mapping[str, Any]) -> dict[str, Any]:
    command = shlex.join(["tilewright", *running.words])
    values = {"version": __version__, "command": command, **content}
    if "config" not in content and running.notes.configs:
        values["configs"] = [{"unit": u, "config": config} for u, config in running.notes.configs]
    if running.seed is not None:
        values["seed"] = running.seed
    if running.words[0] in _SIMULATING:
        values["compile_seconds"] = round(running.watch.compiled, 3)
    return {**values, "inputs": [asdict(file) for file in running.notes.files]}
