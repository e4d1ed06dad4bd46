"""Reports long-running activities to listeners.

Nobody listens unless a command line does: then this costs next to nothing, and nothing is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from mmap import mmap
from typing import Any, Literal


@dataclass(frozen=True)
class InputFile:
    """A file that was read: its name as it was given, the SHA-256 of its content in hexadecimal,
    and its size."""

    file: str
    sha256: str
    bytes: int


@dataclass
class Notes:
    """Collects each file and each configuration once, in the order of first use.

    Members
    -------
    files: that were read
    configs: units that were built or measured, each with its configuration
    """

    files: list[InputFile] = field(default_factory=list)
    configs: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


_all: list[Notes] = []
"""Notes of every caller that collects them at present."""


@contextmanager
def noting() -> Iterator[Notes]:
    """Notes that are collected in the context."""
    notes = Notes()
    _all.append(notes)
    try:
        yield notes
    finally:
        _all[:] = [other for other in _all if other is not notes]


def note_file(name: str, content: bytes | mmap) -> None:
    """A file was read."""
    if _all:
        from hashlib import sha256

        one = InputFile(name, sha256(content).hexdigest(), len(content))
        for notes in _all:
            if one not in notes.files:
                notes.files.append(one)


def note_config(unit: str, config: Mapping[str, Any]) -> None:
    """A unit is built or measured, in a configuration."""
    one = (unit, config)
    for notes in _all:
        if one not in notes.configs:
            notes.configs.append(one)


Event = Literal["begin", "step", "end"]


@dataclass(eq=False)
class Activity:
    """Activity in progress.

    Members
    -------
    what: in words, as a terminal shows it
    total: steps that it has; None if that is not known
    done: steps that are done
    detail: what it is about now; empty if there is nothing to say
    began: when, by ``time.perf_counter``
    """

    what: str
    total: int | None = None
    done: int = 0
    detail: str = ""
    began: float = field(default_factory=lambda: time.perf_counter())

    def step(self, steps: int = 1) -> None:
        """So many more steps are done."""
        self.done += steps
        _tell("step", self)

    def about(self, detail: str) -> None:
        """Changes the step in progress, and tells the listeners."""
        self.detail = detail
        _tell("step", self)


Listener = Callable[[Event, Activity], None]
"""Listener that is told when an activity begins, continues, and ends, normally or by an error."""

_listeners: list[Listener] = []


@dataclass
class _Compiling:
    """Compilations in progress. Members: how many are nested; seconds of all that have ended, each
    counted once."""

    depth: int = 0
    seconds: float = 0.0


_compiling = _Compiling()


def _tell(event: Event, one: Activity) -> None:
    for listener in tuple(_listeners):
        listener(event, one)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Notifies the listener of all activities while the context is open."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def activity(what: str, *, total: int | None = None, compiles: bool = False) -> Iterator[Activity]:
    """Something that takes its time.

    Parameters
    ----------
    what: in words, as "building m3xu"
    total: steps that it has, if that is known
    compiles: whether it makes what is kept for the next time; such seconds are counted apart
    """
    one = Activity(what, total)
    _compiling.depth += compiles
    _tell("begin", one)
    try:
        yield one
    finally:
        _compiling.depth -= compiles
        if compiles and not _compiling.depth:
            _compiling.seconds += time.perf_counter() - one.began
        _tell("end", one)


def compile_seconds() -> float:
    """Seconds that this process has compiled for, up to the end of the last compilation."""
    return _compiling.seconds


class Stopwatch:
    """Runs from when it is made.

    Members
    -------
    compiled: seconds of compilations that have ended since
    seconds: all others
    """

    def __init__(self) -> None:
        self._began, self._compiled = time.perf_counter(), compile_seconds()

    @property
    def compiled(self) -> float:
        return compile_seconds() - self._compiled

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began - self.compiled
