"""What a terminal shows of what is under way: on standard error, gone when that is over."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .hw.spec.host.activity import Activity, Event, listening

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

__all__ = ["in_words", "shown_on_terminal"]

_PER_SECOND = 8
_SILENT_SECONDS = 1.0
"""For which an activity says nothing of its time."""


def in_words(one: Activity, now: float) -> str:
    """A line on an activity at a time: ``compiling the RTL, once: 2 of 7, 12 s``."""
    words = [f"{min(one.done, one.total):,} of {one.total:,}"] if one.total else []
    words += [one.detail] if one.detail else []
    seconds = now - one.began
    if seconds >= _SILENT_SECONDS:
        words.append(f"{seconds:.0f} s")
    return f"{one.what}: {', '.join(words)}" if words else one.what


class _Shown:
    """A listener that shows the innermost activity. Rich is there from the first one on."""

    def __init__(self) -> None:
        self._under_way: list[Activity] = []
        self._live: Live | None = None
        self._spinner: Spinner | None = None

    def __call__(self, event: Event, one: Activity) -> None:
        if event == "begin":
            self._under_way.append(one)
            self._live = self._live or self._begin()
            self._live.refresh()
        elif event == "end":
            self._line()  # what is shown last
            self._under_way.remove(one)
            if not self._under_way:
                self.end()

    def _begin(self) -> Live:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = Spinner("dots")
        live = Live(
            console=Console(stderr=True),
            get_renderable=self._line,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start()
        return live

    def _line(self) -> Spinner:
        from rich.text import Text

        assert self._spinner is not None
        for innermost in self._under_way[-1:]:
            words = in_words(innermost, time.perf_counter())
            self._spinner.update(text=Text(words, no_wrap=True, overflow="ellipsis"))
        return self._spinner

    def end(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()


@contextmanager
def shown_on_terminal() -> Iterator[None]:
    """Meanwhile standard error, if it is a terminal, shows what is under way."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    shown = _Shown()
    with listening(shown):
        try:
            yield
        finally:
            shown.end()
