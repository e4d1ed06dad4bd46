"""The DRAM channel model: against a simulation by events, and against what no DRAM can beat."""

from __future__ import annotations

import re
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.dram import (
    HBM,
    HBM_32,
    HBM_REFRESH,
    MEMORIES,
    Channels,
    MemoryModel,
    Timing,
    channels,
    push,
    serve,
    timing,
)
from tilewright.sim.timing.requests import Requests, write_trace

pytestmark = pytest.mark.quick

Ints = npt.NDArray[np.int64]


@compiled
def _play(time: Timing, state: Channels, pages: Any, queue: int, ends: Any) -> None:
    """Reads as fast as the channel takes them, each of one access."""
    sent, done, now = 0, 0, 0
    while done < len(pages):
        while sent < len(pages) and state.count[0, 0] < queue:
            push(state, 0, 0, pages[sent], 1, sent)
            sent += 1
        tag, _, ready = serve(time, state, 0, float(now))
        if tag >= 0:
            ends[tag] = ready
            done += 1
        now += 1


def play(model: MemoryModel, pages: Any, gigahertz: float = 2.0) -> npt.NDArray[np.float64]:
    """Returns the times at which the data of each read have arrived."""
    ends = np.zeros(len(pages))
    pages = np.asarray(pages, np.int64)
    _play(timing(model, gigahertz), channels(model, 1), pages, model.read_queue, ends)
    return ends


@compiled
def _serve_all(time: Timing, state: Channels, asked: Any, ends: Any) -> None:
    """Requests (moment, whether it writes, page) of one access, each pushed at its moment."""
    sent, done, now = 0, 0, 0
    while done < len(asked):
        while sent < len(asked) and asked[sent, 0] <= now:
            push(state, 0, asked[sent, 1], asked[sent, 2], 1, sent)
            sent += 1
        tag, _, ready = serve(time, state, 0, float(now))
        if tag >= 0:
            ends[tag] = ready
            done += 1
        now += 1


def in_order(model: MemoryModel, pages: Any, asked: Any) -> list[float]:
    """Simulates the reads by events, in ns, without reordering. Each read's commands are issued as
    early as the rules of a DRAM allow after those of the read before. Written from the timing
    diagrams alone."""
    opened: dict[int, int] = {}
    activated: list[float] = []
    last_activate: dict[int, float] = {}
    last_read: dict[int, float] = {}
    burst = model.access_bytes / model.gigabytes
    command, ends = -1e9, []
    for page, moment in zip(pages, asked, strict=True):
        bank, row = int(page) % model.banks, int(page) // model.banks
        earliest = moment
        if opened.get(bank) != row:
            start = moment
            if bank in opened:
                precharge = max(
                    moment,
                    last_activate[bank] + model.active,
                    last_read.get(bank, -1e9) + model.read_to_precharge,
                )
                start = precharge + model.precharge
            if activated:
                start = max(start, activated[-1] + model.activate_gap)
            if len(activated) >= 4:
                start = max(start, activated[-4] + model.activate_window)
            activated.append(start)
            opened[bank], last_activate[bank] = row, start
            earliest = start + model.activate
        command = max(earliest, command + burst)
        last_read[bank] = command
        ends.append(command + model.column + burst)
    return ends


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", [HBM, HBM_32, replace(HBM, banks=4, page_bytes=1024)])
def test_in_order_it_is_the_simulation_by_events(model: MemoryModel, seed: int) -> None:
    """A queue of one decides a read when it arrives or when its bank's commands can just hide
    behind the reads before."""
    rng = np.random.default_rng(seed)
    pages = rng.integers(0, 3 * model.banks, 400)
    pages[100:150] = pages[100]
    single, gigahertz = replace(model, read_queue=1), 2.0
    found = play(single, pages, gigahertz) / gigahertz
    asked = [0.0]
    for end in found[:-1]:
        bus_free = end - model.column
        hidden = bus_free - model.precharge - model.activate
        asked.append(max(np.ceil(hidden * gigahertz), asked[-1] * gigahertz + 1) / gigahertz)
    np.testing.assert_allclose(found, in_order(single, pages, asked), atol=1e-6)


