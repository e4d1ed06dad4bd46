"""The table of what became of mutants."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["killed_share", "table"]

_VERDICTS = ("killed", "equivalent", "survivor")


def killed_share(counts: Mapping[str, int]) -> float:
    """Of those that are not equivalent; 1 if there are none."""
    alive = counts["survivor"]
    return counts["killed"] / (counts["killed"] + alive) if counts["killed"] + alive else 1.0


def table(mutants: Iterable[Mapping[str, Any]]) -> str:
    """By module and by folder."""
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
