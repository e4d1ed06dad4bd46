"""Brings the entries of a sparse tensor from memory, to each element its own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout, request_layout
from ...spec.t2s.config import T2sConfig
from ...spec.t2s.sparse_parts import EntriesPart
from ...spec.t2s.tokens import STEPS_BITS
from ...stream.fork import Fork
from ...stream.gearbox import Gearbox
from ..loader import run_count_bits
from .image_requests import ImageRequests, image_members
from .layouts import token_layout

__all__ = ["EntriesLoader"]


class EntriesLoader(wiring.Component):
    """Requests an image of vectors of tokens and cuts its beats into tokens.

    It requests the image anew in each iteration of the loops around.

    Each element takes its token of a vector when it likes; the next vector comes when all have.
    Requests go ahead of the data, also over an image's end. A vector a cycle, if it is no wider
    than a beat; else a beat a cycle.

    Parameters
    ----------
    part: what is loaded
    config: widths of addresses and beats, bursts under way

    Members
    -------
    start: pulse: a job begins; needs ``stop`` low
    stop: level: drop everything
    base, steps, trips_*: where the image lies, see :func:`image_members`; constant in a job
    running: requests or tokens are left
    request, i: streams of a burst reader
    o: of each element, its tokens (an array)
    """

    def __init__(self, part: EntriesPart, config: T2sConfig) -> None:
        self._part, self._config = part, config
        request = request_layout(config.addr_bits, run_count_bits(config))
        token = stream.Signature(token_layout(part.layout))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **image_members(part, config),
                "running": Out(1),
                "request": Out(stream.Signature(request)),
                "i": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(token).array(part.elements),
            }
        )

    @property
    def part(self) -> EntriesPart:
        return self._part

    @property
    def config(self) -> T2sConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._config
        m.submodules.requests = requests = ImageRequests(part, config)
        for name in ("start", "stop", *image_members(part, config)):
            m.d.comb += getattr(requests, name).eq(getattr(self, name))
        wiring.connect(m, requests.o, wiring.flipped(self.request))
        # Images that were requested and of which tokens are left, as in a loader of words.
        most = 2 * config.outstanding + 8
        under_way = Signal(range(most + 1))
        brought = self._cut(m)
        m.d.comb += [
            requests.hold.eq(under_way == most),
            self.running.eq(requests.running | (under_way != 0)),
        ]
        with m.If(self.stop):
            m.d.sync += under_way.eq(0)
        with m.Else():
            m.d.sync += under_way.eq(under_way + requests.ends - brought)
        return m

    def _cut(self, m: Module) -> Signal:
        """Cuts beats into vectors, and these into tokens.

        Returns whether the last token of an image leaves.
        """
        part = self._part
        m.submodules.vectors = vectors = Gearbox(
            self._config.beat_bytes, (part.vector_bytes,), STEPS_BITS
        )
        brought = Signal()
        m.d.comb += [
            vectors.clear.eq(self.stop),
            # All images are alike, and only their beats come.
            vectors.request.valid.eq(1),
            vectors.request.payload.count.eq(self.steps),
            vectors.lines.valid.eq(self.i.valid),
            vectors.lines.payload.eq(self.i.payload.data),
            self.i.ready.eq(vectors.lines.ready),
            brought.eq(vectors.o.valid & vectors.o.ready & vectors.o.payload.last & ~self.stop),
        ]
        for element, (o, taking) in enumerate(zip(self.o, self._shared(m, vectors), strict=True)):
            token = vectors.o.payload.data.word_select(element, 8 * part.layout.bytes)
            m.d.comb += [
                o.valid.eq(taking.valid & ~self.stop),
                Cat(o.payload).eq(token),
                taking.ready.eq(o.ready),
            ]
        return brought

    def _shared(self, m: Module, vectors: Gearbox) -> list[Any]:
        """Forks the handshake of the vectors of tokens to the elements.

        Each element accepts its token of the current vector by itself. Copies of the vectors for
        all elements would grow with the square of their number.
        """
        if self._part.elements == 1:
            return [vectors.o]
        m.submodules.fork = fork = Fork(1, self._part.elements, eager=True)
        m.d.comb += [
            fork.i.valid.eq(vectors.o.valid),
            fork.i.payload.eq(vectors.o.payload.last),
            vectors.o.ready.eq(fork.i.ready),
            fork.clear.eq(self.stop),
        ]
        return list(fork.o)
