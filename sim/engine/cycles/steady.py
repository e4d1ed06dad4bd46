"""Periods of a job that are left out, as they are like the one before.

When the state is what it was some blocks ago, but for a shift of all times, counts and positions,
the same blocks follow in the same time, until a part comes to the last block of its row, or column,
which may be smaller. As many periods as go before are added up, none is estimated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...timing.dram import Channels, Timing
from .state import KNOWN, NEVER, PENDING, RING

# Periods of a job on DRAMs: what tells two states of the memories apart, and how one is shifted.
#
# Banks are alike, so that a channel whose requests all lie some pages further does the same, in as
# many banks further. All operands of the channel must have moved as far, by whole pages. Times of
# a DRAM are fractions of cycles: they are compared only if they are such as are added without
# being rounded.


_PAST = 1 << 10
"""Nothing waits for events more than so many cycles and the unit's interval ago."""


def place(walk: Any) -> int:
    """The address of the first row of the block, and chunk, that a reader, or the storer, is at."""
    base = int(walk["base"]) + int(walk["i"]) * int(walk["step_i"])
    base += int(walk["j"]) * int(walk["step_j"])
    return base + (int(walk["k"]) * int(walk["step_k"]) if "k" in walk.dtype.names else 0)


class Signature:
    """Bytes that are the same for states that differ but in when and where they are: in a shift of
    all times, counts and positions. A time that lies so far back that nothing waits for it any
    more is as good as any other such time.

    Of addresses only their places between boundaries of bursts decide on flat memories. On
    DRAMs they are taken from the part's own block on.

    Parameters
    ----------
    c, s: the records of a job
    now: the cycle at hand
    """

    def __init__(self, c: Any, s: Any, now: int) -> None:
        self._c, self._s, self._now = c, s, now
        self._oldest = -_PAST - int(c["interval"])
        self._boundary = int(c["burst_beats"]) << int(c["beat_shift"])
        self._parts: list[bytes] = []
        for number in range(c["readers"]):
            self._reader(number)
        for manager in s["managers"]:
            self.times([manager[f"{name}_at"] for name in ("grants", "free", "taken", "before")])
            self.numbers(manager["turn"])
        self._unit()
        self._writer()

    @property
    def content(self) -> bytes:
        return b"".join(self._parts)

    def times(self, values: Any) -> None:
        """Cycles; `NEVER` stays what it is."""
        ahead = np.atleast_1d(np.asarray(values))
        relative = np.maximum(ahead - self._now, self._oldest)
        self._parts.append(np.where(ahead >= NEVER, NEVER, relative).tobytes())

    def numbers(self, *values: Any) -> None:
        self._parts.append(np.array(values, np.int64).tobytes())

    def address(self, address: int, first: int) -> int:
        """Reduces an address to the part that decides; ``first``: that of the part's block."""
        return int(address) % self._boundary if self._c["flat"] else int(address) - first

    def _ring(self, ring: Any, count: int, first: int) -> Any:
        """Returns the entries from number ``first`` on of a ring with ``count`` entries so far."""
        return ring[np.arange(max(0, int(first)), int(count)) % len(ring)]

    def _reader(self, number: int) -> None:
        c, s = self._c, self._s
        r, unit = s["readers"][number], s["unit"]
        ring = self._ring
        self.times([r[f"{name}_at"] for name in ("row", "split", "issued", "asks", "granted")])
        base = place(r)
        self.numbers(self.address(base, base), self.address(r["address"], base))
        self.numbers(*(r[x] for x in ("k", "row", "left", "block_end", "split")))
        self.numbers(*(r[x] for x in ("beats_now", "ends", "done")))
        chunk = unit["block"] if number == 2 else unit["chunk"]
        self.numbers(*(r[x] - chunk for x in ("begun", "loaded", "freed")), min(r["begun"], 2))
        bursts = int(r["bursts"])
        first = min(int(r["room_burst"]), bursts - int(c["outstanding"]))
        self.numbers(bursts - r["room_burst"], r["issued"] - r["room_beats"])
        self.numbers(min(bursts, c["outstanding"]), min(r["issued"], c["buffer_beats"]))
        self.times(ring(s["start"][number], bursts, first))
        for name in ("beats", "block"):
            self.numbers(*ring(s[name][number], bursts, first))
        for name in ("loaded", "freed"):
            self.times(ring(s[name][number], r[name], r[name] - KNOWN))

    def _unit(self) -> None:
        unit = self._s["unit"]
        self.times([unit[f"{name}_at"] for name in ("moved", "accepted", "begun")])
        self.numbers(unit["k"], unit["in_block"], unit["operations"] > 0, min(unit["block"], 2))
        self.times(self._s["results"])

    def _writer(self) -> None:
        """And the storer."""
        c, s = self._c, self._s
        t, ring = s["store"], self._ring
        names = ("row", "read", "moved", "put", "split", "issued", "taken", "answered")
        self.times([t[f"{name}_at"] for name in names])
        base = place(t)
        self.numbers(self.address(base, base), self.address(t["address"], base))
        self.numbers(*(t[x] for x in ("row", "beat", "left", "split", "beats_now", "done")))
        self.numbers(*(t[x] - s["unit"]["block"] for x in ("begun", "computed", "stored")))
        rows, puts, sends, bursts = (int(t[x]) for x in ("rows_in", "puts", "sends", "bursts"))
        queued = int(c["addresses"]) + 1
        self.numbers(rows - t["rows_out"], rows - t["rows_cut"], min(rows, KNOWN), puts - sends)
        self.numbers(min(puts, c["buffer_beats"]), min(bursts, queued), bursts - t["answers"])
        waiting = ring(s["rows"], rows, min(t["rows_out"], t["rows_cut"]))
        self.times(waiting["at"])
        for row in waiting:
            self.numbers(row["beats"], self.address(row["address"], base), row["block_end"])
        self.times(ring(s["rows"], t["rows_out"], rows - KNOWN)["ended_at"])
        first = min(sends, puts - int(c["buffer_beats"])) - 1
        self.times(ring(s["puts"], puts, first))
        self.times(ring(s["leaves"], sends, first - 1))
        self.times(ring(s["queued"], bursts, bursts - queued))
        self.times(ring(s["answers"], t["answers"], bursts - queued))
        for name in ("computed", "stored"):
            self.times(ring(s[name], t[name], t[name] - KNOWN))


