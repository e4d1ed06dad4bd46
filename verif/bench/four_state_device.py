"""An accelerator's RTL in Icarus, where what was never written is unknown, as a device.

The bench is Verilog: a memory at all managers, every byte of which is X until it is written, and a
look at all outputs in every cycle. Commands come over its standard input, answers go over its
standard output.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.toolchain import find_icarus
from tilewright.verif.bench.simulated_device import SimulatedDevice
from tilewright.verif.kit.front_ends import RESET_CYCLES, checks_of, ports_of

Config = TypeVar("Config")

_CHUNK = 64
"""Bytes of a command."""

_SECONDS = 600
"""A simulation that takes so long stands still, and is ended."""

_NEVER = 0xA5
"""Value read for a byte with an unknown bit: one that no result has by chance."""

_UNKNOWN = 3

_MEMORY = """
// Answers a manager from the bench's memory: bursts in order, with pauses on every channel. What
// does not matter is unknown, but for RID and BID.
module four_state_memory #(parameter ADDR = 40, DATA = 64, ID = 1, SIZE = 4096) (
  input wire clk, rst, arvalid, rready, awvalid, wvalid, wlast, bready,
  input wire [ADDR-1:0] araddr, awaddr, input wire [7:0] arlen, input wire [ID-1:0] arid, awid,
  input wire [DATA-1:0] wdata, input wire [DATA/8-1:0] wstrb,
  output reg arready, rvalid, rlast, awready, wready, bvalid, output reg [ID-1:0] rid, bid,
  output reg [DATA-1:0] rdata, output reg [1:0] rresp, bresp
);
  reg [ADDR-1:0] r_address [0:255], w_address [0:255], from, to;
  reg [ID-1:0] r_id [0:255], w_id [0:255];
  reg [7:0] r_length [0:255], r_head, r_tail, w_head, w_tail, b_head, done, beat;
  reg going, failed;
  integer n;
  always @(posedge clk) if (rst) begin
    {arready, rvalid, awready, wready, bvalid} <= 0;
    {r_head, r_tail, w_head, w_tail, b_head, done, beat, going} <= 0;
    {rid, bid} <= 0;
    {rlast, rresp, bresp} <= 'x;
    rdata <= 'x;
  end else begin
    if (arvalid & arready) begin
      r_address[r_tail] = araddr;
      r_length[r_tail] = arlen;
      r_id[r_tail] = arid;
      r_tail = r_tail + 1;
    end
    if (awvalid & awready) begin
      w_address[w_tail] = awaddr;
      w_id[w_tail] = awid;
      w_tail = w_tail + 1;
    end
    if (wvalid & wready) begin
      to = going ? to + DATA / 8 : w_address[done];
      going = ~wlast;
      for (n = 0; n < DATA / 8; n = n + 1)
        if (wstrb[n] && to + n < SIZE) bench.bytes[to + n] = wdata[8 * n +: 8];
      if (wlast) done = done + 1;
    end
    if (!rvalid | rready) begin
      rvalid <= 0;
      rdata <= 'x;
      {rlast, rresp} <= 'x;
      if (r_head != r_tail && ($urandom & 3) != 0) begin
        from = r_address[r_head] + beat * (DATA / 8);
        failed = from >= SIZE;
        rvalid <= 1;
        rid <= r_id[r_head];
        rresp <= failed ? 3 : 0;
        rlast <= beat == r_length[r_head];
        for (n = 0; n < DATA / 8; n = n + 1)
          rdata[8 * n +: 8] <= failed ? 8'hx : bench.bytes[from + n];
        beat = beat + 1;
        if (beat > r_length[r_head]) begin
          beat = 0;
          r_head = r_head + 1;
        end
      end
    end
    if (bvalid & bready) b_head = b_head + 1;
    if (!bvalid | bready) begin
      bvalid <= 0;
      bresp <= 'x;
      if (b_head != done && ($urandom & 1)) begin
        bvalid <= 1;
        bid <= w_id[b_head];
        bresp <= w_address[b_head] >= SIZE ? 3 : 0;
      end
    end
    {arready, awready, wready} <= $urandom;
    if (w_tail == done) wready <= 0;
  end
