"""All that the future of a job can depend on, so that two states can be told to be alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from .state import KNOWN, NEVER

__all__ = ["Signature", "place"]

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
        self.times([unit["accepted_at"], unit["begun_at"]])
        self.numbers(unit["k"], unit["in_block"], unit["operations"] > 0, min(unit["block"], 2))
        self.times(self._s["results"])

    def _writer(self) -> None:
        """And the storer."""
        c, s = self._c, self._s
        t, ring = s["store"], self._ring
        names = ("row", "read", "put", "split", "issued", "taken", "answered")
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
