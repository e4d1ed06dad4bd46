"""The products of limbs of a chain of products of floats, one a cycle."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig, element_bytes, limbs
from ..layouts import Base
from ..path_members import fold_cycles
from .headers import by_float

__all__ = ["ProductSteps", "most_limbs", "step_layout"]


def most_limbs(config: GtaConfig) -> int:
    """Returns the most limbs that one of the configuration's floats has."""
    return max(limbs(name) for name in config.floats)


def step_layout(config: GtaConfig) -> data.StructLayout:
    """A cycle's work of an element.

    ``valid``: limbs ``i`` of x and ``j`` of y, counted in significands of :func:`most_limbs`, whose
    highest limb all formats have. ``base``: to what their product is added. ``last``: it is a
    product's last one. ``address``: of the operands, as bytes of a bank. ``first``, ``final``: of
    a chain of products.
    """
    limb = range(max(2, most_limbs(config)))
    return data.StructLayout(
        {
            "valid": 1,
            "i": limb,
            "j": limb,
            "base": range(len(Base)),
            "last": 1,
            "address": range(config.edge_bytes),
            "first": 1,
            "final": 1,
        }
    )


class ProductSteps(wiring.Component):
    """Goes through chains of products, ``GtaConfig.interval`` cycles each.

    A product of L limbs each has L x L steps, by diagonals i + j, the low one first, i ascending in
    each; then nothing until its interval is over. A chain may follow at once.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    format: in; constant while anything is under way; see :func:`by_float`
    start: in; a chain begins
    products, address: in, with ``start``; its products, at least 1, and its first operand
    step: out; from the next cycle on
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "format": In(range(8)),
                "start": In(1),
                "products": In(fold_cycles(config)),
                "address": In(range(config.edge_bytes)),
                "step": Out(step_layout(config)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, step = self._config, self.step
        top = most_limbs(config) - 1
        low = self._by_format(lambda name: most_limbs(config) - limbs(name))
        size = self._by_format(element_bytes)
        longest = max(config.interval(name) for name in config.floats)
        idle = Signal(range(longest), name="idle_cycles")
        left = Signal(range(config.edge_bytes), name="products_left")
        pause = self._by_format(lambda name: config.interval(name) - limbs(name) ** 2)
        # Not a comparison of ``pause``: of one format alone it may be a constant of one bit.
        at_once = self._by_format(lambda name: int(config.interval(name) == limbs(name) ** 2))
        works = Signal()
        next_product = Signal()
        ends_diagonal = Signal()
        m.d.comb += [
            step.last.eq((step.i == top) & (step.j == top)),
            step.final.eq(left == 0),
            ends_diagonal.eq((step.i == top) | (step.j == low)),
            next_product.eq(works & Mux(step.valid, step.last & at_once, idle == 0)),
        ]
        with m.If(self.start):
            m.d.sync += [
                works.eq(1),
                left.eq(self.products[: len(left)] - 1),
                step.address.eq(self.address),
                step.first.eq(1),
            ]
        with m.Elif(next_product):
            m.d.sync += [
                works.eq(left.any()),
                left.eq(left - 1),
                step.address.eq(step.address + size),
                step.first.eq(0),
            ]
        with m.If(self.start | (next_product & left.any())):
            m.d.sync += [
                step.valid.eq(1),
                step.base.eq(Base.ZERO),
                step.i.eq(low),
                step.j.eq(low),
            ]
        with m.Elif(step.valid & ~step.last):
            m.d.sync += [
                step.base.eq(Mux(ends_diagonal, Base.CARRY, Base.OWN)),
                step.i.eq(Mux(step.i == top, step.j + 1, Mux(step.j == low, low, step.i + 1))),
                step.j.eq(Mux(step.i == top, top, Mux(step.j == low, step.i + 1, step.j - 1))),
            ]
        with m.Else():
            m.d.sync += [step.valid.eq(0), step.base.eq(Base.OWN)]
        with m.If(step.valid):
            m.d.sync += idle.eq(pause - 1)
        with m.Else():
            m.d.sync += idle.eq(idle - 1)
        return m

    def _by_format(self, value: Callable[[str], int]) -> Value:
        return by_float(self._config, self.format, value)
