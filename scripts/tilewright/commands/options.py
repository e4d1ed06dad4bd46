"""Options that several commands share, and the files that they write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import a_setting, a_target, a_unit
from ..errors import UserError
from ..hw.spec.host import outputs
from ..reports import STANDARD_OUTPUT

__all__ = [
    "ConfigOption",
    "JsonOption",
    "SetOption",
    "TargetOption",
    "UnitArgument",
    "check_output",
]

UnitArgument = Annotated[
    str,
    typer.Argument(
        metavar="UNIT", help="Name of a unit; see `tilewright list`.", autocompletion=a_unit
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "-c",
        "--spec",
        "--config",
        metavar="FILE",
        help="TOML file of parameters; for t2s also a mapping, a .py file.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter, in place of its value in the file; repeatable.",
        autocompletion=a_setting,
    ),
]
TargetOption = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="cmos, liberty:FILE[,FILE...] (a cell library: Liberty files, gzipped or not, and "
        "folders of them), asap7, gscl45nm, sg13g2, sky130hd, ecp5 or ice40.",
        autocompletion=a_target,
    ),
]
DontUseOption = Annotated[
    list[str] | None,
    typer.Option("--dont-use", metavar="GLOB", help="Cells of the library to avoid; repeatable."),
]
LibertyPathOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder of the known libraries, by default that of TILEWRIGHT_LIBERTY.",
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the results as JSON; - prints only the JSON.",
    ),
]


def check_output(path: Path, *suffixes: str) -> None:
    """Raise UserError early for a path that could not be written, or does not end with one of the
    suffixes, if there are any (a device or a pipe may have any name)."""
    if suffixes == (".json",) and path == STANDARD_OUTPUT:
        return
    if path == STANDARD_OUTPUT:
        raise UserError("-: of --json alone; standard output is the file /dev/stdout")
    if suffixes and path.suffix.lower() not in suffixes and not outputs.is_stream(path):
        allowed = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
        raise UserError(f"{path}: must end in {allowed}, not {path.suffix!r}")
    if why := outputs.obstacle(path):
        raise UserError(f"{path}: cannot be written: {why}")
