"""The interconnects alone, with gaps at every input and stalls at every output: each burst and each
response reaches its destination, and data arrives in the order of the addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from tilewright.hw.axi.interconnect import ReadInterconnect, WriteInterconnect
from tilewright.hw.axi.ordered_reader import OrderedReader
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.stream.queue import Queue
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.axi.parts_top import RoutedSizes
from tilewright.verif.axi.routed import ROUGH, emitted, run
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but
from tilewright.verif.native.parts import each_of, with_ready

pytestmark = pytest.mark.quick

Words = npt.NDArray[np.uint32]

MEMBERS, BURSTS, RESPONSES = 3, 60, 200
WAITING = 4
"""Bursts that may wait for their data."""
ADDRESS = 24
"""Width of an address and its length, above which the ID is."""
SHARES = [(0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.4, 0.4)]
"""Gaps and stalls."""

every_share = pytest.mark.parametrize(("gap", "stall"), SHARES)


class _Stalled(wiring.Component):
    """An interconnect whose streams may all be stalled. What it sends without a ready enters a
    queue that is large enough for a whole test."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        members = inner.signature.members.items()
        super().__init__({name: with_ready(member) for name, member in members})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = self._inner
        for name, member in self._inner.signature.members.items():
            sides = (each_of(getattr(one, name)) for one in (self._inner, self))
            pairs = zip(*sides, strict=True)
            for number, (inside, outside) in enumerate(pairs):
                if not isinstance(inside.ready, Const):
                    wiring.connect(m, inside, wiring.flipped(outside))
                elif member.flow == Out:
                    queue = Queue(inside.payload.shape(), RESPONSES)
                    m.submodules[f"{name}_{number}"] = queue
                    m.d.comb += [
                        queue.i.valid.eq(inside.valid),
                        queue.i.payload.eq(inside.payload),
                    ]
                    wiring.connect(m, queue.o, wiring.flipped(outside))
                else:
                    m.d.comb += [
                        inside.valid.eq(outside.valid),
                        inside.payload.eq(outside.payload),
                        outside.ready.eq(1),
                    ]
        return m


@cache
def _simulation(kind: str) -> NativeSimulation:
    widths = {"addr_bits": 16, "data_bits": 16, "id_bits": 3}
    top: Any
    if kind == "reads":
        top = ReadInterconnect(MEMBERS, **widths)
    else:
        top = WriteInterconnect(MEMBERS, **widths, outstanding=WAITING)
    return NativeSimulation(emit_component(_Stalled(top), name=f"interconnected_{kind}"))


def _run(
    simulation: NativeSimulation, sent: dict[str, Words], counts: dict[str, int], pauses: Pauses
) -> dict[str, list[int]]:
    simulation.reset()
    rows = {name: words.reshape(-1, 1) for name, words in sent.items()}
    results, _ = simulation.run_streams(rows, counts, pauses=pauses)
    return {name: words[:, 0].tolist() for name, words in results.items()}


def _addresses(rng: np.random.Generator) -> list[Words]:
    """Draws bursts for each member: random addresses, and lengths of up to four beats."""
    return [
        rng.integers(1 << 16, size=BURSTS, dtype=np.uint32)
        | rng.integers(4, size=BURSTS, dtype=np.uint32) << np.uint32(16)
        for _ in range(MEMBERS)
    ]


def _check_addresses(got: list[int], sent: list[Words], gap: float) -> list[int]:
    """Checks that each member's bursts are in order under its ID, and that members that always have
    one alternate; returns the IDs."""
    for member, words in enumerate(sent):
        mine = [word & (1 << ADDRESS) - 1 for word in got if word >> ADDRESS == member]
        assert mine == words.tolist()
    order = [word >> ADDRESS for word in got]
    if not gap:
        assert order == [(order[0] + n) % MEMBERS for n in range(len(order))]
    return order


@every_share
def test_writes(gap: float, stall: float) -> None:
    rng = rng_of(61)
    addresses = _addresses(rng)
    data = []
    for words in addresses:
        last = np.concatenate([np.arange(n, -1, -1) == 0 for n in (words >> 16).tolist()])
        bits = rng.integers(1 << 18, size=len(last), dtype=np.uint32)
        data.append(bits | last.astype(np.uint32) << np.uint32(18))
    responses = rng.integers(1 << 5, size=RESPONSES, dtype=np.uint32)
    of_member = [responses[responses >> 2 == member] & 3 for member in range(MEMBERS)]
    sent = {f"writer_aw__{n}": words for n, words in enumerate(addresses)}
    sent |= {f"writer_w__{n}": words for n, words in enumerate(data)} | {"b": responses}
    counts = {"aw": MEMBERS * BURSTS, "w": sum(map(len, data))}
    counts |= {f"writer_b__{n}": len(words) for n, words in enumerate(of_member)}
    found = _run(_simulation("writes"), sent, counts, Pauses(seed=62, gap=gap, stall=stall))
    order = _check_addresses(found["aw"], addresses, gap)
    beats, expected = [iter(words.tolist()) for words in data], []
    for member in order:
        expected.append(next(beats[member]))
        while not expected[-1] >> 18:
            expected.append(next(beats[member]))
    assert found["w"] == expected
    assert [found[f"writer_b__{n}"] for n in range(MEMBERS)] == [w.tolist() for w in of_member]


@every_share
def test_reads(gap: float, stall: float) -> None:
    rng = rng_of(63)
    addresses = _addresses(rng)
    beats = rng.integers(1 << 22, size=RESPONSES, dtype=np.uint32)
    of_member = [beats[beats >> 19 == member] & (1 << 19) - 1 for member in range(MEMBERS)]
    sent = {f"reader_ar__{n}": words for n, words in enumerate(addresses)} | {"r": beats}
    counts = {"ar": MEMBERS * BURSTS}
    counts |= {f"reader_r__{n}": len(words) for n, words in enumerate(of_member)}
    found = _run(_simulation("reads"), sent, counts, Pauses(seed=64, gap=gap, stall=stall))
    _check_addresses(found["ar"], addresses, gap)
    assert [found[f"reader_r__{n}"] for n in range(MEMBERS)] == [w.tolist() for w in of_member]


# The ordered reader alone, under memories of every kind.

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


every_size = pytest.mark.parametrize("size", slow_but([], SIZES, ["small"]))


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
