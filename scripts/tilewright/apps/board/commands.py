"""``tilewright board generate`` and ``simulate``: a board's Verilog, and one without a board."""

from __future__ import annotations

import os
import signal
import tty
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...choices import a_unit
from ...errors import UserError, user_errors
from ...hw.spec.host import outputs
from ...hw.spec.unit import Unit
from ...numbers_given import whole
from ...settings import choose_unit, read_config
from ..common.files import check_output
from ..common.options import ConfigOption, SettingsOption

if TYPE_CHECKING:
    from ...hw.emit.unit import Emitted

__all__ = ["generate", "simulate"]

_KIB = 64

UnitArgument = Annotated[
    str,
    typer.Argument(metavar="UNIT", help="Name of an accelerator.", autocompletion=a_unit),
]
MemoryOption = Annotated[
    int,
    typer.Option(
        "--kib",
        parser=whole("--kib", 4, 1 << 20),
        metavar="N",
        help="Memory on chip in KiB, a multiple of 4; default 64.",
    ),
]
DivisorOption = Annotated[
    int,
    typer.Option(
        parser=whole("--divisor", 4, 1 << 20),
        metavar="N",
        help="Clock cycles of a bit on the serial line: clock over baud rate, at least 4.",
    ),
]


def _chosen(name: str, file: Path | None, settings: list[str] | None) -> tuple[Unit, Any]:
    unit = choose_unit(name)
    if unit.jobs is None:
        raise UserError(
            f"{name} has no registers and no memory: a board needs an accelerator, such as "
            f"engine_{name} for a matrix unit"
        )
    return unit, read_config(unit, file, settings or ())


def _emitted(unit: Unit, config: Any, kib: int, divisor: int) -> Emitted:
    from ...hw.board.board_top import BoardTop
    from ...hw.emit.unit import emit_component

    if kib % 4:
        raise UserError(f"--kib must be a multiple of 4, not {kib}")
    top = BoardTop(unit, config, memory_bytes=kib << 10, divisor=divisor)
    extras = {
        "unit": "board",
        "summary": f"{unit.name} with {kib} KiB of memory, behind a serial line",
        "config": {**config.resolved(), "divisor": divisor, "kib": kib},
    }
    with user_errors(ValueError, about=unit.name):
        return emit_component(top, name=f"board_{unit.name}", sidecar_extras=extras)


def generate(
    unit: UnitArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.sv", help="File to write.")
    ],
    config: ConfigOption = None,
    settings: SettingsOption = None,
    kib: MemoryOption = _KIB,
    divisor: DivisorOption = 25,
) -> None:
    """Write an accelerator with memory and a host bridge as SystemVerilog.

    The top has a clock, a reset, and a serial line: rx and tx.
    """
    chosen, values = _chosen(unit, config, settings)
    check_output(output, (".sv", ".v"))
    emitted = _emitted(chosen, values, kib, divisor)
    from ...hw.emit.unit import write

    try:
        write(emitted, output, {})
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be written: {error.strerror}") from None
    if not outputs.is_standard_output(output):
        lines, modules = emitted.verilog.count("\n"), emitted.verilog.count("\nendmodule")
        print(f"{output}: {lines} lines, {modules} modules; {divisor} cycles a bit, {kib} KiB")


def simulate(
    unit: UnitArgument,
    config: ConfigOption = None,
    settings: SettingsOption = None,
    kib: MemoryOption = _KIB,
    divisor: DivisorOption = 4,
    link: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also make a symbolic link to the terminal."),
    ] = None,
) -> None:
    """Simulate a board behind a pseudo-terminal, for `--backend board` elsewhere.

    It prints the terminal's name, and runs until Ctrl-C.
    """
    chosen, values = _chosen(unit, config, settings)
    if link is not None and (link.is_symlink() or link.exists()):
        raise UserError(f"{link}: is there already")
    emitted = _emitted(chosen, values, kib, divisor)
    from ...sim.rtl.serial_board import SerialBoard, serve
    from ..common.session import building

    with building(chosen):
        board = SerialBoard(emitted, divisor=divisor)
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
        serve(board, ours, lambda: ended)
    finally:
        if link is not None:
            link.unlink(missing_ok=True)
        board.close()
