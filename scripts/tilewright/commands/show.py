"""``tilewright show``: a unit's parameters, ports and timing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import user_errors
from .options import ConfigOption, SetOption, UnitArgument, console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..hw.spec.config import Config
    from ..hw.spec.unit import Unit

__all__ = ["show"]


def show(unit: UnitArgument, config: ConfigOption = None, set_: SetOption = None) -> None:
    """Show a unit: parameters with ranges and defaults, ports, latency, source."""
    from ..settings import choose_unit, read_config

    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    with user_errors(ValueError, about=unit):
        _show_unit(console(), chosen, values)


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _parameters(config: Config) -> Table:
    table = _table("Parameters", "name", "value", "default", "must be", "meaning")
    for item in config.parameters():
        value, default = getattr(config, item.name), config.default_of(item)
        allowed = item.metadata["allowed"].describe()
        table.add_row(item.name, _text(value), _text(default), allowed, item.metadata["doc"])
    return table


def _streams(sidecar: dict[str, Any]) -> Table:
    table = _table("Streams (valid, ready, payload)", "stream", "way", "field", "bits", "from bit")
    for stream in sidecar["streams"]:
        for field in stream["fields"]:
            shape = "".join(f"[{length}]" for length in field.get("shape", ()))
            bits = field.get("width", field.get("element_bits"))
            name, way = stream["name"], stream["direction"]
            table.add_row(name, way, f"{field['name']}{shape}", str(bits), str(field["offset"]))
    return table


def _timing(sidecar: dict[str, Any]) -> Table | None:
    names = [name for name in ("opcodes", "latency", "initiation_interval") if name in sidecar]
    if not names:
        return None
    table = _table("Operations, in cycles", "operation", *(n.replace("_", " ") for n in names))
    for operation in sidecar[names[0]]:
        table.add_row(operation, *(str(sidecar[name].get(operation, "")) for name in names))
    return table


def _show_unit(console: Console, unit: Unit, config: Config) -> None:
    """Print what a user of the unit needs to know, for one configuration.

    Raises ValueError if the configuration cannot be built.
    """
    from ..hw.emit.unit import describe

    sidecar = describe(unit, config)
    console.print(f"{unit.name}: {unit.summary}\nSource: {unit.source}\n")
    console.print(_parameters(config))
    console.print(_streams(sidecar))
    for port in sidecar.get("ports", ()):
        console.print(f"port {port['name']}: {port['direction']}, {port['width']} bits")
    timing = _timing(sidecar)
    if timing is not None:
        console.print(timing)
    console.print("One clock `clk`, one synchronous active-high reset `rst`.")
