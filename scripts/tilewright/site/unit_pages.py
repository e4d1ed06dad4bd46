"""Pages of the reference, one per unit: parameters, ports, operations, registers and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..commands.show import described
from ..registry import Entry, systems
from .markdown import table

__all__ = ["unit_pages"]

DOCS = Path(__file__).resolve().parents[3] / "docs"


def unit_pages() -> dict[str, str]:
    """Returns the page of each unit by its name."""
    return {
        entry.unit.name: "\n".join(_page(entry, system.pages))
        for system in systems()
        for entry in system.entries
    }


def _page(entry: Entry, pages: tuple[str, ...]) -> Iterator[str]:
    unit = entry.unit
    shown = described(unit, unit.config())
    sidecar = shown["sidecar"]
    yield f"# `{unit.name}`\n"
    yield f"{unit.summary[0].upper()}{unit.summary[1:]}.\n"
    yield f"* Source: {unit.source}"
    yield "* Pages: " + "; ".join(map(_link, pages))
    if entry.backends:
        yield f"* Backends of [`device`][tilewright.device]: {_codes(entry.backends)}"
    if entry.driver:
        yield f"* Driver: [`{entry.driver.partition(':')[2]}`][{entry.driver.replace(':', '.')}]"
    yield f"* On the command line: `tilewright show {unit.name} --set NAME=VALUE`\n"
    yield "## Parameters\n"
    yield from table(("name", "default", "allowed", "meaning"), (
        (f"`{x['name']}`", _text(x["default"]), x["allowed"], x["doc"])
        for x in shown["parameters"]
    ))  # fmt: skip
    yield "The rest of this page is for the default configuration.\n"
    yield from _ports(sidecar)
    yield from _operations(sidecar)
    yield from _registers(sidecar)
    yield from _errors(sidecar)
    if shown["notes"]:
        yield "## Notes\n"
        yield from (f"* {note}" for note in shown["notes"])


def _link(page: str) -> str:
    """A link to a page of a system, with its heading."""
    heading = (DOCS / page).read_text().partition("\n")[0].removeprefix("# ")
    return f"[{heading}](../../docs/{page})"


def _codes(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _text(value: Any) -> str:
    return _codes(value) if isinstance(value, (tuple, list)) else f"`{value}`"


def _ports(sidecar: Mapping[str, Any]) -> Iterator[str]:
    yield "## Ports\n"
    yield "One clock `clk`, one synchronous active-high reset `rst`.\n"
    yield from table(("port", "direction", "bits"), (
        (f"`{port['name']}`", port["direction"], str(port["width"]))
        for port in sidecar.get("ports", ())
    ))  # fmt: skip
    if sidecar["streams"]:
        yield "Streams (valid, ready, payload):\n"
    yield from table(("stream", "direction", "field", "bits", "from bit"), (
        (f"`{stream['name']}`", stream["direction"], f"`{field['name']}{_shape(field)}`",
         str(field.get("width", field.get("element_bits"))), str(field["offset"]))
        for stream in sidecar["streams"] for field in stream["fields"]
    ))  # fmt: skip
    if "axi" in sidecar:
        yield "Buses:\n"
    yield from table(
        ("prefix", "role", "protocol", "address bits", "data bits", "ID bits", "in flight"),
        (
            (f"`{bus['prefix']}`", bus["role"], bus["protocol"],
             *(str(bus[f"{part}_bits"]) for part in ("addr", "data", "id")),
             ", ".join(f"{bus[way]['outstanding']} {way}" for way in ("reads", "writes")
                       if way in bus))
            for bus in sidecar.get("axi", ())
        ),
    )  # fmt: skip


def _shape(field: Mapping[str, Any]) -> str:
    return "".join(f"[{length}]" for length in field.get("shape", ()))


def _operations(sidecar: Mapping[str, Any]) -> Iterator[str]:
    names = [name for name in ("opcodes", "latency", "initiation_interval") if name in sidecar]
    if names:
        yield "## Operations\n"
        if "latency" in names:
            yield "Latency and initiation interval are in cycles.\n"
        columns = ("operation", *(name.replace("_", " ").removesuffix("s") for name in names))
        yield from table(columns, (
            (f"`{one}`", *(_plain(sidecar[name].get(one, "")) for name in names))
            for one in sidecar[names[0]]
        ))  # fmt: skip


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _registers(sidecar: Mapping[str, Any]) -> Iterator[str]:
    if "registers" in sidecar:
        yield "## Registers\n"
        yield "[Rules of access](../../docs/registers.md#rules) are common to all accelerators.\n"
        yield from table(
            ("offset", "register, field", "bits", "access", "reset", "meaning"),
            _rows(sidecar["registers"]),
        )


def _rows(registers: Any) -> Iterator[tuple[str, ...]]:
    for register in registers:
        fields = [x for x in register["fields"] if x["name"] != "value"]
        bits, reset = "", ""
        if not fields:
            bits, reset = f"{register['bits'] - 1}:0", _reset(register["fields"][0])
        name = f"`{register['name']}`"
        yield f"`{register['offset']:#05x}`", name, bits, register["access"], reset, register["doc"]
        for field in fields:
            low, high = field["low"], field["low"] + field["width"] - 1
            bits = str(low) if low == high else f"{high}:{low}"
            yield "", f"`.{field['name']}`", bits, field["access"], _reset(field), field["doc"]


def _reset(field: Mapping[str, Any]) -> str:
    return f"`{field['reset']:#x}`" if field["reset"] else "0"


def _errors(sidecar: Mapping[str, Any]) -> Iterator[str]:
    errors = sidecar.get("jobs", {}).get("errors", ())
    if errors:
        yield "## Errors of jobs\n"
        yield (
            "`STATUS.error_code` has the code, `ERROR_DETAIL` the detail. An error is found before "
            "the job accesses memory, or during the job.\n"
        )
        yield from table(("code", "name", "detail", "found", "meaning"), (
            (str(x["code"]), f"`{x['name']}`", x.get("detail") or "", x["found"], x["doc"])
            for x in errors
        ))  # fmt: skip
