"""A processing element as a unit of one input and one output stream: jobs in, results out."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.matraptor.layouts import product_layout, result_layout, row_layout
from tilewright.hw.matraptor.merge.processing_element import ProcessingElement
from tilewright.hw.spec.matraptor import MatRaptorConfig

COUNTS = ("multiplied", "merge_step", "merge_wait", "set_wait")
"""Outputs of a processing element that are counted."""

_QUIET = 64
"""Cycles without a result after which, behind an error, none comes any more."""


class ProcessingElementUnit(wiring.Component):
    """Runs jobs one after the other; each ends with a token of status, and with a stop.

    A job's last token has ``lane_last``; what follows it waits. After an error the rest of the job
    is swallowed. A ``stop`` token stops the element in the middle of a job, all of whose tokens
    were marked ``mute``: its results are dropped, and it has no status.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: products as fields of the layout, ``mute``, ``stop``
    o: results as fields of the layout; or ``status``, and then errors and counts
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        token = {name: field.shape for name, field in product_layout(config)}
        result = {name: field.shape for name, field in result_layout(config)}
        status = {"status": 1, "overflow": 1, "unsorted": 1, "error_row": row_layout(config)}
        counts = dict.fromkeys(COUNTS, 32)
        self._token = data.StructLayout({**token, "mute": 1, "stop": 1})
        super().__init__(
            {
                "i": In(stream.Signature(self._token)),
                "o": Out(stream.Signature(data.StructLayout({**result, **status, **counts}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.element = element = ProcessingElement(self._config)
        last_taken = Signal()
        muted = Signal()
        forward = Signal()
        quiet = Signal(range(_QUIET + 1))
        token, out = self.i.payload, self.o.payload
        for name, _ in product_layout(self._config):
            m.d.comb += Value.cast(element.i.payload[name]).eq(Value.cast(token[name]))
        for name, _ in result_layout(self._config):
            m.d.comb += Value.cast(out[name]).eq(Value.cast(element.o.payload[name]))
        counts = {name: Signal(32, name=f"count_{name}") for name in COUNTS}
        for name, count in counts.items():
            m.d.sync += count.eq(count + getattr(element, name))
            m.d.comb += out[name].eq(Mux(out.status, count, 0))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [last_taken.eq(token.lane_last), muted.eq(muted | token.mute)]
        m.d.comb += [
            out.overflow.eq(out.status & element.overflow),
            out.unsorted.eq(out.status & element.unsorted),
            out.error_row.eq(Mux(out.status, element.error_row.as_value(), 0)),
            forward.eq(element.o.valid & ~muted),
        ]
        failed = element.overflow | element.unsorted
        m.d.sync += quiet.eq(quiet + 1)
        with m.If(element.o.valid):
            m.d.sync += quiet.eq(0)
        with m.FSM(name="job"):
            with m.State("RUN"):
                stopping = self.i.valid & token.stop
                m.d.comb += [
                    element.i.valid.eq(self.i.valid & ~token.stop & ~last_taken),
                    self.i.ready.eq((token.stop | element.i.ready) & ~last_taken),
                    self.o.valid.eq(forward),
                    element.o.ready.eq(self.o.ready | muted),
                ]
                with m.If(stopping & ~last_taken):
                    m.next = "STOP"
                with m.Elif(failed):
                    m.d.sync += quiet.eq(0)
                    m.next = "FAILED"
                with m.Elif(forward & self.o.ready & element.o.payload.lane_last):
                    m.next = "STATUS"
            with m.State("FAILED"):
                m.d.comb += [
                    self.i.ready.eq(~last_taken),
                    self.o.valid.eq(forward),
                    element.o.ready.eq(self.o.ready | muted),
                ]
                with m.If(self.i.valid & token.stop & ~last_taken):
                    m.next = "STOP"
                with m.Elif(last_taken & (quiet == _QUIET)):
                    m.next = "STATUS"
                with m.If(quiet == _QUIET):
                    m.d.sync += quiet.eq(quiet)
            with m.State("STATUS"):
                m.d.comb += [self.o.valid.eq(1), out.status.eq(1)]
                with m.If(self.o.ready):
                    m.next = "STOP"
            with m.State("STOP"):
                m.d.comb += element.stop.eq(1)
                m.d.sync += [last_taken.eq(0), muted.eq(0)]
                m.d.sync += [count.eq(0) for count in counts.values()]
                m.next = "RUN"
        return m
