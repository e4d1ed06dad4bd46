"""Checks the fields of an EXECUTE in SIMD."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta import FAULTS
from ...spec.jobs.gta_commands import COMMAND_BYTES, lane_words
from ...spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS, VectorFunction
from .fold_extents import scaled
from .layouts import command_layout
from .row_walk import log2

__all__ = ["VectorCheck"]

_CHAINS = ("dot", "sum")
_PLANES = LEFT_WORD_BYTES // OCTET
"""Planes of a word."""


class VectorCheck(wiring.Component):
    """Checks the fields of an EXECUTE in SIMD, but for its group. Latency 2.

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
        operands, results = _words(octets, self.element), _words(time, width)
        edge = lane_words(config, "left")
        has_top = self._chosen(lambda name, memories: "top" in (memories or ()))
        over = Signal(reset_less=True)
        m.d.sync += over.eq(
            wide
            | (command.left_base + operands > edge)
            | (has_top & (command.top_base + operands > edge))
            | (command.result_base + results > lane_words(config, "result"))
        )
        return over

    def _too_many(self, chain: Value) -> Value:
        """Tells whether a sum of that many products of integers can overflow an element."""
        most = self._config.most_products
        limbs = scaled(chain, self.limbs)
        return limbs > most if most >> len(limbs) == 0 else Const(0, 1)


def _words(octets: Value, element: Value) -> Value:
    """Words that octets of elements of 1 << element bytes begin."""
    return (scaled(octets, element) + (_PLANES - 1))[log2(_PLANES) :]
