"""Cycle model of what computes: from the column loader's sets to rows that are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.sida import SidaConfig
from ...timing.compiled import inlined
from ...timing.parts import fields
from .ewise_core import (
    ELEMENTWISE,
    Program,
    core_offer,
    core_step,
    packer_step,
    program,
    set_up_elementwise,
    sum_rows_step,
)
from .held_bank import HELD, Held, set_up_held
from .held_elements import held_offer, held_ready, held_step
from .load_state import LOAD

WAYS = 2
"""Lanes of a leaf that sets are dealt out to."""

VECTORS: list[tuple[Any, ...]] = [
    # Masks of rings' addresses, and of banks; bits of a bank's number.
    *fields("window_mask", "lane_mask", "bank_mask", "bank_bits"),
    # Steps whose z is written.
    *fields("z_steps"),
    *fields("way_in", "way_out", "newest", "oldest"),
    # The bank's first lane in this cycle; operands that were not asked for, of all lanes.
    *fields("first_lane", "waiting"),
    # Outputs of the fork before it that have taken the current set, one bit each.
    *fields("dealt"),
    # Its output register: of a set what the sums need; `elements`: how many.
    (
        "gathered",
        np.dtype(fields("valid", "base", "columns", "elements")),
    ),
]
"""Fields of the machine."""


class Lanes(NamedTuple):
    """Sets that are inside, and what is known of their operands. By way:

    ``put``, ``taken`` [way]: sets so far; set n is in place n % depth. ``rows`` [way, place, leaf]:
    that are wanted, -1: none. ``asked`` [lane]: operands so far. ``arriving``, ``there`` [way,
    place]: how many leaves' operands arrive, and are there. ``sets`` [place] -> (base, columns,
    elements), of all sets. ``used``, ``line`` [bank]: the last cycle in which it reads, and what.
    """

    put: Any
    taken: Any
    rows: Any
    asked: Any
    arriving: Any
    there: Any
    sets: Any
    used: Any
    line: Any


def lanes(config: SidaConfig) -> Lanes:
    """Returns the state after reset."""
    depth = config.window // WAYS
    return Lanes(
        put=np.zeros(WAYS, np.int64),
        taken=np.zeros(WAYS, np.int64),
        rows=np.zeros((WAYS, depth, config.pes), np.int32),
        asked=np.zeros(WAYS * config.pes, np.int64),
        arriving=np.zeros((WAYS, depth), np.int64),
        there=np.zeros((WAYS, depth), np.int64),
        sets=np.zeros((config.window, 3), np.int64),
        used=np.full(config.gather_banks, -1, np.int64),
        line=np.zeros(config.gather_banks, np.int32),
    )


def set_up_vectors(m: Any, config: SidaConfig, phase: int) -> None:
    """Sets up the Gather of a machine of zeros, ``phase`` cycles after the reset."""
    m["window_mask"] = config.window - 1
    m["lane_mask"] = config.window // WAYS - 1
    m["bank_mask"] = config.gather_banks - 1
    m["bank_bits"] = (config.gather_banks - 1).bit_length()
    m["first_lane"] = phase % (WAYS * config.pes)


_MOST_LATENCY = 64

SUMS: list[tuple[Any, ...]] = [
    # Cycles from an input to its results; the place of this cycle.
    *fields("sums_latency", "sums_at"),
    ("sums_base", np.int64, (_MOST_LATENCY,)),
    ("sums_columns", np.int64, (_MOST_LATENCY,)),
    # Results of both products that leave in this cycle.
    ("results", np.dtype(fields("valid", "base", "columns"))),
]
"""Fields of the machine."""


def set_up_sums(m: Any, config: SidaConfig) -> None:
    """Sets up the sums of a machine of zeros, as after a reset."""
    m["sums_latency"] = config.sums_latency


@inlined
def sums_offer(m: Any) -> None:
    """Drives the results that leave in this cycle."""
    columns = m.sums_columns[m.sums_at]
    m.results.valid = columns != 0
    m.results.base = m.sums_base[m.sums_at]
    m.results.columns = columns


@inlined
def sums_step(m: Any) -> None:
    """Advances one cycle; takes the set at Gather's output."""
    given = m.gathered
    m.set_elements = given.elements if given.valid else 0
    m.sums_base[m.sums_at] = given.base
    m.sums_columns[m.sums_at] = given.columns if given.valid else 0
    following = m.sums_at + 1
    m.sums_at = following if following < m.sums_latency else 0


