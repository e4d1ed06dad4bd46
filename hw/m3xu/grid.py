"""Grid of dot product units, and the control bits that travel beside the data."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.pipeline import CUTS
from ..arith.unpacked import format_layout
from ..spec.formats import FLOAT_FORMATS
from .dot_product import DotProductParameters, DotProductUnit
from .step_control import control_layout

__all__ = ["Grid"]


class Grid(wiring.Component):
    """Grid of ``rows * cols`` dot product units: row r of a is multiplied by column c of b.

    Latency as that of :class:`DotProductUnit`; a step every cycle. Data registers move only
    while ``advance`` is set; the control bits, too.

    Parameters
    ----------
    rows, cols: shape of the grid
    unit: keyword arguments of the dot product units

    Members
    -------
    a, b: operand entries, a row (a column) each
    c: unpacked addends, row-major
    control: of the step at the inputs, see :func:`control_layout`
    advance: enables all registers
    d: results, row-major
    last, error: the results complete an operation; its opcode was illegal
    """

    def __init__(self, *, rows: int, cols: int, unit: DotProductParameters) -> None:
        self._rows = rows
        self._cols = cols
        self._unit = unit
        products, entry = unit["products"], unit["entry"]
        vector = data.ArrayLayout(entry, products)
        addend = format_layout(FLOAT_FORMATS["fp32"])
        super().__init__(
            {
                "a": In(data.ArrayLayout(vector, rows)),
                "b": In(data.ArrayLayout(vector, cols)),
                "c": In(data.ArrayLayout(addend, rows * cols)),
                "control": In(control_layout()),
                "advance": In(1),
                "d": Out(data.ArrayLayout(64 if unit["complex"] else 32, rows * cols)),
                "last": Out(1),
                "error": Out(1),
            }
        )

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def cols(self) -> int:
        return self._cols

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = entering = self.control
        for cut in CUTS[self._unit["pipeline"]]:
            entering = control
            control = Signal(control_layout(), name=f"{cut}_control")
            with m.If(self.advance):
                m.d.sync += control.eq(entering)
        m.d.comb += [self.last.eq(control.last), self.error.eq(control.error)]
        for row in range(self._rows):
            for col in range(self._cols):
                index = row * self._cols + col
                m.submodules[f"dot_product_{row}_{col}"] = unit = DotProductUnit(**self._unit)
                m.d.comb += [
                    unit.a.eq(self.a[row]),
                    unit.b.eq(self.b[col]),
                    unit.c.eq(self.c[index]),
                    unit.advance.eq(self.advance),
                    self.d[index].eq(unit.d),
                ]
                if self._unit["complex"]:
                    m.d.comb += unit.imaginary.eq(entering.imaginary)
                if self._unit["multi_step"]:
                    m.d.comb += unit.accumulate.eq(self.control.accumulate)
        return m
