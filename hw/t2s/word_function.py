"""Functions of one word: relu, negate, absolute."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from ..spec.t2s.functions import WordFunctions

__all__ = ["WordFunction", "through"]


class WordFunction(wiring.Component):
    """Applies functions to the word at ``i``, the first one first. No latency.

    Parameters
    ----------
    functions: their names, and the format of the word; what they mean: see
        ``hw/spec/t2s/functions.py``

    Members
    -------
    i, o: patterns of the format
    """

    def __init__(self, functions: WordFunctions) -> None:
        self._functions = functions
        bits = functions.fmt.bits
        super().__init__({"i": In(bits), "o": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word: Value = self.i
        for number, name in enumerate(self._functions.names):
            made = Signal(len(word), name=f"{name}_{number}")
            m.d.comb += made.eq(self._made(name, word))
            word = made
        if isinstance(fmt := self._functions.fmt, FloatFormat):
            # Behind infinity, or the largest number where there is none, all are NaN.
            nan = Signal()
            m.d.comb += nan.eq(self.i[:-1] > fmt.largest + fmt.has_infinity)
            word = Mux(nan, Const(fmt.nan, fmt.bits), word)
        m.d.comb += self.o.eq(word)
        return m

    def _made(self, name: str, word: Value) -> Value:
        """Applies a function to a number."""
        is_float = isinstance(self._functions.fmt, FloatFormat)
        opposite = Cat(word[:-1], ~word[-1]) if is_float else (-word)[: len(word)]
        if name == "negate":
            return opposite
        return Mux(word[-1], opposite if name == "absolute" else 0, word)


def through(m: Module, functions: WordFunctions | None, words: Value) -> Value:
    """Applies functions, if any, to the words of all lanes, each in its container."""
    if functions is None:
        return words
    fmt, found = functions.fmt, list[Value]()
    for lane in range(len(words) // fmt.container_bits):
        m.submodules[f"word_function_{lane}"] = unit = WordFunction(functions)
        container = words.word_select(lane, fmt.container_bits)
        below = fmt.container_bits - fmt.bits
        m.d.comb += unit.i.eq(container[below:])
        found += [Const(0, below), unit.o]
    return Cat(found)