@inlined
def gather_ready(m: Any, g: Lanes, valid: bool) -> bool:
    """Tells whether the set at ``m.set`` may enter; records a wait for z in ``m.wait_z``."""
    goes = m.z_steps + 1 >= m.set.base >> m.step_shift
    m.wait_z = valid and not goes
    return goes and g.put[m.way_in] - g.taken[m.way_in] <= m.lane_mask


@inlined
def _ask(m: Any, g: Lanes, now: int) -> None:
    """Requests the next operand of each lane; each bank reads one line."""
    lanes = WAYS << m.pes_shift
    conflicts = 0
    for number in range(lanes):
        lane = (m.first_lane + number) & (lanes - 1)
        way = lane >> m.pes_shift
        asked = g.asked[lane]
        if asked == g.put[way]:
            continue
        place = asked & m.lane_mask
        row = g.rows[way, place, lane & (m.pes - 1)]
        if row >= 0:
            bank = row & m.bank_mask
            line = row >> m.bank_bits
            if g.used[bank] != now:
                g.used[bank] = now
                g.line[bank] = line
            elif g.line[bank] != line:
                conflicts += 1
                continue
        g.asked[lane] = asked + 1
        g.arriving[way, place] += 1
        m.waiting -= 1
    m.conflicts = conflicts


@inlined
def _enter(m: Any, g: Lanes) -> None:
    """The set at ``m.set``."""
    given = m.set
    way = m.way_in
    place = g.put[way] & m.lane_mask
    for leaf in range(m.pes):
        g.rows[way, place, leaf] = given.row[leaf] if given.begin <= leaf < given.end else -1
    g.put[way] += 1
    m.waiting += m.pes
    m.way_in = (way + 1) & (WAYS - 1)
    g.sets[m.newest, 0] = given.base
    g.sets[m.newest, 1] = given.columns
    g.sets[m.newest, 2] = given.end - given.begin
    m.newest = (m.newest + 1) & m.window_mask


@inlined
def gather_step(m: Any, g: Lanes, enters: bool, ready: bool, now: int) -> None:
    """Advances one cycle. ``enters``: the set at ``m.set`` enters; ``ready``: the output is
    accepted; ``now``: another number in every cycle."""
    left = m.gathered
    if ready or not left.valid:
        way = m.way_out
        place = g.taken[way] & m.lane_mask
        left.valid = g.there[way, place] == m.pes
        if left.valid:
            g.there[way, place] = 0
            g.taken[way] += 1
            m.way_out = (way + 1) & (WAYS - 1)
            left.base = g.sets[m.oldest, 0]
            left.columns = g.sets[m.oldest, 1]
            left.elements = g.sets[m.oldest, 2]
            m.oldest = (m.oldest + 1) & m.window_mask
    for way in range(WAYS):
        for place in range(m.lane_mask + 1):
            g.there[way, place] += g.arriving[way, place]
            g.arriving[way, place] = 0
    m.conflicts = 0
    if m.waiting:
        _ask(m, g, now)
    m.first_lane = (m.first_lane + 1) & ((WAYS << m.pes_shift) - 1)
    if enters:
        _enter(m, g)


MOST_PES = 1024
"""Leaves of a set at most, more than the hardware is built with."""


_HANDSHAKE = fields("valid", "ready")

SET = np.dtype(
    [
        *_HANDSHAKE,
        # Leaves `begin` to `end - 1` are present, no others.
        *fields("base", "columns", "final", "begin", "end"),
        ("present", np.int8, (MOST_PES,)),
        ("row", np.int32, (MOST_PES,)),
        ("offset", np.int32, (MOST_PES,)),
    ]
)
"""See ``set_layout``; of a leaf that is not present ``row`` and ``offset`` are anything."""

RELOAD = np.dtype(
    [
        *_HANDSHAKE,
        *fields("row", "last"),
        ("present", np.int8, (MOST_PES,)),
        ("column", np.int32, (MOST_PES,)),
    ]
)
"""See ``reload_layout``."""

