"""``tilewright board list`` and ``build``: boards, and bitstreams for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...choices import a_unit
from ...errors import UserError, user_errors
from ...hw.board.boards import BOARDS, Board
from ...hw.spec.bridge import BAUD
from ...hw.spec.host.words import not_one_of
from ...numbers_given import real, whole
from ...reports import console_of_reports, write_json
from ..common.files import check_output
from ..common.options import ConfigOption, JsonOption, SettingsOption
from .commands import (
    UnitArgument,
    a_board,
    check_board,
    check_kib_of_sdram,
    check_memory,
    check_sdram,
    chosen_accelerator,
    emitted_board,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ...hw.board.clocks import Pll
    from ...hw.spec.sdram import Sdram
    from ...hw.spec.unit import Unit
    from ...synth.bitstream import Bitstream, Target, Used

__all__ = ["build", "list_boards"]

KibOption = Annotated[
    int | None,
    typer.Option(
        parser=whole("--kib", 4, 1 << 20),
        metavar="N",
        help="Memory on chip in KiB, a multiple of 4; default 64, on iCE40 8.",
    ),
]
_KIB = {"ecp5": 64, "ice40": 8, "xilinx7": 64}
"""Memory on chip unless said otherwise, by family."""
_MHZ = {"ecp5": 80.0, "ice40": 48.0, "xilinx7": 100.0}
"""The clock that is tried first, by family."""


def list_boards(
    unit: Annotated[
        str | None,
        typer.Argument(
            metavar="[UNIT]",
            help="An accelerator: synthesize it, and list what it uses of each board.",
            autocompletion=a_unit,
        ),
    ] = None,
    config: ConfigOption = None,
    settings: SettingsOption = None,
    kib: KibOption = None,
    json_file: JsonOption = None,
) -> None:
    """List boards: device, resources, connection to a host; with UNIT, what it uses of each.

    A board needs an accelerator: matrix units are reached through engine_m3xu and engine_simd2.
    """
    if json_file is not None:
        check_output(json_file, (".json",))
    if unit is None:
        for given, name in ((config, "--config"), (settings, "--set"), (kib, "--kib")):
            if given:
                raise UserError(f"{name} must come with an accelerator")
        taken = None
    else:
        chosen, values = chosen_accelerator(unit, config, settings)
        taken = _taken(chosen, values, kib)
    from rich.table import Table

    sizes = ["LUTs", "DSPs", *(["block RAMs"] if taken else ["KiB on chip", "MiB of SDRAM"])]
    table = Table(box=None, pad_edge=False)
    for title in ("board", "device", *sizes, "fits" if taken else "host"):
        table.add_column(title, justify="right" if title in sizes else "left", overflow="fold")
    rows: dict[str, dict[str, Any]] = {}
    for name, board in BOARDS.items():
        device = board.device
        mib = 0 if board.sdram is None else board.sdram.memory_bytes >> 20
        cells = [f"{device.luts:,}", str(device.dsps), str(device.memory_kib), str(mib or "-")]
        cells.append(board.host)
        rows[name] = {
            "device": device.name, "luts": device.luts, "dsps": device.dsps,
            "block_ram_kib": device.memory_kib, "sdram_mib": mib, "oscillator_mhz": board.mhz,
            "host": board.host,
        }  # fmt: skip
        if taken:
            if device.family not in taken:
                continue
            used = taken[device.family]
            fits = not used.too_many(device)
            shares = used.shares(device)
            cells = [
                "none" if share == inf else f"{100 * share:.0f} %" for share in shares.values()
            ] + ["yes" if fits else "no"]
            rows[name].update(used=asdict(used), fits=fits)
        table.add_row(name, device.name, *cells)
    if json_file is not None:
        write_json(json_file, {"boards": rows})
    console_of_reports().print(table)


def _taken(unit: Unit, config: Any, kib: int | None) -> dict[str, Used]:
    """What a unit takes with memory and bridge, by the families that can be synthesised."""
    from ...synth.base.errors import ToolError
    from ...synth.bitstream import measure_used

    found = {}
    for board in (BOARDS["ulx3s-85f"], BOARDS["ice40-hx8k"]):
        family = board.device.family
        memory = _KIB[family] if kib is None else kib
        with user_errors(ValueError, ToolError):
            target = _target_of(board, unit, config, memory)
            found[family] = measure_used(target, _MHZ[family])
    return found


def _target_of(
    board: Board, unit: Unit, config: Any, kib: int, *, baud: int = BAUD, seed: int = 1,
    sdram: bool = False,
) -> Target:  # fmt: skip
    """An accelerator with memory and bridge, for a board."""
    from ...synth.bitstream import Target

    def emit(divisor: int, chip: Sdram | None) -> str:
        return emitted_board(unit, config, kib, divisor, chip).verilog

    return Target(
        board=board, unit=unit.name, module=f"board_{unit.name}", emit=emit,
        config=config.resolved(), kib=kib, baud=baud, seed=seed, sdram=sdram,
    )  # fmt: skip


def build(
    board: Annotated[
        str,
        typer.Argument(
            metavar="BOARD",
            help="Name of a board; see `tilewright board list`.",
            autocompletion=a_board,
        ),
    ],
    unit: UnitArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="New folder for the bitstream, its report and all scripts.",
        ),
    ],
    config: ConfigOption = None,
    settings: SettingsOption = None,
    kib: KibOption = None,
    sdram: Annotated[
        bool, typer.Option("--sdram", help="Take the board's SDRAM as the memory.")
    ] = False,
    mhz: Annotated[
        float | None,
        typer.Option(
            parser=real("--mhz", 4, 400),
            metavar="MHZ",
            help="Fastest clock to try, in MHz; default 80, on iCE40 48, for Vivado 100.",
        ),
    ] = None,
    baud: Annotated[
        int,
        typer.Option(
            parser=whole("--baud", 9600, 12_000_000),
            metavar="N",
            help="Bits per second on the serial line, 9,600 to 12,000,000.",
        ),
    ] = BAUD,
    seed: Annotated[
        int,
        typer.Option(
            parser=whole("--seed", 0, 1 << 31), metavar="N", help="Seed of place and route."
        ),
    ] = 1,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="If the accelerator does not fit, build it with the largest value of this "
            "parameter that fits, or of kib.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Build the bitstream of an accelerator with memory and host bridge, by open tools.

    The clock is the fastest that place and route reaches. For Arty A7 it writes a project for
    Vivado.
    """
    check_board(board)
    chosen, values = chosen_accelerator(unit, config, settings)
    place = BOARDS[board]
    family = place.device.family
    if sdram:
        memory = check_kib_of_sdram(check_sdram(board), kib)
    else:
        memory = _KIB[family] if kib is None else kib
        check_memory(memory)
    if fit is not None:
        _check_fit(fit, chosen.name, values, family, sdram)
    if not sdram:
        memory = _memory_on(place, memory, fit)
    if output.exists():
        raise UserError(f"{output}: exists; give the name of a new folder, or remove it")
    if json_file is not None:
        if family == "xilinx7":
            raise UserError("--json needs synthesis: not for a project for Vivado")
        check_output(json_file, (".json",))
    clock = _MHZ[family] if mhz is None else mhz
    from ...synth.base.errors import ToolError

    with user_errors(ValueError, ToolError, OSError), _new_folder(output) as work:
        design = _Design(place, chosen, work, mhz=clock, baud=baud, seed=seed, sdram=sdram)
        if family == "xilinx7":
            pll = design.write_project(values, memory)
        else:
            made = design.build_or_fit(values, memory, fit)
    if family == "xilinx7":
        print(f"{output}: a project for Vivado, {pll.mhz:g} MHz; in it, "
              "`vivado -mode batch -source top.tcl` makes top.bit")  # fmt: skip
        return
    if json_file is not None:
        write_json(json_file, made.to_json())
    _print(made, place, output, console_of_reports())


