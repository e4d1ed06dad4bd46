"""Grid of dot product units, and the control bits that travel beside the data."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.pipeline import CUTS
from ..arith.unpack import Unpack, format_layout
from ..spec.formats import FLOAT_FORMATS
from ..spec.m3xu import GridUnitConfig
from ..stream.matrix_unit import matrix_unit_signature
from .dot_product import DotProductParameters, DotProductUnit
from .operand_decoder import entry_layout
from .step_control import StepControl, control_layout


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
        control = entering = joining = self.control
        for cut in CUTS[self._unit["pipeline"]]:
            entering = control
            if cut == "products":
                joining = control
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
                    m.d.comb += unit.accumulate.eq(joining.accumulate)
        return m


_FP32 = FLOAT_FORMATS["fp32"]


class AddendBuffer(wiring.Component):
    """Unpacks and holds an element of c, beside the operands of the data-assignment stage.

    Latency: one register, two if pipelined. Registers move only while ``advance`` is set.

    Parameters
    ----------
    complex: an element may be complex: real part low, imaginary part high
    pipelined: another register stands in front

    Members
    -------
    i: the element, 32 or (complex) 64 bits
    load, advance: as in the data-assignment stage
    o: the unpacked addend of the current step
    take: (pipelined) as in the data-assignment stage
    swap_words: (complex) the next step is the first of the imaginary part
    """

    def __init__(self, *, complex: bool = False, pipelined: bool = False) -> None:
        self._complex = complex
        self._pipelined = pipelined
        members = {
            "i": In(64 if complex else 32),
            "load": In(1),
            "advance": In(1),
            "o": Out(format_layout(_FP32)),
        }
        if pipelined:
            members["take"] = In(1)
        if complex:
            members["swap_words"] = In(1)
        super().__init__(members)

    @property
    def complex(self) -> bool:
        return self._complex

    @property
    def pipelined(self) -> bool:
        return self._pipelined

    def elaborate(self, platform: object) -> Module:
        m = Module()
        element = self.i
        if self._pipelined:
            taken = Signal.like(self.i, reset_less=True)
            with m.If(self.advance & self.take):
                m.d.sync += taken.eq(self.i)
            element = taken
        m.submodules.unpack = unpack = Unpack(_FP32)
        addend = Signal(self.o.shape(), reset_less=True)
        m.d.comb += [unpack.i.eq(element[:32]), self.o.eq(addend)]
        change = self.load
        if self._complex:
            imaginary = Signal(32, reset_less=True)
            change = self.load | self.swap_words
            m.d.comb += unpack.i.eq(Mux(self.load, element[:32], imaginary))
            with m.If(self.advance & self.load):
                m.d.sync += imaginary.eq(element[32:])
        with m.If(self.advance & change):
            m.d.sync += addend.eq(unpack.o)
        return m


class GridUnit(wiring.Component):
    """Matrix unit with operand stages at the edge of a grid of dot product units.

    While a result waits to be taken, the whole pipeline waits.

    Parameters
    ----------
    config: the unit's configuration
    significand_bits: width of the multipliers
    pipelined: the operand stages have two registers

    Members
    -------
    i, o: see :func:`matrix_unit_signature`
    """

    def __init__(
        self, config: GridUnitConfig, *, significand_bits: int, pipelined: bool = False
    ) -> None:
        self.config: Final = config
        self._significand_bits = significand_bits
        self._pipelined = pipelined
        self._complex = config.accumulator_bits == 64
        super().__init__(matrix_unit_signature(config))

    @abstractmethod
    def operand_stage(self, operand: str) -> wiring.Component:
        """The stage that feeds a row of a, or a column of b, to the multipliers.

        It has ``lanes``, ``entries`` and whichever of the control's outputs it needs.
        """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.step_control = control = StepControl(config, pipelined=self._pipelined)
        m.submodules.grid = grid = Grid(
            rows=config.rows,
            cols=config.cols,
            unit={
                "entry": entry_layout(config.modes, self._significand_bits),
                "products": config.depth,
                "alignment_bits": config.alignment_bits,
                "pipeline": config.pipeline,
                "multi_step": max(config.initiation_interval.values()) > 1,
                "complex": self._complex,
            },
        )
        operation = self.i.payload
        m.d.comb += [
            control.advance.eq(~self.o.valid | self.o.ready),
            control.op.eq(operation.op),
            control.valid.eq(self.i.valid),
            self.i.ready.eq(control.ready),
            grid.control.eq(control.control),
            grid.advance.eq(control.advance),
            self.o.valid.eq(grid.last),
            self.o.payload.d.eq(grid.d),
            self.o.payload.error.eq(grid.error),
        ]
        for row in range(config.rows):
            lanes = operation.a[row].as_value()
            m.d.comb += grid.a[row].eq(self._stage(m, "a", row, lanes, control))
        for col in range(config.cols):
            lanes = Cat(operation.b[k][col] for k in range(config.depth))
            m.d.comb += grid.b[col].eq(self._stage(m, "b", col, lanes, control))
        self._addends(m, control, grid)
        return m

    def _stage(
        self, m: Module, operand: str, index: int, lanes: Value, control: StepControl
    ) -> Value:
        m.submodules[f"operand_{operand}_{index}"] = stage = self.operand_stage(operand)
        m.d.comb += stage.lanes.eq(lanes)
        self._control(m, stage, control)
        entries: Value = stage.entries
        return entries

    def _control(self, m: Module, stage: wiring.Component, control: StepControl) -> None:
        """Connects the control signals that the stage needs."""
        driven = {"lanes", "entries", "i", "o"}
        for name in stage.signature.members:
            if name == "advance":
                m.d.comb += stage.advance.eq(control.advance)
            elif name not in driven:
                m.d.comb += getattr(stage, name).eq(getattr(control, name))

    def _addends(self, m: Module, control: StepControl, grid: Grid) -> None:
        """Computes the accumulator inputs; an illegal operation has a zero, as for a and b."""
        legal = control.select.as_value().any()
        cols = self.config.cols
        for row in range(self.config.rows):
            for col in range(cols):
                m.submodules[f"addend_{row}_{col}"] = addend = AddendBuffer(
                    complex=self._complex, pipelined=self._pipelined
                )
                m.d.comb += [
                    addend.i.eq(Mux(legal, self.i.payload.c[row][col], 0)),
                    grid.c[row * cols + col].eq(addend.o),
                ]
                self._control(m, addend, control)
