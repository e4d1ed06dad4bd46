"""Runs the computations of ``tilewright run`` on arrays of a program, with options as keywords.

Each command runs as from a command line, in this process: arrays go to files in a temporary
directory, and report and result are read from there.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from ..errors import UserError
from ..hw.spec.host.words import UnknownName, unknown
from ..registry import commands
from ..reports import changed_rows
from .reports import setting_text
from .results import Result, as_keyword, python_errors

__all__ = ["run"]

_SUFFIXES = (".npy", ".npz", ".txt", ".mtx")
"""Suffixes of a result's file, the best first."""


@dataclass(frozen=True)
class _Parameter:
    """An argument or an option of a command.

    Parameters
    ----------
    name: keyword in Python
    option: option of the command line; empty for an argument
    off: the option that negates it, if there is one
    flag: True if it has no value
    many: True if it may be given more than once
    file: True if it names a file
    help: help text of the command
    """

    name: str
    option: str
    off: str
    flag: bool
    many: bool
    file: bool
    help: str


def _parameters(name: str) -> list[_Parameter]:
    """Returns the parameters of a command, arguments before options."""
    import typer.main

    from ..commands.application import application
    from ..hw.spec.unit import named_object
    from ..settings import expanded

    function = named_object(commands()[name].function)
    kinds = {one.name: one.annotation for one in signature(expanded(function)).parameters.values()}
    group: Any = typer.main.get_command(application("run", [name]))
    found = []
    for one in group.commands["run"].commands[name].params:
        if one.name == "help":
            continue
        option = "" if one.param_type_name == "argument" else max(one.opts, key=len)
        made = _Parameter(
            name=as_keyword(option) or one.name,
            option=option,
            off=next(iter(one.secondary_opts), ""),
            flag=bool(getattr(one, "is_flag", False)),
            many=one.nargs == -1 or bool(getattr(one, "multiple", False)),
            file=_has_path(kinds[one.name]),
            help=one.help or "",
        )
        found.append(made)
    return sorted(found, key=lambda one: bool(one.option))


def _has_path(kind: Any) -> bool:
    return kind is Path or any(map(_has_path, get_args(kind)))


@dataclass
class _Words:
    """The words of a command line, of which some name files in a temporary directory.

    Members
    -------
    folder: that directory
    reports: whether the command writes a report
    arguments, options: the words
    files: how many of them name files in the directory
    """

    folder: Path
    reports: bool
    arguments: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    files: int = 0

    def add(self, parameter: _Parameter, value: object) -> None:
        """Add a value, which is neither None nor the absence of a flag."""
        if parameter.flag:
            if not isinstance(value, bool):
                raise TypeError(f"`{parameter.name}` must be True or False, not {value!r}")
            word = parameter.option if value else parameter.off
            self.options += [word] if word else []
            return
        for text in self._texts(parameter, value):
            if parameter.option:
                self.options += [parameter.option, text]
            else:
                self.arguments.append(text)

    def _texts(self, parameter: _Parameter, value: Any) -> Iterator[str]:
        if isinstance(value, Mapping) and not _is_sparse(value):
            texts = [self._text(parameter, one, str(key)) for key, one in value.items()]
            pairs = [f"{key}={text}" for key, text in zip(value, texts, strict=True)]
            yield from pairs if parameter.many else [",".join(pairs)]
        elif parameter.many and isinstance(value, (list, tuple)):
            yield from (self._text(parameter, one) for one in value)
        else:
            yield self._text(parameter, value)

    def _text(self, parameter: _Parameter, value: Any, key: str = "") -> str:
        """A value as a word; an array as the name of the file that it is written to."""
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if hasattr(value, "__array__") and getattr(value, "ndim", 1) == 0:
            value = value.item()
        if not _is_array(value) and (not parameter.file or isinstance(value, (bool, float))):
            return setting_text(value)
        self.files += 1
        name = f"{parameter.name}_{key or self.files}" if parameter.many else parameter.name
        return str(_write(self.folder / name, value))


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or _is_sparse(value) or _is_tensor(value)


def _is_sparse(value: Any) -> bool:
    return type(value).__module__.startswith("scipy.sparse")


def _is_tensor(value: Any) -> bool:
    return type(value).__name__ == "Tensor" and hasattr(value, "indices")


def _write(stem: Path, value: Any) -> Path:
    """Write an array, a sparse matrix or tensor, or a large integer to a file; returns its name."""
    if isinstance(value, int):
        path = stem.with_name(f"{stem.name}.txt")
        path.write_text(f"{value}\n")
        return path
    if _is_tensor(value):
        from ..apps.common.tensor_files import write_tensor

        write_tensor(path := stem.with_name(f"{stem.name}.tns"), value)
        return path
    if _is_sparse(value):
        from scipy.sparse import save_npz

        save_npz(path := stem.with_name(f"{stem.name}.npz"), value.tocsr())
        return path
    import numpy as np

    np.save(path := stem.with_name(f"{stem.name}.npy"), np.asarray(value), allow_pickle=False)
    return path


def _read(path: Path) -> Any:
    """Reads the result of a command: an array, a sparse matrix, an integer, or arrays by name."""
    if path.suffix == ".txt":
        return int(path.read_text())
    import numpy as np

    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            if "format" not in archive.files:
                found = {name: archive[name] for name in archive.files}
                return next(iter(found.values())) if [*found] == ["arr_0"] else found
    from ..apps.common.matrix_files import read_matrix_file

    found = read_matrix_file(path)
    if isinstance(found, np.ndarray):
        return found
    from scipy.sparse import csr_array

    return csr_array(found)


