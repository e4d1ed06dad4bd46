"""Periods of a job that are left out, as they are like the one before.

On flat memories time is all that decides, and addresses only by their places between boundaries of
bursts. So when the state is what it was some blocks ago, but for a shift of all times, counts and
positions, the same blocks follow in the same time, until a part comes to the last block of its row,
or column, which may be smaller. As many periods as go before are added up, none is estimated.

What is compared is all that the future can depend on. A time that lies so far back that nothing
waits for it any more is as good as any other such time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .state import KNOWN, NEVER

__all__ = ["WORTH", "Periods"]

_PAST = 1 << 10
"""So many cycles back, and the unit's interval, nothing can wait for."""

_MOST = 24
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
    """

    def __init__(self, c: Any, s: Any) -> None:
        self._c, self._state = c[0], s
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
        """How many blocks are to be computed until it is worth looking again; `NEVER`: never."""
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
        signature = self._signature(now)
        return any(self._leave_out(level, signature, now) for level in levels)

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
        _repeat(self._state, state, now - before, periods)
        # What was known is of positions that are passed, or of the row at hand no more.
        known.clear()
        return True

    def _parts(self, state: Any) -> list[Any]:
        readers = state[0]["readers"][: self._c["readers"]]
        return [state[0]["unit"], state[0]["store"], *readers]

    def _at(self, level: str, state: Any = None) -> Ints:
        """Where each part is."""
        parts = self._parts(self._state if state is None else state)
        return np.array([part[level] for part in parts], np.int64)

    def _positions(self, level: str) -> Ints:
        """Where each part is: at the level beside the unit, at others as it is."""
        relative = self._at(level) - self._state[0]["unit"][level]
        return np.concatenate([relative, *(self._at(x) for x in _LEVELS if x != level)])

    def _signature(self, now: int) -> bytes:
        """All that the future can depend on, but for positions, in times from now on."""
        c, s = self._c, self._state[0]
        unit, store = s["unit"], s["store"]
        oldest = -_PAST - int(c["interval"])
        found: list[Any] = []

        def times(values: Any) -> None:
            ahead = np.atleast_1d(np.asarray(values, np.int64))
            found.append(np.where(ahead == NEVER, NEVER, np.maximum(ahead - now, oldest)))

        def numbers(*values: int) -> None:
            found.append(np.array(values, np.int64))

        def last(name: Any, count: int, first: int) -> Any:
            """Of a ring that so many have come into, those from a number on."""
            return name[np.arange(max(0, first), count) % len(name)]

        boundary = int(c["burst_beats"]) << int(c["beat_shift"])
        for number in range(c["readers"]):
            r = s["readers"][number]
            chunk = unit["block"] if number == 2 else unit["chunk"]
            times([r[f"{name}_at"] for name in ("row", "split", "issued", "asks", "granted")])
            base = r["base"] + r["i"] * r["step_i"] + r["j"] * r["step_j"] + r["k"] * r["step_k"]
            addresses = ((base % boundary), (r["address"] % boundary))
            numbers(*addresses, *(r[x] for x in ("k", "row", "left", "block_end", "split")))
            numbers(*(r[x] for x in ("beats_now", "ends", "done")))
            numbers(*(r[x] - chunk for x in ("begun", "loaded", "freed")), min(r["begun"], 2))
            first = min(int(r["room_burst"]), int(r["bursts"]) - int(c["outstanding"]))
            numbers(r["bursts"] - r["room_burst"], r["issued"] - r["room_beats"])
            numbers(min(r["bursts"], c["outstanding"]), min(r["issued"], c["buffer_beats"]))
            times(last(s["start"][number], r["bursts"], first))
            found.append(last(s["beats"][number], r["bursts"], first))
            found.append(last(s["block"][number], r["bursts"], first))
            times(last(s["loaded"][number], r["loaded"], r["loaded"] - KNOWN))
            times(last(s["freed"][number], r["freed"], r["freed"] - KNOWN))
        for p in s["managers"]:
            times([p[f"{name}_at"] for name in ("grants", "free", "taken", "before")])
            numbers(p["turn"])
        times([unit["accepted_at"], unit["begun_at"]])
        numbers(unit["k"], unit["in_block"], unit["operations"] > 0, min(unit["block"], 2))
        times(s["results"])
        self._store(store, unit, boundary, times, numbers, last)
        return b"".join(part.tobytes() for part in found)

    def _store(self, t: Any, unit: Any, boundary: int, times: Any, numbers: Any, last: Any) -> None:
        """What belongs to the storer, and its writer."""
        c, s = self._c, self._state[0]
        names = ("row", "read", "put", "split", "issued", "taken", "answered")
        times([t[f"{name}_at"] for name in names])
        base = t["base"] + t["i"] * t["step_i"] + t["j"] * t["step_j"]
        numbers(base % boundary, t["address"] % boundary)
        numbers(*(t[x] for x in ("row", "beat", "left", "split", "beats_now", "done")))
        numbers(*(t[x] - unit["block"] for x in ("begun", "computed", "stored")))
        rows, puts, sends, bursts = (int(t[x]) for x in ("rows_in", "puts", "sends", "bursts"))
        numbers(rows - t["rows_out"], rows - t["rows_cut"], min(rows, KNOWN), puts - sends)
        numbers(
            min(puts, c["buffer_beats"]), min(bursts, c["addresses"] + 1), bursts - t["answers"]
        )
        waiting = last(s["rows"], rows, min(int(t["rows_out"]), int(t["rows_cut"])))
        times(waiting["at"])
        for row in waiting:
            numbers(row["beats"], row["address"] % boundary, row["block_end"])
        times(last(s["rows"], t["rows_out"], rows - KNOWN)["ended_at"])
        first = min(sends, puts - int(c["buffer_beats"])) - 1
        times(last(s["puts"], puts, first))
        times(last(s["leaves"], sends, first - 1))
        times(last(s["queued"], bursts, bursts - c["addresses"] - 1))
        times(last(s["answers"], t["answers"], bursts - c["addresses"] - 1))
        for name in ("computed", "stored"):
            times(last(s[name], t[name], t[name] - KNOWN))


def _repeat(state: Any, before: Any, cycles: int, periods: int) -> None:
    """Let the period from ``before`` to ``state``, of so many cycles, come so many times again."""
    s, b = state[0], before[0]
    later = cycles * periods

    def by(part: str, name: str, *index: int) -> int:
        """How far a count moves."""
        now, then = s[part], b[part]
        for number in index:
            now, then = now[number], then[number]
        return int(now[name] - then[name]) * periods

    rings = [("rows", by("store", "rows_in"))]
    rings += [(name, by("store", "bursts")) for name in ("queued", "answers")]
    rings += [(name, by("store", "puts")) for name in ("puts", "leaves")]
    rings += [(name, by("store", name)) for name in ("computed", "stored")]
    rolled = {name: np.roll(s[name], places) for name, places in rings}
    for name in ("start", "beats", "block", "loaded", "freed"):
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


def _later(times: Any, cycles: int) -> Any:
    return np.where(times == NEVER, NEVER, times + cycles)
