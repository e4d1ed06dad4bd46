"""Drives a generated accelerator in Verilator. It knows the Verilog and the sidecar only."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

__all__ = ["Device", "JobError"]

_HERE = Path(__file__).resolve().parent
_SIGNALS = (
    "awid", "awaddr", "awlen", "awsize", "awburst", "awvalid", "awready",
    "wdata", "wstrb", "wlast", "wvalid", "wready",
    "bid", "bresp", "bvalid", "bready",
    "arid", "araddr", "arlen", "arsize", "arburst", "arvalid", "arready",
    "rid", "rdata", "rresp", "rlast", "rvalid", "rready",
)  # fmt: skip


class JobError(RuntimeError):
    """A job ended with an error.

    Parameters
    ----------
    name, code, detail: of the error; the sidecar's ``jobs.errors`` says what each means
    """

    def __init__(self, name: str, code: int, detail: int) -> None:
        super().__init__(f"the job ended with error {code} ({name}), detail 0x{detail:x}")
        self.name, self.code, self.detail = name, code, detail


class Device:
    """An accelerator in simulation, with one memory behind all its managers.

    Parameters
    ----------
    verilog, sidecar: files of ``tilewright generate``
    memory_bytes: size of the memory; the bus reports an error beyond it
    build_dir: where to compile; default: a temporary directory
    seed: of stalls and latencies
    stall: percentage of cycles in which a ready or a response of the memory is held back
    latency: of the memory in cycles, least and most
    reorder: whether responses of different IDs overtake each other and interleave
    aw_after_w: whether the memory accepts an address of a write only when its data is offered

    Members
    -------
    sidecar: as read
    memory: bytes from address 0 on, a NumPy array of uint8 that the unit reads and writes
    cycles: of the clock since the reset
    """

    def __init__(
        self, verilog: str | Path, sidecar: str | Path, *, memory_bytes: int = 1 << 20,
        build_dir: str | Path | None = None, seed: int = 1, stall: int = 0,
        latency: tuple[int, int] = (10, 20), reorder: bool = False, aw_after_w: bool = False,
    ) -> None:  # fmt: skip
        self.sidecar: dict[str, Any] = json.loads(Path(sidecar).read_text())
        self._registers = {one["name"]: one for one in self.sidecar["registers"]}
        self._controls = self.sidecar["jobs"]["controls"]
        self._temporary = tempfile.TemporaryDirectory() if build_dir is None else None
        self._folder = Path(self._temporary.name if self._temporary else str(build_dir)).resolve()
        self._folder.mkdir(parents=True, exist_ok=True)
        program = self._build(Path(verilog).resolve())
        file = self._folder / "memory.bin"
        self.memory = np.memmap(file, np.uint8, "w+", shape=(memory_bytes,))
        self.cycles = 0
        options = (memory_bytes, stall, *latency, int(reorder), int(aw_after_w), seed)
        self._process = subprocess.Popen(
            [str(program), str(file), *map(str, options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._process.communicate()
        if self._temporary:
            self._temporary.cleanup()

    def write(self, name: str, value: int) -> None:
        """Write a register, of 32 bits or of several words of 32 bits."""
        register = self._registers[name]
        for word in range(register["bits"] // 32):
            self._do("w", register["offset"] + 4 * word, value >> 32 * word & 0xFFFFFFFF)

    def read(self, name: str) -> int:
        """Return what a register holds."""
        register = self._registers[name]
        words = (self._do("r", register["offset"] + 4 * n) for n in range(register["bits"] // 32))
        return sum(word << 32 * n for n, word in enumerate(words))

    def start(self) -> None:
        """Start a job, with the interrupt enabled. The start clears how the last one ended."""
        self.write(
            self._controls["start"]["register"], self._bit("start") | self._bit("interrupt_enable")
        )

    def run(self, max_cycles: int = 1_000_000) -> int:
        """Run the job that the registers describe to its end; return the cycles that it took.

        Raises JobError if it ends with an error, TimeoutError after `max_cycles`.
        """
        begin = self.cycles
        self.start()
        if not self._do("i", max_cycles):
            raise TimeoutError(f"no interrupt after {max_cycles} cycles")
        status = self.read(self._controls["done"]["register"])
        if status & self._bit("error"):
            code = status >> self._field("error_code")["low"] & 0xFF
            names = {one["code"]: one["name"] for one in self.sidecar["jobs"]["errors"]}
            raise JobError(names[code], code, self.read(self._controls["error_detail"]["register"]))
        assert status & self._bit("done"), f"interrupt without done or error: {status:#x}"
        return self.cycles - begin

    def wait(self, cycles: int) -> None:
        """Let cycles pass."""
        self._do("c", cycles)

    def _field(self, control: str) -> dict[str, Any]:
        place = self._controls[control]
        fields = self._registers[place["register"]]["fields"]
        found: dict[str, Any] = next(one for one in fields if one["name"] == place["field"])
        return found

    def _bit(self, control: str) -> int:
        return 1 << int(self._field(control)["low"])

    def _do(self, *command: str | int) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(map(str, command)) + "\n")
        answer = self._process.stdout.readline().split()
        if not answer or answer[0] != "ok":
            raise RuntimeError(" ".join(answer[1:]) or "the simulation ended")
        self.cycles = int(answer[2])
        return int(answer[1])

    def _build(self, verilog: Path) -> Path:
        """Compile the unit with ``bench.cpp``, which is connected as the sidecar says."""
        lines = []
        for port in self.sidecar["axi"]:
            has = {signal["name"] for signal in port["signals"]}
            names = [f"{port['prefix']}_{signal}" for signal in _SIGNALS]
            ports = ", ".join(f"PORT({name})" if name in has else "Port{}" for name in names)
            if port["role"] == "subordinate":
                lines.append(f"registers = Bus{{{ports}}};")
            else:
                lines.append(f"memories.emplace_back(Bus{{{ports}}}, {port['beat_bytes']});")
        (self._folder / "connect.inc").write_text("\n".join(lines) + "\n")
        shutil.copy2(_HERE / "bench.cpp", self._folder / "bench.cpp")
        command = [
            "verilator", "--cc", "--exe", "--build", "-O1", "-Wno-fatal", "--prefix", "Vunit",
            "--top-module", self.sidecar["module"], "--Mdir", str(self._folder), "-o", "bench",
            "-MAKEFLAGS", "VM_PARALLEL_BUILDS=0 OPT_FAST=-O0 OPT_GLOBAL=-O0",  # compiles fast
            str(verilog), str(self._folder / "bench.cpp"),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"verilator: {done.stderr}")
        return self._folder / "bench"