def _chosen(
    name: str,
    known: Sequence[_Parameter],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
) -> list[tuple[_Parameter, Any]]:
    """Matches the given values with parameters. Raises TypeError for too many arguments and for one
    that is left out before another, UnknownName for an unknown option."""
    places = [one for one in known if not one.option]
    if places and places[-1].many:
        places += [places[-1]] * (len(arguments) - len(places))
    if len(arguments) > len(places):
        raise TypeError(f"{name} takes {len(places)} arguments, not {len(arguments)}")
    by_name = {one.name: one for one in known if one.option not in ("", "--json")}
    others = [one for one in places[len(arguments) :] if one.name not in by_name]
    values = [*arguments, *(options.get(one.name) for one in others)]
    given = [(one, value) for one, value in zip(places, values, strict=False) if value is not None]
    for place, (one, _) in zip(places, given, strict=False):
        if place is not one:
            raise TypeError(f"`{place.name}` must be given, as `{one.name}` is")
    for key, value in options.items():
        if key in by_name:
            given += [] if value is None else [(by_name[key], value)]
        elif key not in [one.name for one in others]:
            allowed = [*by_name, *(one.name for one in others)]
            listed = f"tilewright run {name} --help"
            raise UnknownName(unknown(f"option of {name}", key, allowed, listed))
    return given


def run(computation: str, /, *arguments: Any, **options: Any) -> Result:
    """Runs a computation of ``tilewright run`` on a unit and checks the result against a reference.

    Parameters
    ----------
    computation: name of the computation; ``tilewright run`` lists them
    arguments: arguments of the command in its order: file names, or their content as arrays,
        SciPy's sparse matrices, tensors of ``tilewright.formats`` or large integers
    options: arguments by name, and options of the command with underscores for dashes. A flag is
        True or False. A repeatable option is a list, or a dictionary if it is NAME=VALUE:
        ``set={"rows": 4}``. Files as for ``arguments``

    Only files that an option names are written.

    Returns
    -------
    The report, with the computed values as ``result``. ``passed`` is False if a check failed.

    Raises
    ------
    ValueError: an unknown computation or option; a wrong value
    TypeError: too many arguments; one that is missing before another
    ToolMissing, BuildError: as :func:`tilewright.device`

    Example
    -------
        import numpy as np
        import tilewright

        a, b = np.ones((4, 3)), np.ones((3, 2))
        product = tilewright.run("gemm", a, b, backend="model", set={"rows": 2, "cols": 2})
        assert product.passed and (product.result == 3).all()
    """
    known = commands()
    if not isinstance(computation, str) or computation not in known:
        raise UnknownName(unknown("computation", computation, known, "tilewright run"))
    parameters = _parameters(computation)
    given = _chosen(computation, parameters, arguments, options)
    with TemporaryDirectory(prefix="tilewright-run-") as name:
        words = _Words(Path(name), reports=any(one.option == "--json" for one in parameters))
        for parameter, value in given:
            words.add(parameter, value)
        output = next((one for one in parameters if one.option == "--output"), None)
        result = next((Path(word) for one, word in given if one is output), None)
        with python_errors({one.option for one in parameters if one.option}):
            if output is None or result is not None:
                return _run(computation, words, result)
            for suffix in (one for one in _SUFFIXES if re.search(rf"\{one}\b", output.help)):
                result = words.folder / f"result{suffix}"
                try:
                    return _run(computation, words, result, ["--output", str(result)])
                except UserError as error:
                    # That there are no values, or that a file of several arrays is needed, is said
                    # before anything is computed.
                    if not str(error).startswith(("--output ", f"{result.name}: must end in ")):
                        raise
            return _run(computation, words, None)


def _run(computation: str, words: _Words, result: Path | None, own: Sequence[str] = ()) -> Result:
    """Run a command line; ``own`` are words that the user has not given."""
    from ..cli import run_command

    report = words.folder / "report.json"
    dashes = ["--"] if any(word.startswith("-") for word in words.arguments) else []
    given = [*words.options, *dashes, *words.arguments]
    asked = ["--json", str(report)] if words.reports else []
    here = f"{words.folder}{os.sep}"
    text, said = io.StringIO(), io.StringIO()

    def shown(row: str) -> str | None:
        """Removes the temporary directory from a row; None for a row about the result's file."""
        return None if own and own[-1] in row else row.replace(here, "")

    try:
        with redirect_stdout(text), redirect_stderr(said), changed_rows(shown):
            status = run_command(["run", computation, *own, *asked, *given])
    except UserError as error:
        error.args = (str(error).replace(here, ""),)
        raise
    finally:
        _warn(said.getvalue().replace(here, ""))
    content = report.read_text() if report.is_file() else "{}"
    figures = json.loads(content.replace(json.dumps(here)[1:-1], ""))
    line = shlex.join(["tilewright", "run", computation, *given])
    figures["command"] = line.replace(here, "")
    return Result(
        f"run {computation}",
        figures,
        text.getvalue().replace(here, "").rstrip(),
        passed=status == 0,
        result=_read(result) if result is not None and result.is_file() else None,
    )


def _warn(said: str) -> None:
    """Issues warnings of a command as Python warnings; prints its other lines unchanged."""
    for line in said.splitlines():
        kind, _, text = line.partition("warning: ")
        if kind or not text:
            print(line, file=sys.stderr)
        else:
            warnings.warn(text, stacklevel=4)
