"""A session on an accelerator: its device with as much memory as work takes, and what runs add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import board, device
from ...errors import CheckFailed, UserError, user_errors
from ...hw.spec.host.activity import Stopwatch, activity
from ...hw.spec.unit import Unit
from ...sim.device.driver import NoRoom
from ...sim.device.protocol import JobError
from ...sim.device.wire import WireError
from ...sim.rtl.build import BuildError
from ...sim.rtl.toolchain import ToolMissing
from ...sim.timing.bound_broken import BoundBroken
from ...sim.timing.memories import FLAT
from .memory import available_memory, in_words
from .options import Choice

__all__ = ["FIRST_BYTES", "Session", "Tally", "building", "opened", "rtl_device"]

FIRST_BYTES = 1 << 22
"""Memory that the first job finds."""

Driver = TypeVar("Driver")
Done = TypeVar("Done")


@contextmanager
def building(unit: Unit) -> Iterator[None]:
    """Turns what a unit's build raises into a UserError of one line."""
    try:
        yield
    except ToolMissing as error:
        raise UserError(str(error)) from None
    except BuildError as error:
        said = " ".join(line.strip() for line in str(error).splitlines()[:3])
        raise UserError(f"{unit.name} could not be built for simulation: {said}") from None


def rtl_device(unit: Unit, config: Any, memory_bytes: int) -> Any:
    """An accelerator's RTL before a flat memory, to be closed in the end. Raises UserError if it
    cannot be built."""
    with building(unit):
        return device(unit.name, config, backend="rtl", memory_bytes=memory_bytes)


def opened(choice: Choice[Any], backend: str, memory_bytes: int) -> Any:
    """The device of a choice with a backend, to be closed in the end. Raises UserError if it cannot
    be built."""
    if backend == "rtl" and choice.wire is not None:
        return board(choice.unit.name, choice.config, **choice.wire._asdict())
    if backend == "rtl":
        return rtl_device(choice.unit, choice.config, memory_bytes)
    timed: dict[str, Any] = {}
    if backend == "cycles":
        memory = FLAT if choice.backend == "rtl" else choice.memory
        timed = {"memory": memory, "gigahertz": choice.gigahertz}
    return device(
        choice.unit.name, choice.config, backend=backend, memory_bytes=memory_bytes, **timed
    )


class Session(Generic[Driver]):
    """An accelerator with a backend, from the first work to the last. A context manager.

    The device is made when it is first used, and again with more memory when work finds too little.

    Parameters
    ----------
    choice: the accelerator
    driver: makes a driver from a device
    backend: if not the choice's
    what: is computed, to messages
    about: what messages begin with
    whose: memory it is, to messages
    make: makes a device of so many bytes, if not :func:`opened`

    Members
    -------
    device: that there is now; None before it is used
    seconds: of the last work
    """

    def __init__(
        self,
        choice: Choice[Any],
        driver: Callable[[Any], Driver],
        *,
        backend: str = "",
        what: str = "product",
        about: str = "",
        whose: str = "accelerator",
        make: Callable[[int], Any] | None = None,
    ) -> None:
        self._unit, self._make_driver = choice.unit, driver
        self._backend = backend or choice.backend
        self._on_board = self._backend == "rtl" and choice.wire is not None
        self._what, self._about, self._whose = what, about, whose
        self._make = make or (lambda size: opened(choice, self._backend, size))
        self._reach = 1 << choice.config.addr_bits
        self._bytes = 0 if self._on_board else min(FIRST_BYTES, self._reach)
        self.device: Any = None
        self._driver: Driver | None = None
        self.seconds = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation."""
        if self.device is not None:
            self.device.close()
        self.device = self._driver = None

    @property
    def driver(self) -> Driver:
        """The driver of the device that there is now."""
        if self._driver is None:
            verb = "building and running" if self._backend == "rtl" else "making the model of"
            if self._on_board:
                verb = "opening the board with"
            try:
                with user_errors(WireError), activity(f"{verb} {self._unit.name}"):
                    self.device = self._make(self._bytes)
                    self._driver = self._make_driver(self.device)
            except MemoryError:
                raise UserError(
                    f"the {self._what} takes {in_words(self._bytes)} of the {self._whose}'s "
                    f"memory; {in_words(available_memory())} are available"
                ) from None
        return self._driver

    def reserve(self, size: int) -> None:
        """Have at least so many bytes of memory. Raises UserError if a board has fewer."""
        if size <= self._bytes:
            return
        if not self._on_board:
            self.close()
        elif self.driver and size > self.device.memory_bytes:
            raise UserError(
                f"{self._about}the {self._what} takes {in_words(size)} of memory; the board has "
                f"{in_words(self.device.memory_bytes)}"
            )
        self._bytes = size

    def run(self, work: Callable[[Driver], Done], what: str = "") -> Done:
        """Runs work with the driver; the work restarts when the device has to grow.

        Raises UserError if it does not fit the accelerator or the RTL cannot be built, CheckFailed
        if a job took fewer cycles than its bound. ``what`` it computes, if not the session's.
        """
        self._what = what or self._what
        while True:
            driver = self.driver
            watch = Stopwatch()
            try:
                with activity(f"computing on {self._unit.name}"):
                    done = work(driver)
            except NoRoom as lacking:
                if lacking.end > self._reach or self._on_board:
                    raise UserError(f"{self._about}{lacking}") from None
                larger = max(lacking.end, 2 * self._bytes)
                # A whole number of lines, whatever a line is.
                self.reserve(min(-(-larger // FIRST_BYTES) * FIRST_BYTES, self._reach))
            except WireError as error:
                raise UserError(str(error)) from None
            except BoundBroken as error:
                raise CheckFailed(str(error)) from None
            except ValueError as error:
                raise UserError(f"{self._about}{error}") from None
            except JobError as error:
                verb = "solved" if self._what == "problem" else "computed"
                raise UserError(
                    f"{self._about}the {self._what} cannot be {verb}: {error}"
                ) from None
            else:
                self.seconds = watch.seconds
                return done


@dataclass(kw_only=True)
class Tally:
    """Totals of all runs.

    Parameters
    ----------
    counts: counters of all jobs, added
    checked, mismatches: what was compared with the model, and what of it differs
    seconds: of simulation
    """

    counts: dict[str, int] = field(default_factory=dict)
    checked: int = 0
    mismatches: int = 0
    seconds: float = 0.0

    def count(self, counts: Mapping[str, int]) -> None:
        """Add the counters of a job."""
        for name, value in counts.items():
            self.counts[name] = self.counts.get(name, 0) + value

    def compare(self, found: NDArray[Any], expected: NDArray[Any]) -> None:
        """Compare a result with the model's, value by value."""
        self.checked += expected.size
        self.mismatches += int(np.count_nonzero(found != expected))
