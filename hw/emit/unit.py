"""Writes a component as SystemVerilog, and its sidecar.

The text has one module for each different component, however many instances there are, and is
the same, byte for byte, for the same configuration.

Nothing in it has a value before the reset, and memories not even after it: a design must not use a
word that it has not written. (A memory is initialised if it is given contents other than zeros, or
is never written.)
"""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path
from typing import IO, Any

from amaranth.lib import wiring

from ..catalogue import find_unit
from ..spec.host.activity import activity, note_config
from ..spec.host.outputs import is_stream, write_files
from ..spec.unit import Unit
from .blocks import ModuleSource
from .hierarchy import Hierarchy, ports_of
from .integration.texts import title
from .keywords import check_module_name
from .rtlil.values import quick_values
from .sidecar import (
    SCHEMA,
    describe_jobs,
    describe_operations,
    describe_ports,
    describe_results,
)
from .verilog.writer import LINT_WAIVERS, to_verilog

__all__ = ["LINT_WAIVERS", "Emitted", "describe", "emit", "emit_component", "write"]

WIDEST_PORT = 65536
"""Bits of the widest port; every Verilog tool must accept so many."""


@dataclass(frozen=True)
class Emitted:
    """A unit's Verilog and its sidecar (see ``describe_ports`` and the interface contract), and
    where in the Python its modules are written, by their names."""

    verilog: str
    sidecar: dict[str, Any]
    sources: Mapping[str, ModuleSource] = dataclass_field(
        default_factory=dict, repr=False, compare=False
    )

    def source(self, module: str, signal: str = "") -> str:
        """File and line of a signal in a module, or else of its component's class, below the
        package; empty for a module that is no component."""
        if module not in self.sources:
            # Synthesis numbers the modules that it derives from one with parameters.
            module = re.sub(r"__\d+$", "", module)
        return self.sources[module].line(signal) if module in self.sources else ""


def _version() -> str:
    import tilewright

    return tilewright.__version__


def _check_widths(name: str, ports: Mapping[str, Any]) -> None:
    wide = [(p["width"], p["name"]) for p in (*ports["streams"], *ports.get("ports", ()))]
    width, port = max(wide, default=(0, ""))
    if width > WIDEST_PORT:
        raise ValueError(
            f"`{port}` of {name} would be {width} bits wide; at most {WIDEST_PORT} are allowed, "
            f"choose smaller parameters"
        )


def _axi_lines(sidecar: Mapping[str, Any]) -> list[str]:
    """The header's lines on AXI ports and registers."""
    lines = []
    for port in sidecar.get("axi", ()):
        widths = f"{port['data_bits']} bits of data, {port['addr_bits']} of address"
        identity = f", {port['id_bits']} of ID" if port["id_bits"] else ""
        name = port["protocol"].upper().replace("LITE", "Lite")
        lines += ["", f"{name} {port['role']} {port['prefix']}: {widths}{identity}"]
    if sidecar.get("registers"):
        lines += ["", "Registers:"]
    for register in sidecar.get("registers", ()):
        words = f"{register['offset']:#05x} {register['name']} ({register['bits']} bits)"
        lines.append(f"  {words}: {register['doc']}".removesuffix(": "))
    return lines


def _header(sidecar: Mapping[str, Any]) -> str:
    lines = [title(sidecar), ""]
    for name, value in sidecar["config"].items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        lines.append(f"  {name} = {text}")
    for stream in sidecar["streams"]:
        lines += ["", f"Stream {stream['name']} ({stream['direction']}), {stream['payload']}:"]
        for field in stream["fields"]:
            bits = field.get("width", field.get("element_bits", 0))
            unit = f"{bits} bit" if bits == 1 else f"{bits} bits"
            dimensions = "".join(f"[{n}]" for n in field.get("shape", ()))
            lines.append(f"  {field['name']}{dimensions}: {unit}, from bit {field['offset']}")
    lines += _axi_lines(sidecar)
    body = "\n".join(f"// {line}".rstrip() for line in lines)
    waivers = [f"/* verilator lint_off {rule} */ // {why}" for rule, why in LINT_WAIVERS.items()]
    return body + "\n\n" + "\n".join(waivers) + "\n`default_nettype none\n\n"


