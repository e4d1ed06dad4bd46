"""Where the vectors that rows give belong in the output buffer."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import KERNELS, TensaurusConfig
from ..layouts import drain_layout, job_layout
from .layouts import addend_layout, unit_number_bits

__all__ = ["Places", "quotient"]


def quotient(number: Value, divisor: int) -> Value:
    """A number of so many bits divided by a constant, by a product with its inverse."""
    shift = len(number) + (divisor - 1).bit_length()
    inverse = -(-(1 << shift) // divisor)
    return (number * Const(inverse))[shift:]


class Places(wiring.Component):
    """The unit of a vector of a slice; of a slice of one value the unit and the place in it; where
    sums are in memory, the slot and, beside it, the unit's number.

    Latency one cycle, one a cycle.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    job: see ``job_layout``; constant
    units: units of a slice; constant
    drain: see ``drain_layout``
    slot: of the vector, if the job adds in memory
    value: the first value of column 0
    o: see :func:`addend_layout`
    number: of the unit in its output
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "units": In(range(config.olen + 1)),
                "drain": In(drain_layout(config)),
                "slot": In(range(config.memory_slots)),
                "value": In(config.sum_format.bits),
                "o": Out(addend_layout(config)),
                "number": Out(unit_number_bits(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        # In the buffer there are no more.
        number = self.drain.slice[: (config.out_units * config.unit_values - 1).bit_length()]
        unit = Signal(len(number))
        single = Signal()
        m.d.comb += [
            single.eq(self.job.kernel == KERNELS.index("mv")),
            unit.eq(quotient(number, config.unit_values)),
        ]
        place = Signal(range(max(2, config.unit_values)))
        m.d.comb += place.eq(number - unit * config.unit_values)
        unit_number = self.drain.slice * self.units + self.drain.vector
        address = Mux(self.job.direct, self.slot, unit_number)
        m.d.sync += [
            self.number.eq(unit_number),
            self.o.valid.eq(self.drain.valid),
            self.o.single.eq(single),
            self.o.address.eq(Mux(single, unit, address)),
            self.o.place.eq(place),
            self.o.value.eq(self.value),
        ]
        return m
