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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from xml.etree import ElementTree

from . import __version__
from .errors import UserError
from .hw.spec.host import outputs
from .hw.spec.host.activity import Notes, Stopwatch, noting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_REFUSED = {number: "?" for number in range(32) if chr(number) not in "\t\n\r"}
"""Characters that XML does not have, by number."""


class Case(Protocol):
    """A part of a simulation; ``complaint``: what is wrong, empty if nothing is."""

    @property
    def name(self) -> str: ...
    @property
    def said(self) -> str: ...
    @property
    def complaint(self) -> str: ...


class Simulation(Protocol):
    """A report of ``simulate``."""

    @property
    def unit(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def simulator(self) -> str: ...
    def cases(self) -> Sequence[Case]: ...


def _text(text: object) -> str:
    return str(text).translate(_REFUSED)


def write_junit(
    path: Path, report: Simulation, config: Mapping[str, Any], *, count: int, seconds: float
) -> None:
    """Write a report, a test case a part of it. A failure has what is wrong, and how to run it
    again.

    Parameters
    ----------
    config: of the unit, by parameter
    count: operations or jobs that were asked for
    seconds: of the whole command

    Raises UserError if the file cannot be written.
    """
    cases = report.cases()
    totals = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.complaint) for case in cases)),
        "errors": "0",
        "time": f"{seconds:.3f}",
    }
    root = ElementTree.Element("testsuites", {"name": "tilewright simulate", **totals})
    suite = ElementTree.SubElement(root, "testsuite", {"name": report.unit, **totals})
    properties = ElementTree.SubElement(suite, "properties")
    about = {"version": __version__, "simulator": report.simulator, "seed": report.seed}
    for name, value in {**about, "count": count, **config}.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else value
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(text)})
    share = f"{seconds / len(cases):.3f}"
    for case in cases:
        names = {"classname": f"tilewright.{report.unit}", "name": _text(case.name), "time": share}
        element = ElementTree.SubElement(suite, "testcase", names)
        if case.complaint:
            wrong = {"message": _text(case.complaint), "type": "mismatch"}
            failure = ElementTree.SubElement(element, "failure", wrong)
            failure.text = f"{_text(case.complaint)}\nseed {report.seed}, --count {count}"
        ElementTree.SubElement(element, "system-out").text = _text(case.said)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    try:
        outputs.write_whole(path, lambda file: file.write(text + b"\n"))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


_UNBOUNDED = 1 << 16
"""Columns; more than any table has."""
_changes: list[Callable[[str], str | None]] = []


def console_of_reports() -> Console:
    """The rich console of standard output; 120 columns where that is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


@contextmanager
def changed_rows(change: Callable[[str], str | None]) -> Iterator[None]:
    """Meanwhile `print_rows` prints what ``change`` makes of each text, without the rows of which
    it makes None."""
    _changes.append(change)
    try:
        yield
    finally:
        _changes.pop()


def print_figures(console: Console, table: Table) -> None:
    """Print a table whose cells no line may break: whole where standard output is no terminal,
    however wide that is; at a terminal as wide as that."""
    given = console.width
    if not console.is_terminal:
        options = console.options.update(max_width=_UNBOUNDED)
        console.width = max(given, console.measure(table, options=options).maximum)
    console.print(table)
    console.width = given


def print_rows(title: str, rows: Iterable[tuple[str, str]]) -> Console:
    """Print labels and the texts beside them; the console, for what comes below."""
    from rich.table import Table

    change = _changes[-1] if _changes else None
    title = (change(title) or "") if change else title
    table = Table(title=title, show_header=False, title_justify="left", title_style="bold")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for label, text in rows:
        shown = change(text) if change else text
        if shown is not None:
            table.add_row(label, shown)
    console = console_of_reports()
    console.print(table)
    return console


STANDARD_OUTPUT = Path("-")
"""The file name that stands for standard output, to which only the report is written then."""


_SIMULATING = ("run", "simulate")


@dataclass(frozen=True)
class _Command:
    """The command that runs, as its report describes it."""

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