def _sidecar(
    component: wiring.Component, name: str, extras: Mapping[str, Any] | None
) -> dict[str, Any]:
    check_module_name(name)
    sidecar: dict[str, Any] = {
        "schema": SCHEMA,
        "generator": "tilewright",
        "version": _version(),
        "unit": name,
        "module": name,
        "summary": "",
        "config": {},
        "clock": "clk",
        "reset": {"name": "rst", "active": "high", "synchronous": True},
        **describe_ports(component),
        **(extras or {}),
    }
    _check_widths(name, sidecar)
    if name in {"clk", "rst", *(port for port, _, _ in ports_of(component))}:
        raise ValueError(f"`name` must not be {name!r}, a port of the module")
    return sidecar


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Disables the garbage collector while a netlist grows. Nearly all of it is in use: the
    collections took a fifth of the time, and freed nothing. `Hierarchy` collects after each module.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def emit_component(
    component: wiring.Component,
    *,
    name: str,
    source: str = "",
    sidecar_extras: Mapping[str, Any] | None = None,
) -> Emitted:
    """Convert any component with one clock domain.

    Parameters
    ----------
    component: a component that has not been elaborated yet
    name: its module's name and the prefix of the names of all other modules and types
    source: paper and section, for the comment above the top module, if no docstring names one
    sidecar_extras: more entries for the sidecar, such as "config" or "latency"

    Raises ValueError if the name is not allowed, a port is too wide, a register has an initial
    value but no reset, a signal is used in two components without being a port, or bits of a signal
    depend on other bits of the same signal under conditions (which Verilog's processes would
    compute wrongly).
    """
    try:
        sidecar = _sidecar(component, name, sidecar_extras)
    except (TypeError, ValueError):
        component._MustUse__silence = True  # its error is the one that counts
        raise
    with _nothing_collected():
        with activity(f"elaborating {name}, merging equal modules"), quick_values():
            hierarchy = Hierarchy(name, component, source)
            blocks = [*hierarchy.probes.values(), *hierarchy.blocks.values()]
        with activity(f"writing the Verilog of {name}", total=len(blocks)) as shown:
            body, uses = to_verilog(blocks, shown.step)
    verilog = _header(sidecar) + body + "\n`default_nettype wire\n"
    sources = {uses[name].module: block.source for name, block in hierarchy.blocks.items()}
    return Emitted(verilog, sidecar, sources)


def _extras(unit: Unit, config: Any) -> dict[str, Any]:
    tables = ("opcodes", "latency", "initiation_interval")
    found = {name: dict(getattr(config, name)) for name in tables if hasattr(config, name)}
    if unit.jobs is None:
        operations = config.stream_operations
        said = describe_results(operations, config.flags)
    else:
        spec = unit.job_spec(config)
        operations, said = spec.operations, describe_jobs(spec)
    return {
        "unit": unit.name,
        "summary": unit.summary,
        "config": config.resolved(),
        **found,
        **describe_operations(operations),
        **said,
    }


def emit(unit: Unit | str, config: Any, name: str | None = None) -> Emitted:
    """Generate a unit, or the catalogue's unit of a name, for a configuration of its config class.

    ``name`` is that of the top module, by default the unit's: see ``emit_component``.

    Raises KeyError for a name that is not in the catalogue, ValueError as ``emit_component``.
    """
    unit = find_unit(unit)
    emitted = emit_component(
        unit.build(config),
        name=unit.name if name is None else name,
        source=unit.source,
        sidecar_extras=_extras(unit, config),
    )
    note_config(unit.name, emitted.sidecar["config"])
    return emitted


def describe(unit: Unit | str, config: Any) -> dict[str, Any]:
    """The sidecar alone, without generating the unit. Raises as ``emit``."""
    unit = find_unit(unit)
    component = unit.build(config)
    component._MustUse__silence = True
    return _sidecar(component, unit.name, _extras(unit, config))


def _write_text(text: str, file: IO[bytes]) -> None:
    file.write(text.encode())


def write(
    emitted: Emitted, path: str | os.PathLike[str], others: Mapping[Path, str] | None = None
) -> Path | None:
    """Write the Verilog to ``path`` and the sidecar beside it, as ``.json``; returns the latter.

    ``others`` are more texts, by their files. All files appear whole, or none. A device or a pipe
    has nothing beside it: then no sidecar is written, and the result is None. Raises OSError if
    a file cannot be written, ValueError if ``path`` itself ends in ``.json`` or two of the texts
    would be in one file.
    """
    verilog, sidecar = Path(path), None
    texts = [(verilog, emitted.verilog)]
    if not is_stream(verilog):
        sidecar = verilog.with_suffix(".json")
        if sidecar == verilog:
            raise ValueError(f"the Verilog's name must not end in .json, not {str(path)!r}")
        texts.append((sidecar, json.dumps(emitted.sidecar, indent=1) + "\n"))
    texts += (others or {}).items()
    places: set[str] = set()
    for file, _ in texts:
        place = os.path.realpath(file)
        if place in places:
            raise ValueError(f"each text must have its own file, not two {str(file)!r}")
        places.add(place)
    write_files({file: partial(_write_text, text) for file, text in texts})
    return sidecar
