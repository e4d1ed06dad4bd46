"""What a column's elements multiply: planes of its banks as limbs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.gta import LEFT_WORD_BYTES, LIMB_BITS, ROWS, GtaConfig, limbs
from ..float.headers import vector_mode
from ..float.planes.float_limbs import FloatLimbs
from ..layouts import Base
from ..vector_layouts import vector_step_layout
from .function_table import properties_layout
from .plane_limbs import PlaneLimbs
from .power_limbs import PowerLimbs

__all__ = ["ColumnOperands"]


class ColumnOperands(wiring.Component):
    """Limbs of x and y, and a plane of y as it is. Combinational.

    x is a plane. y is a plane, or a power of two that shifts x, or, of functions that work by
    planes, 1; of floats both have their hidden bits, see :class:`FloatLimbs`.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    properties: in; see ``properties_layout``
    left_word, top_word: in; of the banks
    upper: in; y's plane is the second one of its word
    of_y, of_x: in; the steps whose planes these are, see ``vector_step_layout``
    x, y: out; by row
    plane: out; y's, as it is
    mode, y_any: (floats) in and out; see ``vector_mode`` and :class:`FloatLimbs`
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        found = data.ArrayLayout(signed(LIMB_BITS + 1), ROWS)
        step = vector_step_layout(config)
        members: dict[str, Member] = {
            "properties": In(properties_layout(config)),
            "left_word": In(8 * LEFT_WORD_BYTES),
            "top_word": In(8 * LEFT_WORD_BYTES),
            "upper": In(1),
            "of_y": In(step),
            "of_x": In(step),
            "x": Out(found),
            "y": Out(found),
            "plane": Out(data.ArrayLayout(LIMB_BITS, ROWS)),
        }
        if config.floats:
            members |= {"mode": In(vector_mode()), "y_any": Out(ROWS)}
        super().__init__(members)

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        known = self.properties
        m.submodules.x_plane = x = PlaneLimbs()
        m.submodules.y_plane = y = PlaneLimbs()
        m.d.comb += [
            x.word.eq(self.left_word),
            x.upper.eq(self.of_x.left[0]),
            x.used.eq(~self.of_x.zero),
            x.high.eq(self.of_x.x_high & ~known.floats),
            y.word.eq(self.top_word),
            y.upper.eq(self.upper),
            y.used.eq(known.y_plane),
            y.high.eq(self.of_y.y_high & ~known.floats),
            self.plane.eq(y.plane),
        ]
        powers = self._powers(m, y.plane)
        x_bytes, y_bytes = ([plane.o[r][:LIMB_BITS] for r in range(ROWS)] for plane in (x, y))
        if self._config.floats:
            x_bytes, y_bytes = self._significands(m, x_bytes, y_bytes)
        for r in range(ROWS):
            m.d.comb += [
                self.x[r].eq(Cat(x_bytes[r], x.o[r][-1]).as_signed()),
                self.y[r].eq(Cat(y_bytes[r] | powers[r], y.o[r][-1]).as_signed()),
            ]
        return m

    def _powers(self, m: Module, amounts: Value) -> list[Value]:
        """What y is where it is no plane; 0 where it is."""
        known, config = self.properties, self._config
        if not config.integers:
            return [known.planes] * ROWS
        m.submodules.power = power = PowerLimbs(max(limbs(name) for name in config.integers))
        there = Signal()
        m.d.comb += [
            there.eq(known.planes | known.y_shift),
            power.amounts.eq(amounts),
            power.used.eq(known.y_shift),
            power.inverted.eq(known.right),
            power.limb.eq(self.of_y.j),
            power.limbs.eq(known.top & known.y_shift.replicate(len(known.top))),
        ]
        return [power.o[r] & there.replicate(LIMB_BITS) for r in range(ROWS)]

    def _significands(
        self, m: Module, x: list[Value], y: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Bytes of significands with their hidden bits, and what is to be known of y; others stay
        as they are."""
        config, active = self._config, self.mode.active
        m.submodules.x_significands = x_limbs = FloatLimbs(config, second=False)
        m.submodules.y_significands = y_limbs = FloatLimbs(config, second=True)
        m.d.comb += [
            x_limbs.words.eq(self.left_word),
            x_limbs.high.eq(active & self.of_x.x_high),
            y_limbs.words.eq(self.top_word),
            y_limbs.high.eq(active & (self.of_y.y_high | self.mode.one)),
            y_limbs.begins.eq(self.of_y.base == Base.ZERO),
            self.y_any.eq(y_limbs.any),
        ]
        for significands, picked in ((x_limbs, x), (y_limbs, y)):
            m.d.comb += [
                significands.mode.eq(self.mode),
                *(significands.bytes[r].eq(picked[r]) for r in range(ROWS)),
            ]
        return list(x_limbs.o), list(y_limbs.o)
