"""Units as text: parameters, ports, registers, errors and timing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["print_unit"]

Described = Mapping[str, Any]


def print_unit(console: Console, described: Described) -> None:
    """Print what ``show --json`` writes, its ``sidecar`` as far as people read it."""
    sidecar = described["sidecar"]
    console.print(f"{described['unit']}: {described['summary']}\nSource: {described['source']}\n")
    console.print(_parameters(described))
    tables = [_streams(sidecar), _buses(sidecar), _registers(sidecar), _errors(sidecar)]
    for table in [*tables, _timing(sidecar)]:
        if table.row_count:
            console.print(table)
    for port in sidecar.get("ports", ()):
        bits = "1 bit" if port["width"] == 1 else f"{port['width']} bits"
        console.print(f"port {port['name']}: {port['direction']}, {bits}")
    for note in described["notes"]:
        console.print(note)
    console.print("One clock `clk`, one synchronous active-high reset `rst`.")


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _parameters(described: Described) -> Table:
    table = _table("Parameters", "name", "value", "default", "must be", "meaning")
    for item in described["parameters"]:
        value, default = _text(item["value"]), _text(item["default"])
        table.add_row(item["name"], value, default, item["allowed"], item["doc"])
    return table


def _streams(sidecar: Described) -> Table:
    table = _table("Streams (valid, ready, payload)", "stream", "way", "field", "bits", "from bit")
    for stream in sidecar["streams"]:
        for field in stream["fields"]:
            shape = "".join(f"[{length}]" for length in field.get("shape", ()))
            bits = field.get("width", field.get("element_bits"))
            name, way = stream["name"], stream["direction"]
            table.add_row(name, way, f"{field['name']}{shape}", str(bits), str(field["offset"]))
    return table


def _buses(sidecar: Described) -> Table:
    table = _table("Buses", "prefix", "role", "protocol", "address", "data", "ID bits", "in flight")
    for bus in sidecar.get("axi", ()):
        ways = [f"{bus[way]['outstanding']} {way}" for way in ("reads", "writes") if way in bus]
        bits = [str(bus[f"{part}_bits"]) for part in ("addr", "data", "id")]
        table.add_row(bus["prefix"], bus["role"], bus["protocol"], *bits, ", ".join(ways))
    return table


def _registers(sidecar: Described) -> Table:
    table = _table("Registers", "name", "offset", "bits", "access", "fields", "meaning")
    for register in sidecar.get("registers", ()):
        fields = [_field(field) for field in register["fields"]]
        table.add_row(
            register["name"], f"{register['offset']:#05x}", str(register["bits"]),
            register["access"], ", ".join(filter(None, fields)), register["doc"],
        )  # fmt: skip
    return table


def _field(field: Described) -> str:
    """``name[high:low]``; nothing of a register that is one number."""
    if field["name"] == "value":
        return ""
    low, high = field["low"], field["low"] + field["width"] - 1
    return f"{field['name']}[{low}]" if low == high else f"{field['name']}[{high}:{low}]"


def _errors(sidecar: Described) -> Table:
    jobs = sidecar.get("jobs", {})
    table = _table("Errors of jobs", "code", "name", "detail", "found", "meaning")
    for error in jobs.get("errors", ()):
        detail = error.get("detail") or ""
        row = (str(error["code"]), error["name"], detail, error["found"], error["doc"])
        table.add_row(*row)
    return table


def _timing(sidecar: Described) -> Table:
    names = [name for name in ("opcodes", "latency", "initiation_interval") if name in sidecar]
    table = _table("Operations, in cycles", "operation", *(n.replace("_", " ") for n in names))
    for operation in sidecar[names[0]] if names else ():
        table.add_row(operation, *(str(sidecar[name].get(operation, "")) for name in names))
    return table
