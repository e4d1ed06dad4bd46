"""Python compiled to machine code, kept between runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import config, event

from ...hw.spec.host.activity import activity
from ...hw.spec.host.cache import cache_directory, used

__all__ = ["allocating", "called", "code_directory", "compiled", "inlined", "sources"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parents[2]
_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(r"\w+")

# Numba writes down the types of all arguments before each pass over a function, for listeners that
# there are not; of a record that took as long as a quarter of all that it does for a small one.
types.Record.__repr__ = types.Type.__str__


class _Told(event.Listener):  # type: ignore[misc]
    """Says that something is compiled: what is found in the cache is not."""

    def __init__(self) -> None:
        self._depth = 0
        self._open = ExitStack()

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._open.enter_context(activity("compiling the cycle model, once", compiles=True))

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._open.close()


event.register("numba:compile", _Told())


@cache
def _imported(module: Path) -> frozenset[Path]:
    """Modules of ours that a module imports, wherever in its text it does so."""
    found = set()
    for dots, names, what in _FROM.findall(module.read_text()):
        parts = names.split(".") if names else []
        if dots:
            base = module.parents[len(dots) - 1].joinpath(*parts)
        elif parts[0] == _PACKAGE.name:
            base = _PACKAGE.joinpath(*parts[1:])
        else:
            continue
        found |= {base, *(base / name for name in _NAME.findall(what))}
    files = {file for path in found for file in (path.with_suffix(".py"), path / "__init__.py")}
    return frozenset(filter(Path.is_file, files))


def sources(module: Path) -> list[Path]:
    """The modules that decide what a compiled function of a module does: it, and those of ours that
    it imports, transitively.

    Numba looks only at the file that a function is in: not at those of the functions it calls, nor
    at those whose constants it has taken in.
    """
    found, open_ = {module}, [module]
    while open_:
        new = _imported(open_.pop()) - found
        found |= new
        open_ += new
    return sorted(found)


@cache
def _content(module: Path) -> bytes:
    return hashlib.sha256(module.read_bytes()).digest()


def code_directory(modules: Iterable[Path]) -> Path:
    """Returns the directory of machine code; each content of the modules has its own."""
    state = hashlib.sha256()
    for module in modules:
        state.update(module.name.encode() + b" " + _content(module))
    return cache_directory() / f"numba-{state.hexdigest()[:16]}"


@cache
def _directory(module: Path) -> str:
    directory = code_directory(sources(module))
    used(directory)
    return str(directory)


def _kept(function: _Function, **options: Any) -> _Function:
    before = config.CACHE_DIR
    config.CACHE_DIR = _directory(Path(function.__code__.co_filename))
    try:
        made = numba.njit(cache=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_DIR = before
    made.get_call_template = _by_type(made.get_call_template)
    return made


def _by_type(template: Callable[..., Any]) -> Callable[..., Any]:
    """A function is compiled for the types of what it is called with. Numba would compile it, and
    all that it calls, once more for every constant, such as the cycle before the first."""

    def chosen(args: Iterable[types.Type], kws: dict[str, types.Type]) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return template(tuple(types.unliteral(kind) for kind in args), plain)

    return chosen


def _part(function: _Function, **options: Any) -> _Function:
    """Kept as well, for the next function that is of the same parts. It has no way in from Python:
    a call from there crashes, in place of many seconds for wrappers that nobody needs."""
    return _kept(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def compiled(function: _Function) -> _Function:
    """A function as machine code; numbers as NumPy has them: no error when dividing by zero.

    It works in arrays that it is given, and makes none: then references need not be counted.
    """
    return _kept(function, _nrt=False)


def allocating(function: _Function) -> _Function:
    """Compiles a function that makes arrays, as `compiled` does others."""
    return _kept(function)


def inlined(function: _Function) -> _Function:
    """A part of compiled functions: its code becomes part of each that calls it, so that tuples of
    arrays cost nothing to pass.

    By LLVM: Numba's own ``inline="always"`` copies what it has so far with every call. Python
    itself must not call it.
    """
    return _part(function, forceinline=True)


def called(function: _Function) -> _Function:
    """A part that compiled functions call. It takes numbers and records, which cost nothing to
    pass. Python itself must not call it."""
    return _part(function)
