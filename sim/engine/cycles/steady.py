"""Periods of a job that are left out, as they are like the one before.

When the state is what it was some blocks ago, but for a shift of all times, counts and positions,
the same blocks follow in the same time, until a part comes to the last block of its row, or column,
which may be smaller. As many periods as go before are added up, none is estimated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...timing.dram import Channels
from .signature import Signature, place
from .state import NEVER
from .steady_dram import note_channels, shift_channels

__all__ = ["WORTH", "Periods"]

_MOST = 72
"""States that are kept of a row of blocks, or of a column; if none comes back, none will soon."""

_FEW = 4
"""Blocks in a row, or a column, of which there is nothing to leave out; rows in which nothing came
back, behind which they are not looked at any more."""

WORTH = 1 << 17
"""Rows that are loaded for a row of blocks: with fewer it takes less time to simulate them."""

_LEVELS = ("i", "j")

Ints = npt.NDArray[np.int64]


class Periods:
    """Finds periods of a job on flat memories, and leaves them out.

    Parameters
    ----------
    c, s: the records of the job, in arrays
    dram: the state of the memories; None: they are flat
    """

    def __init__(self, c: Any, s: Any, dram: Channels | None = None) -> None:
        self._c, self._state, self._dram = c[0], s, dram
        unit, readers = s[0]["unit"], s[0]["readers"]
        self._known: dict[str, dict[bytes, tuple[int, Any]]] = {
            level: {} for level in _LEVELS if unit[f"{level}_last"] >= _FEW
        }
        rows = readers["rows"][:2].sum() * (unit["k_last"] + 1) + readers["rows"][2]
        if rows * (unit["j_last"] + 1) < WORTH:
            self._known.pop("j", None)
        self._row, self._in_vain = -1, 0

    @property
    def blocks(self) -> int:
        """Number of the block after which to look for a period; `NEVER` if none is sought."""
        unit = self._state[0]["unit"]
        if "j" in self._sought:
            return int(unit["block"]) + 1
        if "i" in self._sought:
            return int(unit["block"] + unit["j_last"] - unit["j"]) + 1
        return NEVER

    @property
    def _sought(self) -> list[str]:
        """The levels at which a state may still come back."""
        return [level for level, known in self._known.items() if len(known) < _MOST]

    def leave_out(self, now: int) -> bool:
        """Between two blocks, when all is known that cycle ``now`` lets be known: leave out as many
        periods as there are; returns whether there were any."""
        unit = self._state[0]["unit"]
        begins, self._row = unit["i"] != self._row, int(unit["i"])
        if begins and "j" in self._known:
            self._in_vain += len(self._known["j"]) >= _MOST
            self._known["j"].clear()
            if self._in_vain >= _FEW:
                del self._known["j"]
        levels = [level for level in self._sought if begins or level == "j"]
        if not levels:
            return False
        signature = Signature(self._c, self._state[0], now)
        if self._dram is not None:
            note_channels(signature, self._c, self._state[0], self._dram)
        return any(self._leave_out(level, signature.content, now) for level in levels)

    def _leave_out(self, level: str, signature: bytes, now: int) -> bool:
        known = self._known[level]
        positions = self._positions(level)
        key = signature + positions.tobytes()
        if key not in known:
            known[key] = (now, self._state.copy())
            return False
        before, state = known[key]
        shift = self._at(level) - self._at(level, state)
        left = int(self._state[0]["unit"][f"{level}_last"]) - 1 - int(self._at(level).max())
        periods = left // int(shift.max())
        if periods < 1:
            return False
        if self._dram is not None:
            later = (now - before) * periods
            shift_channels(self._c, self._state[0], state[0], self._dram, later, periods)
        _repeat(self._c, self._state, state, now - before, periods)
        # The known positions are passed, or no longer those of the current row.
        known.clear()
        return True

    def _parts(self, state: Any) -> list[Any]:
        readers = state[0]["readers"][: self._c["readers"]]
        return [state[0]["unit"], state[0]["store"], *readers]

    def _at(self, level: str, state: Any = None) -> Ints:
        """Returns the index of each part at a level."""
        parts = self._parts(self._state if state is None else state)
        return np.array([part[level] for part in parts], np.int64)

    def _positions(self, level: str) -> Ints:
        """Returns each part's index: relative to the unit's at this level, absolute at others."""
        relative = self._at(level) - self._state[0]["unit"][level]
        return np.concatenate([relative, *(self._at(x) for x in _LEVELS if x != level)])


def _repeat(c: Any, state: Any, before: Any, cycles: int, periods: int) -> None:
    """Let the period from ``before`` to ``state``, of so many cycles, come so many times again."""
    s, b = state[0], before[0]
    moved = periods * (place(s["store"]) - place(b["store"]))
    later = cycles * periods

    def by(part: str, name: str, *index: int) -> int:
        """Returns how far a count advances in so many periods."""
        now, then = s[part], b[part]
        for number in index:
            now, then = now[number], then[number]
        return int(now[name] - then[name]) * periods

    rings = [("rows", by("store", "rows_in"))]
    rings += [(name, by("store", "bursts")) for name in ("queued", "answers")]
    rings += [(name, by("store", "puts")) for name in ("puts", "leaves")]
    rings += [(name, by("store", name)) for name in ("computed", "stored")]
    rolled = {name: np.roll(s[name], places) for name, places in rings}
    for name in ("start", "beats", "block", "parts", "loaded", "freed"):
        count = name if name in ("loaded", "freed") else "bursts"
        each = [np.roll(s[name][n], by("readers", count, n)) for n in range(3)]
        rolled[name] = np.stack(each)
    for part in ("readers", "managers", "unit", "store"):
        for name in s[part].dtype.names:
            if name.endswith("_at") and name != "first_at":
                s[part][name] = _later(s[part][name], later)
            else:
                s[part][name] += (s[part][name] - b[part][name]) * periods
    for name, ring in rolled.items():
        s[name] = ring
    for name in ("start", "loaded", "freed", "results", "computed", "stored", "puts", "leaves",
                 "queued", "answers"):  # fmt: skip
        s[name] = _later(s[name], later)
    for name in ("at", "ended_at"):
        s["rows"][name] += later
    s["rows"]["address"] = (s["rows"]["address"] + moved) & c["mask"]


def _later(times: Any, cycles: int) -> Any:
    return np.where(times == NEVER, NEVER, times + cycles)
