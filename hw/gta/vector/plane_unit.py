"""Processes the planes of octets on their way from a column to the memory of results."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import FORMATS_OF_GTA, LIMB_BITS, GtaConfig
from ...spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS
from ..layouts import plane_step_layout
from .byte_slice import ByteSlice, exponent_groups, slice_control_layout

__all__ = ["PlaneUnit"]

_RELATIONS = ("eq", "ne", "lt", "le")
_ORDERED = ("min", "max")
_COMPARED = (*_RELATIONS, *_ORDERED)


class PlaneUnit(wiring.Component):
    """Adds, compares, chooses and moves the 8 elements of an octet, a plane of bytes in a cycle.

    Source: the paper's section 3.2 has vector operators; that they work by planes is ours.

    ==================  ===========================================================================
    add, sub            x + y, x - y
    fma; dot, ``add_c``  x + c
    srl, sra            x with the top bit of the plane before below it
    min, max, eq, ne,   two passes over an octet: the first one compares, the second one gives
    lt, le, select      results; what is asked of select is c
    slide               element ``amount`` + r of x with y behind it, in row r
    others              x
    ==================  ===========================================================================

    Planes come in ascending order, in any cycles, from one pass to the next one without a bubble.
    All inputs but x come a cycle before it. Latency from x 1, and a plane in every cycle. Nothing
    has a reset, as a pass defines all that it needs.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    function_number: in; in ``VECTOR_FUNCTIONS``; ``format``: in ``FORMATS_OF_GTA``. They stay from
        a command's first plane to its last one
    add_c, amount: in; likewise
    step: in; see :func:`plane_step_layout`
    x, y, c: in; planes; only those that count need to be there: in the first pass of a relation x
        and y, in its second one none; in the first pass of select c, in its second one x and y
    o: out; a plane; a register
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        plane = data.ArrayLayout(LIMB_BITS, OCTET)
        super().__init__(
            {
                "function_number": In(range(len(VECTOR_FUNCTIONS))),
                "format": In(range(len(FORMATS_OF_GTA))),
                "add_c": In(1),
                "amount": In(range(OCTET)),
                "step": In(plane_step_layout()),
                "x": In(plane),
                "y": In(plane),
                "c": In(plane),
                "o": Out(plane),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = Signal(slice_control_layout(self.config), name="control_held", reset_less=True)
        sliding = Signal(reset_less=True)
        amount = Signal.like(self.amount, name="amount_held", reset_less=True)
        y = Signal.like(self.y, name="y_held", reset_less=True)
        c = Signal.like(self.c, name="c_held", reset_less=True)
        m.d.sync += [
            control.eq(self._control(m)),
            sliding.eq(self._is("slide")),
            amount.eq(self.amount),
            y.eq(self.y),
            c.eq(self.c),
        ]
        planes = []
        for r in range(OCTET):
            m.submodules[f"slice_{r}"] = part = ByteSlice(self.config)
            m.d.comb += [
                part.control.eq(control),
                part.mine.eq(sliding & (amount <= r) if r < OCTET - 1 else sliding),
                part.x.eq(self.x[r]),
                part.y.eq(y[r]),
                part.c.eq(c[r]),
            ]
            planes.append(part.o)
        # Rows have chosen x or y; what is left of a slide is to turn the octet.
        turned = Cat(planes)
        for n in range(OCTET.bit_length() - 1):
            places = LIMB_BITS << n
            turned = Mux(sliding & amount[n], turned.rotate_right(places), turned)
        held = Signal(self.o.shape(), name="plane", reset_less=True)
        m.d.sync += held.eq(turned)
        m.d.comb += self.o.eq(held)
        return m

    def _is(self, *functions: str) -> Value:
        names = list(VECTOR_FUNCTIONS)
        return reduce(or_, (self.function_number == names.index(name) for name in functions))

    def _of(self, formats: Iterable[str]) -> Value:
        """Tells whether the format is one of these."""
        return reduce(or_, (self.format == FORMATS_OF_GTA.index(name) for name in formats))

    def _control(self, m: Module) -> Signal:
        """Decodes the control of the slices from the function and the step."""
        step = self.step
        control = Signal(slice_control_layout(self.config))
        comparing = Signal()
        asking = Signal()
        choosing = Signal()
        telling = Signal()
        m.d.comb += [
            comparing.eq(self._is(*_COMPARED) & ~step.second),
            asking.eq(self._is("select") & ~step.second),
            choosing.eq((self._is(*_ORDERED, "select") & step.second) | self._is("slide")),
            telling.eq(self._is(*_RELATIONS) & step.second),
            control.x.eq(~(asking | choosing | telling)),
            control.y.eq(comparing | self._is("add", "sub")),
            control.c.eq(asking | self._is("fma") | (self._is("dot") & self.add_c)),
            control.twice.eq(self._is("srl", "sra")),
            control.invert.eq(comparing | self._is("sub")),
            control.choose.eq(choosing),
            control.compare.eq(~self._is("slide")),
            control.carry.eq(~step.second),
            control.first.eq(step.first),
            control.last.eq(step.last & comparing),
            control.update.eq(step.valid & ~step.second),
            control.any.eq(self._is("eq", "ne", "select")),
            control.less.eq(self._is("min", "lt")),
            control.flag.eq(telling & step.first),
            control.negate.eq(self._is("eq", "le")),
        ]
        if self.config.floats:
            self._of_floats(m, control, comparing)
        return control

    def _of_floats(self, m: Module, control: Signal, comparing: Value) -> None:
        ordered = self._is(*_ORDERED)
        groups = [self._at(group.places) for group in exponent_groups(self.config)]
        nan = [
            self._at(
                (name, byte)
                for name in self.config.floats
                for byte in range(FLOAT_FORMATS[name].bits // LIMB_BITS)
                if FLOAT_FORMATS[name].nan >> LIMB_BITS * byte + bit & 1
            )
            for bit in range(LIMB_BITS)
        ]
        choosing = (ordered & self.step.second).replicate(LIMB_BITS)
        m.d.comb += [
            control.float_last.eq(self.step.last & comparing & self._of(self.config.floats)),
            control.ordered.eq(ordered & self._of(self.config.floats)),
            control.exponent.eq(Cat(groups)),
            control.nan.eq(Cat(nan) & choosing),
        ]

    def _at(self, places: Iterable[tuple[str, int]]) -> Value:
        """Tells whether the plane is one of these: of this format, with this number."""
        return Cat(self._of([name]) & (self.step.plane == byte) for name, byte in places).any()
