"""Standard output and error of the command line, where they may be full, broken or closed."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["OutputLost", "guard_streams"]


class OutputLost(Exception):
    """Standard output took no more.

    No OSError: libraries that print have ends of their own for those.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror}")
        self.status = 2
        """For the process to end with; who closes a pipe wants to hear no more."""
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
