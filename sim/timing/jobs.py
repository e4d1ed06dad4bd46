"""Jobs on cycle models: the end of the loop over cycles, and a device whose jobs take time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .compiled import inlined
from .memories import FLAT, MemoryModel
from .parts import record

__all__ = ["TimedDevice", "ended", "looks", "stands_still", "watch"]

WATCH = record("patience", "looked_at", "moved")


def watch(patience: int) -> Any:
    """Makes the record to detect a standstill; ``patience``: cycles between two looks."""
    found = np.zeros(1, WATCH)
    found["patience"] = patience
    return found


@inlined
def looks(watch: Any, now: int) -> bool:
    """Returns whether the loop is to look for a standstill in this cycle."""
    looks: bool = now - watch[0].looked_at > watch[0].patience
    return looks


@inlined
def stands_still(watch: Any, now: int, moved: int) -> bool:
    """Returns whether nothing has moved since the last look; ``moved`` counts all that moves."""
    still: bool = watch[0].moved == moved
    watch[0].moved = moved
    watch[0].looked_at = now
    return still


def ended(cycles: int) -> int:
    """The cycles that a loop has returned. Raises RuntimeError if they are negative: the model has
    come to a standstill, which no job does that the hardware takes."""
    if cycles < 0:
        raise RuntimeError(f"the cycle model has come to a standstill in cycle {-cycles}")
    return cycles


class TimedDevice:
    """An accelerator as software sees it whose jobs take as long as the hardware's.

    A subclass names this class before the model of results, and adds the cycle model.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0; None: that of the model of results
    memory: what each channel, or manager, has behind it
    gigahertz: clock of the accelerator; None: the unit's own
    others: options of the model of results
    """

    own_gigahertz: ClassVar[float] = 1.0

    def __init__(
        self,
        config: Any,
        memory_bytes: int | None = None,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float | None = None,
        **others: Any,
    ) -> None:
        size = () if memory_bytes is None else (memory_bytes,)
        super().__init__(config, *size, **others)  # type: ignore[call-arg]
        clock = self.own_gigahertz if gigahertz is None else gigahertz
        self._timing: dict[str, Any] = {"memory": memory, "gigahertz": clock}

    def _before(self) -> Any:
        """Returns what the cycle model needs of the memory before the job changes it."""

    def _timed(self, before: Any, counts: dict[str, int]) -> tuple[str, int, dict[str, int]]:
        """Runs the cycle model of a job that ends well, whose other counters are ``counts``; see
        ``ModelDevice._job``."""
        raise NotImplementedError

    def _results(self) -> tuple[str, int, dict[str, int]]:
        """Does the job on the model of results."""
        found: tuple[str, int, dict[str, int]] = super()._job()  # type: ignore[misc]
        return found

    def _job(self) -> tuple[str, int, dict[str, int]]:
        before = self._before()
        found = self._results()
        return found if found[0] != "none" else self._timed(before, found[2])
