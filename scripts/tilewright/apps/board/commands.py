"""``tilewright board generate`` and ``simulate``: a board's Verilog, and one without a board."""

from __future__ import annotations

import os
import signal
import tty
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...choices import a_unit
from ...errors import UserError, user_errors
from ...hw.board.boards import BOARDS
from ...hw.spec.bridge import BAUD
from ...hw.spec.host import outputs
from ...hw.spec.host.words import not_one_of
from ...hw.spec.unit import Unit
from ...numbers_given import real, whole
from ...settings import choose_unit, read_config
from ..common.files import check_output
from ..common.options import ConfigOption, SettingsOption

if TYPE_CHECKING:
    from ...hw.emit.unit import Emitted
    from ...hw.spec.sdram import Sdram, SdramGeometry
    from ...sim.rtl.streams import HasVerilog

__all__ = ["UnitArgument", "a_board", "check_board", "check_kib_of_sdram", "check_memory",
           "check_sdram", "chosen_accelerator", "emitted_board", "generate",
           "simulate"]  # fmt: skip

_KIB = 64


def a_board() -> list[tuple[str, str]]:
    """Boards, and what is on each."""
    return [(name, board.device.name) for name, board in BOARDS.items()]


def check_board(name: str) -> None:
    """Raises UserError for an unknown board."""
    if name not in BOARDS:
        raise UserError(not_one_of("BOARD", BOARDS, name))


def check_sdram(name: str) -> SdramGeometry:
    """The SDRAM of a board. Raises UserError if it has none."""
    geometry = BOARDS[name].sdram
    if geometry is None:
        having = [board.name for board in BOARDS.values() if board.sdram is not None]
        raise UserError(not_one_of("BOARD with --sdram", having, name))
    return geometry


UnitArgument = Annotated[
    str,
    typer.Argument(
        metavar="UNIT",
        help="Name of an accelerator, such as gta or engine_m3xu.",
        autocompletion=a_unit,
    ),
]
MemoryOption = Annotated[
    int,
    typer.Option(
        "--kib",
        parser=whole("--kib", 4, 1 << 20),
        metavar="N",
        help="Memory on chip in KiB, a multiple of 4.",
    ),
]
SdramOption = Annotated[
    float | None,
    typer.Option(
        parser=real("--sdram", 1, 1000),
        metavar="MHZ",
        help="Use an SDRAM of 32 MiB instead of memory on chip; clock in MHz.",
    ),
]
DivisorOption = Annotated[
    int,
    typer.Option(
        parser=whole("--divisor", 4, 1 << 20),
        metavar="N",
        help="Clock cycles per bit on the serial line: clock over baud rate, at least 4.",
    ),
]


def chosen_accelerator(
    name: str, file: Path | None, settings: list[str] | None
) -> tuple[Unit, Any]:
    """An accelerator and its configuration. Raises UserError for another unit."""
    unit = choose_unit(name)
    if unit.jobs is None:
        raise UserError(
            f"{name} has no registers and no memory: a board needs an accelerator, such as "
            f"engine_{name} for a matrix unit"
        )
    return unit, read_config(unit, file, settings or ())


def check_memory(kib: int) -> None:
    """Raises UserError for a size of memory that is no multiple of 4 KiB."""
    if kib % 4:
        raise UserError(f"--kib must be a multiple of 4, not {kib}")


def emitted_board(
    unit: Unit, config: Any, kib: int, divisor: int, chip: Sdram | None = None
) -> Emitted:
    """The Verilog of an accelerator with memory and bridge, ``board_UNIT``."""
    from ...hw.board.board_top import BoardTop
    from ...hw.emit.unit import emit_component

    check_memory(kib)
    settings: dict[str, Any] = {"divisor": divisor, "kib": kib}
    if chip is None:
        top = BoardTop(unit, config, memory_bytes=kib << 10, divisor=divisor)
    else:
        top = BoardTop(unit, config, sdram=chip, divisor=divisor)
        settings |= {"sdram_mhz": chip.mhz, "sdram_phase": chip.clock_phase}
    extras = {
        "unit": "board",
        "summary": f"{unit.name} with {kib} KiB of memory, behind a serial line",
        "config": {**config.resolved(), **settings},
    }
    with user_errors(ValueError, about=unit.name):
        return emit_component(top, name=f"board_{unit.name}", sidecar_extras=extras)


def _chip(mhz: float | None, kib: int) -> tuple[Sdram | None, int]:
    """The SDRAM at a clock, if there is one, and KiB of the memory. Raises UserError."""
    if mhz is None:
        return None, kib
    from ...hw.spec.sdram import Sdram

    with user_errors(ValueError, about="--sdram"):
        chip = Sdram(mhz=mhz)
    return chip, check_kib_of_sdram(chip.geometry, None if kib == _KIB else kib)


