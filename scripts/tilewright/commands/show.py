"""``tilewright show``: what a user of a unit needs to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import user_errors
from ..reports import console_of_reports, write_json
from .options import ConfigOption, JsonOption, SetOption, UnitArgument, check_output

if TYPE_CHECKING:
    from ..hw.spec.config import Config
    from ..hw.spec.unit import Unit

__all__ = ["described", "show"]


def show(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show a unit: parameters with ranges and defaults, ports, registers, latency, source."""
    from ..settings import choose_unit, read_config

    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    if json_file is not None:
        check_output(json_file, ".json")
    from .shown import print_unit

    with user_errors(ValueError, about=unit):
        found = described(chosen, values)
    print_unit(console_of_reports(), found)
    if json_file is not None:
        write_json(json_file, found)


def described(unit: Unit, config: Config) -> dict[str, Any]:
    """Returns what ``show --json`` writes about a unit. Raises ValueError for a configuration that
    cannot be built."""
    from ..hw.emit.unit import describe

    parameters = [
        {
            "name": item.name,
            "value": getattr(config, item.name),
            "default": config.default_of(item),
            "allowed": item.metadata["allowed"].describe(),
            "doc": item.metadata["doc"],
        }
        for item in config.parameters()
    ]
    return {
        "unit": unit.name,
        "summary": unit.summary,
        "source": unit.source,
        "config": config.resolved(),
        "parameters": parameters,
        "sidecar": describe(unit, config),
        "notes": list(getattr(config, "notes", ())),
    }
