"""Reads and checks the choices of GTA and its schedules, from options or files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from ...errors import UserError, user_errors
from ...hw.spec.gta import FORMATS_OF_GTA, GTA, GtaConfig, is_float, result_bytes
from ...hw.spec.host.words import not_one_of
from ...settings import read_config
from ..common.files import check_output, read_content, write_whole
from ..common.options import PANEL, DeviceOptions, check_backend, check_report_and_tools
from ..common.units.gta import Asked, GtaChoice, ScheduleOptions

if TYPE_CHECKING:
    from ...sim.gta.array_job import Schedule
    from ...sim.gta.schedule.cost import PGemm

__all__ = ["FLOATS", "GtaOptions", "VectorOptions", "check_sums", "choose_gta", "entries_of",
           "write_schedule"]  # fmt: skip

FLOATS = tuple(name for name in FORMATS_OF_GTA if is_float(name))
"""Formats of an application that takes no integers."""

KEYS = ("dataflow", "layout", "segments", "direction", "filled", "along")

_DATAFLOWS = ("auto", "ws", "is", "os", "simd")
_OF_FLOATS = ("auto", "os", "simd")
_DIRECTIONS = ("lateral", "vertical")
_MOST_OF_FLOATS = 4


SUMS = ("wrap", "saturate", "long")
"""Overflow rules for sums of integers."""

SUFFIXES = (".toml", ".json")
"""Suffixes of files of schedules."""


@dataclass(frozen=True, kw_only=True)
class VectorOptions(DeviceOptions):
    """Options like `DeviceOptions`, with a flat memory."""

    shown: ClassVar[tuple[str, ...]] = (
        "config_file", "settings", "backend", "port", "baud", "json_file",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GtaOptions(VectorOptions):
    """The same, by default with the model of cycles."""

    backend: Annotated[
        str,
        typer.Option(
            help="rtl: simulate the Verilog and check it against the model; cycles: the models "
            "of results and cycles, the default; model: the model of results alone; board: a board "
            "at --port.",
            rich_help_panel=PANEL,
        ),
    ] = "cycles"


def choose_gta(
    options: DeviceOptions,
    format: str,
    allowed: Sequence[str] = FORMATS_OF_GTA,
    how: ScheduleOptions | None = None,
) -> GtaChoice:
    """Check what the command line says about the accelerator.

    Parameters
    ----------
    format: of the operands, as the user or the application has it
    allowed: formats that the application takes
    how: what the user says of schedules, if the application takes that

    Raises UserError for what cannot be run.
    """
    how = how or ScheduleOptions()
    check_backend(options.backend)
    if format not in allowed:
        raise UserError(not_one_of("mode", allowed, format))
    config: Any = read_config(GTA, options.config_file, options.settings or ())
    _check_format(config, format)
    chosen = _asked(how, config, format)
    if how.explain and options.backend == "model":
        raise UserError("--explain must come with backend rtl or cycles, not with model")
    if how.explain and chosen.dataflow == "simd" and options.backend == "rtl":
        raise UserError("--explain must come with ws, is, os or auto on the RTL, not with simd")
    if how.save_schedule:
        if options.backend == "model":
            raise UserError("--save-schedule must come with backend rtl or cycles, not with model")
        check_output(how.save_schedule, SUFFIXES)
    check_report_and_tools(options.json_file, options.backend, options.wire)
    return GtaChoice(
        config=config,
        backend=options.backend,
        gigahertz=1.0,
        json_file=options.json_file,
        wire=options.wire,
        format=format,
        asked=chosen,
        explain=how.explain,
        save_schedule=how.save_schedule,
    )


def check_sums(sums: str, format: str) -> None:
    """Raise UserError for what a format's sums are not kept as."""
    known = SUMS[:1] if is_float(format) else SUMS if result_bytes(format) == 8 else SUMS[:2]
    if sums not in known:
        raise UserError(not_one_of("--sums", known, sums, f" in {format}"))


def _check_format(config: GtaConfig, format: str) -> None:
    if format not in config.formats:
        built_with = ", ".join(config.formats)
        raise UserError(
            f"mode must be one that gta is built with ({built_with}), not {format!r}: see `formats`"
        )
    if is_float(format) and not config.float_adders:
        raise UserError(f"`float_adders` must be at least 8 for {format}, not 0")


def _asked(how: ScheduleOptions, config: GtaConfig, format: str) -> Asked:
    """Reads the required properties of schedules from options or a file."""
    given = {name: getattr(how, name) for name in ("dataflow", "layout", "segments")}
    said = {name: value for name, value in given.items() if value is not None}
    file = how.schedule
    if file is None:
        return asked_schedule(said, lambda key: f"--{key}", config, format)
    for name, value in said.items():
        raise UserError(f"--{name} must not come with --schedule, which says it; it is {value!r}")
    return asked_schedule(read_schedule(file), lambda key: f"{file}: {key}", config, format)


