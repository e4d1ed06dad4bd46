"""The blocks that a cache has, by their numbers."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..stream.ring import reads_with_writes

__all__ = ["CacheShape", "CacheTags", "found_layout"]


@dataclass(frozen=True, kw_only=True)
class CacheShape:
    """Size of a cache.

    Parameters
    ----------
    sets: number of sets, a power of two, at least 2
    ways: blocks of a set, a power of two, at least 2
    block_bytes: bytes of a block, a power of two
    skipped_bits: lowest bits of a block's number that do not choose its set: they are the same in
        most blocks of the channel
    """

    sets: int
    ways: int
    block_bytes: int
    skipped_bits: int = 0

    def __post_init__(self) -> None:
        for name in ("sets", "ways", "block_bytes"):
            value = getattr(self, name)
            if value < 2 or value & (value - 1):
                raise ValueError(f"`{name}` must be a power of two of at least 2, not {value}")

    @property
    def set_bits(self) -> int:
        """Width of a set's number."""
        return (self.sets - 1).bit_length()

    @property
    def way_bits(self) -> int:
        """Width of a way's number."""
        return (self.ways - 1).bit_length()

    @property
    def block_shift(self) -> int:
        """Bits of an address within a block."""
        return (self.block_bytes - 1).bit_length()

    def set_of(self, block: Value) -> Value:
        """The set of a block, by its number."""
        return block[self.skipped_bits :][: self.set_bits]

    def tag_of(self, block: Value) -> Value:
        """The other bits of its number."""
        return Cat(block[: self.skipped_bits], block[self.skipped_bits + self.set_bits :])


def found_layout(shape: CacheShape) -> data.StructLayout:
    """What the lookup of a read has found: its ``set`` and ``way``, whether it is a ``miss``,
    whether that replaces a block (``evicts``), whether the block is ``pending``, and the ``phase``
    of its fill."""
    return data.StructLayout(
        {
            "way": shape.way_bits,
            "set": shape.set_bits,
            "miss": 1,
            "evicts": 1,
            "pending": 1,
            "phase": 1,
        }
    )


