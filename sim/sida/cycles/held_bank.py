"""Cycle model of ``HeldBank``: lists of chunks, and who reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.sida import CHUNK, SidaConfig
from ...timing.compiled import inlined
from ...timing.parts import RING_QUEUE, fields, queue_step, ring_step

SETS, _ROWS = 16, 4
"""Sets, and parts of rows that are read again, that may wait in a bank."""

PARTS = 32
"""Parts of rows that are read again, and wait for their panel."""

IDLE, WAIT, USE, RELOAD, DRAIN = range(5)
"""States of PanelControl."""

_RECENT = 4
"""More than the sums that the next one may have to wait for."""

_ALWAYS = 1 << 30


def _small(*names: str) -> list[tuple[Any, ...]]:
    return [(name, np.int32) for name in names]


_SCATTER = np.dtype(
    _small(
        # The queue of shares: in the memory, at the output, its next places; of the one at the
        # output elements that are left, and whether a mark follows.
        *("level", "valid", "put_at", "read_at", "left", "mark"),
        # Elements: the next places.
        *("element_in", "element_out"),
        # The output.
        *("o_valid", "o_present", "o_mark", "o_panel", "o_place"),
    )
)
_BANK = np.dtype(
    [
        # Free chunks.
        ("free", _small(*RING_QUEUE.names)),
        *_small(
            # PanelLists: the element that is taken, whether it is in no list yet, whether its list
            # is looked at in this cycle.
            *("panel", "place", "is_open", "looks"),
            # In this cycle: the element is in its list at the end; it is put there, with a new
            # chunk.
            *("ends", "adds", "fresh"),
            # Chunks in use; the first one that never was.
            *("used", "unused"),
            # ListReader: the list that was read last; the one whose chunk's follower is looked up,
            # and what it is.
            *("last", "linking", "linked", "follower", "busy"),
            # The output; steps whose elements are there; the highest panel, the one of the newest
            # element; elements.
            *("o_valid", "o_place", "steps", "top", "newest", "count"),
            # LateSums: cycles so far in which it went on; the last one in which an element entered.
            *("advanced", "entered"),
            # Set when all refetched elements have arrived.
            "ended",
        ),
    ]
)
_CURSOR = np.dtype(_small("left", "chunk", "offset", "next", "asked", "linked"))
_ENTRY = np.dtype(_small("count", "head", "tail"))

HELD: list[tuple[Any, ...]] = [
    # The configuration.
    *fields("panels", "chunks", "lists", "add_stages", "late_stages"),
    # The walk over panels behind the reset.
    *fields("panel_walk"),
    # PanelControl.
    *fields("held_state", "due", "panel_end", "needs", "held_done", "giving", "giving_panel"),
    # PanelsAhead: the first panel that is neither kept nor asked for, where the columns of the step
    # behind it end; the first one without all of its elements, the same; whether the first one, and
    # the one that is due, were given up.
    *fields("ahead", "ahead_end", "whole_panels", "whole_end", "ahead_lost", "due_lost"),
    # Parts of rows that wait for their panel.
    ("parts", RING_QUEUE),
    # All banks: a panel's lists are looked at, or lost; the elements that are read are dropped.
    *fields("fetched", "fetch_panel", "fetch_loses", "reads_drop", "fetched_lost"),
    # LateElements: the end of the step whose columns come; of the set that is there, whether that
    # is known already, and some element is late.
    *fields("boundary", "late_known", "late_any"),
    # Set if a bank has no free entry for a share of a set, or of refetched rows.
    *fields("scatter_full", "again_full"),
    # Rows of z that are there; first values: the columns that are, those that are written.
    *fields("held_z", "first_columns", "first_base", "first_count"),
    # EmptyValues.
    *fields("empty_valid", "empty_base"),
    # Counts: held by all banks, the same a cycle later, at most.
    *fields("held_total", "held_now", "held_most"),
]
"""Fields of the machine."""


class Queues(NamedTuple):
    """A Scatter: ``banks``; ``shares`` [bank, place] -> (elements, mark); ``elements`` [bank,
    place] -> (panel, place); ``fresh`` [bank]: elements of the set at hand."""

    banks: Any
    shares: Any
    elements: Any
    fresh: Any


class Held(NamedTuple):
    """State of the buffer of elements that is stored in arrays.

    ``banks``; ``cursors`` [bank, list]; ``recent`` [bank, place]: of the latest elements the places
    in w, -1: none. ``entries`` [panel, bank, list]; ``lost`` [panel]: whether its lists are;
    ``given_up`` [panel]: whether it was; ``asked`` [panel]: the first pass in which its rows were
    asked for, from 1, 0: none. ``parts`` [place]: of rows that wait. ``places`` [bank,
    place of an element]; ``links`` [bank, chunk]; ``free`` [bank, place] -> chunk.
    """

    banks: Any
    cursors: Any
    recent: Any
    entries: Any
    lost: Any
    given_up: Any
    asked: Any
    parts: Any
    places: Any
    links: Any
    free: Any
    late: Queues
    again: Queues


def _queues(pes: int, window: int) -> Queues:
    return Queues(
        banks=np.zeros(pes, _SCATTER),
        shares=np.zeros((pes, window, 2), np.int32),
        elements=np.zeros((pes, (window + 1) * pes, 2), np.int32),
        fresh=np.zeros(pes, np.int32),
    )


def set_up_held(m: Any, config: SidaConfig, phase: int) -> Held:
    """Sets up HeldElements in a machine of zeros, ``phase`` cycles after the reset."""
    pes = config.pes
    panels = config.vector_words // config.subtensor
    chunks = config.buffer_words // pes // CHUNK
    for name, value in {
        "panels": panels,
        "chunks": chunks,
        "lists": config.held_lists,
        "add_stages": config.adder_stages,
        "late_stages": 1 + config.multiplier_stages + config.adder_stages,
        "panel_walk": min(phase, panels),
    }.items():
        m[name] = value
    banks = np.zeros(pes, _BANK)
    banks["entered"] = -_ALWAYS
    part = np.dtype([*_small("last"), ("present", np.int8, (pes,)), ("column", np.int32, (pes,))])
    return Held(
        banks=banks,
        cursors=np.zeros((pes, m["lists"]), _CURSOR),
        recent=np.full((pes, _RECENT), -1, np.int32),
        entries=np.zeros((panels, pes, m["lists"]), _ENTRY),
        lost=np.zeros(panels, np.int8),
        given_up=np.zeros(panels, np.int8),
        asked=np.zeros(panels, np.int64),
        parts=np.zeros(PARTS + 1, part),
        places=np.zeros((pes, config.buffer_words // pes), np.int32),
        links=np.zeros((pes, chunks), np.int32),
        free=np.zeros((pes, chunks + 1), np.int32),
        late=_queues(pes, SETS),
        again=_queues(pes, _ROWS),
    )


@inlined
def scatter_step(q: Queues, bank: int, ready: bool) -> int:
    """Advances a bank that is not empty by one cycle; ``ready``: its output is accepted. Returns
    the change of the number of full banks."""
    s = q.banks[bank]
    window = q.shares.shape[1]
    free = ready or not s.o_valid
    ends = s.left <= 1
    if free:
        s.o_valid = s.valid
        if s.valid:
            s.o_present = s.left
            s.o_mark = s.mark and ends
            if s.left:
                s.o_panel = q.elements[bank, s.element_out, 0]
                s.o_place = q.elements[bank, s.element_out, 1]
                following = s.element_out + 1
                s.element_out = following if following < q.elements.shape[1] else 0
                s.left -= 1
    goes = free and ends
    if not queue_step(s, False, goes):
        return 0
    s.left = q.shares[bank, s.read_at, 0]
    s.mark = q.shares[bank, s.read_at, 1]
    s.read_at = s.read_at + 1 if s.read_at + 1 < window else 0
    return -1 if s.level == window - 1 else 0


@inlined
def scatter_element(q: Queues, bank: int, panel: int, place: int) -> None:
    """An element of the set that comes, to the queue of a bank, which has room."""
    s = q.banks[bank]
    q.elements[bank, s.element_in, 0] = panel
    q.elements[bank, s.element_in, 1] = place
    following = s.element_in + 1
    s.element_in = following if following < q.elements.shape[1] else 0
    q.fresh[bank] += 1


@inlined
def scatter_shares(q: Queues, mark: bool) -> int:
    """Writes the banks' shares of a set after its elements, and all shares after a mark. Returns
    how many banks have become full."""
    window = q.shares.shape[1]
    full = 0
    for bank in range(len(q.fresh)):
        if mark or q.fresh[bank]:
            s = q.banks[bank]
            q.shares[bank, s.put_at, 0] = q.fresh[bank]
            q.shares[bank, s.put_at, 1] = mark
            q.fresh[bank] = 0
            s.put_at = s.put_at + 1 if s.put_at + 1 < window else 0
            s.level += 1
            full += s.level == window
    return full


@inlined
def look(m: Any, h: Held, number: int) -> bool:
    """Decides the action of a bank's current element; returns whether it waits for a chunk."""
    bank = h.banks[number]
    bank.ends = 0
    bank.adds = 0
    if not bank.looks:
        return False
    lost = h.lost[bank.panel]
    entry = h.entries[bank.panel, number, bank.place & (m.lists - 1)]
    bank.fresh = entry.count & (CHUNK - 1) == 0
    if bank.fresh and not lost and not bank.free.valid and bank.unused == m.chunks:
        return True
    bank.ends = 1
    bank.adds = not lost
    return False


