"""``tilewright list``: the units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..registry import System, Work, commands, entries, systems, tables
from ..reports import write_json
from .options import JsonOption, check_output

__all__ = ["list_units"]


def list_units(json_file: JsonOption = None) -> None:
    """List the units, one line each."""
    if json_file is not None:
        check_output(json_file, ".json")
    known = entries()
    width = max(map(len, known))
    for name, entry in known.items():
        print(f"{name:{width}}  {entry.unit.summary}")
    if json_file is not None:
        units = [unit for system in systems() for unit in _units(system)]
        more = {"tables": tables(), "commands": commands()}
        write_json(
            json_file, {"units": units, **{kind: _works(all_) for kind, all_ in more.items()}}
        )


def _works(known: Mapping[str, Work]) -> list[dict[str, str]]:
    return [{"name": name, "summary": work.summary} for name, work in known.items()]


def _units(system: System) -> list[dict[str, Any]]:
    """Describes each unit of a system, for ``list --json``."""
    return [
        {
            "name": entry.unit.name,
            "summary": entry.unit.summary,
            "source": entry.unit.source,
            "takes_jobs": entry.unit.jobs is not None,
            "config": entry.unit.config().resolved(),
            "simulators": list(entry.simulate),
            "system": system.name,
            "pages": list(system.pages),
            "tables": list(system.tables),
            "commands": list(system.commands),
        }
        for entry in system.entries
    ]