class CacheTags(wiring.Component):
    """Finds blocks by their numbers, and chooses the blocks that they replace.

    The word of a set has its ways from the most to the least recently used one, whose block a miss
    replaces at once; its data come later. A lookup takes a cycle, and one may begin in each.

    A block is pending until its fill is done. The phase of a way changes with each fill, and a
    memory has the phase of the last fill that is done. So a block that replaces a pending one
    counts as filled until that one's fill is done.

    Parameters
    ----------
    shape: see :class:`CacheShape`
    block_bits: width of a block's number: at least ``set_bits`` and ``skipped_bits`` together

    Members
    -------
    look: in; look up ``block``, of which a read comes; only while ``ready``
    block: in; its number
    drop: in; valid: forget the block of this ``number``, the next cycle is not ``ready``
    flush: in, a pulse; forget all blocks; not ``ready`` for as many cycles as there are sets
    ready: out
    walking: out; blocks are being forgotten
    valid, found: out; the result of the lookup a cycle ago, see :func:`found_layout`
    filled: in; valid: the fill of a block is done; its ``set``, ``way`` and ``phase``
    """

    def __init__(self, shape: CacheShape, block_bits: int) -> None:
        least = shape.set_bits + shape.skipped_bits
        if block_bits < least:
            raise ValueError(f"`block_bits` must be at least {least}, not {block_bits}")
        self._shape, self._block_bits = shape, block_bits
        line = {"set": shape.set_bits, "way": shape.way_bits}
        self._tag = data.StructLayout(
            {
                "valid": 1,
                "phase": 1,
                "way": shape.way_bits,
                "tag": block_bits - shape.set_bits,
            }
        )
        super().__init__(
            {
                "look": In(1),
                "block": In(block_bits),
                "drop": In(data.StructLayout({"valid": 1, "number": block_bits})),
                "flush": In(1),
                "ready": Out(1),
                "walking": Out(1, init=1),
                "valid": Out(1),
                "found": Out(found_layout(shape)),
                "filled": In(data.StructLayout({"valid": 1, **line, "phase": 1})),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self._shape
        # After a reset, too: a memory begins with anything.
        walking = self.walking
        walked = Signal(shape.set_bits)
        with m.If(self.flush):
            m.d.sync += [walking.eq(1), walked.eq(0)]
        with m.Elif(walking):
            m.d.sync += [walked.eq(walked + 1), walking.eq(~walked.all())]
        drops = Signal()
        dropped = Signal(self._block_bits, reset_less=True)
        read = Signal(self._block_bits)
        sought = Signal(self._block_bits, reset_less=True)
        dropping = Signal()
        m.d.comb += [
            read.eq(Mux(drops, dropped, self.block)),
            self.ready.eq(~walking & ~drops),
        ]
        m.d.sync += [
            drops.eq(self.drop.valid & ~walking),
            dropped.eq(self.drop.number),
            sought.eq(read),
            dropping.eq(drops & ~walking),
            self.valid.eq(self.look),
        ]
        m.submodules.tags = tags = Memory(
            shape=data.ArrayLayout(self._tag, shape.ways), depth=shape.sets, init=[]
        )
        write = tags.write_port()
        (bits,) = reads_with_writes(m, tags, write, {"set": shape.set_of(read)})
        word = data.View(data.ArrayLayout(self._tag, shape.ways), bits)
        m.d.comb += [
            write.en.eq(walking | self.valid | dropping),
            write.addr.eq(Mux(walking, walked, shape.set_of(sought))),
        ]
        matches = Signal(shape.ways)
        m.d.comb += matches.eq(
            Cat(each.valid & (each.tag == shape.tag_of(sought)) for each in word)
        )
        self._choose(m, word, matches)
        self._update(m, word, matches, write.data, shape.tag_of(sought), walking, dropping)
        done = self._done(m, shape.set_of(read), walking, walked)
        m.d.comb += [
            self.found.set.eq(shape.set_of(sought)),
            self.found.pending.eq(self.found.phase != done.bit_select(self.found.way, 1)),
        ]
        return m

    def _choose(self, m: Module, word: data.View, matches: Value) -> None:
        """The way of the block, or else the one that is replaced."""
        found, last = self.found, word[self._shape.ways - 1]
        m.d.comb += [
            found.miss.eq(~matches.any()),
            found.evicts.eq(found.miss & last.valid),
            found.way.eq(last.way),
            found.phase.eq(~last.phase),
        ]
        for position, each in enumerate(word):
            with m.If(matches[position]):
                m.d.comb += [found.way.eq(each.way), found.phase.eq(each.phase)]

    def _update(
        self,
        m: Module,
        word: data.View,
        matches: Value,
        new: data.View,
        tag: Value,
        walking: Value,
        dropping: Value,
    ) -> None:
        """The word that is written: the block moves to the front, those before it move back."""
        for position, each in enumerate(word):
            with m.If(walking):
                m.d.comb += new[position].eq(self._tag.const({"way": position}))
            with m.Elif(dropping):
                m.d.comb += [
                    new[position].eq(each),
                    new[position].valid.eq(each.valid & ~matches[position]),
                ]
            with m.Elif(matches[:position].any() if position else 0):
                m.d.comb += new[position].eq(each)
            with m.Elif(position > 0):
                m.d.comb += new[position].eq(word[max(0, position - 1)])
            with m.Else():
                m.d.comb += [
                    new[position].valid.eq(1),
                    new[position].phase.eq(self.found.phase),
                    new[position].way.eq(self.found.way),
                    new[position].tag.eq(tag),
                ]

    def _done(self, m: Module, read_set: Value, walking: Value, walked: Value) -> Value:
        """The phases of the fills that are done, of all ways of the set that is looked up."""
        shape = self._shape
        m.submodules.done = done = Memory(shape=shape.ways, depth=shape.sets, init=[])
        write, read = done.write_port(granularity=1), done.read_port()
        way = Signal(shape.ways)
        m.d.comb += [
            way.eq(1 << self.filled.way),
            write.addr.eq(Mux(walking, walked, self.filled.set)),
            write.data.eq(Mux(walking, 0, self.filled.phase.replicate(shape.ways))),
            write.en.eq(Mux(walking, -1, Mux(self.filled.valid, way, 0))),
            read.addr.eq(read_set),
        ]
        return read.data
