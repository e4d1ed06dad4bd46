"""Cross-check of the timing with OpenSTA, where its command ``sta`` is installed."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
from tilewright.hw.spec.host.programs import run_program

from ..base.errors import ToolError
from ..library.cells import INVERTER, Library, WireLoad
from ..library.liberty import liberty_content
from ..mapping.netlist import Netlist
from .analysis import fo4
from .graph import build_graph

__all__ = ["flat_verilog", "library_files", "opensta_available", "opensta_delay"]


_DEFAULT_WIRES = re.compile(r"\bdefault_wire_load(?:_selection)?\s*:[^;\n]*;?")


def opensta_available() -> bool:
    """Returns whether the command ``sta`` is installed."""
    return shutil.which("sta") is not None


def flat_verilog(netlist: Netlist, library: Library) -> str:
    """The netlist as structural Verilog: module ``flat``, one scalar port a bit.

    Ports are ``i0``, ``i1``... and ``o0``..., nets ``n0``...; constants are left unconnected.
    """
    inputs = [int(n) for nets in netlist.inputs.values() for n in nets]
    outputs = [int(n) for nets in netlist.outputs.values() for n in nets if n >= 0]
    ports = [f"i{k}" for k in range(len(inputs))] + [f"o{k}" for k in range(len(outputs))]
    lines = [f"module flat ({', '.join(ports)});"]
    lines += [f"input i{k};" for k in range(len(inputs))]
    lines += [f"output o{k};" for k in range(len(outputs))]
    lines += [f"wire n{k};" for k in range(netlist.nets)]
    lines += [f"assign n{net} = i{k};" for k, net in enumerate(inputs)]
    lines += [f"assign o{k} = n{net};" for k, net in enumerate(outputs)]
    serial = 0
    for kind, rows in netlist.cells.items():
        pins = list(library.cells[kind].pins)
        for row in rows.tolist():
            ports = [f".{p}(n{n})" for p, n in zip(pins, row, strict=True) if n >= 0]
            lines.append(f"{kind} c{serial} ({', '.join(ports)});")
            serial += 1
    return "\n".join([*lines, "endmodule", ""])


def library_files(library: Library) -> dict[str, str]:
    """Name and text of the library's files as they are, but that no wire load is a default."""
    each = [(path.name, liberty_content(path).decode()) for path in library.files]
    each = each or [("library.lib", library.text)]
    if library.added:
        each.append(("added.lib", library.added))
    return {
        f"{number}_{name.removesuffix('.gz')}": _DEFAULT_WIRES.sub("", text)
        for number, (name, text) in enumerate(each)
    }


def opensta_delay(netlist: Netlist, library: Library, wires: WireLoad | None = None) -> float:
    """Length in ns of the slowest path, setup time included, by OpenSTA.

    The constraints say what ``timing`` assumes; the cells are those of the library's own files. For
    wires the delay calculator is ``simple_rc``, which has their Elmore delay. Raises ToolError if
    OpenSTA fails.
    """
    graph = build_graph(netlist, library, wires)
    _, slew = fo4(library)
    inverter = library.smallest(1, INVERTER)
    assert inverter is not None
    rise, fall = inverter.pins[inverter.inputs[0]].capacitance
    inputs = np.concatenate([np.zeros(0, dtype=np.int64), *netlist.inputs.values()])
    clocks = [f"i{k}" for k in np.flatnonzero(np.isin(inputs, netlist.clock_nets))]
    data = [f"i{k}" for k in np.flatnonzero(~np.isin(inputs, netlist.clock_nets))]
    source = f"[get_ports {{{clocks[0]}}}]" if clocks else ""
    period = 8.0  # short, since OpenSTA calculates in single precision
    files = library_files(library)
    script = [
        *(f"read_liberty {name}" for name in files),
        "set_cmd_units -time ns -capacitance pF",
        "read_verilog flat.v",
        "link_design flat",
        f"create_clock -name clock -period {period} {source}",
        f"set_clock_transition {graph.clock_slew} [get_clocks clock]",
        "set_output_delay 0 -clock clock [all_outputs]",
        f"set_load -rise {4 * rise} [all_outputs]",
        f"set_load -fall {4 * fall} [all_outputs]",
    ]
    if wires is not None:
        script += [f"set_wire_load_model -name {wires.name}", "set_delay_calculator simple_rc"]
    if data:
        ports = "[get_ports {" + " ".join(data) + "}]"
        script += [
            f"set_input_delay 0 -clock clock {ports}",
            f"set_input_transition {slew} {ports}",
        ]
    script += ["report_checks -path_delay max -format full -digits 6", "exit"]
    with tempfile.TemporaryDirectory(prefix="tilewright-sta-") as name:
        work = Path(name)
        for file, text in files.items():
            (work / file).write_text(text, encoding="utf-8")
        (work / "flat.v").write_text(flat_verilog(netlist, library), encoding="utf-8")
        (work / "run.tcl").write_text("\n".join(script) + "\n", encoding="utf-8")
        done = run_program(["sta", "-no_splash", "-exit", "run.tcl"], cwd=work, scratch=work)
    slack = re.findall(r"(-?[\d.]+)\s+slack", done.stdout)
    if not slack:
        raise ToolError(f"OpenSTA: {(done.stdout + done.stderr).strip()[-400:]}")
    return period - float(slack[0])
