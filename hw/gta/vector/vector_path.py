"""What a lane has for vectors beside its array and its memories."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
)
from ...spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS
from ..float.headers import vector_mode
from ..layouts import Base, left_words, result_words, x_layout
from ..vector_layouts import (
    STEP_TO_BYTE,
    STEP_TO_LAST,
    STEP_TO_WRITE,
    steps_layout,
    vector_step_layout,
)
from .column_operands import ColumnOperands
from .function_table import properties_layout
from .plane_unit import PlaneUnit

__all__ = ["VectorPath"]


class VectorPath(wiring.Component):
    """Feeds each column's elements planes of its own banks, and their lowest bytes, as planes, to
    its bank of results.

    Column c does what column 0 does c cycles before; in each all rows do the same. Planes come from
    the banks straight to the elements' operands, y a cycle before x, so that there is no register
    between. A lane feeds itself, wherever it stands.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    function_number, format, amount: in; of the command; constant while anything is under way
    properties: in; of both, see ``properties_layout``
    step: in; of column 0, see ``vector_step_layout``
    left_read, left_address, left_words, top_read, ...: banks that are read, where, and what was
      there a cycle later
    read, read_address, part, quarters: of results, likewise; of a word a quarter, see
      ``LaneMemories``
    x: out; by row, to the array's first column: what the elements do
    x_vector, y_vector: out; by column and row, see ``Mpra``
    bytes: in; of the array, as well
    write, write_address, write_data: out; by bank of results, a bit for each byte, where and what,
      of which a word has four
    steps: out; of column 0, and each a cycle later
    done: out; the last result of a command is in the memory
    mode, y_any: (floats) in and out, see ``FloatPath``, which has the results of products of floats
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        edge = data.ArrayLayout(range(left_words(config)), BANKS)
        words = data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)
        address = data.ArrayLayout(range(result_words(config)), BANKS)
        limbs = data.ArrayLayout(data.ArrayLayout(signed(LIMB_BITS + 1), ROWS), COLS)
        planes = data.ArrayLayout(data.ArrayLayout(LIMB_BITS, ROWS), COLS)
        floats = {"mode": In(vector_mode()), "y_any": Out(data.ArrayLayout(ROWS, COLS))}
        super().__init__(
            {
                "function_number": In(range(len(VECTOR_FUNCTIONS))),
                "format": In(range(len(FORMATS_OF_GTA))),
                "amount": In(range(OCTET)),
                "properties": In(properties_layout(config)),
                "step": In(vector_step_layout(config)),
                "left_read": Out(BANKS),
                "left_address": Out(edge),
                "left_words": In(words),
                "top_read": Out(BANKS),
                "top_address": Out(edge),
                "top_words": In(words),
                "read": Out(BANKS),
                "read_address": Out(address),
                "part": Out(data.ArrayLayout(2, BANKS)),
                "quarters": In(data.ArrayLayout(2 * RESULT_WORD_BYTES, BANKS)),
                "x": Out(data.ArrayLayout(x_layout(config), ROWS)),
                "x_vector": Out(limbs),
                "y_vector": Out(limbs),
                "bytes": In(planes),
                "write": Out(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "write_address": Out(address),
                "write_data": Out(data.ArrayLayout(8 * OCTET, BANKS)),
                "steps": Out(steps_layout(config)),
                "done": Out(1),
            }
            | (floats if config.floats else {})
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        before = self.step
        m.d.comb += self.steps[0].eq(before)
        for n in range(1, len(self.steps)):
            after = Signal(vector_step_layout(self._config), name=f"step_{n}")
            m.d.sync += after.eq(before)
            m.d.comb += self.steps[n].eq(after)
            before = after
        for r in range(ROWS):
            x, step = self.x[r], self.steps[STEP_TO_LAST - 1]
            m.d.comb += x.base.eq(step.base)
            if self._config.integers:
                carries = self.properties.floats & (step.base == Base.CARRY)
                m.d.comb += [x.y_shift.eq(1), x.swap.eq(1), x.shift_drain.eq(carries)]
            if self._config.floats:
                m.d.comb += x.last.eq(step.last)
        for c in range(COLS):
            self._planes(m, c, self._limbs(m, c))
        last = self.steps[COLS - 1 + STEP_TO_WRITE]
        m.d.sync += self.done.eq(last.done & ~self.properties.floats)
        return m

    def _limbs(self, m: Module, c: int) -> Value:
        """From the banks of operands to a column's elements; returns y's plane."""
        known = self.properties
        of_top, of_left, shown = (self.steps[c + n] for n in range(STEP_TO_LAST))
        late, byte = self.steps[c + STEP_TO_LAST], self.steps[c + STEP_TO_BYTE]
        at = Mux(known.planes, late.top, of_top.top)
        wanted = known.y_plane | known.y_shift
        m.submodules[f"operands_{c}"] = operands = ColumnOperands(self._config)
        m.d.comb += [
            self.left_read[c].eq(of_left.valid),
            self.left_address[c].eq(of_left.left[1:]),
            self.top_read[c].eq(Mux(known.planes, late.plane.valid, of_top.valid & wanted)),
            self.top_address[c].eq(at[1:]),
            operands.properties.eq(known),
            operands.left_word.eq(self.left_words[c]),
            operands.top_word.eq(self.top_words[c]),
            operands.upper.eq(Mux(known.planes, byte.top[0], of_left.top[0])),
            operands.of_y.eq(of_left),
            operands.of_x.eq(shown),
            self.x_vector[c].eq(operands.x),
            self.y_vector[c].eq(operands.y),
        ]
        if self._config.floats:
            m.d.comb += [operands.mode.eq(self.mode), self.y_any[c].eq(operands.y_any)]
        return operands.plane.as_value()

    def _planes(self, m: Module, c: int, y: Value) -> None:
        """From a column's elements to its bank of results."""
        known = self.properties
        reading, shown, writing = (
            self.steps[c + n] for n in (STEP_TO_LAST, STEP_TO_BYTE, STEP_TO_WRITE)
        )
        m.submodules[f"planes_{c}"] = unit = PlaneUnit(self._config)
        # A sum that begins with nothing.
        no_c = known.sums & ~shown.accumulate
        m.d.comb += [
            self.read[c].eq(reading.plane.valid & known.c_plane & ~known.floats),
            self.read_address[c].eq(reading.result[2:]),
            self.part[c].eq(shown.result[:2]),
            unit.function_number.eq(self.function_number),
            unit.format.eq(self.format),
            unit.add_c.eq(~no_c),
            unit.amount.eq(self.amount),
            unit.step.eq(shown.plane),
            unit.x.eq(self.bytes[c]),
            unit.y.eq(y),
            unit.c.eq(self.quarters[c]),
            self.write_address[c].eq(writing.result[2:]),
            self.write_data[c].eq(unit.o),
            *(
                self.write[c][OCTET * n : OCTET * (n + 1)].eq(
                    (writing.write & (writing.result[:2] == n)).replicate(OCTET)
                )
                for n in range(RESULT_WORD_BYTES // OCTET)
            ),
        ]
