"""Spans of an array in a channel, as bursts within the blocks of the interleaving."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tilewright.hw.channels.stripe_walk import StripeWalk
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.geometries import EVERY, GEOMETRIES
from tilewright.verif.channels.streams import StreamRun

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
    walk = StripeWalk(geometry)
    return StreamRun(walk, {"i": spans}, ["o"], wires={"base": base}, cycles=cycles, **how)


def base_of(rng: random.Random, geometry: ChannelGeometry) -> int:
    """A multiple of a stripe, in the upper half of memory."""
    stripes = (1 << geometry.addr_bits) // geometry.stripe_bytes
    room = (1 << 17) + 40
    return rng.randrange(stripes // 2, stripes - room) * geometry.stripe_bytes


@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.3, 0.4)])
@pytest.mark.parametrize("name", EVERY)
def test_every_beat_once_in_bursts_of_one_block(name: str, gap: float, stall: float) -> None:
    geometry, rng = GEOMETRIES[name], random.Random(f"stripe walk {name}")
    spans, base = draw_spans(rng, geometry, 30), base_of(rng, geometry)
    found = run(geometry, spans, base, gap=gap, stall=stall)
    assert found.payloads("o") == bursts_of(geometry, base, spans)


@pytest.mark.parametrize("name", EVERY)
def test_a_burst_every_cycle(name: str) -> None:
    geometry, rng = GEOMETRIES[name], random.Random(f"rate {name}")
    found = run(geometry, draw_spans(rng, geometry, 20), base_of(rng, geometry))
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
