"""Periods of a job on DRAMs: what tells two states of the memories apart, and how one is shifted.

Banks are alike, so that a channel whose requests all lie some pages further does the same, in as
many banks further. All operands of the channel must have moved as far, by whole pages. Times of
a DRAM are fractions of cycles: they are compared only if they are such as are added without being
rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...timing.dram import Channels, Timing
from .signature import Signature, place
from .state import NEVER, PENDING, RING

__all__ = ["is_exact", "note_channels", "shift_channels"]

_FRACTION = 1 << 6
"""Times that are whole numbers of these parts of a cycle are added exactly."""

_BANK_TIMES = ("activate_at", "column_at", "precharge_at")
_BANK, _ROW, _, _TAG = range(4)


def is_exact(times: Timing) -> bool:
    """Returns whether the times of a DRAM are added without rounding."""
    return all(float(time) * _FRACTION % 1 == 0 for time in times)


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
