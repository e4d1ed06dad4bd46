"""Defines the results of functions, and turns errors of commands into those of Python programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Result", "python_errors", "result_of"]

_TOLD = (
    "unit", "target", "backend", "mode", "operations", "cycles", "area", "area_unit", "slack_ns",
)  # fmt: skip
"""Figures that ``repr`` shows where there are any."""
_WIDTH = 120
"""Columns of the text."""


class Result:
    """The result of :func:`tilewright.run`, ``simulate``, ``synth`` or ``table``.

    ``print`` shows the report of the command line, and so does a notebook.

    Members
    -------
    name: the function and its subject, such as "synth m3xu"
    json: the results as plain values: the content of the command's ``--json`` file. Only ``run``
        has its entry ``command``
    text: the report of the command line
    passed: True if all checks passed, for which the command's exit status is 0, else False
    result: result of a computation: an array, a SciPy CSR array, an integer, or arrays by name;
        None for other functions, and for computations without values
    """

    def __init__(
        self, name: str, json: dict[str, Any], text: str, *, passed: bool, result: Any = None
    ) -> None:
        self.name = name
        self.json = json
        self.text = text
        self.passed = passed
        self.result = result

    def to_json(self) -> dict[str, Any]:
        """Returns a deep copy of ``json``."""
        return deepcopy(self.json)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        told = {key: self.json[key] for key in _TOLD if self.json.get(key) is not None}
        verdict = "passed" if self.passed else "NOT passed"
        figures = (f"{key}={_short(value)}" for key, value in told.items())
        return f"<{self.name}: {', '.join([verdict, *figures])}>"

    def _repr_html_(self) -> str:
        style = "line-height: normal; white-space: pre"
        return f'<pre style="{style}">{escape(self.text)}</pre>'


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def result_of(
    name: str,
    shown: Callable[[Console], None],
    figures: Mapping[str, Any],
    *,
    passed: bool = True,
) -> Result:
    """Returns the result of a report, which ``shown`` writes to a Rich console."""
    from rich.console import Console

    console = Console(file=StringIO(), width=_WIDTH, highlight=False)
    shown(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue().rstrip()
    return Result(name, {"version": __version__, **figures}, text, passed=passed)


def as_keyword(option: str) -> str:
    """Returns the keyword argument of a command line's option."""
    return option.removeprefix("--").replace("-", "_")


@contextmanager
def python_errors(options: Collection[str] = ()) -> Iterator[None]:
    """Turn a refusal by a command into a ValueError that names keywords in place of options. A tool
    that is missing or fails keeps its own error."""
    try:
        yield
    except UserError as error:
        from ..hw.spec.host.programs import ProgramError
        from ..sim.rtl.toolchain import ToolMissing

        if isinstance(error.__context__, (ToolMissing, ProgramError)):
            raise error.__context__ from None

        def keyword(match: re.Match[str]) -> str:
            return f"`{as_keyword(match[0])}`" if match[0] in options else match[0]

        raise ValueError(re.sub(r"--[a-z][a-z-]*", keyword, str(error))) from None
