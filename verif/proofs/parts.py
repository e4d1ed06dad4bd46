"""The parts with streams of ``hw/stream``, ``hw/axi`` and ``hw/channels``, in small sizes."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.lib import wiring
from tilewright.hw.axi.block_reader import BlockReader
from tilewright.hw.axi.burst_reader import BurstReader
from tilewright.hw.axi.burst_splitter import BurstSplitter
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.interconnect import ReadInterconnect, WriteInterconnect
from tilewright.hw.axi.managers import ReadManager, WriteManager
from tilewright.hw.axi.ordered_reader import OrderedReader
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.channels.beat_packer import BeatPacker
from tilewright.hw.channels.c2sr_row_writer import C2srRowWriter
from tilewright.hw.channels.channel_of_row import ChannelOfRow
from tilewright.hw.channels.flat_blocks import FlatBlocks
from tilewright.hw.channels.held_block import HeldBlock
from tilewright.hw.channels.stripe_walk import StripeWalk
from tilewright.hw.channels.striped_reader import BlockShare, StripedReader
from tilewright.hw.channels.striped_writer import BlockBeats, StripedWriter
from tilewright.hw.channels.word_placer import WordPlacer
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry, LaneMap
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.hw.stream.deep_queue import DeepQueue
from tilewright.hw.stream.fork import Fork
from tilewright.hw.stream.gate import Gate
from tilewright.hw.stream.gearbox import Gearbox
from tilewright.hw.stream.join import Join
from tilewright.hw.stream.output_register import OutputRegister
from tilewright.hw.stream.queue import Queue
from tilewright.hw.stream.round_robin import RoundRobin
from tilewright.hw.stream.skid_buffer import SkidBuffer

BITS = 2
GEOMETRY = ChannelGeometry(channels=2, interleave=64, data_bits=256, addr_bits=32)
"""Two channels, and blocks of two beats."""

THREE = ChannelGeometry(channels=3, interleave=64, data_bits=256, addr_bits=32)
LAYOUT = C2srLayout(channels=2, value="fp16", index_bits=16)
LANES = LaneMap(lanes=2, channels=2)
BUS = {"addr_bits": 16, "data_bits": 8}
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
    "beat_packer": lambda: BeatPacker(GEOMETRY, word_bytes=8),
    "block_beats": lambda: BlockBeats(GEOMETRY),
    "block_share": lambda: BlockShare(GEOMETRY, 16, queue=2),
    "c2sr_row_writer": lambda: C2srRowWriter(GEOMETRY, LAYOUT, LANES),
    "channel_of_row": lambda: ChannelOfRow(16, 3, 4),
    "channel_of_row_even": lambda: ChannelOfRow(16, 2, 4),
    "flat_blocks": lambda: FlatBlocks(GEOMETRY),
    "held_block": lambda: HeldBlock(GEOMETRY),
    "stripe_walk": lambda: StripeWalk(GEOMETRY),
    "striped_reader": lambda: StripedReader(GEOMETRY, line_blocks=2, outstanding=2, requests=2),
    "striped_writer": lambda: StripedWriter(GEOMETRY, line_blocks=2, bytes_bits=8, outstanding=2),
    "striped_writer_three": lambda: StripedWriter(
        THREE, line_blocks=2, bytes_bits=8, outstanding=2, blocks=2
    ),
    "word_placer": lambda: WordPlacer(GEOMETRY, word_bytes=8, step=2, slots=3),
}
"""Builder of each part."""
