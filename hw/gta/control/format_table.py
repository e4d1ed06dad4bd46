"""What a format's number in a command means."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import FORMATS_OF_GTA, GtaConfig, element_bytes, is_float, limbs
from ...spec.jobs.gta_commands import widths_of_results
from .row_walk import log2

__all__ = ["FormatTable"]


def _sizes(name: str) -> int:
    """A bit for each ``result_size`` that results may have."""
    return sum(1 << log2(width) - 2 for width in widths_of_results(name))


class FormatTable(wiring.Component):
    """Looks a format up. No latency.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    number: in; as in commands
    there: out; jobs may have it; nothing is said of others
    floats: out; it is a floating-point format
    element: out; an element has 1 << element bytes
    limbs: out; an integer has 1 << limbs limbs; 0 for floats
    sizes: out; a bit for each ``result_size`` that results may have
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "number": In(8),
                "there": Out(1),
                "floats": Out(1),
                "element": Out(2),
                "limbs": Out(2),
                "sizes": Out(3),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        names = FORMATS_OF_GTA
        usable = (*self._config.integers, *self._config.floats)
        limb_logs = [0 if is_float(name) else log2(limbs(name)) for name in names]
        known = ~self.number[3:].any()
        m.d.comb += [
            self.there.eq(known & self._chosen([name in usable for name in names], 1)),
            self.floats.eq(self._chosen([is_float(name) for name in names], 1)),
            self.element.eq(self._chosen([log2(element_bytes(name)) for name in names], 2)),
            self.limbs.eq(self._chosen(limb_logs, 2)),
            self.sizes.eq(self._chosen([_sizes(name) for name in names], 3)),
        ]
        return m

    def _chosen(self, values: list[int] | list[bool], bits: int) -> Value:
        return Array(Const(int(value), bits) for value in values)[self.number[:3]]
