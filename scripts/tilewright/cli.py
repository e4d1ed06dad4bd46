"""The command line: ``tilewright COMMAND ...``.

Exit status 0 when what was asked for holds, 1 when a check failed, 2 for bad usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from . import __version__
from .errors import CheckFailed, UserError, say, told, user_errors
from .hw.spec.host import outputs
from .hw.spec.host.programs import ProgramError
from .hw.spec.unit import named_object
from .numbers_given import whole
from .registry import commands, entries, tables
from .settings import choose_entry, choose_unit, read_config

__all__ = ["main"]

app = typer.Typer(
    name="tilewright",
    add_completion=False,
    no_args_is_help=True,
)
run_app = typer.Typer(help="Run a whole computation on a unit, checked against a reference.")
app.add_typer(run_app, name="run")

_ClickError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_print_version,
                     is_eager=True),
    ] = False,
) -> None:  # fmt: skip
    """Generate tensor accelerators, simulate them, measure them."""


UnitArgument = Annotated[str, typer.Argument(metavar="UNIT", help="A unit of `tilewright list`.")]
ConfigOption = Annotated[
    Path | None, typer.Option("-c", "--config", metavar="FILE.toml", help="Parameters by name.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One parameter.")
]
TargetOption = Annotated[str, typer.Option("--target", help="cmos, liberty:FILE, ecp5 or ice40.")]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON, too.")
]


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def _check_output(path: Path, suffix: str = "") -> None:
    """Raise UserError early for a path that could not be written, or does not end as it must (what
    is no regular file may have any name)."""
    if suffix and path.suffix.lower() != suffix and not outputs.is_stream(path):
        raise UserError(f"{path}: must end in {suffix}, not {path.suffix!r}")
    if why := outputs.obstacle(path):
        raise UserError(f"{path}: cannot be written: {why}")


def _write_json(path: Path, values: Any) -> None:
    from .apps.common.files import write_json

    write_json(path, values)


@app.command("list")
def list_units() -> None:
    """List the units, one line each."""
    known = entries()
    width = max(map(len, known))
    for name, entry in known.items():
        print(f"{name:{width}}  {entry.unit.summary}")


@app.command()
def show(unit: UnitArgument, config: ConfigOption = None, set_: SetOption = None) -> None:
    """Show a unit: parameters with ranges and defaults, ports, latency, source."""
    from .show import show_unit

    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    with user_errors(ValueError, about=unit):
        show_unit(_console(), chosen, values)


@app.command()
def generate(
    unit: UnitArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The Verilog file to write.")],
    config: ConfigOption = None,
    set_: SetOption = None,
) -> None:
    """Write a unit's Verilog, and its sidecar beside it as .json (none beside a device)."""
    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    if output.suffix == ".json":
        raise UserError(f"{output}: the name must not end in .json, which the sidecar's does")
    _check_output(output)
    if not outputs.is_stream(output):
        _check_output(output.with_suffix(".json"))
    from .hw.emit.unit import emit, write

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


@app.command()
def simulate(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    sim: Annotated[str, typer.Option("--sim", help="verilator or icarus.")] = "verilator",
    seed: Annotated[
        int,
        typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of the stimuli, from 0."),
    ] = 1,
    count: Annotated[
        int, typer.Option(parser=whole("--count", 1, 10**6), metavar="N", help="Operations to run.")
    ] = 1000,
    waves: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the waves.")] = None,
) -> None:
    """Simulate a unit with random stimuli and check it against its model."""
    entry = choose_entry(unit)
    values = read_config(entry.unit, config, set_ or ())
    if sim not in ("verilator", "icarus"):
        raise UserError(f"--sim must be verilator or icarus, not {sim!r}")
    if sim not in entry.simulate:
        raise UserError(f"--sim must be {' or '.join(entry.simulate)} for {unit}, not {sim!r}")
    if waves is not None:
        _check_output(waves)
    from .sim.rtl import toolchain

    with user_errors(toolchain.ToolMissing):
        if sim == "icarus":
            toolchain.find_icarus()
        else:
            toolchain.find_verilator()
            toolchain.require_compiler()
    try:
        run = named_object(entry.simulate[sim])
    except ModuleNotFoundError as error:
        raise UserError(
            f"simulate needs the package {error.name!r}: pip install 'tilewright[test]'"
        ) from None
    from .sim.rtl.build import BuildError

    with user_errors(toolchain.ToolMissing, BuildError, ValueError, about=unit):
        report = run(entry.unit, values, seed=seed, count=count, waves=waves)
    report.print(_console())
    if not report.passed:
        raise typer.Exit(1)