@pytest.mark.parametrize("gigahertz", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("model", [HBM, HBM_32], ids=lambda model: model.name)
def test_a_stream_runs_at_the_peak(model: MemoryModel, gigahertz: float) -> None:
    count = 20_000
    pages = np.arange(count) * model.access_bytes // model.page_bytes
    ends = play(model, pages, gigahertz)
    reached = count * model.access_bytes / (ends.max() / gigahertz)
    assert 0.98 * model.gigabytes < reached <= model.gigabytes


@pytest.mark.parametrize(
    "model", [HBM, HBM_32, replace(HBM, activate_window=0.0, activate_gap=0.0)]
)
def test_random_reads_keep_the_limits_of_banks_and_activates(model: MemoryModel) -> None:
    rng = np.random.default_rng(5)
    pages = rng.integers(0, 1 << 20, 20_000)
    seconds = play(model, pages).max() / 2.0
    burst = model.access_bytes / model.gigabytes
    cycle = max(model.active, model.read_to_precharge) + model.precharge
    least = len(pages) * max(burst, cycle / model.banks, model.activate_window / 4)
    # Random pages all miss; with many to choose from, they wait little for each other's banks.
    assert least <= seconds * 1.001
    assert seconds < 1.5 * least
    in_turn = play(replace(model, read_queue=1), pages).max() / 2.0
    assert in_turn > seconds


def test_latency_of_a_hit_a_miss_and_a_conflict() -> None:
    model = replace(HBM, read_queue=1)
    banks = model.banks
    # The row is closed; open; another one is.
    miss, hit, conflict = play(model, [0, 0, banks]) / 2.0
    burst = 4.0
    assert miss == model.activate + model.column + burst
    assert hit == miss + burst
    precharge = max(model.active, hit - model.column - burst + model.read_to_precharge)
    assert conflict == precharge + model.precharge + model.activate + model.column + burst


READ, WRITE = 0, 1
NARROW = replace(HBM, access_bytes=32)
BANK_0 = HBM.banks
"""A page of bank 0 in another row."""


@pytest.mark.parametrize(
    ("model", "asked", "ends"),
    [
        # tRCD, tCL and the burst; a hit waits for the bus alone.
        (HBM, [(0, READ, 0), (0, READ, 0)], [15 + 15 + 4, 34 + 4]),
        # tRAS 33, then tRP, tRCD, tCL.
        (HBM, [(0, READ, 0), (0, READ, BANK_0)], [34, 33 + 15 + 15 + 15 + 4]),
        # tRTP after a late hit: the read command is at 60.
        (HBM, [(0, READ, 0), (60, READ, 0), (61, READ, BANK_0)], [34, 79, 60 + 7.5 + 45 + 4]),
        # tRRD: activates at 0 and 4.
        (NARROW, [(0, READ, 0), (0, READ, 1)], [32, 4 + 15 + 15 + 2]),
        # tFAW: activates at 0, 4, 8, 12, 30.
        (NARROW, [(0, READ, bank) for bank in range(5)], [32, 36, 40, 44, 30 + 15 + 15 + 2]),
        # tRTW: the bus is free at 19; the write's command is at 23.
        (HBM, [(0, READ, 0), (0, WRITE, 0)], [34, 23 + 15 + 4]),
        # tWTR: from the end of the data, 34, to the read's command.
        (HBM, [(0, WRITE, 0), (1, READ, 0)], [34, 34 + 10 + 15 + 4]),
        # tWR: from the end of the data to the precharge.
        (HBM, [(0, WRITE, 0), (0, WRITE, BANK_0)], [34, 34 + 18 + 45 + 4]),
        # A refresh at 3900: tRP, tRFC, and the row is closed.
        (HBM_REFRESH, [(0, READ, 0), (3905, READ, 0)], [34, 3900 + 15 + 160 + 34]),
        # It waits for tRTP of a read at 3899.
        (
            HBM_REFRESH,
            [(0, READ, 0), (3899, READ, 0), (3901, READ, 1)],
            [34, 3899 + 19, 3899 + 7.5 + 15 + 160 + 34],
        ),
        # Those of a time without requests delay nothing.
        (HBM_REFRESH, [(0, READ, 0), (10_000, READ, 0)], [34, 10_034]),
        (HBM, [(0, READ, 0), (10_000, READ, 0)], [34, 10_019]),
    ],
)
def test_each_time_by_hand(
    model: MemoryModel, asked: list[tuple[int, int, int]], ends: list[float]
) -> None:
    """In ns, at 1 GHz, from the timing diagrams."""
    found = np.zeros(len(asked))
    _serve_all(timing(model, 1.0), channels(model, 1), np.array(asked, np.int64), found)
    assert found.tolist() == ends


def test_refreshes_take_their_share() -> None:
    pages = np.arange(200_000) * HBM.access_bytes // HBM.page_bytes
    with_them, without = (play(model, pages).max() for model in (HBM_REFRESH, HBM))
    share = 160 / 3900
    assert without * (1 + share) < with_them < without * (1 + 1.4 * share)


def test_requests_as_dram_simulators_read_them() -> None:
    """Each aligned access of a request; jobs one after the other; grammar of the two readers."""
    first = Requests(
        cycle=np.array([3, 4]),
        address=np.array([0x40, 0x1F0]),
        size=np.array([64, 32]),
        write=np.array([False, True]),
    )
    jobs = [(first, 1000), (first, 1000)]
    expected = [(0x40, "R", 1), (0x60, "R", 1), (0x1E0, "W", 2), (0x200, "W", 2)]
    expected += [(address, what, cycle + 500) for address, what, cycle in expected]
    for layout, line in (
        ("dramsim3", r"0x(?P<address>[0-9a-f]+) (?P<what>READ|WRITE) (?P<cycle>\d+)"),
        ("ramulator", r"0x(?P<address>[0-9a-f]+) (?P<what>R|W)"),
    ):
        out = BytesIO()
        assert write_trace(out, jobs, layout, access_bytes=32, gigahertz=1.0) == 8
        found = [re.fullmatch(line, text) for text in out.getvalue().decode().splitlines()]
        for match, (address, what, cycle) in zip(found, expected, strict=True):
            assert match is not None
            assert (int(match["address"], 16), match["what"][0]) == (address, what)
            assert layout == "ramulator" or int(match["cycle"]) == cycle


def test_hits_go_first() -> None:
    pages = [0, HBM.banks, 0, HBM.banks, 0]
    ends = play(HBM, pages)
    assert max(ends[[0, 2, 4]]) < min(ends[[1, 3]])


def test_the_same_again() -> None:
    pages = np.random.default_rng(8).integers(0, 100, 2000)
    np.testing.assert_array_equal(play(HBM, pages), play(HBM, pages))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"access_bytes": 48}, "`access_bytes` must be a power of two from 8 up, not 48"),
        ({"page_bytes": 4}, "`page_bytes` must be a power of two from 8 up, not 4"),
        ({"read_queue": 0}, "`read_queue` must be at least 1, not 0"),
        ({"banks": -1}, "`banks` must be at least 0, not -1"),
        ({"gigabytes": 0.0}, "`gigabytes` must be above 0, not 0.0"),
        (
            {"refresh_interval": 3900.0},
            "`refresh` must be above 0 and below `refresh_interval`, 3900.0, not 0.0",
        ),
    ],
)
def test_what_is_no_memory(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(HBM, **change)


def test_presets() -> None:
    assert set(MEMORIES) == {"flat", "hbm", "hbm32", "hbm-refresh"}
    assert MEMORIES["flat"].flat
    # 128 bits at 1 GHz.
    assert MEMORIES["hbm"].gigabytes == 16
    assert timing(HBM, 2.0).burst == 8
    assert timing(HBM_32, 2.0).burst == 4
