"""Words into beats with strobes, and runs of beats into requests."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import request_layout, store_layout
from ..spec.channels import ChannelGeometry


def _slot(slots: int) -> dict[str, ShapeLike]:
    return {"slot": (slots - 1).bit_length()} if slots > 1 else {}


def channel_word_layout(
    geometry: ChannelGeometry, word_bytes: int, slots: int = 1, *, closing: bool = False
) -> data.StructLayout:
    """A word for an array in a channel: its number there, and which ``channel``; of ``slots``
    channels that are written apart, which ``slot`` (no field if there is one); with ``closing``,
    whether the next word does not follow it (``closes``)."""
    fields: dict[str, ShapeLike] = {
        "word": 8 * word_bytes,
        "number": 32,
        "channel": geometry.channel_bits,
    }
    closes: dict[str, ShapeLike] = {"closes": 1} if closing else {}
    return data.StructLayout({**fields, **_slot(slots), **closes})


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
    closing: whether words may say that the next one does not follow

    Members
    -------
    i: words, see :func:`channel_word_layout`
    o: with their places, see :func:`placed_word_layout`
    base: flat address of the array, a multiple of a block
    clear: in; forgets everything at the end of the cycle
    empty: out; nothing is inside
    """

    def __init__(
        self,
        geometry: ChannelGeometry,
        *,
        word_bytes: int,
        step: int,
        slots: int = 1,
        closing: bool = False,
    ) -> None:
        self._geometry, self._word_bytes = geometry, word_bytes
        self._step, self._slots, self._closing = step, slots, closing
        word = channel_word_layout(geometry, word_bytes, slots, closing=closing)
        super().__init__(
            {
                "i": In(stream.Signature(word)),
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
            if self._closing:
                with m.If(word.closes):
                    m.d.sync += [place.beat_last.eq(1), place.run_last.eq(1)]
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


def count_bits(geometry: ChannelGeometry) -> int:
    """Width of a number of beats of a block."""
    return max(2, geometry.block_beats.bit_length())


def write_request_layout(geometry: ChannelGeometry) -> data.StructLayout:
    """A request to write: beats of one block."""
    return request_layout(geometry.addr_bits, count_bits(geometry))


class BeatPacker(wiring.Component):
    """Packs the words of one array in one channel into beats, and requests their writing.

    A request follows its last beat. Strobes name the words that came. A word a cycle.

    Parameters
    ----------
    geometry: of the memory's channels
    word_bytes: bytes of a word

    Members
    -------
    i: words with their places, see :func:`placed_word_layout`; places ascend within a run
    request, o: streams to a burst writer
    flush: in, level; no more words come, what is inside goes
    clear: in; forgets everything at the end of the cycle
    empty: out; nothing is inside
    """

    def __init__(self, geometry: ChannelGeometry, *, word_bytes: int) -> None:
        self._geometry, self._word_bytes = geometry, word_bytes
        super().__init__(
            {
                "i": In(stream.Signature(placed_word_layout(geometry, word_bytes))),
                "request": Out(stream.Signature(write_request_layout(geometry))),
                "o": Out(stream.Signature(store_layout(geometry.data_bits))),
                "flush": In(1),
                "clear": In(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i.payload
        # The words of the unfinished beat; the run, and its finished beats.
        words = Signal(data.ArrayLayout(8 * self._word_bytes, len(word.places)), reset_less=True)
        filled = Signal(len(word.places))
        open_ = Signal(name="open")
        address = Signal(self._geometry.addr_bits, reset_less=True)
        beats = Signal(range(self._geometry.block_beats + 1))
        free = Signal()
        put = Signal()
        flushes = Signal()
        sends_beat = Signal()
        sends_run = Signal()
        m.d.comb += [
            # A beat and its request leave together.
            free.eq((self.o.ready | ~self.o.valid) & (self.request.ready | ~self.request.valid)),
            self.i.ready.eq(free),
            put.eq(self.i.valid & free),
            flushes.eq(self.flush & open_ & free),
            sends_beat.eq((put & word.beat_last) | (flushes & filled.any())),
            sends_run.eq((put & word.run_last) | flushes),
            self.empty.eq(~open_ & ~self.o.valid & ~self.request.valid),
        ]
        self._send(m, words, filled, put, sends_beat)
        with m.If(put):
            m.d.sync += [open_.eq(~word.run_last), filled.eq(filled | word.places)]
            with m.If(~open_):
                m.d.sync += address.eq(word.address)
        with m.If(sends_beat):
            m.d.sync += [filled.eq(0), beats.eq(beats + 1)]
        with m.If(sends_run):
            m.d.sync += [open_.eq(0), beats.eq(0)]
        self._request(m, Mux(open_, address, word.address), beats + sends_beat, sends_run)
        with m.If(self.clear):
            m.d.sync += [
                open_.eq(0),
                filled.eq(0),
                beats.eq(0),
                self.o.valid.eq(0),
                self.request.valid.eq(0),
            ]
        return m

    def _send(self, m: Module, words: Value, filled: Value, put: Value, sends: Value) -> None:
        """Fills the beat, and sends it."""
        word = self.i.payload
        beat = Signal(self.o.payload.shape(), reset_less=True)
        strobes = filled | Mux(put, word.places, 0)
        m.d.comb += self.o.payload.eq(beat)
        for place, held in enumerate(words):
            with m.If(put & word.places[place]):
                m.d.sync += held.eq(word.word)
        with m.If(sends):
            m.d.sync += [
                self.o.valid.eq(1),
                beat.data.eq(
                    Cat(
                        Mux(put & word.places[place], word.word, held)
                        for place, held in enumerate(words)
                    )
                ),
                beat.strobe.eq(Cat(bit.replicate(self._word_bytes) for bit in strobes)),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

    def _request(self, m: Module, address: Value, beats: Value, sends: Value) -> None:
        """Ask for the writing of a run."""
        request = Signal(self.request.payload.shape(), reset_less=True)
        m.d.comb += self.request.payload.eq(request)
        with m.If(sends):
            m.d.sync += [
                self.request.valid.eq(1),
                request.address.eq(address),
                request.beats.eq(beats),
            ]
        with m.Elif(self.request.ready):
            m.d.sync += self.request.valid.eq(0)
