"""A gate-level simulation of a whole netlist in Icarus, with functional models of its cells."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tilewright.sim.rtl.toolchain import find_icarus
from tilewright.synth.library.functions import Function, parse_function
from tilewright.synth.power.circuit import CellGroup, Circuit, flip_flop

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_BENCH = """`timescale 1fs / 1fs
module bench;
  reg clk = 0;
  reg [INPUTS-1:0] vectors [0:CYCLES-1];
  reg [INPUTS-1:0] in;
  wire [NETS-1:0] all;
  integer cycle, file;
  flat dut (.clk(clk), .in(in), .all(all));
  initial begin
    $readmemb("inputs.txt", vectors);
    file = $fopen("nets.txt");
    in = vectors[0];
    for (cycle = 0; cycle < CYCLES; cycle = cycle + 1) begin
      #10000000 $fwrite(file, "%b\\n", all);
      // Changes are counted from here on to the last cycle.
      dut.counted = cycle < CYCLES - 1;
      clk = 1;
      if (cycle < CYCLES - 1) in <= vectors[cycle + 1];
      #10000000 clk = 0;
    end
    file = $fopen("counts.txt");
    for (cycle = 0; cycle < NETS; cycle = cycle + 1) $fwrite(file, "%0d\\n", dut.count[cycle]);
    $finish;
  end
endmodule
"""


def _expression(function: Function) -> str:
    if function.kind == "name":
        return function.name
    if function.kind in "01":
        return f"1'b{function.kind}"
    parts = [_expression(part) for part in function.parts]
    return f"(~{parts[0]})" if function.kind == "!" else f"({parts[0]} {function.kind} {parts[1]})"


def _model(group: CellGroup) -> str:
    """The Verilog of a cell. A flip-flop begins with the value INIT; output n follows in R n to
    rise and F n to fall, in fs."""
    cell = group.cell
    lines = [f"module {cell.name} ({', '.join(cell.pins)});", "parameter INIT = 0;"]
    lines += [f"parameter R{n} = 0, F{n} = 0;" for n in range(len(cell.outputs))]
    lines += [f"{'output' if pin.output else 'input'} {name};" for name, pin in cell.pins.items()]
    if cell.sequential:
        found = flip_flop(cell)
        lines += [
            f"reg {found.state} = INIT;",
            f"wire {found.inverse} = ~{found.state};",
            f"always @(posedge {found.clock}) {found.state} <= {_expression(found.next)};",
        ]
    for n, pin in enumerate(cell.outputs):
        function = _expression(parse_function(cell.pins[pin].function))
        lines.append(f"assign #(R{n}, F{n}) {pin} = {function};")
    return "\n".join([*lines, "endmodule", ""])


def _flat(
    circuit: Circuit, inputs: list[int], states: Mapping[int, int], delays: Mapping[str, Ints]
) -> str:
    """The netlist; ``states``: of the registers at the start, by their rows."""
    (clock,) = circuit.netlist.clock_nets.tolist()
    nets = circuit.netlist.nets
    lines = [
        f"module flat (input clk, input [{len(inputs) - 1}:0] in, output [{nets - 1}:0] all);",
        *(f"wire n{row};" for row in range(nets + 2)),
        f"reg counted = 0; integer count [0:{nets - 1}]; integer k;",
        f"initial for (k = 0; k < {nets}; k = k + 1) count[k] = 0;",
        *(f"always @(n{n}) if (counted) count[{n}] = count[{n}] + 1;" for n in range(nets)),
        f"assign all = {{{', '.join(f'n{row}' for row in reversed(range(nets)))}}};",
        f"assign n{clock} = clk;",
        f"assign n{circuit.zero} = 0, n{circuit.one} = 1;",
        *(f"assign n{net} = in[{place}];" for place, net in enumerate(inputs)),
        *(f"assign n{net} = {int(value)};" for net, value in circuit.tied.items()),
    ]
    for kind, group in circuit.groups.items():
        for number, (rows, outputs) in enumerate(
            zip(group.rows.tolist(), group.nets.tolist(), strict=True)
        ):
            pins = [
                f".{pin}(n{row})"
                for pin, row in zip(group.inputs, rows, strict=True) if pin in group.cell.pins
            ]  # fmt: skip
            pins += [
                f".{pin}(n{net})"
                for pin, net in zip(group.cell.outputs, outputs, strict=True) if net >= 0
            ]  # fmt: skip
            values = [f".INIT({states[rows[-1]]})"] if group.flip_flop else []
            if kind in delays:
                for n, (rise, fall) in enumerate(delays[kind][number].tolist()):
                    values += [f".R{n}({rise})", f".F{n}({fall})"]
            given = f" #({', '.join(values)})" if values else ""
            lines.append(f"{kind}{given} {kind}_{number} ({', '.join(pins)});")
    return "\n".join([*lines, "endmodule", ""])


def simulate_gates(
    circuit: Circuit,
    inputs: dict[int, list[int]],
    states: Mapping[int, int],
    work: Path,
    delays: Mapping[str, Ints] | None = None,
) -> tuple[Bits, Ints]:
    """The value of each net before each rising edge, (cycles, nets), and how often each net changes
    from the first edge to the last.

    Parameters
    ----------
    inputs: the values of the nets of inputs in each cycle; they change with the clock
    states: see ``_flat``
    delays: of each cell by kind, in fs: (cells, outputs, 2), to rise and to fall; default none
    """
    names = list(inputs)
    cycles = len(inputs[names[0]])
    text = _BENCH.replace("INPUTS", str(len(names))).replace("CYCLES", str(cycles))
    text = text.replace("NETS", str(circuit.netlist.nets))
    models = "".join(map(_model, circuit.groups.values()))
    (work / "gates.v").write_text(text + models + _flat(circuit, names, states, delays or {}))
    rows = zip(*(inputs[name] for name in reversed(names)), strict=True)
    (work / "inputs.txt").write_text("".join("".join(map(str, row)) + "\n" for row in rows))
    command = [str(find_icarus()), "-g2012", "-o", "gates.vvp", "gates.v"]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    subprocess.run(["vvp", "gates.vvp"], cwd=work, check=True, capture_output=True)
    lines = (work / "nets.txt").read_text().split()
    values = np.array([np.frombuffer(line[::-1].encode(), np.uint8) for line in lines]) - 48
    return values, np.array((work / "counts.txt").read_text().split(), np.int64)
