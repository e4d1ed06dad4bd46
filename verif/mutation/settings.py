"""Settings of a run of mutants, from the process that starts it."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_VERDICTS = ("killed", "equivalent", "survivor")


def read_rows(file: Path) -> list[dict[str, Any]]:
    """The mutants in a result file; a line that was cut off does not count."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return [row for row in rows if "mutation" in row]


def read_end(file: Path) -> dict[str, Any] | None:
    """Reads the last row of a result file: ``seconds`` and ``sound`` of the run; None if it was cut
    off."""
    text = file.read_text() if file.exists() else ""
    rows = [json.loads(line) for line in text.splitlines()[-1:] if text.endswith("\n")]
    found: dict[str, Any] | None = rows[0].get("end") if rows else None
    return found


def killed_share(counts: Mapping[str, int]) -> float:
    """Returns the killed share of the mutants that are not equivalent; 1 if there are none."""
    alive = counts["survivor"]
    return counts["killed"] / (counts["killed"] + alive) if counts["killed"] + alive else 1.0


def table(mutants: Iterable[Mapping[str, Any]]) -> str:
    """Returns the table of mutants by module and by folder."""
    modules: dict[str, Counter[str]] = defaultdict(Counter)
    for one in mutants:
        modules[one["mutation"]["module"]][one["verdict"]] += 1
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for module, counts in modules.items():
        folders["/".join(module.split("/")[:2])].update(counts)
    lines = [f"{'':44}  mutants  killed  equivalent  survivors  killed of the others"]
    for folder, total in sorted(folders.items()):
        its = sorted((m, c) for m, c in modules.items() if m.startswith(f"{folder}/"))
        lines += [_row(f"  {m}", counts) for m, counts in its] + [_row(folder, total)]
    everything: Counter[str] = Counter()
    for counts in folders.values():
        everything.update(counts)
    return "\n".join([*lines, _row("all", everything)])


def _row(name: str, counts: Counter[str]) -> str:
    killed, equivalent, survivors = (counts[verdict] for verdict in _VERDICTS)
    return (
        f"{name:44}  {counts.total():7}  {killed:6}  {equivalent:10}  {survivors:9}"
        f"  {killed_share(counts):8.1%}"
    )


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
    proof_seconds: of processor time, for the proof that a mutant changes nothing; 0: no proof
    again: mutants of the result file that survived are decided again, on the present tests; the
        others keep their verdicts, whatever has changed since
    stand_ins: classes of benches that stand for a module without a component
    """

    folders: tuple[str, ...]
    mutants: int
    seed: int
    result: Path
    here: int = 20
    most: int = 80
    proof_seconds: int = 60
    again: bool = False
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