SHARED: list[tuple[Any, ...]] = [
    # The configuration, and logarithms of powers of two.
    *fields("pes", "pes_shift", "subtensor", "step_shift"),
    # The job, as its registers say.
    *fields("rows", "passes", "second_product", "transposed", "words", "entry"),
    # The column loader's sets, forked to Gather and HeldElements (``deal``, which is of the half
    # that computes: it sets `ready`).
    ("set", SET),
    # The core's: rows that it wants of the vector loader, the answers, rows that it stores.
    ("requests", np.dtype([*_HANDSHAKE, *fields("vector", "base", "rows")])),
    ("loaded", np.dtype(_HANDSHAKE)),
    ("stored", np.dtype([*_HANDSHAKE, *fields("vector", "base")])),
    # Panels that are read again, and their rows.
    ("again", np.dtype([*_HANDSHAKE, *fields("panel", "columns")])),
    ("reload", RELOAD),
    # Pulses of PassControl in this cycle, and its `turned`.
    *fields("first", "second", "turned"),
    # Pulses of the compute half in this cycle: EwiseCore's `done`, HeldElements' `done`.
    *fields("core_done", "sums_done"),
    # The same, to be counted: BothSums' `elements` (how many bits are set), Gather's `conflicts`
    # and `waits`, HeldElements' `counts.most`, whether a set waits for it, EwiseCore's `executes`
    # and `waits`.
    *fields("set_elements", "conflicts", "wait_z", "most", "wait_held", "executes", "core_waits"),
]
"""Fields of the machine. Who takes from a stream sets its ``ready`` in each cycle, who gives sets
the rest. In a cycle the load half first sets what it offers (``set``, ``loaded``, ``reload``, the
pulses) and the ``ready`` of ``requests``, ``stored`` and ``again``, which are all known from its
registers; then the half that computes takes its cycle; then the load half its own."""


def set_up_sizes(m: Any, config: SidaConfig) -> None:
    """A machine of zeros gets its sizes."""
    for name, value in {
        "pes": config.pes,
        "pes_shift": config.pes.bit_length() - 1,
        "subtensor": config.subtensor,
        "step_shift": config.subtensor.bit_length() - 1,
    }.items():
        m[name] = value


def set_up_shared(m: Any, config: SidaConfig, job: dict[str, int]) -> None:
    """A machine of zeros gets its sizes and its job: registers by their names."""
    set_up_sizes(m, config)
    for name in ("rows", "passes", "second_product", "transposed", "words", "entry"):
        m[name] = job[name.upper()]


MACHINE = np.dtype([*SHARED, *LOAD, *VECTORS, *SUMS, *ELEMENTWISE, *HELD])
"""One for all parts, also for a part alone: numba would take another for a type of its own."""

_TO_GATHER, _TO_HELD = 1, 2
"""Outputs of the fork of sets."""


class Compute(NamedTuple):
    """State of the compute half that is stored in arrays."""

    lanes: Lanes
    program: Program
    held: Held


def set_up_compute(
    m: Any, config: SidaConfig, job: Mapping[str, int], words: Sequence[int], phase: int
) -> Compute:
    """Sets up the compute half of a machine of zeros with its sizes, ``phase`` cycles after reset.

    ``job``: registers by name; ``words``: the program.
    """
    set_up_vectors(m, config, phase)
    set_up_sums(m, config)
    set_up_elementwise(m, config)
    return Compute(lanes(config), program(words), set_up_held(m, config, phase))


@inlined
def _deal(m: Any, c: Compute) -> tuple[bool, bool]:
    """The fork of sets; returns whether one enters Gather, and HeldElements."""
    pending = (_TO_GATHER | _TO_HELD if m.second_product else _TO_GATHER) & ~m.dealt
    to_gather = m.set.valid and pending & _TO_GATHER != 0
    to_held = m.set.valid and pending & _TO_HELD != 0
    gathers = to_gather and gather_ready(m, c.lanes, True)
    holds = to_held and held_ready(m)
    if not to_gather:
        m.wait_z = 0
    m.wait_held = to_held and not holds
    m.set.ready = gathers == to_gather and holds == to_held
    if m.set.valid:
        taken = m.dealt | gathers * _TO_GATHER | holds * _TO_HELD
        m.dealt = 0 if m.set.ready else taken
    return gathers, holds


@inlined
def compute_step(m: Any, c: Compute, now: int) -> None:
    """Advances one cycle; ``now``: another number in every cycle."""
    second = m.runs_second != 0
    sums_offer(m)
    core_offer(m)
    gathers, holds = _deal(m, c)
    z_ready = held_offer(m)
    # E1's rows are z, if there is a second product.
    into_z = m.second_product and not second
    base = m.core_result.base
    core_step(m, c.program, (m.sum_there if second else m.packed.valid) != 0, z_ready or not into_z)
    if m.second_product:
        held_step(m, c.held, holds, into_z and m.result_taken)
    packer_step(m, m.row_taken and not second)
    sum_rows_step(m, m.row_taken and second)
    sums_step(m)
    gather_step(m, c.lanes, gathers, True, now)
    # Steps that are complete.
    ends_step = (base + m.pes) & (m.subtensor - 1) == 0
    if m.first:
        m.z_steps = 0
    elif m.result_taken and not second and ends_step:
        m.z_steps += 1
    if m.first or m.second:
        m.runs_second = m.second
