"""The read crossbar: every beat to its lane, fairness, throughput, the count of conflicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tilewright.verif.axi.parts_top import RoutedSizes
from tilewright.verif.axi.routed import ROUGH, emitted, run
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.sampling import by_size, slow_but

SIZES = {
    "2x2": RoutedSizes(lanes=2, channels=2, readers=4),
    "4x2": RoutedSizes(lanes=4, channels=2, readers=2, outstanding=4, burst_beats=2),
    "2x4": RoutedSizes(lanes=2, channels=4, readers=2, outstanding=8, data_bits=128),
    "3x3": RoutedSizes(lanes=3, channels=3, readers=3, outstanding=3, data_bits=512, burst_beats=1),
    "4x4": RoutedSizes(lanes=4, channels=4, readers=2, burst_beats=2, beat_queue=4),
    "8x8": RoutedSizes(lanes=8, channels=8, readers=1, outstanding=16),
}
SEEDS = by_size(2, 2, 3)
BURSTS = 24
LATENCY = 7
"""Cycles from a request to the next one that its slot can take, for bursts of one beat, the
memory's one included."""


def _lists(size: str, channel: Callable[[int, int], int], beats: int) -> dict[str, Any]:
    """Requests of the first reader of each lane: to ``channel(lane, n)``."""
    sizes = SIZES[size]
    step = sizes.burst_beats
    return {
        str(lane * sizes.readers): [
            [channel(lane, n) % sizes.channels, n * step, beats] for n in range(BURSTS)
        ]
        for lane in range(sizes.lanes)
    }


def scenarios(size: str) -> dict[str, list[dict[str, Any]]]:
    """Returns scenarios, grouped by the test that judges them; all run in one simulation."""
    longest = SIZES[size].burst_beats
    patterns: tuple[dict[str, Any], ...] = (ROUGH, {"latency": [1, 30], "mixed": True})
    random: list[dict[str, Any]] = [
        {**p, "seed": n, "requests": 20} for n in range(SEEDS) for p in patterns
    ]
    return {
        "random": [{"kind": "traffic", **s} for s in random],
        "stop": [{"kind": "stop", "rounds": 2, **s} for s in random[-1:]],
        "error": [{"kind": "error", **s} for s in random[-1:]],
        "apart": [
            {"kind": "traffic", "lists": _lists(size, lambda lane, n: lane, beats)}
            for beats in (1, longest)
        ],
        "together": [{"kind": "traffic", "lists": _lists(size, lambda lane, n: 0, longest)}],
    }


@cache
def results(size: str) -> dict[str, list[dict[str, Any]]]:
    groups = scenarios(size)
    found = iter(run(SIZES[size], [s for group in groups.values() for s in group]))
    return {kind: [next(found) for _ in group] for kind, group in groups.items()}


every_size = pytest.mark.parametrize("size", slow_but([], SIZES, ["3x3", "4x4"]))


@every_size
def test_every_beat_reaches_its_reader_in_order(size: str) -> None:
    """Delivers beats in order, and counts conflicts in every cycle, which the bench recounts."""
    found = results(size)["random"]
    assert sum(result["overtakes"] for result in found) > 50
    assert sum(result["conflicts"] for result in found) > 0


@every_size
def test_stop_and_errors_of_single_readers(size: str) -> None:
    found = results(size)
    assert [result["errors"] for result in found["stop"]] == [0]
    assert found["error"][0]["errors"] > 0


@every_size
def test_lanes_at_channels_of_their_own_do_not_meet(size: str) -> None:
    """Delivers one beat per cycle to each lane, or as many bursts as there are slots in the time
    from a request to its slot's next use, if that is less."""
    sizes = SIZES[size]
    alone = sizes.lanes <= sizes.channels
    for result in results(size)["apart"]:
        assert (result["conflicts"] == 0) == alone
        busy = [span for span in result["data"].values() if span[0]]
        assert len(busy) == sizes.lanes
        for beats, cycles in busy:
            print(f"{size}: {beats} beats in {cycles} cycles")
            length = beats // BURSTS
            shared = 1 if alone else sizes.lanes // sizes.channels
            latency = LATENCY + (2 if sizes.beat_queue else 0)
            if shared == 1 and sizes.outstanding * length >= latency:
                assert cycles == beats
            round_trip = max(latency + length - 1, shared * sizes.outstanding * length)
            assert cycles <= -(-BURSTS // sizes.outstanding) * round_trip


@every_size
def test_lanes_at_one_channel_share_it_fairly(size: str) -> None:
    """The channel never pauses, and all lanes finish within a few bursts of each other."""
    sizes = SIZES[size]
    (found,) = results(size)["together"]
    beats = BURSTS * sizes.burst_beats
    assert found["r"][0] == [sizes.lanes * beats] * 2
    for moved, cycles in (span for span in found["data"].values() if span[0]):
        assert moved == beats
        assert cycles > (sizes.lanes * (BURSTS - 2) - 1) * sizes.burst_beats


@every_size
def test_verilator_finds_nothing(size: str, tmp_path: Any) -> None:
    assert complaints("verilator", emitted(SIZES[size]).verilog, "routed_readers", tmp_path) == ""
