"""State of the cycle model of HeldElements: fields of the machine's record, and arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.sida import CHUNK, SidaConfig
from ...timing.parts import RING_QUEUE, fields

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