def _check_fit(name: str, unit: str, config: Any, family: str, sdram: bool) -> None:
    """Raises UserError for a parameter that is no number."""
    if family == "xilinx7":
        raise UserError("--fit needs synthesis: not for a project for Vivado")
    known = [one.name for one in config.parameters() if _is_number(config, one.name)]
    if not sdram:
        known.append("kib")
    if name not in known:
        raise UserError(not_one_of(f"--fit of {unit}", known, name))


def _memory_on(board: Board, kib: int, fit: str | None) -> int:
    """The memory that is tried first on a board. Raises UserError, before synthesis, if its device
    has less and no smaller one is looked for."""
    most = board.device.memory_kib // 4 * 4
    if kib > most and fit != "kib":
        raise UserError(f"--kib must be at most {most} on {board.name}, not {kib}")
    return min(kib, most)


def _is_number(config: Any, name: str) -> bool:
    value = getattr(config, name)
    return isinstance(value, int) and not isinstance(value, bool)


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """A folder that gets this name at the end, and is gone after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as made:
        work = Path(made) / "build"
        work.mkdir()
        yield work
        work.rename(path)


class _Design:
    """A unit on a board, whose bitstream is built in a folder.

    Parameters
    ----------
    board, unit: which
    work: the folder
    mhz, baud, seed, sdram: see :func:`build`
    """

    def __init__(
        self, board: Board, unit: Unit, work: Path, *, mhz: float, baud: int, seed: int,
        sdram: bool,
    ) -> None:  # fmt: skip
        self._board, self._unit, self._work = board, unit, work
        self._mhz, self._baud, self._seed, self._sdram = mhz, baud, seed, sdram

    def _target(self, config: Any, kib: int) -> Target:
        return _target_of(
            self._board, self._unit, config, kib, baud=self._baud, seed=self._seed,
            sdram=self._sdram,
        )  # fmt: skip

    def write_project(self, config: Any, kib: int) -> Pll:
        """Writes the files of a build; returns the clock's setting."""
        target = self._target(config, kib)
        pll = target.clock(self._mhz)
        target.write(pll, self._work)
        return pll

    def build_or_fit(self, config: Any, kib: int, name: str | None) -> Bitstream:
        """Builds the bitstream; where it does not fit, that of the largest value of a parameter
        that does. Raises NoFit if there is none."""
        from ...synth.bitstream import NoFit, build_bitstream

        try:
            return build_bitstream(self._target(config, kib), self._work, self._mhz)
        except NoFit as error:
            if name is None:
                cure = "--fit NAME builds it with the largest value of NAME that fits"
                raise NoFit(f"{error}; {cure}") from None
            found = self._largest(name, config, kib)
            if found is None:
                raise NoFit(f"{error}; no smaller {name} fits, either") from None
        return build_bitstream(self._target(*found), self._work, self._mhz)

    def _largest(self, name: str, config: Any, kib: int) -> tuple[Any, int] | None:
        """Configuration and memory with the largest value that fits, by bisection; None if none
        does. Taken to grow with the value."""
        if name == "kib":
            choices = [(config, smaller) for smaller in range(4, kib, 4)]
        else:
            choices = [(smaller, kib) for smaller in _smaller(config, name)]
        low, high = -1, len(choices)
        while high - low > 1:
            middle = (low + high) // 2
            if self._fits(*choices[middle]):
                low = middle
            else:
                high = middle
        return choices[low] if low >= 0 else None

    def _fits(self, config: Any, kib: int) -> bool:
        from ...synth.bitstream import measure_used

        used = measure_used(self._target(config, kib), self._mhz)
        return not used.too_many(self._board.device)


