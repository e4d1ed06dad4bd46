"""What a user says about schedules, and the checks on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....errors import UserError
from ....hw.spec.gta import GtaConfig, is_float
from ....hw.spec.host.words import not_one_of

if TYPE_CHECKING:
    from ....sim.gta.array_schedule import Schedule

__all__ = ["KEYS", "Asked", "asked"]

KEYS = ("dataflow", "layout", "segments", "direction", "filled", "along")

_DATAFLOWS = ("auto", "ws", "is", "os", "simd")
_OF_FLOATS = ("auto", "os", "simd")
_DIRECTIONS = ("lateral", "vertical")
_MOST_OF_FLOATS = 4


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What schedules must have; None: anything.

    Parameters
    ----------
    dataflow: ws, is, os or simd
    layout: rows and columns of lanes of a region
    segments: parts of K
    lateral: direction
    filled: whether what is left over comes as a part of its own
    along: of simd, whether elements lie along D
    """

    dataflow: str | None = None
    layout: tuple[int, int] | None = None
    segments: int | None = None
    lateral: bool | None = None
    filled: bool | None = None
    along: bool | None = None

    def allows(self, schedule: Schedule) -> bool:
        """Whether the user has left a schedule."""
        return (
            self.dataflow in (None, schedule.dataflow)
            and self.layout in (None, (schedule.rows, schedule.cols))
            and self.segments in (None, schedule.segments)
            and self.lateral in (None, schedule.lateral)
            and self.filled in (None, schedule.filled)
            and self.along in (None, schedule.along)
            and not (self.layout and schedule.along)
        )


def asked(
    given: Mapping[str, Any],
    named: Callable[[str], str],
    config: GtaConfig,
    format: str,
) -> Asked:
    """Check what is said.

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
