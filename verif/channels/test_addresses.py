"""Spans of an array in a channel, as bursts within the blocks of the interleaving."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from tilewright.hw.channels.channel_of_row import ChannelOfRow, located_layout
from tilewright.hw.channels.stripe_walk import FlatBlocks, StripeWalk
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.hw.stream.queue import Queue
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.channels.placed_words import EVERY, GEOMETRIES
from tilewright.verif.channels.streams import StreamRun
from tilewright.verif.kit.sampling import cases, slow_but

LATENCY = 3
Span = dict[str, int]
Burst = dict[str, int]


def draw_spans(rng: random.Random, geometry: ChannelGeometry, count: int) -> list[Span]:
    """Anywhere in the array, of one beat, of whole blocks or of any number of beats."""
    spans = []
    for _ in range(count):
        span = {"channel": rng.randrange(geometry.channels), "block": rng.randrange(1 << 16)}
        span["beats"] = rng.choice([1, geometry.block_beats, rng.randint(1, 40)])
        if geometry.block_beats > 1:
            span["beat"] = rng.choice([0, rng.randrange(geometry.block_beats)])
        spans.append(span)
    return spans


def bursts_of(geometry: ChannelGeometry, base: int, spans: list[Span]) -> list[Burst]:
    """Beat by beat; a burst ends with its span or its block."""
    bursts: list[Burst] = []
    for span in spans:
        first = span["block"] * geometry.block_beats + span.get("beat", 0)
        for number in range(first, first + span["beats"]):
            address = geometry.flat(base, span["channel"], number * geometry.beat_bytes)
            if number == first or number % geometry.block_beats == 0:
                bursts.append({"address": address, "length": 0, "channel": span["channel"]})
            else:
                bursts[-1]["length"] += 1
    return bursts


def run(geometry: ChannelGeometry, spans: list[Span], base: int, **how: Any) -> StreamRun:
    cycles = how.pop("cycles", 4 * len(bursts_of(geometry, base, spans)) + 50)
    walk = StripeWalk(geometry, skid=how.pop("skid", False))
    return StreamRun(walk, {"i": spans}, ["o"], wires={"base": base}, cycles=cycles, **how)


def base_of(rng: random.Random, geometry: ChannelGeometry) -> int:
    """A multiple of a stripe, in the upper half of memory."""
    stripes = (1 << geometry.addr_bits) // geometry.stripe_bytes
    room = (1 << 17) + 40
    return rng.randrange(stripes // 2, stripes - room) * geometry.stripe_bytes


@pytest.mark.parametrize(
    ("gap", "stall", "skid"), [(0.0, 0.0, False), (0.3, 0.4, False), (0.3, 0.4, True)]
)
@pytest.mark.parametrize("name", EVERY)
def test_every_beat_once_in_bursts_of_one_block(
    name: str, gap: float, stall: float, skid: bool
) -> None:
    geometry, rng = GEOMETRIES[name], random.Random(f"stripe walk {name}")
    spans, base = draw_spans(rng, geometry, 30), base_of(rng, geometry)
    found = run(geometry, spans, base, gap=gap, stall=stall, skid=skid)
    assert found.payloads("o") == bursts_of(geometry, base, spans)


@pytest.mark.parametrize("name", EVERY)
def test_a_burst_every_cycle(name: str) -> None:
    geometry, rng = GEOMETRIES[name], random.Random(f"rate {name}")
    found = run(geometry, draw_spans(rng, geometry, 20), base_of(rng, geometry), skid=True)
    cycles = [cycle for cycle, _ in found.found["o"]]
    assert cycles == list(range(LATENCY, LATENCY + len(cycles)))


@pytest.mark.parametrize("name", ["three channels", "a beat a block"])
def test_clear_forgets_all(name: str) -> None:
    """Sends nothing after ``clear``, whatever was inside."""
    geometry, rng = GEOMETRIES[name], random.Random(f"clear {name}")
    spans, base = draw_spans(rng, geometry, 20), base_of(rng, geometry)
    for clear_at in range(12):
        found = run(geometry, spans, base, clear_at=clear_at, cycles=40, stall=0.5)
        assert all(cycle < clear_at for cycle, _ in found.found["o"])
        before = found.payloads("o")
        assert before == bursts_of(geometry, base, spans)[: len(before)]


# Whole blocks of an array at consecutive addresses, as spans of the channels in turn.

BLOCKS = 40


def addresses(geometry: ChannelGeometry, *, stall: float, seed: str) -> list[int]:
    """Returns the addresses of the requested blocks, for two arrays at 0 in succession."""
    part, rng, found = FlatBlocks(geometry), random.Random(seed), list[int]()

    async def bench(sim: Any) -> None:
        for _ in range(2):
            sim.set(part.start, 1)
            sim.set(part.want, 0)
            await sim.tick()
            sim.set(part.start, 0)
            taken = 0
            while taken < BLOCKS:
                sim.set(part.want, int(rng.random() >= stall))
                sim.set(part.spans.ready, int(rng.random() >= stall))
                assert sim.get(part.spans.valid) == sim.get(part.want)
                moves = sim.get(part.spans.valid) & sim.get(part.spans.ready)
                assert sim.get(part.taken) == moves
                if moves:
                    span = part.spans.payload
                    assert sim.get(span.beats) == geometry.block_beats
                    block, channel = sim.get(span.block), sim.get(span.channel)
                    found.append(geometry.flat(0, channel, block * geometry.interleave))
                    taken += 1
                await sim.tick()

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("name", EVERY)
def test_blocks_are_at_consecutive_addresses(name: str, stall: float) -> None:
    geometry = GEOMETRIES[name]
    expected = [n * geometry.interleave for n in range(BLOCKS)]
    assert addresses(geometry, stall=stall, seed=name) == 2 * expected


# Division of row numbers by constants, against Python's.


class ChannelDivisions(wiring.Component):
    """One build tests all divisors.

    Parameters
    ----------
    index_bits: width of a row's number

    Members
    -------
    i: ``row``
    o: ``channel_N``, ``index_N`` for N in 1..16
    """

    def __init__(self, index_bits: int) -> None:
        self._index_bits = index_bits
        results = {f"channel_{n}": 4 for n in range(1, 17)}
        results |= {f"index_{n}": index_bits for n in range(1, 17)}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"row": index_bits}))),
                "o": Out(stream.Signature(data.StructLayout(results))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts, results = [], []
        for channels in range(1, 17):
            part = ChannelOfRow(self._index_bits, channels, self._index_bits)
            queue = Queue(located_layout(self._index_bits, channels, self._index_bits), 8)
            m.submodules[f"by_{channels}"], m.submodules[f"result_{channels}"] = part, queue
            wiring.connect(m, part.o, queue.i)
            found = queue.o.payload
            m.d.comb += [
                part.i.payload.row.eq(self.i.payload.row),
                part.i.payload.carried.eq(~self.i.payload.row),
                self.o.payload[f"channel_{channels}"].eq(found.channel),
                self.o.payload[f"index_{channels}"].eq(found.index),
            ]
            parts.append(part)
            results.append(queue)
        given = Cat(part.i.ready for part in parts).all()
        there = Cat(queue.o.valid for queue in results).all()
        # The carried payload belongs to the row.
        same = Cat(q.o.payload.carried == results[0].o.payload.carried for q in results).all()
        m.d.comb += [self.i.ready.eq(given), self.o.valid.eq(there & same)]
        for part, queue in zip(parts, results, strict=True):
            m.d.comb += [
                part.i.valid.eq(self.i.valid & given),
                queue.o.ready.eq(self.o.ready & there & same),
            ]
        return m


@pytest.mark.parametrize("index_bits", slow_but([32], [16, 32]))
def test_division_by_every_number_of_channels(index_bits: int) -> None:
    """All rows of 16 bits; of 32, small ones, the largest and random ones."""
    unit = NativeSimulation(emit_component(ChannelDivisions(index_bits), name="divisions"))
    top = 1 << index_bits
    rows = (
        np.arange(top, dtype=np.uint64)[:65536]
        if index_bits == 16
        else np.concatenate(
            [
                np.arange(1000, dtype=np.uint64),
                np.arange(top - 1000, top, dtype=np.uint64),
                np.random.default_rng(4).integers(0, top, cases(200_000), dtype=np.uint64),
            ]
        )
    )
    words = pack({"row": rows}, unit.stream("i"))
    run = unit.run(words, pauses=Pauses(seed=3, gap=0.2, stall=0.2))
    got = unpack(run.payloads, unit.stream("o"))
    for channels in range(1, 17):
        quotients, remainders = np.divmod(rows, np.uint64(channels))
        assert np.array_equal(got[f"channel_{channels}"].astype(np.uint64), remainders)
        assert np.array_equal(got[f"index_{channels}"].astype(np.uint64), quotients)
    unit.reset()
    run = unit.run(words[:1000])
    assert run.input_cycles[-1] - run.input_cycles[0] == 999