def asked_schedule(
    given: Mapping[str, Any],
    named: Callable[[str], str],
    config: GtaConfig,
    format: str,
) -> Asked:
    """Checks the choices of a schedule.

    Parameters
    ----------
    given: by ``KEYS``, what is not None
    named: what a key is called to the user
    format: of the operands

    Raises UserError, one line with the name, the value and what is allowed.
    """

    def refuse(key: str, allowed: str) -> UserError:
        return UserError(f"{named(key)} must {allowed}, not {given[key]!r}")

    floats = is_float(format)
    dataflow = given.get("dataflow")
    known, when = (_OF_FLOATS, f" in {format}") if floats else (_DATAFLOWS, "")
    if dataflow is not None and dataflow not in known:
        raise UserError(not_one_of(named("dataflow"), known, dataflow, when))
    segments = given.get("segments")
    counts = _segments(config, floats=floats)
    if segments is not None and (isinstance(segments, bool) or segments not in counts):
        lanes = "" if floats else f", as there are {config.lanes} lanes"
        raise refuse("segments", f"be one of {', '.join(map(str, counts))} in {format}{lanes}")
    if dataflow == "simd" and segments not in (None, 1):
        raise refuse("segments", "be 1 with simd")
    layout = None
    if given.get("layout") is not None:
        regions = 1 if floats else segments or 1
        layout = _layout(given["layout"], config.lanes // regions)
        if layout is None:
            allowed = ", ".join(_layouts(config.lanes // regions))
            count = f"there are {config.lanes // regions} lanes"
            many = " a segment" if regions > 1 else ""
            raise refuse("layout", f"be one of {allowed}, as {count}{many}")
    direction, filled, along = (given.get(key) for key in ("direction", "filled", "along"))
    if direction is not None and direction not in _DIRECTIONS:
        raise refuse("direction", f"be one of {', '.join(_DIRECTIONS)}")
    for key, flag in (("filled", filled), ("along", along)):
        if flag is not None and not isinstance(flag, bool):
            raise refuse(key, "be true or false")
    if along and dataflow != "simd":
        raise refuse("along", f"be false with {dataflow or 'auto'}")
    if along and layout:
        raise refuse("along", "be false with a layout")
    if filled and (dataflow == "simd" or segments not in (None, 1)):
        of = "simd" if dataflow == "simd" else f"{segments} segments"
        raise refuse("filled", f"be false with {of}")
    return Asked(
        dataflow=None if dataflow == "auto" else dataflow,
        layout=layout,
        segments=segments,
        lateral=None if direction is None else direction == "lateral",
        filled=filled,
        along=along,
    )


def _segments(config: GtaConfig, *, floats: bool) -> list[int]:
    most = _MOST_OF_FLOATS if floats else config.lanes
    return [1 << power for power in range(most.bit_length())]


def _layouts(lanes: int) -> list[str]:
    powers = [1 << power for power in range(lanes.bit_length())]
    return [f"{rows}x{lanes // rows}" for rows in powers]


def _layout(given: object, lanes: int) -> tuple[int, int] | None:
    if given not in _layouts(lanes):
        return None
    found = re.fullmatch(r"([0-9]+)x([0-9]+)", str(given))
    assert found
    return int(found[1]), int(found[2])


def read_schedule(path: Path) -> dict[str, Any]:
    """Reads a schedule file by key; values are checked later. Raises UserError."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: must end in {' or '.join(SUFFIXES)}")
    content = read_content(path)
    toml = path.suffix.lower() == ".toml"
    what = f"{path} is not {'TOML' if toml else 'JSON'}"
    found: Any
    with user_errors(tomllib.TOMLDecodeError, ValueError, RecursionError, about=what):
        text = content.decode("utf-8")
        found = tomllib.loads(text) if toml else json.loads(text)
    if not isinstance(found, dict):
        raise UserError(f"{path}: must hold an object with keys of {', '.join(KEYS)}")
    for key in found:
        if key not in KEYS:
            raise UserError(not_one_of(f"{path}: a key", KEYS, key))
    return found


def entries_of(schedule: Schedule) -> dict[str, Any]:
    """A schedule as a file has it."""
    direction = {"direction": "lateral" if schedule.lateral else "vertical"}
    if schedule.along:
        return {"dataflow": schedule.dataflow, "along": True, **direction}
    entries: dict[str, Any] = {
        "dataflow": schedule.dataflow,
        "layout": f"{schedule.rows}x{schedule.cols}",
        "segments": schedule.segments,
        **direction,
    }
    return entries | ({"filled": True} if schedule.filled else {})


def write_schedule(path: Path, problem: PGemm, schedule: Schedule) -> None:
    """A schedule, in TOML with the product it was chosen for in a comment."""
    entries = entries_of(schedule)
    if path.suffix.lower() == ".json":
        text = json.dumps(entries, indent=2)
    else:
        lines = [f"{key} = {json.dumps(value)}" for key, value in entries.items()]
        size = f"{problem.m} x {problem.n} x {problem.k}"
        text = "\n".join([f"# M x N x K of {size} in {problem.format}", *lines])
    write_whole(path, lambda file: file.write(f"{text}\n".encode()))
