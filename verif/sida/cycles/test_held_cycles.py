"""The cycle model of HeldElements against the hardware: equal in every cycle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from tilewright.hw.sida.held.held_elements import HeldElements
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.compute import MACHINE, set_up_sizes
from tilewright.sim.sida.cycles.held_bank import Held, set_up_held
from tilewright.sim.sida.cycles.held_elements import held_offer, held_ready, held_step
from tilewright.sim.sida.result.products import Columns
from tilewright.sim.timing.compiled import compiled, inlined
from tilewright.sim.timing.parts import fields
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import Replayed, Sets, set_inputs, show_set
from tilewright.verif.sida.held.matrices import SHAPES, drawn
from tilewright.verif.timing.striped.pace import pattern

GATES = ("i", "first", "z", "request", "reload")
"""Streams that may pause."""

SEEN = np.dtype(
    fields(
        *("start", "rows", "shown", "first_valid", "first_base", "first_columns", "z_valid"),
        *("reload_valid", "reload_last", "reload_at", "reload_end", "i_ready", "z_ready"),
        *("reload_ready", "request_valid", "request_panel", "request_columns", "done"),
        *("counts_held", "counts_most"),
    )
)
"""Record of a cycle. ``shown``: the set, -1: none; ``reload_at``, ``reload_end``: elements of the
refetched row, in the order of rows."""


class Passage(NamedTuple):
    """Sets, and the matrix by rows: pointers [row], columns. ``asked`` [place] -> (panel, columns):
    a ring. ``counts``: how many elements of a row come at once."""

    sets: Sets
    pointers: Any
    columns: Any
    asked: Any
    counts: Any


_MOST_ASKED = 512


def passage(
    config: SidaConfig,
    matrix: Columns,
    rng: np.random.Generator,
    cut: float,
    *,
    transposed: bool = False,
) -> Passage:
    """The sets of a matrix, some of them cut in two; ``transposed``: rows that are read again are
    its columns."""
    pes, size = config.pes, matrix.size
    owners = matrix.columns
    records: list[tuple[int, int, int, int, int]] = []
    rows, offsets = [], []
    place, base = 0, 0
    while base < size:
        end = min(base + pes, (base // config.subtensor + 1) * config.subtensor, size)
        stop = (place // pes + 1) * pes
        if rng.random() < cut:
            stop = min(stop, place + 1 + int(rng.integers(pes)))
        stop = min(stop, int(matrix.pointers[end]))
        which = np.arange(place, max(stop, place))
        row, offset = rng.integers(0, size, pes), rng.integers(0, pes, pes)
        row[which % pes] = matrix.rows[which]
        offset[which % pes] = owners[which] - base
        begin = place % pes
        place += len(which)
        complete = base
        while complete < end and matrix.pointers[complete + 1] <= place:
            complete += 1
        records.append((base, complete - base, complete == size, begin, begin + len(which)))
        rows.append(row)
        offsets.append(offset)
        base = complete
    major, minor = (owners, matrix.rows) if transposed else (matrix.rows, owners)
    order = np.lexsort((minor, major))
    return Passage(
        Sets(
            np.array(records, np.dtype(fields("base", "columns", "final", "begin", "end"))),
            np.array(rows, np.int64),
            np.array(offsets, np.int64),
        ),
        np.searchsorted(major[order], np.arange(size + 1)),
        minor[order],
        np.zeros((_MOST_ASKED, 2), np.int64),
        rng.integers(1, pes + 1, 997) if cut else np.full(997, pes),
    )


@inlined
def _row_again(m: Any, p: Passage, row: int, place: int, columns: int, now: int) -> Any:
    """The next part of rows from a place on; returns its places, and whether it is the panel's
    last one."""
    end = min((row // m.subtensor + 1) * m.subtensor, m.rows)
    given = m.reload
    for leaf in range(m.pes):
        given.present[leaf] = 0
    while row < end and (place == p.pointers[row + 1] or p.columns[place] >= columns):
        row += 1
        place = p.pointers[row]
    first = place
    count = 0
    if row < end:
        most = p.counts[now % len(p.counts)]
        while place < p.pointers[row + 1] and p.columns[place] < columns and count < most:
            given.present[count] = 1
            given.column[count] = p.columns[place]
            count += 1
            place += 1
    rest, at = row, place
    while rest < end and (at == p.pointers[rest + 1] or p.columns[at] >= columns):
        rest += 1
        at = p.pointers[rest]
    given.row = row
    given.last = rest == end
    return first, place, row


@compiled
def run_pass(machines: Any, h: Held, p: Passage, gates: Any, seen: Any) -> int:
    """Runs a pass from its start until one cycle after it completes. Returns the cycles, negative
    if it does not end in time."""
    m = machines[0]
    sets = p.sets.sets
    number = firsts = columns = z_rows = asked = answered = place = row = 0
    first = end = 0
    z_there = False
    m.set.valid = 0
    m.reload.valid = 0
    at_row = False
    for now in range(len(seen)):
        one = seen[now]
        m.first = now == 0
        lines = m.subtensor // m.pes
        may = now != 0 and not m.set.valid and number < len(sets) and gates[0, now] != 0
        if may and sets[number].base // m.subtensor <= max(1, z_rows // lines + 1):
            m.set.valid = 1
            show_set(m, p.sets, number)
        while firsts < number and sets[firsts].columns == 0:
            firsts += 1
        m.results.valid = firsts < number and gates[1, now] != 0
        if m.results.valid:
            m.results.base = sets[firsts].base
            m.results.columns = sets[firsts].columns
            columns = m.results.base + m.results.columns
            firsts += 1
        passed = columns // m.subtensor * lines
        if columns == m.rows:
            passed = (m.rows + m.pes - 1) // m.pes
        z_there = z_there or (z_rows < passed and gates[2, now] != 0)
        m.again.ready = gates[3, now]
        if not m.reload.valid and answered < asked and gates[4, now]:
            if not at_row:
                row = p.asked[answered % _MOST_ASKED, 0] * m.subtensor
                place = p.pointers[row]
                at_row = True
            first, end, row = _row_again(m, p, row, place, p.asked[answered % _MOST_ASKED, 1], now)
            place = end
            m.reload.valid = 1
        one.start = m.first
        one.rows = m.rows
        one.shown = number if m.set.valid else -1
        one.first_valid = m.results.valid
        one.first_base = m.results.base
        one.first_columns = m.results.columns
        one.z_valid = z_there
        one.reload_valid = m.reload.valid
        one.reload_last = m.reload.last
        one.reload_at = first
        one.reload_end = end
        one.counts_held = m.held_now
        z_ready = held_offer(m)
        enters = m.set.valid and held_ready(m)
        held_step(m, h, enters, z_there and z_ready)
        one.i_ready = enters
        one.z_ready = z_ready
        one.reload_ready = m.reload.ready
        one.request_valid = m.again.valid
        one.request_panel = m.again.panel
        one.request_columns = m.again.columns
        one.done = m.sums_done
        one.counts_most = m.most
        if enters:
            m.set.valid = 0
            number += 1
        if z_there and z_ready:
            z_there = False
            z_rows += 1
        if m.again.valid and m.again.ready:
            p.asked[asked % _MOST_ASKED, 0] = m.again.panel
            p.asked[asked % _MOST_ASKED, 1] = m.again.columns
            asked += 1
        if m.reload.valid and m.reload.ready:
            m.reload.valid = 0
            if m.reload.last:
                answered += 1
                at_row = False
        if now and m.sums_done:
            return now + 1
    return -number - 1


pytestmark = pytest.mark.long


def small(**changes: Any) -> SidaConfig:
    given: dict[str, Any] = {
        "pes": 4, "subtensor": 4, "buffer_words": 64, "vector_words": 64, "value": "fp16",
        "semirings": ("minplus",),
    }  # fmt: skip
    return SidaConfig(**{**given, **changes})


CONFIGS = {
    "tiny": small(),
    "ample": small(subtensor=8, buffer_words=1024, adder_stages=1),
    "one panel": small(subtensor=64, adder_stages=2),
    "eight": small(pes=8, subtensor=8, buffer_words=256, vector_words=256, multiplier_stages=1),
}
SIGNALS = {
    "i_ready": "i_valid",
    "z_ready": None,
    "reload_ready": None,
    "request_valid": None,
    "request_panel": "request_valid",
    "request_columns": "request_valid",
    "done": None,
    "counts_held": None,
    "counts_most": None,
}
"""Outputs, and for each whether it means something only where another one is set."""
_MOST = 20_000


def compare(config: SidaConfig, unit: Replayed, seed: int, passes: int = 2) -> int:
    """Passes one after the other on the model and on the hardware; returns requests."""
    rng = np.random.default_rng(seed)
    machines = np.zeros(1, MACHINE)
    m = machines[0]
    set_up_sizes(m, config)
    m["second_product"] = 1
    m["transposed"] = seed % 3 == 2
    held = set_up_held(m, config, 0)
    found, inputs = [], []
    for number in range(passes):
        shape = SHAPES[(seed + number) % len(SHAPES)]
        size = int(rng.integers(1, min(config.vector_words, 100) + 1))
        matrix = drawn(rng, config, size, shape)
        cut = float(rng.choice([0.0, 0.4]))
        given = passage(config, matrix, rng, cut, transposed=bool(m["transposed"]))
        m["rows"] = size
        seen = np.zeros(_MOST, SEEN)
        gates = np.stack([pattern(rng, _MOST, p) for p in rng.choice([0.0, 0.3, 0.6], len(GATES))])
        cycles = run_pass(machines, held, given, gates, seen)
        assert cycles > 0, (shape, size, cycles)
        found.append(seen[:cycles])
        inputs.append(_inputs(config, given, seen[:cycles], gates[:, :cycles]))
    model = np.concatenate(found)
    joined = {name: np.concatenate([one[name] for one in inputs]) for name in inputs[0]}
    joined["transposed"] = np.full(len(model), m["transposed"])
    hardware = unit.run(joined, len(model))
    for name, valid in SIGNALS.items():
        which: Any = slice(None)
        if valid is not None:
            which = (model["shown"] >= 0) if valid == "i_valid" else model[valid] == 1
        np.testing.assert_array_equal(hardware[name][which], model[name][which], name)
    return int(model["request_valid"].sum())


def _inputs(config: SidaConfig, given: Any, seen: Any, gates: Any) -> dict[str, Any]:
    leaves = np.arange(config.pes)
    again = seen["reload_at"][:, None] + leaves
    columns = np.append(given.columns, np.zeros(config.pes, np.int64))
    present = (again < seen["reload_end"][:, None]) & (seen["reload_valid"][:, None] == 1)
    return {
        **set_inputs(config, given.sets, seen["shown"]),
        "start": seen["start"],
        "columns": seen["rows"],
        "first_valid": seen["first_valid"],
        "first_base": seen["first_base"],
        "first_columns": seen["first_columns"],
        "z_valid": seen["z_valid"],
        "request_ready": gates[3],
        "reload_valid": seen["reload_valid"],
        "reload_last": seen["reload_last"],
        "reload_elements_valid": present,
        "reload_elements_column": columns[np.minimum(again, len(columns) - 1)] * present,
    }


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["tiny"]))
def test_every_cycle_is_equal(name: str) -> None:
    unit = Replayed(HeldElements(CONFIGS[name]))
    requests = sum(compare(CONFIGS[name], unit, seed) for seed in range(by_size(3, 9, 45)))
    assert requests or name in ("ample", "one panel")