@inlined
def read_step(m: Any, h: Held, number: int, ready: bool) -> int:
    """Advances the reader by one cycle; ``ready``: the bank's output is accepted. Returns the chunk
    that is freed, -1: none."""
    bank = h.banks[number]
    room = ready or not bank.o_valid
    if not bank.busy and not bank.linking:
        if room:
            bank.o_valid = 0
        return -1
    chosen = -1
    for step in range(1, m.lists + 1):
        one = (bank.last + step) & (m.lists - 1)
        cursor = h.cursors[number, one]
        if cursor.left and not (m.reads_drop and cursor.asked and not cursor.linked):
            chosen = one
            break
    cursor = h.cursors[number, max(chosen, 0)]
    left, chunk, offset = cursor.left, cursor.chunk, cursor.offset
    following, linked = cursor.next, cursor.linked
    if bank.linking:
        h.cursors[number, bank.linked].next = bank.follower
        h.cursors[number, bank.linked].linked = 1
        if bank.linked == chosen:
            following = bank.follower
        bank.linking = 0
    moves = chosen >= 0 and (room or m.reads_drop)
    freed = -1
    if moves:
        bank.last = chosen
        seeks = m.reads_drop and left > CHUNK and not linked
        count = CHUNK if m.reads_drop else 1
        more = left > count
        if seeks or (not m.reads_drop and offset == 0):
            bank.linking = 1
            bank.linked = chosen
            bank.follower = h.links[number, chunk]
        cursor.asked = 1
        if not seeks:
            cursor.left = left - count if more else 0
            cursor.offset = offset + 1
            if m.reads_drop or offset == CHUNK - 1 or not more:
                cursor.chunk = following
                cursor.offset = 0
                cursor.asked = 0
                cursor.linked = 0
                freed = chunk
            if not more:
                bank.busy = 0
                for one in range(m.lists):
                    bank.busy |= h.cursors[number, one].left != 0
    if room:
        bank.o_valid = moves and not m.reads_drop
        if bank.o_valid:
            bank.o_place = h.places[number, chunk * CHUNK + offset]
            m.held_total -= 1
    return freed


