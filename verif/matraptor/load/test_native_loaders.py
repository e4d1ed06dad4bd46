"""MatRaptor's loaders as Verilog: every token under memories of every kind, natively."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Value
from scipy.sparse import csr_array
from tilewright.hw.matraptor.control import RowWalk
from tilewright.hw.matraptor.load.a_loader import SparseALoader
from tilewright.hw.matraptor.load.b_loader import SparseBLoader
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.registry import entries
from tilewright.verif.channels.striped.memory_bench import MANNERS, Manner, ReaderMemory
from tilewright.verif.kit.sampling import by_size, draw_until
from tilewright.verif.matraptor.load.loader_jobs import LoaderJob, ends_mask, random_matrix
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import Pulse, Sink, Source, Wire, run_agents

pytestmark = pytest.mark.slow

CONFIG = MatRaptorConfig(**entries()["matraptor"].small)
RTL = NativeParts(
    "matraptor_loaders",
    {kind.__name__: partial(kind, CONFIG) for kind in (SparseALoader, SparseBLoader, RowWalk)},
)
LANE = 1
QUIET = 300
"""Cycles in which nothing moves before a run with something wrong ends."""
SEEDS = by_size(1, 6, 60)


@cache
def jobs() -> list[LoaderJob]:
    """Empty rows, short and long ones, fewer rows than lanes, gaps, and pointers that go down."""
    rng = np.random.default_rng(5)
    block = CONFIG.layout.block_pairs * CONFIG.channels

    def some(rows: int, mean: float, empty: float = 0.2, k: int = 40) -> tuple[Any, Any]:
        b = random_matrix(rng, k, 300, mean=3 * CONFIG.beat_entries / 2, empty=empty)
        return random_matrix(rng, rows, k, mean=mean, empty=empty), b

    pairs = [some(2 * block + 5, 2), some(block + 3, 6, 0.0), some(3, 9, 0.0), some(7, 2, 0.9),
             some(CONFIG.lanes + 2, 30, k=70)]  # fmt: skip
    found = [LoaderJob(config=CONFIG, a=a, b=b) for a, b in pairs]
    a, b = some(block + 7, 3)
    lengths = np.diff(a.indptr)
    pointers = np.zeros(len(lengths), np.int64)
    for channel in range(CONFIG.channels):
        at = int(rng.integers(1 << 20))
        for row in rng.permutation(np.arange(channel, len(lengths), CONFIG.channels)):
            at += int(rng.integers(0, 6))
            pointers[row] = at
            at += int(lengths[row])
    found.append(LoaderJob(config=CONFIG, a=a, b=b, a_pointers=pointers))
    rng = np.random.default_rng(6)
    a = random_matrix(rng, 4 * CONFIG.lanes + 1, 30, mean=3)
    bad = LoaderJob(config=CONFIG, a=a, b=random_matrix(rng, 30, 50, mean=4), b_rows=24)
    return [far(rng, job) for job in (*found, bad)]


def far(rng: np.random.Generator, job: LoaderJob) -> LoaderJob:
    """The job with entries anywhere that pointers reach, and with bases of any bits."""
    most = ((1 << 32) - (1 << 22)) // CONFIG.layout.block_entries
    a, b = (int(rng.integers(most)) for _ in range(2))
    lower = int(rng.integers((1 << CONFIG.addr_bits) // 16 // CONFIG.layout.stripe_bytes))
    return replace(job, far=(a, b), lower=lower)


INDEX_JOB = -1
"""The last of the jobs: B has fewer rows than A asks for."""


class Run:
    """A loader and its tokens.

    Parameters
    ----------
    loader: "a" or "b"
    stall: share of the cycles in which no token is taken or offered
    stop_at: cycle of a stop, after which all is done again
    bad: addresses of beats with bad responses
    settles: runs until nothing moves any more
    """

    def __init__(
        self,
        loader: str,
        job: LoaderJob,
        manner: Manner,
        *,
        stall: float = 0.2,
        seed: int = 0,
        stop_at: int | None = None,
        bad: frozenset[int] = frozenset(),
        settles: bool = False,
    ) -> None:
        kind = {"a": SparseALoader, "b": SparseBLoader}[loader]
        self.part = part = RTL[kind.__name__]
        told = job.describe()
        lane = told["lanes"][LANE]
        blocks = {address: bytes.fromhex(content) for address, content in told["image"]}
        self.memories = [ReaderMemory(part, name, CONFIG.geometry, blocks, manner, seed, bad)
                         for name in ("pairs", "entries")]  # fmt: skip
        output = part.o
        self.expected = lane["left" if loader == "a" else "product"]
        self.sink = sink = Sink(output, stall=stall, seed=f"sink {seed}")
        wires: list[tuple[Any, int]] = [(part.job, told["job"])]
        agents: list[Any] = [sink, *self.memories]
        if loader == "a":
            self.source = None
            start = Pulse(part.start)
            agents.append(start)
            wires += [(part.lane, LANE), (part.rows_in_lane, lane["rows"])]
        else:
            self.source = Source(part.i, lane["left"], gap=stall / 2, seed=f"source {seed}")
            agents.append(self.source)
        stopped = stop_at is None
        length = 1 + seed % 3
        if stop_at is not None:
            agents.append(Wire(part.stop, lambda cycle: int(stop_at <= cycle < stop_at + length)))
        layout = output.payload.shape()
        self.present, self.ends = 1 << layout["present"].offset, ends_mask(layout)
        self.error: int | None = None
        self.index_row: int | None = None
        moved, since = (-1, 0, 0), 0

        def until(sim: Any, cycle: int) -> bool:
            nonlocal stopped, moved, since
            quiet, idle = all(one.quiet for one in self.memories), bool(sim.get(part.idle))
            assert quiet or not idle, "idle though the bus owes something"
            if not stopped:
                assert stop_at is not None
                if cycle == stop_at:
                    sink.forget()
                    if self.source is not None:
                        self.source.forget()
                if cycle >= stop_at + length and idle:
                    stopped = True
                    assert not sim.get(part.error)
                    sink.words.clear()
                    for memory in self.memories:
                        memory.addresses.clear()
                    if self.source is None:
                        start.due = True
                    else:
                        self.source.words += lane["left"]
                return False
            if sim.get(part.error):
                self.error = sim.get(part.error_address)
            if loader == "b" and sim.get(part.index_error):
                self.index_row = sim.get(Value.cast(part.index_row))
            if not settles:
                assert self.error is None
                begun = 0 < len(sink.words) < len(self.expected)
                assert not (begun and idle), "idle though tokens are still to come"
                return len(sink.words) == len(self.expected) and idle
            beats = sum(one.beats for one in self.memories)
            now = (beats, len(sink.words), len(self.source.cycles) if self.source else 0)
            since = 0 if now != moved else since + 1
            moved = now
            return quiet and since > QUIET

        run_agents(
            partial(RTL.simulate, kind.__name__), agents, until=until, most=20_000, wires=wires
        )
        got = [word if word & self.present else word & self.ends for word in sink.words]
        assert got == self.expected[: len(got)]
        if not settles:
            beats = lane["beats"][:2] if loader == "a" else lane["beats"][2:]
            assert [len(one.addresses) for one in self.memories] == list(beats)


def check_beginning(
    loader: str, job: LoaderJob, wanted: list[int], left: list[int] | None = None
) -> None:
    """Loads the beginning of a job that is too long for a test, then stops. ``wanted``: tokens, of
    which one that is not present has no more than its ends."""
    part = RTL[{"a": SparseALoader, "b": SparseBLoader}[loader].__name__]
    told = job.describe()
    blocks = {address: bytes.fromhex(content) for address, content in told["image"]}
    memories = [ReaderMemory(part, name, CONFIG.geometry, blocks, MANNERS["even"], 0)
                for name in ("pairs", "entries")]  # fmt: skip
    sink, stops_at = Sink(part.o), -1
    wires: list[tuple[Any, int]] = [(part.job, told["job"])]
    if loader == "a":
        first: Any = Pulse(part.start)
        rows_in_lane = told["lanes"][LANE]["rows"] + job.more_rows // CONFIG.lanes
        wires += [(part.lane, LANE), (part.rows_in_lane, rows_in_lane)]
    else:
        first = Source(part.i, left or [])

    def until(sim: Any, cycle: int) -> bool:
        nonlocal stops_at
        assert not sim.get(part.error)
        if stops_at < 0:
            # Some more come, of whatever is in memory.
            if len(sink.words) >= len(wanted) + 2:
                stops_at = cycle + 1
                sink.forget()
                if loader == "b":
                    first.forget()
            return False
        return cycle > stops_at + 2 and bool(sim.get(part.idle))

    stop = Wire(part.stop, lambda cycle: int(cycle == stops_at))
    agents: list[Any] = [sink, first, *memories, stop]
    simulate = partial(RTL.simulate, type(part).__name__)
    run_agents(simulate, agents, until=until, most=5000, wires=wires)
    layout = part.o.payload.shape()
    present, ends = 1 << layout["present"].offset, ends_mask(layout)
    got = [word if word & present else word & ends for word in sink.words]
    assert got[: len(wanted)] == wanted


def without(loader: str, words: list[int], *names: str) -> list[int]:
    """Tokens with some fields zero."""
    part = RTL[{"a": SparseALoader, "b": SparseBLoader}[loader].__name__]
    layout = part.o.payload.shape()
    mask = sum((1 << layout[name].width) - 1 << layout[name].offset for name in names)
    return [word & ~mask for word in words]


def test_the_beginning_of_many_rows() -> None:
    """A number of rows with each of its bits."""
    rng = np.random.default_rng(9)
    rows = CONFIG.layout.block_pairs * CONFIG.channels
    for bit in range(5, 32):
        a, b = random_matrix(rng, rows, 30, mean=2), random_matrix(rng, 30, 9, mean=2)
        job = far(rng, LoaderJob(config=CONFIG, a=a, b=b, more_rows=1 << bit))
        wanted = without("a", job.describe()["lanes"][LANE]["left"], "lane_last")
        check_beginning("a", job, wanted)


@pytest.mark.parametrize("loader", ["a", "b"])
def test_the_beginning_of_a_long_row(loader: str) -> None:
    """A length with each of its bits, of the row that is read last."""
    rng = np.random.default_rng(10)

    def drawn() -> tuple[LoaderJob, int, int] | None:
        """A job, the last row of the lane, and the last row of B, which no other entry reads."""
        a = random_matrix(rng, 9, 30, mean=3, empty=0.0)
        job = far(rng, LoaderJob(config=CONFIG, a=a, b=random_matrix(rng, 30, 99, mean=3, empty=0)))
        row = job.rows_of(LANE)[-1]
        *before, k = a.indices[: a.indptr[row + 1]].tolist()
        return None if k in before else (job, row, k)

    for bit in range(6, 32):
        job, row, k = draw_until(drawn)
        lane = job.describe()["lanes"][LANE]
        if loader == "a":
            long = replace(job, longer=({row: 1 << bit}, {}))
            *before, last = lane["left"]
            check_beginning("a", long, [*before, *without("a", [last], "row_last", "lane_last")])
        else:
            long = replace(job, longer=({}, {k: 1 << bit}))
            *before, last = lane["product"]
            ended = without("b", [last], "b_last", "row_last", "lane_last")
            check_beginning("b", long, [*before, *ended], lane["left"])


both = pytest.mark.parametrize("loader", ["a", "b"])


@both
def test_every_token_comes_and_nothing_is_read_in_vain(loader: str) -> None:
    for seed in range(SEEDS):
        job = jobs()[seed % (len(jobs()) - 1)]
        manner = MANNERS["rough" if seed % 2 else "even"]
        Run(loader, job, manner, stall=0.3 * (seed % 3), seed=seed)


@both
def test_stop_in_the_middle_of_anything(loader: str) -> None:
    rng = np.random.default_rng(7)
    for seed in range(SEEDS):
        stop_at = int(rng.integers(1, 200))
        Run(loader, jobs()[seed % 2], MANNERS["rough"], seed=seed, stop_at=stop_at)


@both
def test_an_error_of_the_bus(loader: str) -> None:
    """Only what was read before the error is sent."""
    rng = np.random.default_rng(8)
    for seed in range(SEEDS):
        # Each job with an error in each of its arrays, at other addresses each time.
        job = far(rng, jobs()[seed // 2 % 2])
        first = Run(loader, job, MANNERS["even"], seed=seed)
        memory = first.memories[seed % 2]
        bad = memory.addresses[int(rng.integers(len(memory.addresses)))]
        run = Run(loader, job, MANNERS["even"], seed=seed, bad=frozenset([bad]), settles=True)
        assert run.error == bad


def test_a_row_that_does_not_exist_is_reported() -> None:
    """Everything before the entry that names it is sent."""
    job = jobs()[INDEX_JOB]
    lane = job.describe()["lanes"][LANE]
    for seed in range(by_size(1, 2, 10)):
        run = Run("b", job, MANNERS["even"], seed=seed, settles=True)
        assert run.index_row == lane["wrong_row"] is not None
        assert len(run.sink.words) == len(lane["product"])


def test_any_bit_of_a_row_that_does_not_exist() -> None:
    """The first row behind the last one of B, whatever its bits."""
    rng = np.random.default_rng(11)
    for seed in range(by_size(2, 8, 30)):
        a = random_matrix(rng, 4 * CONFIG.lanes + 1, 30, mean=3, empty=0.0)
        row = LANE + CONFIG.lanes * (1 + seed % 3)
        limit = int(rng.integers(30, 1 << 32))
        columns = a.indices.astype(np.int64)
        columns[a.indptr[row + 1] - 1] = limit
        wrong = csr_array((a.data, columns, a.indptr), shape=(a.shape[0], limit + 1))
        b = random_matrix(rng, 30, 50, mean=4)
        job = far(rng, LoaderJob(config=CONFIG, a=wrong, b=b, b_rows=limit))
        run = Run("b", job, MANNERS["even"], seed=seed, settles=True)
        assert run.index_row == job.describe()["lanes"][LANE]["wrong_row"] is not None


@pytest.mark.parametrize("rows", [1, 2, 3, 40, 0xD4B, 0x12B5])
def test_the_walk_over_a_lanes_rows(rows: int) -> None:
    """Rows by blocks of pairs, as many as half of the bits of their number tell."""
    check_walk(rows, 0.2 if rows < 1000 else 0.0)


def test_the_beginning_of_a_walk() -> None:
    """A number of rows with each of its bits; the walk forgets the others."""
    for bit in range(6, 32):
        check_walk(2 * CONFIG.layout.block_pairs * CONFIG.channels, 0.0, 1 << bit)


def check_walk(rows: int, stall: float, more: int = 0) -> None:
    """Compares a walk over ``rows``, or its beginning, if there are ``more``."""
    job = LoaderJob(config=CONFIG, a=_Shape((rows, 1)), b=_Shape((1, 1)))
    wanted = job.rows_of(LANE)
    walk = RTL["RowWalk"]
    sink = Sink(walk.o, stall=stall)
    count = len(wanted) + more // CONFIG.lanes
    wires = [(walk.lane, LANE), (walk.rows, rows + more), (walk.rows_in_lane, count)]
    clear = Wire(walk.clear, lambda cycle: int(bool(more) and cycle == len(wanted)))
    run_agents(
        partial(RTL.simulate, "RowWalk"), [Pulse(walk.start), sink, clear], wires=wires,
        until=lambda sim, cycle: len(sink.words) >= len(wanted) and cycle > len(wanted) + 5,
    )  # fmt: skip
    layout = walk.o.payload.shape()
    blocks, seen = set[tuple[int, int]](), []
    last = wanted[-1] if wanted and not more else None
    for row in wanted:
        place, channel = divmod(row, CONFIG.channels)
        block = (channel, place // CONFIG.layout.block_pairs)
        fields = {"row": {"index": place}, "first": block not in blocks, "last": row == last}
        if CONFIG.layout.channel_bits:
            fields["channel"] = channel
        blocks.add(block)
        seen.append(layout.const(fields).as_bits())
    assert sink.words == seen


class _Shape:
    """A matrix of which only the shape matters."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