def _smaller(config: Any, name: str) -> list[Any]:
    """The configurations with smaller values of a parameter, from the smallest on."""
    found = []
    for value in range(getattr(config, name)):
        try:
            found.append(replace(config, **{name: value}))
        except ValueError:
            continue
    return found


def _print(made: Bitstream, board: Board, output: Path, console: Console) -> None:
    """What the board's device holds, how fast it is, and what programs it."""
    from rich.table import Table

    device, used = board.device, made.used
    kind = " of SDRAM" if made.sdram else ""
    console.print(f"{made.unit} with {made.kib} KiB{kind} on {made.board} ({made.device})")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for label, name in (("LUTs", "luts"), ("DSPs", "dsps"), ("block RAMs", "block_rams")):
        taken, there = getattr(used, name), getattr(device, name)
        share = f"{100 * taken / there:.0f} % of {there:,}" if there else "of none"
        table.add_row(label, f"{taken:,}", share)
    table.add_row("flip-flops", f"{used.flip_flops:,}", "")
    reached = f"of the PLL; routing allows {made.fmax_mhz:.1f}"
    table.add_row("clock, MHz", f"{made.clock_mhz:g}", reached)
    table.add_row("baud", f"{made.baud:,}", "")
    minutes = sum(made.seconds.values()) / 60
    table.add_row("minutes", f"{minutes:.1f}", f"seed {made.seed}, {made.peak_mib:,} MiB at most")
    console.print(table)
    console.print(f"slowest path: {made.start} to {made.end}", soft_wrap=True)
    console.print(f"bitstream: {output / made.file}", soft_wrap=True)
    program = f"openFPGALoader -b {board.programmer} {output / made.file}"
    console.print(f"program it: {program}", soft_wrap=True)
