"""Files of schedules: TOML, or JSON with the same keys."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import UserError, user_errors
from ....hw.spec.host.words import not_one_of
from ...common.files import read_content, write_whole
from .asked import KEYS

if TYPE_CHECKING:
    from ....sim.gta.array_schedule import Schedule
    from ....sim.gta.schedule.pgemm import PGemm

__all__ = ["SUFFIXES", "entries_of", "read_schedule", "write_schedule"]

SUFFIXES = (".toml", ".json")


def read_schedule(path: Path) -> dict[str, Any]:
    """What a file says, by key; values are checked later. Raises UserError."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: must end in {' or '.join(SUFFIXES)}")
    content = read_content(path)
    toml = path.suffix.lower() == ".toml"
    what = f"{path} is not {'TOML' if toml else 'JSON'}"
    found: Any
    with user_errors(tomllib.TOMLDecodeError, ValueError, RecursionError, about=what):
        text = content.decode("utf-8")
        found = tomllib.loads(text) if toml else json.loads(text)
    if not isinstance(found, dict):
        raise UserError(f"{path}: must hold an object with keys of {', '.join(KEYS)}")
    for key in found:
        if key not in KEYS:
            raise UserError(not_one_of(f"{path}: a key", KEYS, key))
    return found


def entries_of(schedule: Schedule) -> dict[str, Any]:
    """A schedule as a file has it."""
    direction = {"direction": "lateral" if schedule.lateral else "vertical"}
    if schedule.along:
        return {"dataflow": schedule.dataflow, "along": True, **direction}
    entries: dict[str, Any] = {
        "dataflow": schedule.dataflow,
        "layout": f"{schedule.rows}x{schedule.cols}",
        "segments": schedule.segments,
        **direction,
    }
    return entries | ({"filled": True} if schedule.filled else {})


def write_schedule(path: Path, problem: PGemm, schedule: Schedule) -> None:
    """A schedule, in TOML with the product it was chosen for in a comment."""
    entries = entries_of(schedule)
    if path.suffix.lower() == ".json":
        text = json.dumps(entries, indent=2)
    else:
        lines = [f"{key} = {json.dumps(value)}" for key, value in entries.items()]
        size = f"{problem.m} x {problem.n} x {problem.k}"
        text = "\n".join([f"# M x N x K of {size} in {problem.format}", *lines])
    write_whole(path, lambda file: file.write(f"{text}\n".encode()))
