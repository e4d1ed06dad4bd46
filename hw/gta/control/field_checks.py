"""Checks the fields of an EXECUTE in SIMD."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta import FAULTS, beat_bytes
from ...spec.jobs.gta_commands import COMMAND_BYTES, DEALS, MEMORIES, NARROWINGS, lane_words
from ...spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS, VectorFunction
from .fold_extents import scaled
from .layouts import command_layout
from .row_walk import log2


class RowsCheck(wiring.Component):
    """Checks all fields of a LOAD or a STORE.

    Takes two cycles, and one for each time that its rows go through its lanes.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    command: in; constant from ``start`` to ``done``
    store: in; it is a STORE
    start: in, a pulse
    done: out; with it ``faults``, a bit for each of ``FAULTS``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "command": In(8 * COMMAND_BYTES),
                "store": In(1),
                "start": In(1),
                "done": Out(1),
                "faults": Out(len(FAULTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        rows = command_layout("load")(self.command)
        result = Signal()
        m.d.comb += result.eq(self.store | (rows.memory == MEMORIES.index("result")))
        bad_lanes = Signal()
        reach = Signal(16)
        m.d.comb += reach.eq((rows.lanes - 1)[:8] * rows.step + rows.first)
        m.d.sync += bad_lanes.eq(
            (rows.lanes == 0)
            | (rows.lanes > config.lanes)
            | (rows.first >= config.lanes)
            | ((rows.lanes != 1) & (reach >= config.lanes))
        )
        beat = log2(beat_bytes(config))
        found = {
            "command": self._meaningless(m),
            "command_lanes": bad_lanes,
            "command_size": (rows.rows == 0) | (rows.row_bytes == 0),
            "command_memory": self._overflow(m, result),
            "command_base": rows.base[:beat].any() | rows.stride[:beat].any(),
            "command_range": rows.base[config.addr_bits :].any(),
        }
        m.d.comb += self.faults.eq(Cat(found.get(name, Const(0)) for name in FAULTS))
        return m

    def _meaningless(self, m: Module) -> Signal:
        """Tells whether a field has a value without a meaning."""
        command = command_layout("load")(self.command)
        choice, deal = command.memory, command.deal
        of_limbs = Signal()
        unnarrow = Signal()
        long = Signal()
        part = Signal()
        m.d.comb += [
            of_limbs.eq(Cat(deal == n for n, x in enumerate(DEALS) if x.element == 1).any()),
            unnarrow.eq(~Cat(deal == n for n, x in enumerate(DEALS) if x.element >= 8).any()),
            long.eq(Cat(deal == n for n, x in enumerate(DEALS) if x.element == 16).any()),
            part.eq(command.row_bytes[:3].any() | (long & command.row_bytes[3])),
        ]
        wrong = Signal()
        m.d.sync += wrong.eq(
            (deal >= len(DEALS))
            | Mux(
                self.store,
                (choice >= len(NARROWINGS)) | of_limbs | ((choice != 0) & (unnarrow | part)),
                choice >= len(MEMORIES),
            )
        )
        return wrong

    def _overflow(self, m: Module, result: Signal) -> Signal:
        """Tells whether rows exceed a bank; walks the lanes as often as the rows do."""
        config = self._config
        command = command_layout("load")(self.command)
        left = Signal(len(command.rows) + log2(BANKS), reset_less=True)
        place = Signal(len(command.word) + 1, reset_less=True)
        at_once = Signal(len(command.lanes) + log2(BANKS))
        words = Signal(len(command.row_bytes) + 1)
        edge, results = lane_words(config, "left"), lane_words(config, "result")
        limit = Signal(range(results + 1))
        busy = Signal()
        over = Signal()
        per_bank = Array(
            (command.row_bytes + (LEFT_WORD_BYTES * x.banks - 1))[log2(LEFT_WORD_BYTES * x.banks) :]
            for x in DEALS
        )
        m.d.comb += [
            at_once.eq(command.lanes.shift_left(log2(BANKS))),
            words.eq(per_bank[command.deal]),
            limit.eq(Mux(result, results, edge)),
            self.done.eq(~busy),
        ]
        with m.If(self.start):
            m.d.sync += [
                busy.eq(1),
                over.eq(0),
                place.eq(command.word),
                left.eq(Array(command.rows.shift_left(log2(x.banks)) for x in DEALS)[command.deal]),
            ]
        with m.Elif(busy):
            m.d.sync += over.eq(over | (place + words > limit))
            # Without lanes it would never end; that they are wrong is said elsewhere.
            with m.If((left <= at_once) | (command.lanes == 0) | over):
                m.d.sync += busy.eq(0)
            m.d.sync += [left.eq(left - at_once), place.eq(place + command.words)]
        return over


_CHAINS = ("dot", "sum")
_PLANES = LEFT_WORD_BYTES // OCTET
"""Planes of a word."""


class VectorCheck(wiring.Component):
    """Checks the fields of an EXECUTE in SIMD, but for its group. Latency 3.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    command: in
    there, floats, element, limbs, sizes: in; see :class:`FormatTable`
    faults: out; a bit for each of ``FAULTS``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "command": In(8 * COMMAND_BYTES),
                "there": In(1),
                "floats": In(1),
                "element": In(2),
                "limbs": In(2),
                "sizes": In(3),
                "faults": Out(len(FAULTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = command_layout("execute")(self.command)
        there = self._chosen(lambda name, memories: memories is not None)
        chains = self._chosen(lambda name, memories: name in _CHAINS)
        dot = Signal()
        m.d.comb += dot.eq(self._chosen(lambda name, memories: name == "dot"))
        found = {
            "command": command.result_base[0],
            "command_format": ~(self.there & there),
            "command_size": ~command.time.any()
            | ~command.chain.any()
            | (~chains & command.chain[1:].any())
            | command.amount[log2(OCTET) :].any(),
            "command_memory": self._over(m, dot),
            "command_sum": dot & ~self.floats & self._too_many(command.chain),
        }
        m.d.comb += self.faults.eq(Cat(found.get(name, Const(0)) for name in FAULTS))
        return m

    def _chosen(self, holds: Callable[[str, tuple[str, ...] | None], bool]) -> Value:
        """Tells whether a condition holds of the function and of the memories of its operands."""
        number = command_layout("execute")(self.command).function
        short = (len(VECTOR_FUNCTIONS) - 1).bit_length()

        def table(memories: Callable[[VectorFunction], tuple[str, ...] | None]) -> Value:
            rows = [Const(holds(x, memories(row)), 1) for x, row in VECTOR_FUNCTIONS.items()]
            rows += [Const(0, 1)] * ((1 << short) - len(rows))
            return Array(rows)[number[:short]]

        found: Value = Mux(self.floats, table(lambda row: row.floats), table(lambda x: x.integers))
        return found & ~number[short:].any()

    def _over(self, m: Module, dot: Value) -> Value:
        """Tells whether operands or results exceed a bank."""
        config = self._config
        command = command_layout("execute")(self.command)
        most = config.bank_bytes // OCTET, config.edge_bytes // OCTET
        time, chain = (
            field[: count.bit_length()]
            for field, count in zip((command.time, command.chain), most, strict=True)
        )
        octets = Signal(len(time) + len(chain), reset_less=True)
        wide = Signal(reset_less=True)
        m.d.sync += [
            octets.eq(time * chain),
            wide.eq((command.time > most[0]) | (command.chain > most[1])),
        ]
        # Results of a dot product have 4 bytes, or 8.
        width = Mux(dot, Mux(self.sizes[0], 2, 3), self.element)
        operand_words, result_words = _words(octets, self.element), _words(time, width)
        operands = Signal(len(operand_words), reset_less=True)
        results = Signal(len(result_words), reset_less=True)
        too_wide = Signal(reset_less=True)
        edge = lane_words(config, "left")
        has_top = self._chosen(lambda name, memories: "top" in (memories or ()))
        over = Signal(reset_less=True)
        m.d.sync += [
            operands.eq(operand_words),
            results.eq(result_words),
            too_wide.eq(wide),
            over.eq(
                too_wide
                | (command.left_base + operands > edge)
                | (has_top & (command.top_base + operands > edge))
                | (command.result_base + results > lane_words(config, "result"))
            ),
        ]
        return over

    def _too_many(self, chain: Value) -> Value:
        """Tells whether a sum of that many products of integers can overflow an element."""
        most = self._config.most_products
        limbs = scaled(chain, self.limbs)
        return limbs > most if most >> len(limbs) == 0 else Const(0, 1)


def _words(octets: Value, element: Value) -> Value:
    """Words that octets of elements of 1 << element bytes begin."""
    return (scaled(octets, element) + (_PLANES - 1))[log2(_PLANES) :]
