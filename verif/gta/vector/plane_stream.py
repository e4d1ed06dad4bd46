"""The plane unit behind streams, a step a transfer."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.gta.vector.plane_unit import PlaneUnit
from tilewright.hw.spec.gta import GtaConfig

__all__ = ["PlaneStream"]

_STEP = ("valid", "plane", "first", "second", "last")


class PlaneStream(wiring.Component):
    """A :class:`PlaneUnit` that gets all its inputs by a transfer. Nothing may stall it.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: the unit's inputs, those of its step among them
    o: a plane for each, latency 1
    """

    def __init__(self, config: GtaConfig) -> None:
        self._unit = PlaneUnit(config)
        members = self._unit.signature.members
        names = ("function_number", "format", "add_c", "amount", "x", "y", "c")
        fields = {name: members[name].shape for name in names}
        step = self._unit.step.shape()
        fields |= {name: step[name].shape for name in _STEP}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(fields))),
                "o": Out(stream.Signature(data.StructLayout({"o": members["o"].shape}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self._unit
        given = self.i.payload
        for name in given.shape().members:
            port = unit.step[name] if name in _STEP else getattr(unit, name)
            m.d.comb += port.eq(given[name] & self.i.valid if name == "valid" else given[name])
        valid = Signal()
        m.d.sync += valid.eq(self.i.valid)
        m.d.comb += [
            self.i.ready.eq(1),
            self.o.valid.eq(valid),
            self.o.payload.o.eq(unit.o),
        ]
        return m
