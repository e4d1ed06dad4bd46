"""Pages of the reference of the Python API: which objects mkdocstrings prints on each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import tilewright

from ..registry import entries

__all__ = ["PUBLIC", "api_pages"]

PUBLIC = {
    "Units and their Verilog": ("units", "UnitInfo", "generate", "Generated"),
    "Devices and drivers": (
        "device",
        "board",
        "OpenDevice",
        "Device",
        "driver",
        "registers",
        "JobError",
    ),
    "Computations, reports and tables": ("run", "simulate", "synth", "table", "Result"),
}
"""Names of the package by section; ``formats`` and ``payloads`` have pages of their own."""

_PARTS = {
    "stream": ("streams", "Plumbing of valid/ready streams: queues, forks, joins, registers."),
    "axi": (
        "AXI",
        "AXI4 managers between streams and memory; AXI4-Lite registers.",
    ),
    "job": (
        "jobs",
        "Parts of every accelerator: from registers to a job and its end.",
    ),
    "channels": ("memory channels", "Arrays and sparse rows in several memory channels."),
    "arith": ("arithmetic", "Floating-point and integer operators of any format."),
}
"""Titles and summaries of folders with parts that accelerators are built from."""

_HW = Path(__file__).resolve().parents[3] / "hw"


def api_pages() -> dict[str, tuple[str, str]]:
    """Returns the title and the text of each page by its name."""
    pages = {
        "tilewright": ("The package tilewright", "\n".join(_package())),
        "formats": ("tilewright.formats", _module("formats")),
        "payloads": ("tilewright.payloads", _module("payloads")),
        "drivers": ("Drivers", "\n".join(_classes("Drivers", _DRIVERS, _drivers()))),
        "configurations": (
            "Configurations",
            "\n".join(_classes("Configurations", _CONFIGURATIONS, _configurations())),
        ),
        "components": (
            "Components of units",
            "\n".join(_classes("Components of units", _COMPONENTS, _components())),
        ),
    }
    for folder, (title, summary) in _PARTS.items():
        text = "\n".join(_parts(folder, f"Parts: {title}", summary))
        pages[f"parts-{folder}"] = f"Parts: {title}", text
    return pages


_DRIVERS = """`tilewright.driver(device)` makes the driver of a device. Typed programs make it from
its class. `tilewright.registers(device)` returns `JobRegisters`, and `registers` of a unit a
`RegisterMap`."""

_REGISTERS = (
    "tilewright.sim.device.driver:JobRegisters",
    "tilewright.sim.device.driver:JobStatus",
    "tilewright.hw.spec.registers.register_map:RegisterMap",
    "tilewright.hw.spec.registers.register_map:Register",
    "tilewright.hw.spec.registers.register_map:Field",
)
"""Classes that all drivers share."""

_CONFIGURATIONS = """A configuration is frozen, and checked when it is made. The pages of the units
list the parameters with their ranges and defaults."""

_COMPONENTS = """Each unit is an Amaranth component. `tilewright.units[NAME].component(...)` makes
one from parameters. The class takes a configuration."""


def _printed(name: str, heading: str = "", *, level: int = 2, **options: object) -> str:
    """The directive that prints an object."""
    label = (heading or name).rpartition(".")[2]
    all_options = {
        "heading": heading or name,
        "toc_label": label,
        "heading_level": level,
        **options,
    }
    lines = [f"::: {name}", "    options:"]
    lines += [f"      {key}: {str(value).lower() if type(value) is bool else repr(value)}"
              for key, value in all_options.items()]  # fmt: skip
    return "\n".join([*lines, ""])


def _package() -> Iterator[str]:
    yield "# The package `tilewright`\n"
    yield f"{(tilewright.__doc__ or '').splitlines()[0]}"
    yield "[Tilewright in Python](../../docs/python.md) introduces it with examples.\n"
    for title, names in PUBLIC.items():
        yield f"## {title}\n"
        for name in names:
            yield _printed(_place(name), f"tilewright.{name}", level=3)


def _place(name: str) -> str:
    """Returns the dotted path at which a public name is defined."""
    found = getattr(tilewright, name)
    if name == "synth":
        return "tilewright.api.reports.synth"
    if name == "units":
        return "tilewright.api.units.Units"
    return f"{found.__module__}.{found.__qualname__}"


def _module(name: str) -> str:
    return _printed(f"tilewright.{name}", level=1, show_root_members_full_path=False)


def _classes(title: str, about: str, places: Iterable[str]) -> Iterator[str]:
    yield f"# {title}\n"
    yield f"{about}\n"
    for place in dict.fromkeys(places):
        name = place.replace(":", ".")
        yield _printed(name, name.removeprefix("tilewright."))


def _drivers() -> Iterator[str]:
    yield from _REGISTERS
    yield from (entry.driver for entry in entries().values() if entry.driver)


def _configurations() -> Iterator[str]:
    kinds = [entry.unit.config for entry in entries().values()]
    return (f"{kind.__module__}:{kind.__qualname__}" for kind in kinds)


def _components() -> Iterator[str]:
    return (entry.unit.component for entry in entries().values())


def _parts(folder: str, title: str, summary: str) -> Iterator[str]:
    yield f"# {title}\n"
    yield f"{summary}\n"
    for path in sorted((_HW / folder).rglob("*.py")):
        name = ".".join(path.relative_to(_HW).with_suffix("").parts)
        if not name.endswith("__init__"):
            yield _printed(f"tilewright.hw.{name}", show_symbol_type_heading=False)
