"""Register stages of pipelined arithmetic, by name."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Module, Signal, Value

__all__ = ["CUTS", "Bundle", "Pipeline"]

#: Which register stages a dot product of so many has, in the order of the data.
CUTS: dict[int, tuple[str, ...]] = {
    1: ("result",),
    2: ("products", "result"),
    3: ("products", "carry_save", "result"),
    4: ("products", "carry_save", "total", "result"),
    5: ("products", "distances", "carry_save", "total", "result"),
    6: ("products", "distances", "carry_save", "total", "normalised", "result"),
}

Bundle = Mapping[str, Value]


class Pipeline:
    """Inserts registers into a module at the cuts of a pipeline.

    Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    m: the module
    stages: number of register stages, see ``cuts``
    advance: enables all registers
    cuts: the names of the stages by their number; default: those of a dot product
    """

    def __init__(
        self,
        m: Module,
        stages: int,
        advance: Value,
        cuts: Mapping[int, tuple[str, ...]] = CUTS,
    ) -> None:
        self._m = m
        self._cuts = cuts[stages]
        self._advance = advance

    @property
    def advance(self) -> Value:
        """Enable of all registers."""
        return self._advance

    def has(self, cut: str) -> bool:
        """Returns whether there are registers at the cut."""
        return cut in self._cuts

    def cut(self, cut: str, bundle: Bundle) -> dict[str, Value]:
        """Returns the values after the cut: registered if the pipeline has it, unchanged
        otherwise."""
        if cut not in self._cuts:
            return dict(bundle)
        return {name: self.register(f"{cut}_{name}", value) for name, value in bundle.items()}

    def register(self, name: str, value: Value) -> Value:
        """The value, one register later."""
        register = Signal.like(value, name=name, reset_less=True)
        with self._m.If(self._advance):
            self._m.d.sync += register.eq(value)
        return register
