"""A job of ``tilewright run pair`` as the command line has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError
from ...hw.spec.host.words import not_one_of

__all__ = ["FORM", "PairJob", "parse_job"]

FORM = "A,B[,mode=FORMAT][,dataflow=FLOW][,lanes=N-N+N][,out=FILE]"

_KEYS = ("mode", "dataflow", "lanes", "out")
_DATAFLOWS = ("auto", "ws", "is", "os")
_MODE = "fp32"
_MOST_LANES = 64


@dataclass(frozen=True, kw_only=True)
class PairJob:
    """A product of two files.

    Parameters
    ----------
    a, b: the files
    mode: format of both
    dataflow: one of auto, ws, is and os
    lanes: their numbers; None: the driver's choice
    output: where the result goes
    """

    a: Path
    b: Path
    mode: str
    dataflow: str
    lanes: tuple[int, ...] | None
    output: Path | None


def parse_job(text: str) -> PairJob:
    """Parses a job written as ``FORM``. Raises UserError in one line."""
    files = [part for part in text.split(",") if "=" not in part]
    parts = text.split(",")
    if len(files) != 2 or parts[:2] != files or not all(files):
        raise UserError(f"a job must be {FORM}, not {text!r}")
    given: dict[str, str] = {}
    for part in parts[2:]:
        key, _, value = part.partition("=")
        if key not in _KEYS:
            raise UserError(not_one_of(f"{text}: a setting", _KEYS, key))
        if key in given:
            raise UserError(
                f"{text}: {key} must be given once, not as {given[key]!r} and {value!r}"
            )
        given[key] = value
    dataflow = given.get("dataflow", "auto")
    if dataflow not in _DATAFLOWS:
        raise UserError(not_one_of(f"{text}: dataflow", _DATAFLOWS, dataflow))
    if given.get("out") == "":
        raise UserError(f"{text}: out must be a file, not ''")
    return PairJob(
        a=Path(files[0]),
        b=Path(files[1]),
        mode=given.get("mode", _MODE),
        dataflow=dataflow,
        lanes=_lanes(text, given["lanes"]) if "lanes" in given else None,
        output=Path(given["out"]) if "out" in given else None,
    )


def _lanes(text: str, given: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in given.split("+"):
        ends = re.fullmatch(r"([0-9]{1,2})(?:-([0-9]{1,2}))?", part)
        first = int(ends[1]) if ends else 0
        last = int(ends[2] or ends[1]) if ends else _MOST_LANES
        if last < first or last >= _MOST_LANES:
            raise UserError(f"{text}: lanes must be numbers, or ranges of them, joined by +, such "
                            f"as 0-1 or 0+2, not {given!r}")  # fmt: skip
        found += range(first, last + 1)
    return tuple(found)
