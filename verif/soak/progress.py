"""Records the progress of soak runs, unit by unit, in a file that the next run continues."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any


class ProgressError(ValueError):
    """A file is not of a soak run."""


@dataclass
class UnitProgress:
    """Runs of a design without a fault; ``seed``: the next one; ``seconds``: processor time."""

    design: str
    seed: int = 0
    jobs: int = 0
    cycles: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Cycles per second."""
        return self.cycles / self.seconds if self.seconds else 0.0


@dataclass
class Progress:
    """The units of a file; nothing if it does not exist.

    Raises ProgressError for a file that is not of a soak run.
    """

    path: Path
    units: dict[str, UnitProgress] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        try:
            found: dict[str, Any] = json.loads(self.path.read_text())
            names = {one.name for one in fields(UnitProgress)}
            assert all(set(unit) == names for unit in found.values())
        except (ValueError, AttributeError, TypeError, AssertionError):
            raise ProgressError(f"{self.path} holds no progress of a soak run") from None
        self.units = {name: UnitProgress(**unit) for name, unit in found.items()}

    def of(self, name: str, design: str) -> UnitProgress:
        """Returns the progress of a unit; starts from zero if the file has another design of the
        unit."""
        known = self.units.get(name)
        if known is None or known.design != design:
            known = self.units[name] = UnitProgress(design)
        return known

    def save(self) -> None:
        """Replace the file in one step."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({name: asdict(one) for name, one in self.units.items()}, indent=1)
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        partial.write_text(text + "\n")
        partial.replace(self.path)