@app.command()
def synth(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    target: TargetOption = "cmos",
    json_file: JsonOption = None,
) -> None:
    """Measure a unit's area and speed."""
    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    if json_file is not None:
        _check_output(json_file, ".json")
    from .synth.base.errors import ToolError
    from .synth.flow import synthesize

    with user_errors(ValueError, OSError, ToolError):
        report = synthesize(chosen, values, target)
    report.print(_console())
    if json_file is not None:
        _write_json(json_file, report.to_json())


@app.command()
def table(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table, such as m3xu-area.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="What to measure, of tables that take files."),
    ] = None,
    target: TargetOption = "cmos",
    full: Annotated[
        bool, typer.Option("--full", help="The paper's size, of tables that measure a smaller one.")
    ] = False,
    json_file: JsonOption = None,
    scale: Annotated[
        float | None,
        typer.Option(metavar="PART", help="Of the papers' sizes, of tables that have such: 0.01."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Measure what is named so, of tables of many inputs."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of what is measured."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw it, of tables that are drawn.")
    ] = None,
) -> None:
    """Measure a table of the papers: theirs beside ours."""
    known = tables()
    if name not in known:
        raise UserError(f"table must be one of {', '.join(known)}, not {name!r}")
    if json_file is not None:
        _check_output(json_file, ".json")
    if svg is not None:
        _check_output(svg, ".svg")
    from rich.console import Console

    from .synth.base.errors import ToolError

    measure = named_object(known[name])
    taken = signature(measure).parameters
    if files and "files" not in taken:
        raise UserError(f"{name} takes no files, not {files[0]}")
    chosen: dict[str, object] = {"files": files, "full": full or None, "scale": scale, "only": only}
    chosen |= {"settings": settings, "svg": svg}
    chosen = {option: value for option, value in chosen.items() if value not in (None, [])}
    if unknown := [option for option in chosen if option not in taken]:
        raise UserError(f"{name} takes no --{unknown[0].replace('settings', 'set')}")
    measure = partial(measure, **chosen)
    terminal = Console(stderr=True)
    with user_errors(ValueError, OSError, ToolError):
        if terminal.is_terminal:
            with terminal.status(name) as shown:
                measured = measure(target, progress=shown.update)
        else:
            measured = measure(target)
    measured.print(_console())
    if json_file is not None:
        _write_json(json_file, measured.to_json())


def _check_command(words: Sequence[str]) -> None:
    """Raise UserError for a command that there is not."""
    first, second = [*words, "", ""][:2]
    known = [command.name or command.callback.__name__ for command in app.registered_commands
             if command.callback]  # fmt: skip
    known.append("run")
    if words and not first.startswith("-") and first not in known:
        raise UserError(f"the command must be one of {', '.join(known)}, not {first!r}")
    if first == "run" and not second.startswith("-") and second not in commands():
        found = repr(second) if len(words) > 1 else "nothing"
        raise UserError(f"run must be given one of {', '.join(commands())}, not {found}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit status and writes at most one line to stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _check_command(words)
    except UserError as error:
        say(error)
        return 2
    if words[:1] == ["run"]:
        from .apps import register

        run_app.registered_commands.clear()
        register(run_app, only=words[1] if len(words) > 1 else None)
    try:
        status = app(words, prog_name="tilewright", standalone_mode=False)
    except _ClickError as error:
        message = getattr(error, "format_message", error.__str__)()
        context = getattr(error, "ctx", None)
        if message:  # none if the help was shown for want of arguments
            usage = f" (see `{context.command_path} --help`)" if context else ""
            say(f"{message.rstrip('.')}{usage}")
        return 2
    except CheckFailed as error:
        say(error)
        return 1
    except (UserError, ProgramError) as error:
        say(error)
        return 2
    except OSError as error:
        say(told(error))
        return 2
    except MemoryError as error:
        say(f"there is not enough memory: {error or 'what is left cannot be told'}")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return status if isinstance(status, int) else 0