@inlined
def _add(m: Any, h: Held, number: int) -> None:
    """The element to the end of its list."""
    bank = h.banks[number]
    entry = h.entries[bank.panel, number, bank.place & (m.lists - 1)]
    offset = entry.count & (CHUNK - 1)
    if offset == 0:
        chunk = h.free[number, bank.free.at] if bank.free.valid else bank.unused
        if entry.count:
            h.links[number, entry.tail] = chunk
        else:
            entry.head = chunk
        entry.tail = chunk
    h.places[number, entry.tail * CHUNK + offset] = bank.place
    entry.count += 1
    m.held_total += 1


@inlined
def _load(m: Any, h: Held, number: int) -> None:
    """The lists that were looked at to the reader."""
    bank = h.banks[number]
    for one in range(m.lists):
        entry, cursor = h.entries[m.fetch_panel, number, one], h.cursors[number, one]
        cursor.left = entry.count
        cursor.chunk = entry.head
        cursor.offset = 0
        cursor.asked = 0
        cursor.linked = 0
        if entry.count:
            bank.busy = 1
        if m.reads_drop:
            m.held_total -= entry.count
        entry.count = 0


@inlined
def _free(m: Any, h: Held, number: int, freed: int, taken: bool) -> None:
    """The queue of free chunks."""
    bank = h.banks[number]
    if taken and not bank.free.valid:
        bank.unused += 1
    if freed >= 0:
        h.free[number, bank.free.tail] = freed
    ring_step(bank.free, h.free.shape[1] - 1, freed >= 0, taken)
    bank.used += taken - (freed >= 0)


@inlined
def bank_step(
    m: Any, h: Held, number: int, freed: int, order: bool, panel: int, loses: bool
) -> bool:
    """Advances the lists by one cycle, after :func:`look` and :func:`read_step`. ``order``: a
    panel's lists are processed, and dropped if ``loses``. Returns whether the bank accepts the
    offered element."""
    bank = h.banks[number]
    source = h.late.banks[number]
    top = bank.top
    if bank.adds and bank.newest > top:
        bank.top = bank.newest
    if order and loses and top == panel and top:
        bank.top = top - 1
    taken = bank.adds != 0 and bank.fresh != 0
    if bank.adds:
        _add(m, h, number)
    if m.fetched:
        _load(m, h, number)
    if taken or freed >= 0 or bank.free.level:
        _free(m, h, number, freed, taken)
    stays = bank.is_open and not bank.ends
    room = m.panel_walk == m.panels and not order and not stays
    comes = source.o_valid and source.o_present
    ready = room or not source.o_present
    takes = comes and room
    if takes:
        bank.panel = source.o_panel
        bank.place = source.o_place
        bank.newest = source.o_panel
    bank.is_open = stays or takes
    bank.looks = bank.is_open and not order
    if source.o_valid and ready and source.o_mark:
        bank.steps += 1
    return ready
