"""Reports of ``simulate`` as JUnit XML, which servers of continuous integration read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree

from . import __version__
from .errors import UserError
from .hw.spec.host import outputs

__all__ = ["Case", "Simulation", "write_junit"]

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
