"""What a program of the user's is given: scalars, files of vectors, when to end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....errors import UserError
from ....hw.spec.elementwise.program import Program
from ....hw.spec.formats import FloatFormat, Format
from ....numbers_given import real
from ....sim.sida.iterations.problem import Stop
from ...common.rounding import largest, round_to, warn_rounding
from ..options import SidaChoice
from .options import OwnOptions

__all__ = ["OwnInputs", "read_own"]


@dataclass(frozen=True, kw_only=True)
class OwnInputs:
    """A program, and by name what it begins with. ``stop``: when it ends, but for the passes."""

    program: Program
    scalars: Mapping[str, float]
    vectors: Mapping[str, Path]
    stop: Stop | None


def read_own(choice: SidaChoice, own: OwnOptions, program: Program, path: Path) -> OwnInputs:
    """What the options say; UserError if the program takes no such things, or lacks some."""
    fmt = choice.config.format
    scalars = _scalars(own.scalars or (), program, path, fmt)
    stop = _stop(own, program, fmt)
    vectors = _vectors(own.vectors or (), program)
    _check_written(path, program, fmt)
    if choice.config.value == "int32":
        _check_integers(path, program, scalars, stop)
    return OwnInputs(program=program, scalars=scalars, vectors=vectors, stop=stop)


def _number(option: str, text: str, fmt: Format) -> float:
    """A number that a format reaches; UserError otherwise."""
    return real(option, -largest(fmt), largest(fmt))(text)


def _check_written(path: Path, program: Program, fmt: Format) -> None:
    """Warn of numbers in the text that a format of floats does not hold."""
    written = [one.value for one in program.scalars if one.value is not None]
    finite = np.array([value for value in written if np.isfinite(value)])
    if len(finite) and isinstance(fmt, FloatFormat):
        warn_rounding(path, round_to(finite, fmt), fmt)


def _scalars(given: Sequence[str], program: Program, path: Path, fmt: Format) -> dict[str, float]:
    """What --scalar says."""
    known = {one.name: one for one in program.scalars if one.name and one.value is None}
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals or name not in known:
            raise UserError(
                f"--scalar must be of NAME=VALUE, names {', '.join(known) or 'none'}, not {text!r}"
            )
        if name in found:
            raise UserError(f"--scalar must give {name} once, not {found[name]:g} and {value!r}")
        special = isinstance(fmt, FloatFormat) and re.fullmatch("[+-]?(inf|nan)", value)
        found[name] = float(value) if special else _number(f"--scalar {name}", value, fmt)
    missing = [name for name, one in known.items() if not one.reduction and name not in found]
    if missing:
        raise UserError(f"{path}: takes scalar {missing[0]}: give --scalar {missing[0]}=VALUE")
    return found


def _check_integers(
    path: Path, program: Program, scalars: Mapping[str, float], stop: Stop | None
) -> None:
    """What has no place in integers of 32 bits."""
    written = [one.value for one in program.scalars if one.value is not None]
    for value in [*written, *scalars.values(), *([] if stop is None else [stop.limit])]:
        if not (abs(value) < 1 << 31 and value == int(value)):
            raise UserError(f"{path}: {value:g} is no integer of 32 bits, which int32 needs")


def _stop(own: OwnOptions, program: Program, fmt: Format) -> Stop | None:
    """What --until and --below say."""
    if (own.until is None) != (own.below is None):
        raise UserError("--until and --below go together")
    if own.until is None or own.below is None:
        return None
    names = [word.strip() for word in own.until.split(",")]
    known = [one.name for one in program.scalars if one.reduction]
    if len(names) != 2 or not set(names) <= set(known):
        raise UserError(
            f"--until must be two reductions of {', '.join(known) or 'none'}, not {own.until!r}"
        )
    return Stop(reductions=(names[0], names[1]), limit=_number("--below", own.below, fmt))


def _vectors(given: Sequence[str], program: Program) -> dict[str, Path]:
    """The files that --vector says."""
    files: dict[str, Path] = {}
    for text in given:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals or name not in program.vectors:
            raise UserError(
                f"--vector must be of NAME=FILE, names {', '.join(program.vectors)}, not {text!r}"
            )
        if name in files:
            raise UserError(
                f"--vector must give {name} once, not {str(files[name])!r} and {value!r}"
            )
        files[name] = Path(value)
    return files
