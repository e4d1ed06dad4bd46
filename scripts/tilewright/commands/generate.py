"""``tilewright generate``: a unit's Verilog and its sidecar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError, user_errors
from ..hw.spec.host import outputs
from .options import ConfigOption, SetOption, UnitArgument, check_output

__all__ = ["generate"]


def generate(
    unit: UnitArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The Verilog file to write.")],
    config: ConfigOption = None,
    set_: SetOption = None,
) -> None:
    """Write a unit's Verilog, and its sidecar beside it as .json (none beside a device)."""
    from ..settings import choose_unit, read_config

    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    if output.suffix == ".json":
        raise UserError(f"{output}: the name must not end in .json, which the sidecar's does")
    check_output(output)
    if not outputs.is_stream(output):
        check_output(output.with_suffix(".json"))
    from ..hw.emit.unit import emit, write

    with user_errors(ValueError, about=unit):
        emitted = emit(chosen, values)
    try:
        sidecar = write(emitted, output)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be written: {error.strerror}") from None
    if outputs.is_standard_output(output):
        return
    lines, modules = emitted.verilog.count("\n"), emitted.verilog.count("\nendmodule")
    beside = f"; {sidecar}: its ports and timing" if sidecar else ""
    print(f"{output}: {lines} lines, {modules} modules{beside}")