endmodule
"""

_BENCH = """
module bench;
  reg [7:0] bytes [0:{size}-1];
  integer cycle = 0, n, number, address, count;
  reg [31:0] result;
  reg [{chunk_bits}-1:0] value;
  reg [15:0] name;
  {signals}
  {unit}
  {memories}
  task found(input [511:0] port);
    $display("unknown: %0s in cycle %0d", port, cycle);
  endtask
  always #1 {clock} = ~{clock};
  always @(posedge {clock}) begin
    cycle <= cycle + 1;
    if (!{reset}) begin
      {checks}
    end
    if (cycle == {time_out}) begin
      $display("answer: nothing until cycle %0d", cycle);
      $finish;
    end
  end
  task write_register;
    begin
      @(negedge {clock}) {lite}_awaddr = address;
      {lite}_awprot = 0;
      {lite}_awvalid = 1;
      @(posedge {clock}) while (!{lite}_awready) @(posedge {clock});
      @(negedge {clock}) {lite}_awvalid = 0;
      {lite}_awaddr = 'x;
      {lite}_wdata = value;
      {lite}_wstrb = 15;
      {lite}_wvalid = 1;
      @(posedge {clock}) while (!{lite}_wready) @(posedge {clock});
      @(negedge {clock}) {lite}_wvalid = 0;
      {lite}_wdata = 'x;
      {lite}_wstrb = 'x;
      {lite}_bready = 1;
      @(posedge {clock}) while (!{lite}_bvalid) @(posedge {clock});
      result = {lite}_bresp;
      @(negedge {clock}) {lite}_bready = 0;
      $display("answer: %0h", result);
    end
  endtask
  task read_register;
    begin
      @(negedge {clock}) {lite}_araddr = address;
      {lite}_arprot = 0;
      {lite}_arvalid = 1;
      @(posedge {clock}) while (!{lite}_arready) @(posedge {clock});
      @(negedge {clock}) {lite}_arvalid = 0;
      {lite}_araddr = 'x;
      {lite}_rready = 1;
      @(posedge {clock}) while (!{lite}_rvalid) @(posedge {clock});
      $display("answer: %0h %0h", {lite}_rresp, {lite}_rdata);
      @(negedge {clock}) {lite}_rready = 0;
    end
  endtask
  initial begin
    {start}
    {reset} = 1;
    repeat ({reset_cycles}) @(negedge {clock});
    {reset} = 0;
    while ($fscanf(32'h8000_0000, "%s %h %h %h", name, address, number, value) == 4) begin
      case (name)
        "w": write_register;
        "r": read_register;
        "t": repeat (number) @(negedge {clock});
        "i": begin
          n = 0;
          while (irq !== 1 && n < number) @(negedge {clock}) n = n + 1;
          $display("answer: %0d", irq === 1);
        end
        "l": for (n = 0; n < number; n = n + 1) bytes[address + n] = value[8 * n +: 8];
        "d": begin
          $write("answer: ");
          for (n = 0; n < number; n = n + 1) $write("%b ", bytes[address + n]);
          $display;
        end
      endcase
      $fflush;
    end
    $finish;
  end
endmodule
"""


class UnknownBits(RuntimeError):
    """Something that must be known was not; the text says which ports, and when."""


class FourStateDevice(SimulatedDevice[Config]):
    """A simulation in a separate process; use it in a ``with`` statement.

    Time passes during register accesses, ``wait`` and ``run``. Behind the reset no valid, no ready
    and no interrupt may be unknown, nor a payload that is valid; of write data, the bytes that a
    strobe names.

    Parameters
    ----------
    emitted: the unit's Verilog and sidecar
    config: its configuration, for the driver
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it
    time_out: cycles that the whole simulation may take

    Raises
    ------
    ToolMissing where Icarus is not installed. Whatever lets time pass raises UnknownBits.
    """

    def __init__(
        self, emitted: Emitted, config: Config, *, memory_bytes: int, time_out: int = 100_000
    ) -> None:
        super().__init__(config, memory_bytes)
        self._time_out = time_out
        self._text = emitted.verilog + _bench(emitted, memory_bytes, time_out)
        self._icarus = find_icarus()
        self._unknown: list[str] = []

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="tilewright-")
        work = Path(self._scratch.name)
        (work / "bench.v").write_text(self._text)
        command = [str(self._icarus), "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.v"]
        subprocess.run(command, cwd=work, check=True, timeout=_SECONDS)
        pipe = subprocess.PIPE
        words = [str(shutil.which("vvp")), "-n", "bench.vvp"]
        self._process = subprocess.Popen(words, cwd=work, stdin=pipe, stdout=pipe, text=True)
        self._watchdog = threading.Timer(_SECONDS, self._process.kill)
        self._watchdog.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        rest = self._process.communicate()[0]
        self._watchdog.cancel()
        self._scratch.cleanup()
        if error is None:
            unknown = re.findall(r"^unknown: (.*)$", rest, re.M)
            if unknown:
                raise UnknownBits("; ".join(unknown[:5]))
            assert self._process.returncode == 0, f"status {self._process.returncode}"

    def _tell(self, name: str, address: int = 0, number: int = 0, value: int = 0) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name} {address:x} {number:x} {value:x}\n")

    def _ask(self, name: str, address: int = 0, number: int = 0, value: int = 0) -> list[str]:
        """The words of the answer."""
        self._tell(name, address, number, value)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.flush()
        unknown: list[str] = []
        for line in self._process.stdout:
            if line.startswith("unknown: "):
                unknown.append(line.removeprefix("unknown: ").strip())
                continue
            if unknown:
                raise UnknownBits("; ".join(unknown[:5]))
            return line.removeprefix("answer: ").split()
        raise UnknownBits("the simulation ended early")

    def _read(self, offset: int) -> tuple[int, int]:
        response, value = self._ask("r", offset)
        return _code(response), int(value, 16) if response == "0" else 0

    def _write(self, offset: int, value: int) -> int:
        [response] = self._ask("w", offset, 0, value)
        return _code(response)

    def read_memory(self, address: int, count: int) -> bytes:
        """Bytes of the memory."""
        words = self._ask("d", address, count)
        return bytes(_NEVER if "x" in word else int(word, 2) for word in words)

    def write_memory(self, address: int, content: bytes) -> None:
        """Put bytes into the memory."""
        for start in range(0, len(content), _CHUNK):
            part = content[start : start + _CHUNK]
            self._tell("l", address + start, len(part), int.from_bytes(part, "little"))

    def wait(self) -> None:
        """Waits for the interrupt. Raises TimeoutError if it does not arrive."""
        if self._ask("i", 0, self._time_out) != ["1"]:
            raise TimeoutError(f"no interrupt after {self._time_out} cycles")

    def run(self, cycles: int) -> None:
        """Let time pass."""
        self._tell("t", 0, cycles)


def _code(response: str) -> int:
    """AXI's number of a response; one that has unknown bits is not OKAY."""
    return _UNKNOWN if set(response.lower()) & set("xz") else int(response, 16)


def _bench(emitted: Emitted, size: int, time_out: int) -> str:
    """The bench, for a unit with its sidecar."""
    sidecar = emitted.sidecar
    ports = ports_of(emitted.verilog, sidecar["module"])
    clock, reset = sidecar["clock"], sidecar["reset"]["name"]
    managers = [port for port in sidecar["axi"] if port["role"] == "manager"]
    [lite] = [port["prefix"] for port in sidecar["axi"] if port["role"] == "subordinate"]
    driven = tuple(f"{port['prefix']}_" for port in managers)
    signals = []
    for name, (kind, width) in ports.items():
        stored = kind == "input" and not name.startswith(driven)
        signals.append(f"{'reg' if stored else 'wire'} [{width - 1}:0] {name};")
    quiet = [f"{lite}_{name}" for name in ("awvalid", "wvalid", "bready", "arvalid", "rready")]
    return _MEMORY + _BENCH.format(
        size=size,
        time_out=time_out,
        chunk_bits=8 * _CHUNK,
        signals="\n  ".join(signals),
        unit=f"{sidecar['module']} unit ({', '.join(f'.{n}({n})' for n in ports)});",
        memories="\n  ".join(_memory(port, clock, reset, size) for port in managers),
        checks="\n      ".join(checks_of(ports, sidecar)),
        start=f"{{{clock}, {', '.join(quiet)}}} = 0;",
        clock=clock,
        reset=reset,
        lite=lite,
        reset_cycles=RESET_CYCLES,
    )


def _memory(port: dict[str, Any], clock: str, reset: str, size: int) -> str:
    """The memory at a manager."""
    sizes = {"ADDR": port["addr_bits"], "DATA": port["data_bits"], "ID": port["id_bits"]}
    parameters = ", ".join(f".{name}({value})" for name, value in (*sizes.items(), ("SIZE", size)))
    pins = re.findall(r"(?:wire|reg) (?:\[\S+\] )?([\w, ]+?)(?=,? (?:input|output)|,?\n)",
                      _MEMORY.partition("(\n")[2].partition(");")[0])  # fmt: skip
    names = [name for group in pins for name in group.split(", ") if name not in ("clk", "rst")]
    wired = ", ".join(f".{name}({port['prefix']}_{name})" for name in names)
    return (
        f"four_state_memory #({parameters}) memory_{port['prefix']} "
        f"(.clk({clock}), .rst({reset}), {wired});"
    )
