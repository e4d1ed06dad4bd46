"""``tilewright generate``: a unit's SystemVerilog, its sidecar, and what integrators ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UserError, user_errors
from ..hw.spec.host import outputs
from .options import ConfigOption, SetOption, UnitArgument, check_output

if TYPE_CHECKING:
    from ..hw.spec.unit import Unit

__all__ = ["generate"]


def _check_texts(unit: Unit, output: Path, wanted: Mapping[str, Path]) -> None:
    """Raise UserError for what cannot be written, or makes no sense."""
    from ..hw.emit.integration.outputs import OUTPUTS

    taken = {} if outputs.is_stream(output) else {output.with_suffix(".json"): "the sidecar"}
    taken[output] = "-o"
    places = {os.path.realpath(path): name for path, name in taken.items()}
    for name, path in wanted.items():
        check_output(path, OUTPUTS[name].suffix)
        if OUTPUTS[name].needs_registers and unit.jobs is None:
            raise UserError(f"--{name}: {unit.name} has no registers")
        if OUTPUTS[name].names_verilog and outputs.is_stream(output):
            raise UserError(
                f"--{name} names the SystemVerilog's file: -o must be one, not {output}"
            )
        other = places.setdefault(os.path.realpath(path), f"--{name}")
        if other != f"--{name}":
            raise UserError(f"--{name}: {path} must be another file than that of {other}")


def generate(
    unit: UnitArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.sv",
            help="SystemVerilog file to write; .v is accepted, too.",
        ),
    ] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the top module, and prefix of all other modules and types; default: the "
            "unit's. Two configurations of a unit in one design need two names.",
        ),
    ] = None,
    package: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sv",
            help="Also write a package NAME_pkg: types of payloads, opcodes and registers.",
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svh",
            help="Also write an instance to paste, with its signals; /dev/stdout prints it.",
        ),
    ] = None,
    header: Annotated[
        Path | None, typer.Option(metavar="FILE.h", help="Also write a header for C and C++.")
    ] = None,
    rdl: Annotated[
        Path | None, typer.Option(metavar="FILE.rdl", help="Also write the registers in SystemRDL.")
    ] = None,
    ipxact: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Also write an IP-XACT component.")
    ] = None,
    core: Annotated[
        Path | None, typer.Option(metavar="FILE.core", help="Also write a FuseSoC core file.")
    ] = None,
    filelist: Annotated[
        Path | None, typer.Option(metavar="FILE.f", help="Also write a file list for simulators.")
    ] = None,
    litex: Annotated[
        Path | None,
        typer.Option(metavar="FILE.py", help="Also write a module for SoCs of LiteX."),
    ] = None,
    cocotb: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="In place of files: a new directory with the unit and a cocotb bench to extend.",
        ),
    ] = None,
) -> None:
    """Write a unit as SystemVerilog, and a .json sidecar of its ports and timing."""
    from ..settings import choose_unit, read_config

    if name is not None:
        from ..hw.emit.keywords import check_module_name

        with user_errors(ValueError, about="--name"):
            check_module_name(name)
    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    given = {
        "package": package,
        "template": template,
        "header": header,
        "rdl": rdl,
        "ipxact": ipxact,
        "core": core,
        "filelist": filelist,
        "litex": litex,
    }
    wanted = {option: path for option, path in given.items() if path is not None}
    if cocotb is not None:
        from ..skeleton.bench import generate_bench

        return generate_bench(chosen, values, cocotb, {"output": output, **wanted}, name=name)
    if output is None:
        raise UserError("generate needs -o FILE or --cocotb DIR (see `tilewright generate --help`)")
    check_output(output)
    if output.suffix.lower() not in (".sv", ".v") and not outputs.is_stream(output):
        raise UserError(f"{output}: must end in .sv or .v, not {output.suffix!r}")
    if not outputs.is_stream(output):
        check_output(output.with_suffix(".json"))
    _check_texts(chosen, output, wanted)
    from ..hw.emit.integration.outputs import files_to_read, integration_text
    from ..hw.emit.unit import emit, write

    with user_errors(ValueError, about=unit):
        emitted = emit(chosen, values, name)
    texts: dict[Path, str] = {}
    files = files_to_read(wanted, output)
    for option, path in wanted.items():
        with user_errors(ValueError, about=f"--{option}"):
            texts[path] = integration_text(option, emitted.sidecar, path, files)
    try:
        sidecar = write(emitted, output, texts)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be written: {error.strerror}") from None
    if any(map(outputs.is_standard_output, (output, *texts))):
        return
    lines, modules = emitted.verilog.count("\n"), emitted.verilog.count("\nendmodule")
    beside = f"; {sidecar}: its ports and timing" if sidecar else ""
    print(f"{output}: {lines} lines, {modules} modules{beside}")
    for path, text in texts.items():
        print(f"{path}: {text.count(chr(10))} lines")
