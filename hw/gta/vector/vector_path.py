"""Datapath of a lane for vectors, beside its array and its memories."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
    limbs,
)
from ...spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS
from ..float.headers import vector_mode
from ..float.plane_product import FloatLimbs
from ..layouts import (
    STEP_TO_BYTE,
    STEP_TO_LAST,
    STEP_TO_WRITE,
    Base,
    left_words,
    result_words,
    steps_layout,
    vector_step_layout,
    x_layout,
)
from .function_table import properties_layout
from .plane_unit import PlaneUnit

_PLACE = LIMB_BITS.bit_length() - 1
_LIMB = OCTET.bit_length() - 1
"""Bits of a bit's place in a limb, and of a limb's number."""


class PowerLimbs(wiring.Component):
    """Computes limb ``limb`` of a power of two for each row. Combinational.

    The power is 2 ** b of the row's byte b modulo an element's width w, or 2 ** (w - 1 - b).

    Parameters
    ----------
    most: limbs of the longest elements, a power of two of at most 8

    Members
    -------
    amounts: in; b, by row
    used: in; otherwise b is 0
    inverted: in; w - 1 - b instead of b
    limb: in; which one
    limbs: in; an element's limbs less one; 0: the limb does not count
    o: out; by row
    """

    def __init__(self, most: int) -> None:
        self._most = most
        byte = data.ArrayLayout(LIMB_BITS, OCTET)
        super().__init__(
            {
                "amounts": In(byte),
                "used": In(1),
                "inverted": In(1),
                "limb": In(_LIMB),
                "limbs": In(_LIMB),
                "o": Out(byte),
            }
        )

    @property
    def most(self) -> int:
        return self._most

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers = self._most.bit_length() - 1
        bits = _PLACE + numbers
        limb, limbs = self.limb[:numbers], self.limbs[:numbers]
        for r in range(OCTET):
            amount = Signal(bits, name=f"amount_{r}")
            here = Signal(name=f"here_{r}")
            used = self.amounts[r][:bits] & self.used.replicate(bits)
            m.d.comb += [
                amount.eq(used ^ self.inverted.replicate(bits)),
                here.eq(~((amount[_PLACE:] ^ limb) & limbs).any()),
                *(self.o[r][bit].eq(here & (amount[:_PLACE] == bit)) for bit in range(LIMB_BITS)),
            ]
        return m


class PlaneLimbs(wiring.Component):
    """Selects one of the two planes of a word. Combinational.

    Its bytes are the limbs of the rows' elements.

    Members
    -------
    word: in; of a bank
    upper: in; it is the word's second plane
    used: in; otherwise 0 is picked
    high: in; it has the highest limbs of integers, which are signed
    plane: out; the bytes as they are, by row
    o: out; the limbs, by row
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "word": In(8 * LEFT_WORD_BYTES),
                "upper": In(1),
                "used": In(1),
                "high": In(1),
                "plane": Out(data.ArrayLayout(LIMB_BITS, OCTET)),
                "o": Out(data.ArrayLayout(signed(LIMB_BITS + 1), OCTET)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = LIMB_BITS * OCTET
        m.d.comb += self.plane.eq(Mux(self.upper, self.word[bits:], self.word[:bits]))
        for r in range(OCTET):
            byte = Signal(LIMB_BITS, name=f"byte_{r}")
            m.d.comb += [
                byte.eq(self.plane[r] & self.used.replicate(LIMB_BITS)),
                self.o[r].eq(Cat(byte, byte[-1] & self.high).as_signed()),
            ]
        return m


class ColumnOperands(wiring.Component):
    """Selects limbs of x and y, and a plane of y as it is. Combinational.

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
        self.config: Final = config
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
        if self.config.floats:
            x_bytes, y_bytes = self._significands(m, x_bytes, y_bytes)
        for r in range(ROWS):
            m.d.comb += [
                self.x[r].eq(Cat(x_bytes[r], x.o[r][-1]).as_signed()),
                self.y[r].eq(Cat(y_bytes[r] | powers[r], y.o[r][-1]).as_signed()),
            ]
        return m

    def _powers(self, m: Module, amounts: Value) -> list[Value]:
        """Returns y of each row where it is a constant or a power of two; 0 where it is a plane."""
        known, config = self.properties, self.config
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
        """Inserts the hidden bits of significands into bytes; other bytes are unchanged.

        It also provides the properties of y that are needed.
        """
        config, active = self.config, self.mode.active
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


class VectorPath(wiring.Component):
    """Feeds planes of each column's banks to its elements, and stores the resulting planes.

    The elements' lowest bytes are sent, as planes, to the column's bank of results.

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
    will_write: out; results are written in the next cycle
    steps: out; of column 0, and each a cycle later
    done: out; the last result of a command is in the memory
    mode, y_any: (floats) in and out, see ``FloatPath``, which has the results of products of floats
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
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
                "will_write": Out(1),
                "steps": Out(steps_layout(config)),
                "done": Out(1),
            }
            | (floats if config.floats else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        before = self.step
        m.d.comb += self.steps[0].eq(before)
        for n in range(1, len(self.steps)):
            after = Signal(vector_step_layout(self.config), name=f"step_{n}")
            m.d.sync += after.eq(before)
            m.d.comb += self.steps[n].eq(after)
            before = after
        for r in range(ROWS):
            x, step = self.x[r], self.steps[STEP_TO_LAST - 1]
            m.d.comb += x.base.eq(step.base)
            if self.config.integers:
                m.d.comb += [x.y_shift.eq(1), x.swap.eq(1)]
            if self.config.integers and self.config.second_rank:
                carries = self.properties.floats & (step.base == Base.CARRY)
                m.d.comb += x.shift_drain.eq(carries)
            if self.config.floats:
                m.d.comb += x.last.eq(step.last)
        for c in range(COLS):
            self._planes(m, c, self._limbs(m, c))
        ahead = [self.steps[c + STEP_TO_WRITE - 1].write for c in range(COLS)]
        m.d.comb += self.will_write.eq(Cat(*ahead).any())
        last = self.steps[COLS - 1 + STEP_TO_WRITE]
        m.d.sync += self.done.eq(last.done & ~self.properties.floats)
        return m

    def _limbs(self, m: Module, c: int) -> Value:
        """Connects the banks of operands to a column's elements; returns y's plane."""
        known = self.properties
        of_top, of_left, shown = (self.steps[c + n] for n in range(STEP_TO_LAST))
        # The plane unit is given y a cycle before the elements' bytes.
        late, byte = self.steps[c + STEP_TO_LAST - 1], self.steps[c + STEP_TO_LAST]
        at = Mux(known.planes, late.top, of_top.top)
        wanted = known.y_plane | known.y_shift
        m.submodules[f"operands_{c}"] = operands = ColumnOperands(self.config)
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
        if self.config.floats:
            m.d.comb += [operands.mode.eq(self.mode), self.y_any[c].eq(operands.y_any)]
        return operands.plane.as_value()

    def _planes(self, m: Module, c: int, y: Value) -> None:
        """Connects a column's elements to its bank of results."""
        known = self.properties
        reading, shown, writing = (
            self.steps[c + n] for n in (STEP_TO_BYTE - 2, STEP_TO_BYTE - 1, STEP_TO_WRITE)
        )
        m.submodules[f"planes_{c}"] = unit = PlaneUnit(self.config)
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
