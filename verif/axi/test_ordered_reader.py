"""The ordered reader alone, under memories of every kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tilewright.hw.axi.ordered_reader import OrderedReader
from tilewright.verif.axi.routed import ROUGH, emitted, run
from tilewright.verif.axi.routed_top import RoutedSizes
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.quick

SIZES = {
    "small": RoutedSizes(),
    "least": RoutedSizes(outstanding=2, burst_beats=1, addr_bits=32),
    "odd": RoutedSizes(outstanding=5, burst_beats=4, data_bits=128),
    "wide": RoutedSizes(outstanding=64, burst_beats=2, data_bits=512, addr_bits=64),
}
SEEDS = by_size(1, 2, 6)
PATTERNS = {
    "one beat": [[0, n, 1] for n in range(300)],
    "two beats": [[0, 8 * n, 2] for n in range(150)],
    "blocks": [[0, 8 * n, 8] for n in range(60)],
    "mixed": [[0, 8 * n, 1 + n * 5 % 8] for n in range(100)],
}
"""Requests as (channel, beat, beats)."""
LATENCIES = (1, 10)


def scenarios(size: str) -> dict[str, list[dict[str, Any]]]:
    """Returns scenarios, grouped by the test that judges them; all run in one simulation."""
    even: dict[str, Any] = {"latency": [1, 40], "mixed": True}
    patterns: tuple[dict[str, Any], ...] = (ROUGH, even)
    random = [{**p, "seed": n} for n in range(SEEDS) for p in patterns]
    slow: list[dict[str, Any]] = [{"pause": 0.9}, {"stall": 0.8}, {"gap": 0.8}, {"latency": [3, 3]}]
    rates: list[dict[str, Any]] = [
        {"lists": {"0": requests}, "latency": [latency, latency]}
        for requests in PATTERNS.values()
        for latency in LATENCIES
    ]
    return {
        "traffic": [{"kind": "traffic", "requests": 80, **s} for s in random + slow],
        "stop": [{"kind": "stop", "rounds": 4, **s} for s in random],
        "error": [{"kind": "error", **s} for s in random],
        "rates": [{"kind": "traffic", **s} for s in rates] if size == "small" else [],
    }


@cache
def results(size: str) -> dict[str, list[dict[str, Any]]]:
    groups = scenarios(size)
    found = iter(run(SIZES[size], [s for group in groups.values() for s in group]))
    return {kind: [next(found) for _ in group] for kind, group in groups.items()}


every_size = pytest.mark.parametrize("size", slow_but([], SIZES, ["small", "odd"]))


@every_size
def test_beats_leave_in_order_whatever_the_memory_does(size: str) -> None:
    found = results(size)["traffic"]
    assert sum(result["overtakes"] for result in found) > 20


@every_size
def test_stop_in_the_middle_of_anything(size: str) -> None:
    assert len(results(size)["stop"]) == 2 * SEEDS


@every_size
def test_an_error_is_reported_and_its_data_never_passed_on(size: str) -> None:
    assert [result["errors"] > 0 for result in results(size)["error"]] == [True] * 2 * SEEDS


@pytest.mark.slow
def test_a_beat_and_a_burst_every_cycle() -> None:
    """Streams across all boundaries with latencies up to 10 cycles and 16 slots."""
    found = iter(results("small")["rates"])
    for requests in PATTERNS.values():
        beats = sum(count for _, _, count in requests)
        for _ in LATENCIES:
            assert next(found)["data"]["0"] == [beats, beats]


@every_size
def test_verilator_finds_nothing(size: str, tmp_path: Any) -> None:
    assert complaints("verilator", emitted(SIZES[size]).verilog, "routed_readers", tmp_path) == ""


def _reader(**changes: int) -> Callable[[], OrderedReader]:
    sizes = {"addr_bits": 40, "data_bits": 64, "channel_bits": 1, "outstanding": 4}
    return lambda: OrderedReader(**(sizes | {"burst_beats": 8} | changes))


@pytest.mark.parametrize(
    ("build_one", "message"),
    [
        (_reader(outstanding=1), "`outstanding` must be at least 2, not 1"),
        (_reader(burst_beats=12), "`burst_beats` must be a power of two in 1..256, not 12"),
    ],
)
def test_parameters_that_cannot_be(build_one: Callable[[], Any], message: str) -> None:
    assert refusal(build_one) == message
