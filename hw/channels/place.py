"""Where the words of an array in a channel go: address, place in the beat, ends of bursts."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.matraptor import MatRaptorConfig

__all__ = ["Place", "place_layout", "word_layout"]


def word_layout(config: MatRaptorConfig, word_bytes: int) -> data.StructLayout:
    """A word for an array in a channel: its number there, and which channel (and slot)."""
    fields: dict[str, ShapeLike] = {
        "word": 8 * word_bytes,
        "number": 32,
        "channel": config.layout.channel_bits,
    }
    if config.lane_channels > 1:
        fields["slot"] = (config.lane_channels - 1).bit_length()
    return data.StructLayout(fields)


def place_layout(config: MatRaptorConfig, word_bytes: int) -> data.StructLayout:
    """A word with its beat: its ``address``, the ``places`` in the beat (one bit is set), and
    whether the next word is in another beat (``beat_last``) that does not follow this one within
    its block (``run_last``)."""
    fields: dict[str, ShapeLike] = {
        "word": 8 * word_bytes,
        "places": config.beat_bytes // word_bytes,
        "address": config.addr_bits,
        "beat_last": 1,
        "run_last": 1,
    }
    if config.lane_channels > 1:
        fields["slot"] = (config.lane_channels - 1).bit_length()
    return data.StructLayout(fields)


class Place(wiring.Component):
    """Finds the places of words; latency two cycles, a word a cycle.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`
    word_bytes: bytes of a word, a power of two, at most a beat
    step: from the number of a word of a slot to that of the next one

    Members
    -------
    i: words, see :func:`word_layout`
    o: with their places, see :func:`place_layout`
    base: flat address of the array, a multiple of a block
    clear: in; forgets everything at the end of the cycle
    empty: out; nothing is inside
    """

    def __init__(self, config: MatRaptorConfig, *, word_bytes: int, step: int) -> None:
        self._config, self._word_bytes, self._step = config, word_bytes, step
        super().__init__(
            {
                "i": In(stream.Signature(word_layout(config, word_bytes))),
                "o": Out(stream.Signature(place_layout(config, word_bytes))),
                "base": In(config.addr_bits),
                "clear": In(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        block_bits = config.interleave.bit_length() - 1
        word_bits = self._word_bytes.bit_length() - 1
        # First the number of the block in the flat array, then its address.
        valid = Signal()
        word = Signal(self.i.payload.shape(), reset_less=True)
        block = Signal(config.addr_bits - block_bits, reset_less=True)
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
                block.eq(number * config.channels + self.i.payload.channel),
            ]
        beat, places, beat_last, run_last = self._within(m, word.number)
        with m.If(moves):
            flat = Cat(
                beat[: block_bits - (config.beat_bytes.bit_length() - 1)],
                (self.base[block_bits:] + block)[: config.addr_bits - block_bits],
            )
            m.d.sync += [
                self.o.valid.eq(valid),
                place.word.eq(word.word),
                place.places.eq(places),
                place.address.eq(flat.shift_left(config.beat_bytes.bit_length() - 1)),
                place.beat_last.eq(beat_last),
                place.run_last.eq(run_last),
            ]
            if config.lane_channels > 1:
                m.d.sync += place.slot.eq(word.slot)
        with m.If(self.clear):
            m.d.sync += [valid.eq(0), self.o.valid.eq(0)]
        return m

    def _within(self, m: Module, number: Value) -> tuple[Value, Value, Value, Value]:
        """Within its block: the beat, the places in the beat, and what it is the last of."""
        config = self._config
        beat_words = config.beat_bytes // self._word_bytes
        block_words = config.interleave // self._word_bytes
        shift = beat_words.bit_length() - 1
        # Numbers within the block; the next word may be in another one.
        here = Signal(range(block_words))
        following = Signal(range(block_words + self._step))
        next_beat = Signal(range(-(-(block_words + self._step) // beat_words) + 1))
        beat = Signal(range(max(2, config.burst_beats)))
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
        apart = (next_beat != beat + 1) | (next_beat >= config.burst_beats)
        return beat, places, beat_last, Mux(beat_last, apart, 0)