def check_kib_of_sdram(geometry: SdramGeometry, kib: int | None) -> int:
    """KiB of an SDRAM. Raises UserError if --kib says otherwise."""
    size = geometry.memory_bytes >> 10
    if kib not in (None, size):
        raise UserError(f"--kib must not come with --sdram, which has {size} KiB, not {kib}")
    return size


def generate(
    unit: UnitArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.sv", help="File to write.")
    ],
    config: ConfigOption = None,
    settings: SettingsOption = None,
    kib: MemoryOption = _KIB,
    sdram: SdramOption = None,
    divisor: DivisorOption = 25,
) -> None:
    """Write an accelerator with memory and a host bridge as SystemVerilog.

    The top has clock, reset, serial line, interrupt and LEDs; with --sdram, also the SDRAM's pins.
    """
    chosen, values = chosen_accelerator(unit, config, settings)
    check_output(output, (".sv", ".v"))
    chip, kib = _chip(sdram, kib)
    emitted = emitted_board(chosen, values, kib, divisor, chip)
    from ...hw.emit.unit import write

    try:
        write(emitted, output, {})
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be written: {error.strerror}") from None
    if not outputs.is_standard_output(output):
        lines, modules = emitted.verilog.count("\n"), emitted.verilog.count("\nendmodule")
        lag = "" if chip is None else f"; the SDRAM's clock lags by {chip.clock_phase} degrees"
        print(f"{output}: {lines} lines, {modules} modules; {divisor} cycles a bit, {kib} KiB{lag}")


def simulate(
    unit: UnitArgument,
    config: ConfigOption = None,
    settings: SettingsOption = None,
    kib: MemoryOption = _KIB,
    sdram: SdramOption = None,
    divisor: DivisorOption = 4,
    link: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also make a symbolic link with this name to the terminal."
        ),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(
            metavar="BOARD",
            help="Simulate all that this board's bitstream holds: pins, buffers, clock.",
            autocompletion=a_board,
        ),
    ] = None,
) -> None:
    """Simulate a board behind a pseudo-terminal, for `--backend board` elsewhere.

    It prints the terminal's name, and runs until Ctrl-C. The first time, a compiler takes minutes.
    """
    chosen, values = chosen_accelerator(unit, config, settings)
    if board is not None:
        check_board(board)
        if sdram is not None:
            check_sdram(board)
    if link is not None and (link.is_symlink() or link.exists()):
        raise UserError(f"{link}: exists; give another name, or remove it")
    chip, kib = _chip(sdram, kib)

    def emit(chip: Sdram | None) -> Emitted:
        return emitted_board(chosen, values, kib, divisor, chip)

    from ...sim.rtl.sdram_chip import SdramError
    from ...sim.rtl.serial_board import SerialBoard, serve
    from ..common.session import building

    simulated = _simulated(emit, chip, board)
    with building(chosen):
        line = SerialBoard(simulated, divisor=divisor)
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    terminal = os.ttyname(theirs)
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        if link is not None:
            with user_errors(OSError, about=str(link)):
                link.symlink_to(terminal)
        print(f"{terminal}: {unit} with {kib} KiB, until Ctrl-C", flush=True)
        with user_errors(SdramError):
            serve(line, ours, lambda: ended)
    finally:
        if link is not None:
            link.unlink(missing_ok=True)
        line.close()


def _simulated(
    emit: Callable[[Sdram | None], Emitted], chip: Sdram | None, board: str | None
) -> HasVerilog:
    """An accelerator with bridge and memory, with models of what is around it: its SDRAM, and the
    primitives in the top of a board's bitstream."""
    from ...sim.rtl.sdram_chip import PARTS, with_chip

    part = PARTS["AS4C16M16SA-7"]
    if board is None:
        emitted = emit(chip)
        if chip is None:
            return emitted
        return with_chip(emitted, part, mhz=chip.mhz, phase=chip.clock_phase)
    from ...sim.rtl.serial_board import Pins
    from ...synth.bitstream import Target

    place = BOARDS[board]
    target = Target(
        board=place, unit="", config={}, module="", emit=lambda *_: emitted.verilog, kib=0,
        baud=BAUD, sdram=chip is not None,
    )  # fmt: skip
    with user_errors(ValueError, about="--sdram"):
        pll = target.clock(place.mhz if chip is None else chip.mhz)
        emitted = emit(target.chip(pll))
    target = replace(target, module=emitted.sidecar["module"])
    files = target.files(pll, simulated=True)
    return Pins.of(files["top.debug.v"], files["board.sv"], part if target.sdram else None)