_FRACTION = 1 << 6
"""Times that are whole numbers of these parts of a cycle are added exactly."""

_BANK_TIMES = ("activate_at", "column_at", "precharge_at")
_BANK, _ROW, _, _TAG = range(4)


def is_exact(times: Timing) -> bool:
    """Returns whether the times of a DRAM are added without rounding, and no refresh comes between
    periods."""
    return not times.refresh_interval and all(float(time) * _FRACTION % 1 == 0 for time in times)


def _operands(c: Any, s: Any, channel: int) -> list[Any]:
    """The parts that use a channel."""
    found = [r for r in s["readers"][: c["readers"]] if r["manager"] == channel]
    return [*found, s["store"]] if s["readers"][2]["manager"] == channel else found


def note_channels(found: Signature, c: Any, s: Any, d: Channels) -> None:
    """Add to a signature what belongs to the memories."""
    span = max(int(c["page_bytes"]), int(c["burst_beats"]) << int(c["beat_shift"]))
    for channel in range(c["managers"]):
        p = s["managers"][channel]
        places = [place(part) for part in _operands(c, s, channel)]
        base = places[0]
        found.numbers(base % span, *(other - base for other in places))
        found.times([p["serves_at"], p["served_at"]])
        found.numbers(p["waiting"], p["arrived"] - p["taken_writes"])
        for reader, burst, address, beats, at in s["asks"][channel][: p["waiting"]]:
            r = s["readers"][reader]
            found.numbers(reader, burst - r["bursts"], address - place(r), beats)
            found.times(at)
        for number in range(p["taken_writes"], p["arrived"]):
            address, beats, at = s["arriving"][channel][number % PENDING]
            found.numbers(address - place(s["store"]), beats)
            found.times(at)
        _note_controller(found, c, s, d, channel, base // int(c["page_bytes"]))
    for number in range(c["readers"]):
        r = s["readers"][number]
        found.numbers(r["bursts"] - r["sent"])
        found.numbers(*(s["parts"][number][n % RING] for n in range(r["sent"], r["bursts"])))


def _note_controller(
    found: Signature, c: Any, s: Any, d: Channels, channel: int, page: int
) -> None:
    """Its queues and banks; ``page``: the first one of the operand at hand."""
    banks = d.row.shape[1]
    found.numbers(*d.count[channel], d.writing[channel])
    for write in range(2):
        for bank, row, accesses, tag in d.queue[channel, write, : d.count[channel, write]]:
            found.numbers(row * banks + bank - page, accesses)
            if not write:
                burst = tag % RING - s["readers"][tag // RING]["bursts"]
                found.numbers(tag // RING, burst % RING)
    for number in range(banks):
        bank = (number + page) % banks
        row = d.row[channel, bank]
        found.numbers(row * banks + bank - page if row >= 0 else NEVER)
        found.times([getattr(d, name)[channel, bank] for name in _BANK_TIMES])
    found.times(d.clock[channel])


def shift_channels(c: Any, s: Any, before: Any, d: Channels, later: int, periods: int) -> None:
    """Shift the memories, and what is on its way to them, by so many periods.

    Parameters
    ----------
    s, before: the states at the end of a period, and at its beginning
    later: how far times move
    """
    moved = [periods * (place(s["readers"][n]) - place(before["readers"][n])) for n in range(3)]
    of_store = periods * (place(s["store"]) - place(before["store"]))
    bursts = periods * (s["readers"]["bursts"] - before["readers"]["bursts"])
    for channel in range(c["managers"]):
        for ask in s["asks"][channel][: s["managers"][channel]["waiting"]]:
            reader = ask[0]
            ask[1] += bursts[reader]
            ask[2] = (ask[2] + moved[reader]) & c["mask"]
            ask[4] += later
        arrived = s["managers"][channel]["arrived"] - before["managers"][channel]["arrived"]
        arriving = np.roll(s["arriving"][channel], periods * arrived % PENDING, axis=0)
        arriving[:, 0] = (arriving[:, 0] + of_store) & c["mask"]
        arriving[:, 2] += later
        s["arriving"][channel] = arriving
        first = [moved[n] for n in range(c["readers"]) if s["readers"][n]["manager"] == channel]
        bytes_moved = first[0] if first else of_store
        _shift_controller(d, channel, bytes_moved // int(c["page_bytes"]), bursts, later)


def _shift_controller(d: Channels, channel: int, pages: int, bursts: Any, later: int) -> None:
    """Its queues and banks."""
    banks = d.row.shape[1]
    for write in range(2):
        queue = d.queue[channel, write]
        page = queue[:, _ROW] * banks + queue[:, _BANK] + pages
        queue[:, _BANK], queue[:, _ROW] = page % banks, page // banks
        if not write:
            reader = queue[:, _TAG] // RING
            queue[:, _TAG] = reader * RING + (queue[:, _TAG] + bursts[reader]) % RING
    page = d.row[channel] * banks + np.arange(banks) + pages
    row = np.where(d.row[channel] < 0, -1, page // banks)
    d.row[channel] = np.roll(row, pages % banks)
    for name in _BANK_TIMES:
        times = getattr(d, name)
        times[channel] = np.roll(times[channel], pages % banks) + later
    d.clock[channel] += later


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
