"""Programs that this one starts: they end when it is interrupted.

Each leads a process group of its own. So Ctrl-C on a terminal reaches this process alone, which
then ends them, and all that they have started, before anything that they use is removed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

__all__ = ["Completed", "ProgramError", "end_programs", "run_program", "run_programs"]

Completed = subprocess.CompletedProcess[str]

_lock = threading.RLock()  # a signal may come while it is held
_children: dict[subprocess.Popen[str], threading.Event] = {}
"""Running programs, each with the event that requests its end."""
_over = threading.Event()


class ProgramError(RuntimeError):
    """A program stopped with an error of its own; the text has its last words."""


def end_programs() -> None:
    """Ends all programs that run in any thread, and those that are about to start: the process
    ends, too."""
    _over.set()
    _end(_over)


def _end(wanted: threading.Event) -> None:
    with _lock:
        for child, ended in list(_children.items()):
            if wanted in (ended, _over):
                _kill(child)


def _kill(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _run(
    command: Sequence[str],
    ended: threading.Event,
    cwd: Path | None,
    said: str,
    environment: Mapping[str, str],
) -> Completed:
    with subprocess.Popen(
        command, cwd=cwd, env=environment, text=True, errors="replace", process_group=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        with _lock:
            _children[child] = ended
            if ended.is_set() or _over.is_set():
                _kill(child)
        try:
            out, err = child.communicate(said)
        finally:
            with _lock:
                del _children[child]
    return Completed(command, child.returncode, out, err)


def run_program(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    said: str = "",
    environment: Mapping[str, str] | None = None,
    scratch: Path | None = None,
) -> Completed:
    """Runs a program to its end, whatever its status.

    Parameters
    ----------
    command: the program and its arguments
    cwd: where it runs; default: where this process does
    said: what it reads from its standard input
    environment: its variables; default: those of this process
    scratch: directory for its temporary files, which stay there if it is ended

    Raises OSError if it cannot be started.
    """
    (done,) = run_programs(
        [command], 1, cwd=cwd, said=said, environment=environment, scratch=scratch
    )
    return done


def run_programs(
    commands: Iterable[Sequence[str]],
    at_once: int,
    *,
    cwd: Path | None = None,
    said: str = "",
    environment: Mapping[str, str] | None = None,
    scratch: Path | None = None,
    check: Callable[[Completed], None] = lambda done: None,
) -> list[Completed]:
    """Runs programs side by side, ``at_once`` at a time; otherwise as `run_program`.

    ``check`` is given each that has ended, in their order. An exception, its own or one that
    interrupts this function, ends those that run.
    """
    variables = dict(os.environ if environment is None else environment)
    if scratch is not None:
        variables["TMPDIR"] = str(scratch)
    ended = threading.Event()
    run = partial(_run, ended=ended, cwd=cwd, said=said, environment=variables)
    results: list[Completed] = []
    with ThreadPoolExecutor(at_once) as pool:  # whose threads no signal interrupts
        try:
            for future in [pool.submit(run, command) for command in commands]:
                results.append(future.result())
                check(results[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            ended.set()
            _end(ended)
            raise
    return results
