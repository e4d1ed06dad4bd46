"""Converts the rows of a command to requests of the bus."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import request_layout
from ...spec.gta import GtaConfig
from ...spec.jobs.gta_commands import FIELDS
from .layouts import request_bits

__all__ = ["RowRequests", "requested_layout"]


def requested_layout(config: GtaConfig) -> data.StructLayout:
    """The rows of a command in memory: ``base`` of the first, ``stride``, ``rows``, and ``beats``
    of each."""
    return data.StructLayout(
        {
            "base": config.addr_bits,
            "stride": FIELDS["load"]["stride"][1],
            "rows": FIELDS["load"]["rows"][1],
            "beats": request_bits(config),
        }
    )


class RowRequests(wiring.Component):
    """Requests row after row. One request a cycle, the first one cycle after ``i``.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    i: see :func:`requested_layout`
    request: to a reader or a writer
    clear: in; forgets everything at the end of the cycle
    busy: out; requests are left
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        request = request_layout(config.addr_bits, request_bits(config))
        super().__init__(
            {
                "i": In(stream.Signature(requested_layout(config))),
                "request": Out(stream.Signature(request)),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = self.i.payload
        address = Signal(self._config.addr_bits, reset_less=True)
        beats = Signal(len(asked.beats), reset_less=True)
        stride = Signal(len(asked.stride), reset_less=True)
        left = Signal(len(asked.rows))
        last = Signal()
        m.d.comb += [
            self.busy.eq(left != 0),
            last.eq(left == 1),
            self.request.valid.eq(self.busy),
            self.request.payload.address.eq(address),
            self.request.payload.beats.eq(beats),
            self.i.ready.eq(~self.busy | (last & self.request.ready)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                address.eq(asked.base),
                stride.eq(asked.stride),
                beats.eq(asked.beats),
                left.eq(asked.rows),
            ]
        with m.Elif(self.busy & self.request.ready):
            m.d.sync += [address.eq(address + stride), left.eq(left - 1)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)
        return m
