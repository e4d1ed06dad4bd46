"""The row writer: what it writes, where, in which bursts, and that it never writes elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.axi.ports import ManagerPort
from tilewright.hw.channels.beat_packer import BeatPacker, WordPlacer, count_bits
from tilewright.hw.channels.c2sr_row_writer import (
    WRITERS,
    C2srRowWriter,
    lane_entry_layout,
    lane_row_layout,
)
from tilewright.hw.channels.channel_of_row import ChannelOfRow
from tilewright.hw.channels.stripe_walk import StripeWalk
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.bench.cocotb_build import SettingsBuild
from tilewright.verif.channels.lane_rows import WriterSettings
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.prover import never_broken


class WriterTop(wiring.Component):
    """A lane's row writer; ``m0_axi`` is the first of the lane's channels, and so on.

    Members are those of :class:`C2srRowWriter`, but that ``finished`` waits for the bus; ``idle``:
    of the burst writers.
    """

    def __init__(self, settings: WriterSettings) -> None:
        self._settings = settings
        geometry, layout, lane_map = settings.geometry, settings.layout, settings.lane_map
        self._ports = [
            ManagerPort(
                prefix=f"m{slot}_axi",
                addr_bits=geometry.addr_bits,
                data_bits=geometry.data_bits,
                id_bits=1,
            )
            for slot in range(lane_map.lane_channels)
        ]
        self.axi_ports = [port.describe() for port in self._ports]
        members = {name: member for port in self._ports for name, member in port.members().items()}
        outputs = ("finished", "region", "stored_entry", "stored_row", "idle")
        super().__init__(
            {
                **members,
                "i": In(stream.Signature(lane_entry_layout(layout, lane_map))),
                "pairs_base": In(geometry.addr_bits),
                "entries_base": In(geometry.addr_bits),
                "capacity": In(32),
                "lane": In(lane_map.lane_bits),
                **{name: In(1) for name in ("start", "stop")},
                **{name: Out(1) for name in outputs},
                "region_row": Out(lane_row_layout(lane_map, layout.index_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        settings, geometry = self._settings, self._settings.geometry
        m.submodules.writer = writer = C2srRowWriter(geometry, settings.layout, settings.lane_map)
        wiring.connect(m, wiring.flipped(self.i), writer.i)
        for name in ("pairs_base", "entries_base", "capacity", "lane", "start", "stop"):
            m.d.comb += getattr(writer, name).eq(getattr(self, name))
        for name in ("region", "stored_entry", "stored_row", "region_row"):
            m.d.comb += getattr(self, name).eq(getattr(writer, name))
        idle = []
        for slot, port in enumerate(self._ports):
            manager = WriteManager(
                len(WRITERS),
                addr_bits=geometry.addr_bits,
                data_bits=geometry.data_bits,
                id_bits=1,
                outstanding=settings.outstanding,
                count_bits=count_bits(geometry),
                burst_beats=geometry.block_beats,
                buffer_beats=2 * geometry.block_beats,
            )
            m.submodules[f"manager_{slot}"] = manager
            for index, name in enumerate(WRITERS):
                wiring.connect(m, getattr(writer, f"{name}_request")[slot], manager.request[index])
                wiring.connect(m, getattr(writer, f"{name}_data")[slot], manager.i[index])
            m.d.comb += manager.stop.eq(self.stop)
            idle.append(manager.idle)
            port.connect(m, self, write=manager)
        m.d.comb += [
            self.idle.eq(Cat(idle).all()),
            self.finished.eq(writer.finished & self.idle),
        ]
        return m


pytestmark = pytest.mark.long

BENCH = "tilewright.verif.channels.writer_bench"
SETTINGS: dict[str, dict[str, Any]] = {
    "own_channel": {"lanes": 2, "channels": 2, "data_bits": 128},
    # Lanes that share a channel: pairs of one beat, with beats of other lanes in between.
    "shared": {"lanes": 6, "channels": 2, "data_bits": 64},
    "shared_wide": {"lanes": 3, "channels": 1, "data_bits": 512, "interleave": 128},
    # Blocks in which a lane has no pair.
    "crowded": {"lanes": 16, "channels": 1, "data_bits": 64},
    "many_channels": {"lanes": 2, "channels": 6, "data_bits": 128, "value": "fp64"},
    "narrow": {"lanes": 1, "channels": 3, "data_bits": 64, "value": "fp16", "index_bits": 16,
               "interleave": 2048, "addr_bits": 64},
    "beat_is_block": {"lanes": 3, "channels": 3, "data_bits": 512, "outstanding": 2},
}  # fmt: skip
SAMPLE = ("shared", "narrow")
"""Cases of the default test."""
SEEDS = by_size(2, 2, 8)
ROUGH = {"latency": [1, 60], "stall": 0.3, "mixed": True, "modes": True, "gap": 0.2}


@cache
def build(name: str) -> SettingsBuild:
    return SettingsBuild(emit_component(WriterTop(WriterSettings(**SETTINGS[name])), name="writer"))


def run(name: str, scenarios: list[dict[str, Any]]) -> Any:
    found = build(name).run(BENCH, {"writer": SETTINGS[name], "scenarios": scenarios})
    for scenario, result in zip(scenarios, found, strict=True):
        assert result["faults"] == [], scenario
    return found


@pytest.mark.parametrize("name", slow_but([], SETTINGS, SAMPLE))
def test_memory_is_as_the_format_says(name: str) -> None:
    scenarios = [{**ROUGH, "seed": seed} for seed in range(SEEDS)]
    scenarios += [{"seed": seed, "longest": 3} for seed in range(SEEDS)]
    scenarios += [{**ROUGH, "seed": 100 + seed, "broken": "stop"} for seed in range(SEEDS)]
    scenarios += [{"seed": 200 + seed, "broken": "stop"} for seed in range(SEEDS)]
    scenarios += [{**ROUGH, "seed": 300 + seed, "broken": "region"} for seed in range(SEEDS)]
    found = run(name, scenarios)
    assert sum(result["stored_entry"] for result in found) > 100 * SEEDS


@pytest.mark.parametrize("name", slow_but([], SETTINGS, SAMPLE))
def test_a_token_every_cycle(name: str) -> None:
    """A memory that answers at once makes it wait only if its beats are more than the tokens."""
    settings = WriterSettings(**SETTINGS[name])
    scenarios = [
        {"seed": 1, "lengths": [400]},
        {"seed": 2, "lengths": [3] * 100},
        {"seed": 3, "lengths": [1] * 200},
        {"seed": 4, "lengths": [0] * 200},
    ]
    if settings.lane_map.lane_channels > 1:
        scenarios = scenarios[:1]
    beat_entries = settings.geometry.beat_bytes // settings.layout.entry_bytes
    beat_pairs = settings.geometry.beat_bytes // PAIR_BYTES
    for scenario, result in zip(scenarios, run(name, scenarios), strict=True):
        entries, rows = result["stored_entry"], result["stored_row"]
        beats = -(-entries // beat_entries)
        beats += min(rows, -(-rows * settings.lane_map.channel_lanes // beat_pairs))
        assert result["waited"] <= max(0, beats - result["tokens"]) + 2, scenario


@pytest.mark.parametrize("name", slow_but([], SETTINGS, SAMPLE))
def test_entries_are_written_in_whole_blocks(name: str) -> None:
    settings = WriterSettings(**SETTINGS[name])
    entries = 5 * settings.layout.block_entries + 1
    (found,) = run(name, [{"seed": 5, "lengths": [entries]}])
    blocks = [(address, beats) for id, address, beats in found["aw"] if id == 1]
    assert [beats for _, beats in blocks] == [settings.geometry.block_beats] * 5 + [1]
    assert all(address % settings.interleave == 0 for address, _ in blocks)


# The rules of streams at the outputs of hw/channels, for every sequence of inputs.

GEOMETRY = ChannelGeometry(channels=3, interleave=64, data_bits=128, addr_bits=32)
PARTS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    # what builds it, its outputs
    "stripe_walk": (lambda: StripeWalk(GEOMETRY), ("o",)),
    "stripe_walk_skid": (lambda: StripeWalk(GEOMETRY, skid=True), ("o",)),
    "word_placer": (lambda: WordPlacer(GEOMETRY, word_bytes=8, step=2, slots=3), ("o",)),
    "beat_packer": (lambda: BeatPacker(GEOMETRY, word_bytes=8), ("request", "o")),
    "channel_of_row": (lambda: ChannelOfRow(16, 3, 4), ("o",)),
}


class WatchedOutputs(wiring.Component):
    """A part after a source that obeys the rules of streams.

    Parameters
    ----------
    part: the component, with one input stream
    outputs: its output streams
    over_clear: the rules are to hold over ``clear``, too, which no part promises

    Members
    -------
    offer, payload: what the source offers unless it still offers something else
    take: whether each sink is ready
    wires: the part's other inputs
    broken: an output was offered, is not any more or is another, and was not taken
    """

    def __init__(self, part: Any, outputs: tuple[str, ...], *, over_clear: bool = False) -> None:
        self._part, self._outputs, self._over_clear = part, outputs, over_clear
        members = part.signature.members.items()
        self._wires = {
            name: Shape.cast(member.shape).width
            for name, member in members
            if member.is_port and member.flow == In
        }
        super().__init__(
            {
                "offer": In(1),
                "payload": In(len(Value.cast(part.i.payload))),
                "take": In(len(outputs)),
                **{name: In(width) for name, width in self._wires.items()},
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = self._part
        waiting = Signal()
        kept = Signal(len(self.payload))
        given = Value.cast(part.i.payload)
        m.d.comb += [
            part.i.valid.eq(self.offer | waiting),
            given.eq(Mux(waiting, kept, self.payload)),
            *(getattr(part, name).eq(getattr(self, name)) for name in self._wires),
        ]
        m.d.sync += [waiting.eq(part.i.valid & ~part.i.ready), kept.eq(given)]
        for index, name in enumerate(self._outputs):
            port = getattr(part, name)
            payload = Value.cast(port.payload)
            offered = Signal(name=f"{name}_offered")
            before = Signal(len(payload), name=f"{name}_before")
            stays = port.valid & ~port.ready
            m.d.comb += port.ready.eq(self.take[index])
            m.d.sync += [
                offered.eq(stays if self._over_clear else stays & ~part.clear),
                before.eq(payload),
            ]
            with m.If(offered & (~port.valid | (payload != before))):
                m.d.comb += self.broken.eq(1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    build, outputs = PARTS[name]
    assert never_broken(WatchedOutputs(build(), outputs), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """Without the exception for ``clear`` the same check finds the payload that ``clear`` drops."""
    part = WordPlacer(GEOMETRY, word_bytes=8, step=1)
    assert not never_broken(WatchedOutputs(part, ("o",), over_clear=True), tmp_path)
