"""The parts with streams of ``hw/stream``, ``hw/axi`` and ``hw/channels``, in small sizes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import stream, wiring
from tilewright.hw.axi.block_reader import BlockReader
from tilewright.hw.axi.burst_reader import BurstReader, BurstSplitter
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.cache_tags import CacheShape
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.interconnect import ReadInterconnect, WriteInterconnect
from tilewright.hw.axi.managers import ReadManager, WriteManager
from tilewright.hw.axi.ordered_reader import OrderedReader
from tilewright.hw.axi.read_cache import CacheBlocks, ReadCache
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.channels.array_readers import HeldBlock
from tilewright.hw.channels.beat_packer import BeatPacker, WordPlacer
from tilewright.hw.channels.c2sr_row_writer import C2srRowWriter
from tilewright.hw.channels.channel_of_row import ChannelOfRow
from tilewright.hw.channels.stripe_walk import FlatBlocks, FlatSpans, StripeWalk
from tilewright.hw.channels.striped_reader import BlockShare, StripedReader
from tilewright.hw.channels.striped_writer import BlockBeats, StripedWriter
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry, LaneMap
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.hw.stream.fork_join import Fork, Join
from tilewright.hw.stream.gearbox import Gearbox
from tilewright.hw.stream.multiplex import Gate, RoundRobin
from tilewright.hw.stream.queue import DeepQueue, Queue
from tilewright.hw.stream.stream_registers import OutputRegister, SkidBuffer
from tilewright.verif.proofs.claim import Claim

_CLEARS = ("clear", "stop")


def _streams(part: wiring.Component) -> Iterator[tuple[str, wiring.Member, Any]]:
    """The streams of a part, those of arrays one by one."""
    for name, member in part.signature.members.items():
        if not isinstance(member.signature if member.is_signature else None, stream.Signature):
            continue
        ports = [getattr(part, name)]
        for _ in member.dimensions:
            ports = [one for port in ports for one in port]
        for number, port in enumerate(ports):
            yield (f"{name}_{number}" if member.dimensions else name), member, port


def _put(
    claim: Claim,
    part: wiring.Component,
    *,
    constants: Collection[str],
    steady: Mapping[str, str],
    fixed: Mapping[str, int],
    first: Collection[str] = (),
) -> tuple[list[Any], list[tuple[str, Any]]]:
    """Put a part with free inputs into a claim. Returns its streams in and out."""
    m = claim.m
    m.submodules.part = part
    ports = {name: port for name, _, port in _streams(part)}
    inputs, outputs = [], []
    for name, member, port in _streams(part):
        if member.flow == wiring.In:
            claim.source(name, port)
            inputs.append(port)
        else:
            # A sink that is always ready holds nothing up.
            if not isinstance(port.ready, Const):
                m.d.comb += port.ready.eq(claim.free(f"{name}_ready"))
            outputs.append((name, port))
    for name, member in part.signature.members.items():
        if not member.is_port or member.flow != wiring.In or name in _CLEARS:
            continue
        value = Value.cast(getattr(part, name))
        if name in fixed:
            given: Value = Const(fixed[name], len(value))
        elif name in first:
            given = Signal(len(value), init=-1)
            m.d.sync += given.eq(0)
        elif name in constants:
            given = claim.constant(name, len(value))
        elif name in steady:
            # It stays as it is while the transfer waits.
            port = ports[steady[name]]
            waits = claim.before(port.valid & ~port.ready, f"{name}_waits")
            kept = claim.before(value, name)
            given = Mux(waits, kept, claim.free(name, len(value)))
        else:
            given = claim.free(name, len(value))
        m.d.comb += value.eq(given)
    return inputs, outputs


def stream_claim(
    part: wiring.Component,
    *,
    constants: Collection[str] = (),
    steady: Mapping[str, str] | None = None,
    fixed: Mapping[str, int] | None = None,
    first: Collection[str] = (),
    over_clear: bool = False,
) -> Claim:
    """Claims that each output stream of a part holds its offer until the transfer, for all inputs
    that keep the rules of streams.

    Parameters
    ----------
    constants: inputs that do not change
    steady: inputs that stay while the transfer at a stream waits
    fixed: inputs with a value
    first: inputs that are set in the first cycle, and never again
    over_clear: while ``clear`` and ``stop`` come, too, which no part promises
    """

    def describe(claim: Claim) -> None:
        steady_, fixed_ = steady or {}, fixed or {}
        _, outputs = _put(
            claim, part, constants=constants, steady=steady_, fixed=fixed_, first=first
        )
        for name in _CLEARS:
            if hasattr(part, name):
                value = claim.free(name) if over_clear else Const(0)
                claim.m.d.comb += getattr(part, name).eq(value)
        for name, port in outputs:
            if isinstance(port.ready, Const):
                continue
            claim.stable(name, port)
            waits = claim.before(port.valid & ~port.ready, f"{name}_waited")
            claim.reached(f"{name}_waits", waits & port.valid & port.ready)

    return Claim(describe)


def clear_claim(
    part: wiring.Component, *, constants: Collection[str] = (), kept: bool = False
) -> Claim:
    """After a ``clear`` no output offers anything until an input does.

    Parameters
    ----------
    kept: the part is not cleared, which is wrong
    """

    def describe(claim: Claim) -> None:
        m = claim.m
        inputs, outputs = _put(claim, part, constants=constants, steady={}, fixed={})
        clear, cleared = claim.free("clear"), Signal()
        m.d.comb += part.clear.eq(0 if kept else clear)
        offers = Cat(port.valid for port in inputs).any()
        with m.If(clear):
            m.d.sync += cleared.eq(1)
        with m.Elif(offers):
            m.d.sync += cleared.eq(0)
        found = Cat(port.valid for _, port in outputs).any()
        claim.broken("left", cleared & ~offers & found)
        claim.reached("cleared", claim.before(clear & found, "found") & ~found)

    return Claim(describe)


BITS = 2
GEOMETRY = ChannelGeometry(channels=2, interleave=64, data_bits=256, addr_bits=32)
"""Two channels, and blocks of two beats."""

THREE = ChannelGeometry(channels=3, interleave=64, data_bits=256, addr_bits=32)
LAYOUT = C2srLayout(channels=2, value="fp16", index_bits=16)
LANES = LaneMap(lanes=2, channels=2)
BUS = {"addr_bits": 16, "data_bits": 8}
CACHE = CacheShape(sets=2, ways=2, block_bytes=2)
SIZES = {**BUS, "outstanding": 2, "count_bits": 3, "burst_beats": 2, "buffer_beats": 4}
"""Sizes of a reader or a writer with two bursts of up to two beats in flight."""

REGISTERS = RegisterMap(
    registers=(
        Register(name="GO", offset=0, access="wo", fields=(Field(name="go"),)),
        Register(name="BASE", offset=8, fields=(Field(name="value", width=64),), bits=64),
    )
)

PARTS: dict[str, Callable[[], wiring.Component]] = {
    "skid_buffer": lambda: SkidBuffer(BITS),
    "skid_buffer_clearable": lambda: SkidBuffer(BITS, clearable=True),
    "skid_buffer_direct": lambda: SkidBuffer(BITS, output_register=False),
    "skid_buffer_direct_clearable": lambda: SkidBuffer(BITS, output_register=False, clearable=True),
    "output_register": lambda: OutputRegister(BITS),
    "output_register_clearable": lambda: OutputRegister(BITS, clearable=True),
    "queue": lambda: Queue(BITS, 3),
    "deep_queue": lambda: DeepQueue(BITS, 3),
    "deep_queue_register": lambda: DeepQueue(BITS, 3, register=True),
    "gate": lambda: Gate(BITS),
    "join": lambda: Join({"a": BITS, "b": BITS}),
    "fork_eager": lambda: Fork(BITS, 2, eager=True),
    "fork_lazy": lambda: Fork(BITS, 2),
    "round_robin": lambda: RoundRobin(BITS, 3),
    "gearbox": lambda: Gearbox(2, (4, 2), 2),
    "burst_splitter": lambda: BurstSplitter(addr_bits=16, data_bits=8, count_bits=3, burst_beats=2),
    "burst_reader": lambda: BurstReader(**SIZES),
    "burst_writer": lambda: BurstWriter(**SIZES),
    "burst_writer_deep": lambda: BurstWriter(**{**SIZES, "outstanding": 16}),
    "block_reader": lambda: BlockReader(**BUS, block_beats=2, outstanding=2),
    "ordered_reader": lambda: OrderedReader(**BUS, channel_bits=1, outstanding=2, burst_beats=2),
    "read_interconnect": lambda: ReadInterconnect(2, **BUS),
    "write_interconnect": lambda: WriteInterconnect(2, **BUS, id_bits=1, outstanding=4),
    "read_manager": lambda: ReadManager(2, **SIZES, id_bits=1),
    "write_manager": lambda: WriteManager(2, **SIZES, id_bits=1),
    "read_crossbar": lambda: ReadCrossbar(2, 2, **BUS, lane_id_bits=1),
    "registers": lambda: AxiLiteRegisters(REGISTERS, 8),
    "read_cache": lambda: ReadCache(
        CACHE, **BUS, id_bits=2, cached_bit=1, fill_id=2, outstanding=2, waiting=4
    ),
    "cache_blocks": lambda: CacheBlocks(CACHE, data_bits=8, id_bits=1),
    "beat_packer": lambda: BeatPacker(GEOMETRY, word_bytes=8),
    "block_beats": lambda: BlockBeats(GEOMETRY),
    "block_share": lambda: BlockShare(GEOMETRY, 16, queue=2),
    "c2sr_row_writer": lambda: C2srRowWriter(GEOMETRY, LAYOUT, LANES),
    "channel_of_row": lambda: ChannelOfRow(16, 3, 4),
    "channel_of_row_even": lambda: ChannelOfRow(16, 2, 4),
    "flat_blocks": lambda: FlatBlocks(GEOMETRY),
    "flat_spans": lambda: FlatSpans(GEOMETRY),
    "held_block": lambda: HeldBlock(GEOMETRY),
    "stripe_walk": lambda: StripeWalk(GEOMETRY),
    "stripe_walk_skid": lambda: StripeWalk(GEOMETRY, skid=True),
    "striped_reader": lambda: StripedReader(GEOMETRY, line_blocks=2, outstanding=2, requests=2),
    "striped_writer": lambda: StripedWriter(GEOMETRY, line_blocks=2, bytes_bits=8, outstanding=2),
    "striped_writer_three": lambda: StripedWriter(
        THREE, line_blocks=2, bytes_bits=8, outstanding=2, blocks=2
    ),
    "word_placer": lambda: WordPlacer(GEOMETRY, word_bytes=8, step=2, slots=3),
}
"""Builder of each part."""
