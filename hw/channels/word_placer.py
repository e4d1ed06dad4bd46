"""Places the words of an array in a channel: address, place in the beat, ends of bursts."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.channels import ChannelGeometry

__all__ = ["WordPlacer", "channel_word_layout", "placed_word_layout"]


def _slot(slots: int) -> dict[str, ShapeLike]:
    return {"slot": (slots - 1).bit_length()} if slots > 1 else {}


def channel_word_layout(
    geometry: ChannelGeometry, word_bytes: int, slots: int = 1
) -> data.StructLayout:
    """A word for an array in a channel: its number there, and which ``channel``; of ``slots``
    channels that are written apart, which ``slot`` (no field if there is one)."""
    fields: dict[str, ShapeLike] = {
        "word": 8 * word_bytes,
        "number": 32,
        "channel": geometry.channel_bits,
    }
    return data.StructLayout({**fields, **_slot(slots)})


def placed_word_layout(
    geometry: ChannelGeometry, word_bytes: int, slots: int = 1
) -> data.StructLayout:
    """A word with its beat: its ``address``, the ``places`` in the beat (one bit is set), and
    whether the next word is in another beat (``beat_last``) that does not follow this one within
    its block (``run_last``)."""
    fields: dict[str, ShapeLike] = {
        "word": 8 * word_bytes,
        "places": geometry.beat_bytes // word_bytes,
        "address": geometry.addr_bits,
        "beat_last": 1,
        "run_last": 1,
    }
    return data.StructLayout({**fields, **_slot(slots)})


class WordPlacer(wiring.Component):
    """Computes the places of words; latency two cycles, one word per cycle.

    Parameters
    ----------
    geometry: of the memory's channels
    word_bytes: bytes of a word, a power of two, at most a beat
    step: from the number of a word of a slot to that of the next one
    slots: channels that are written apart

    Members
    -------
    i: words, see :func:`channel_word_layout`
    o: with their places, see :func:`placed_word_layout`
    base: flat address of the array, a multiple of a block
    clear: in; forgets everything at the end of the cycle
    empty: out; nothing is inside
    """

    def __init__(
        self, geometry: ChannelGeometry, *, word_bytes: int, step: int, slots: int = 1
    ) -> None:
        self._geometry, self._word_bytes = geometry, word_bytes
        self._step, self._slots = step, slots
        super().__init__(
            {
                "i": In(stream.Signature(channel_word_layout(geometry, word_bytes, slots))),
                "o": Out(stream.Signature(placed_word_layout(geometry, word_bytes, slots))),
                "base": In(geometry.addr_bits),
                "clear": In(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self._geometry
        block_bits = geometry.block_shift
        word_bits = self._word_bytes.bit_length() - 1
        # First the number of the block in the flat array, then its address.
        valid = Signal()
        word = Signal(self.i.payload.shape(), reset_less=True)
        block = Signal(geometry.addr_bits - block_bits, reset_less=True)
        place = Signal(self.o.payload.shape(), reset_less=True)
        moves = Signal()
        m.d.comb += [
            self.o.payload.eq(place),
            moves.eq(self.o.ready | ~self.o.valid),
            self.i.ready.eq(moves | ~valid),
            self.empty.eq(~valid & ~self.o.valid),
        ]
        with m.If(self.i.ready):
            number = self.i.payload.number[block_bits - word_bits :]
            m.d.sync += [
                valid.eq(self.i.valid),
                word.eq(self.i.payload),
                block.eq(number * geometry.channels + self.i.payload.channel),
            ]
        beat, places, beat_last, run_last = self._within(m, word.number)
        with m.If(moves):
            flat = Cat(
                beat[: block_bits - geometry.beat_shift],
                (self.base[block_bits:] + block)[: geometry.addr_bits - block_bits],
            )
            m.d.sync += [
                self.o.valid.eq(valid),
                place.word.eq(word.word),
                place.places.eq(places),
                place.address.eq(flat.shift_left(geometry.beat_shift)),
                place.beat_last.eq(beat_last),
                place.run_last.eq(run_last),
            ]
            if self._slots > 1:
                m.d.sync += place.slot.eq(word.slot)
        with m.If(self.clear):
            m.d.sync += [valid.eq(0), self.o.valid.eq(0)]
        return m

    def _within(self, m: Module, number: Value) -> tuple[Value, Value, Value, Value]:
        """Computes the place of a word within its block: the beat, the places in the beat, and the
        ends that the word is at."""
        geometry = self._geometry
        beat_words = geometry.beat_bytes // self._word_bytes
        block_words = geometry.interleave // self._word_bytes
        shift = beat_words.bit_length() - 1
        # Numbers within the block; the next word may be in another one.
        here = Signal(range(block_words))
        following = Signal(range(block_words + self._step))
        next_beat = Signal(range(-(-(block_words + self._step) // beat_words) + 1))
        beat = Signal(range(max(2, geometry.block_beats)))
        places = Signal(beat_words)
        beat_last = Signal()
        m.d.comb += [
            here.eq(number),
            following.eq(here + self._step),
            beat.eq(here.shift_right(shift)),
            next_beat.eq(following.shift_right(shift)),
            places.eq(1 << here[:shift] if shift else 1),
            beat_last.eq(beat != next_beat),
        ]
        apart = (next_beat != beat + 1) | (next_beat >= geometry.block_beats)
        return beat, places, beat_last, Mux(beat_last, apart, 0)
