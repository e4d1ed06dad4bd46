"""Tabulates the sizes from which algorithms of the TCU model pay, on several units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isqrt, nan
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...hw.spec.host.plots import COLOURS
from ...numbers_given import real, whole
from ...synth.tables import Row, Table
from .asked import asked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...sim.tcu.crossovers import Comparison, UnitModel

__all__ = ["CALIBRATED", "LATENCIES", "draw", "tcu_crossovers"]


_OCTAVES, _STEPS = 20, 4
"""Octaves of latency from 1 on, and points in each."""
_RINGS = "a unit of the table"


def draw(
    figure: Figure,
    *,
    comparisons: Mapping[str, Comparison],
    units: Sequence[UnitModel],
    side: int,
    cpu: float,
) -> None:
    """Draws the size from which an algorithm pays over the latency of the unit. A line ends where
    an algorithm stops paying; a latency below 1 is drawn at 1."""
    from ...sim.tcu.crossovers import UnitModel, crossover

    axes = figure.subplots()
    latencies = [2 ** (step / _STEPS) for step in range(_OCTAVES * _STEPS + 1)]
    named = [unit for unit in units if unit.name]
    for (name, one), colour in zip(comparisons.items(), COLOURS, strict=False):
        found = [crossover(one, UnitModel("", side, latency), cpu) for latency in latencies]
        rings = [(unit, crossover(one, unit, cpu)) for unit in named]
        pays = any(size is not None for size in (*found, *(size for _, size in rings)))
        sizes = [nan if size is None else size for size in found]
        axes.plot(latencies, sizes, color=colour, label=f"{name}: {one.size if pays else 'never'}")
        places = [(max(unit.latency, 1), size) for unit, size in rings if size is not None]
        axes.plot(*zip(*places, strict=True) if places else ([], []), "o", color=colour,
                  markerfacecolor="none")  # fmt: skip
    if named:
        axes.plot([], [], "o", color="black", markerfacecolor="none", label=_RINGS)
    axes.set(
        xlabel="latency l, words", ylabel="smallest size for which the first pays",
        title=f"Crossovers for m = {side**2:,}, a CPU word takes {cpu:g}",
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


LATENCIES = (0, 256, 4096, 65536)
"""Latencies in words of the units that are not presets."""

CALIBRATED = ("simd2", "m3xu", "engine", "gta")
"""Backends of hardware that are calibrated unless others are asked for, if they have the block."""

_MOST_SIDE, _MOST_LATENCY = 4096, 10**15


def tcu_crossovers(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    settings: Sequence[str] = (),
) -> Table:
    """Sizes from which the first of two algorithms takes less time than the second, for all larger
    ones that are looked at; none if it does not for the largest. Time is the unit's and that of the
    CPU's words, by the formulas. A column is a unit: its name, m, and l.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: part of the name of a comparison
    settings: ``m=256`` and ``l=0,256,...`` of the units that are no preset, ``cpu=1``, the time of
        a word of the CPU in that of a word of the unit, ``calibrated=simd2,m3xu,engine,gta``,
        backends of hardware with blocks of ``m``, as their models of cycles on fp32 say, or none,
        ``units=NAME:M:L,...``, further ones

    Raises UserError for another target, for other settings, and if nothing is chosen.
    """
    readers: dict[str, Callable[[str], Any]] = {
        "m": _side,
        "l": _latencies,
        "cpu": real("--set cpu", 0, 10**6),
        "calibrated": _backends,
        "units": _units,
    }
    given = asked("tcu-crossovers", target, settings, readers)
    from ...sim.tcu.crossovers import COMPARISONS, UnitModel, crossover
    from ...sim.tcu.presets import PRESETS

    chosen = {name: one for name, one in COMPARISONS.items() if only in name}
    if not chosen:
        raise UserError(f"--only must be part of one of {', '.join(COMPARISONS)}, not {only!r}")
    side, cpu = given.get("m", 16), given.get("cpu", 1)
    units = [UnitModel("", side, latency) for latency in given.get("l", LATENCIES)]
    units += [UnitModel(one.name, one.side, one.latency) for one in PRESETS.values()]
    units += [_calibrated(name, side) for name in given.get("calibrated", _having(side))]
    units += [UnitModel(*one) for one in given.get("units", [])]
    rows = []
    for name, one in chosen.items():
        progress(name)
        found = [crossover(one, unit, cpu) for unit in units]
        rows.append(Row(f"{name}: {one.size}", [None] * len(units), found, 0))
    title = f"tcu-crossovers, a word of the CPU takes {cpu:g}"
    drawing = partial(draw, comparisons=chosen, units=units, side=side, cpu=cpu)
    return Table(title, "formulas", [_named(unit) for unit in units], rows, drawing)


def _named(unit: UnitModel) -> str:
    latency = f"{unit.latency:,}" if isinstance(unit.latency, int) else f"{unit.latency:,.2f}"
    return f"{unit.name} m={unit.side**2:,} l={latency}".strip()


def _calibrated(name: str, side: int) -> UnitModel:
    """A backend of hardware, by its model of cycles."""
    from ...apps.tcu.hardware.calibration import calibration_of, open_backend
    from ...apps.tcu.hardware.options import (
        BACKENDS,
        HardwareChoice,
        HardwareOptions,
        choose_hardware,
    )
    from ...apps.tcu.options import whole_if_so
    from ...sim.tcu.crossovers import UnitModel
    from ...sim.tcu.words import FP32

    if side not in (sides := BACKENDS[name].sides):
        allowed = ", ".join(str(each * each) for each in sides)
        raise UserError(f"--set m must be one of {allowed} with {name}, not {side * side}")
    choice = HardwareChoice(**choose_hardware(name, HardwareOptions(m=side * side)))
    found = calibration_of(open_backend(choice), FP32)
    assert found is not None
    return UnitModel(name, side, whole_if_so(found.latency))


def _having(side: int) -> list[str]:
    from ...apps.tcu.hardware.options import BACKENDS

    return [name for name in CALIBRATED if side in BACKENDS[name].sides]


def _backends(text: str) -> list[str]:
    from ...apps.tcu.hardware.options import BACKENDS

    names = [] if text == "none" else [name.strip() for name in text.split(",")]
    known = [name for name, row in BACKENDS.items() if row.unit]
    for name in names:
        if name not in known:
            said = ", ".join(known)
            raise UserError(f"--set calibrated must be some of {said}, or none, not {name!r}")
    return names


def _side(text: str, option: str = "--set m") -> int:
    m = whole(option, 4, _MOST_SIDE**2)(text)
    if isqrt(m) ** 2 != m:
        raise UserError(f"{option} must be a square, not {m}")
    return isqrt(m)


def _latencies(text: str) -> list[float]:
    return [_latency(one, "--set l") for one in text.split(",")]


def _latency(text: str, option: str) -> float:
    from ...apps.tcu.options import whole_if_so

    return whole_if_so(real(option, 0, _MOST_LATENCY)(text.strip()))


def _units(text: str) -> list[tuple[str, int, float]]:
    found = []
    for one in text.split(","):
        parts = one.strip().split(":")
        if len(parts) != 3 or not parts[0]:
            raise UserError(f"--set units must be NAME:M:L, separated by commas, not {one[:60]!r}")
        name, m, latency = parts
        found.append((name, _side(m, "--set units"), _latency(latency, "--set units")))
    return found
