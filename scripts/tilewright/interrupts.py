"""Being told to end: by Ctrl-C, by ``kill``, by a terminal that goes away.

Each raises a KeyboardInterrupt where the program is, so that everything under way is undone as for
any other error. How the process ended is told by its exit status.
"""

from __future__ import annotations

import errno
import io
import math
import os
import signal
import sys
import threading
import time
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any

from .hw.spec.host.programs import end_programs

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputLost(Exception):
    """Standard output took no more.

    No OSError: libraries that print have ends of their own for those.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror}")
        self.status = 2
        """The exit status of the process. A closed pipe is no error: nothing is printed."""
        if error.errno == errno.EPIPE:
            self.status = 128 + signal.SIGPIPE


class _Stream(io.FileIO):
    """A descriptor; what is written after an error is dropped."""

    def __init__(self, descriptor: int, *, needed: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._needed, self._lost = needed, False

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return len(memoryview(content)) if self._lost else super().write(content)
        except OSError as error:
            self._lost = True
            if self._needed:
                raise OutputLost(error) from None
            return len(memoryview(content))


def guard_streams() -> None:
    """Writing to standard output raises OutputLost, once, where it cannot be written; nothing
    that is said on standard error raises anything. Closed ones lead nowhere."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _text(1, sys.stdout, needed=True)
    sys.stderr = _text(2, sys.stderr, needed=False)


def _text(descriptor: int, before: Any, *, needed: bool) -> io.TextIOWrapper:
    """A text stream as Python has made it, None if the descriptor was closed."""
    binary = io.BufferedWriter(_Stream(descriptor, needed=needed))
    errors = before.errors if before else "backslashreplace"
    encoding = before.encoding if before else "utf-8"
    lines = descriptor == 2 or os.isatty(descriptor)
    return io.TextIOWrapper(binary, encoding, errors, line_buffering=lines)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 3.0
"""Seconds for undoing what is under way, in which a further signal would only disturb."""
_AGAIN = 0.02
"""Seconds until a signal is sent again whose exception was lost."""
_received: signal.Signals | None = None
_since = -math.inf


class Interrupted(KeyboardInterrupt):
    """A class of its own: where a KeyboardInterrupt has gone through ``exec``, which libraries
    use, CPython ends itself by SIGINT, whatever status it is given."""


def listen() -> None:
    """Begin; signals that the parent had us ignore stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unraisable


def leave_to_the_system() -> None:
    """Restores the default handling of signals, for work that leaves nothing to undo."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)


def exit_status() -> int:
    """128 and the number of the signal that came first, as shells have it; 0 if none came."""
    return 128 + _received if _received else 0


def _interrupt(number: int, _: FrameType | None) -> None:
    global _received, _since
    if time.monotonic() - _since < _PATIENCE:
        return
    _received, _since = _received or signal.Signals(number), time.monotonic()
    warnings.simplefilter("ignore")  # of what was made and now is not used
    end_programs()
    raise Interrupted


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """An interrupt in a destructor or a callback would be printed and forgotten: once more, when
    that is over."""
    global _since
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _since = -math.inf
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), _received or signal.SIGINT))
        again.daemon = True
        again.start()
    elif not _received:
        sys.__unraisablehook__(lost)
