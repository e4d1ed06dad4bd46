"""Settings of a run of mutants, from the process that starts it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

VARIABLE = "TILEWRIGHT_MUTANTS"


@dataclass(frozen=True)
class Settings:
    """Parameters
    ----------
    folders: paths of the Python modules whose hardware is mutated begin with one of these
    mutants: how many
    seed: of their choice
    result: file to which each mutant is written, as a line of JSON, when it is decided; those of
        the same sources that it holds already are not decided again
    here: candidates of a module in a design, at most
    most: candidates of a module in all designs, at most
    proof_seconds: of processor time, for the proof that a mutant changes nothing
    stand_ins: classes of benches that stand for a module without a component
    """

    folders: tuple[str, ...]
    mutants: int
    seed: int
    result: Path
    here: int = 20
    most: int = 80
    proof_seconds: int = 60
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Variables that say the same."""
        return {VARIABLE: json.dumps(asdict(self) | {"result": str(self.result)})}

    @classmethod
    def from_environment(cls) -> Settings:
        """Reads the settings from the environment."""
        told = json.loads(os.environ[VARIABLE])
        folders, result = tuple(told.pop("folders")), Path(told.pop("result"))
        return cls(folders=folders, result=result, **told)
