"""Register stages of pipelined arithmetic, by name."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike


def count_leading_zeros(m: Module, value: ValueLike, *, name: str) -> Value:
    """Returns the number of leading zeros, which of a zero is the width, by a tree of halves."""
    value = Value.cast(value)
    width = len(value)
    # Ones below the value make it a power of two wide: a zero then has as many as are above them.
    padding = (1 << width.bit_length()) - width
    bits = Cat(C(-1, padding), value)
    empty: list[Value] = [~bit for bit in reversed(bits)]
    counts: list[Value] = [C(0, 0)] * len(empty)
    level = 0
    while len(empty) > 1:
        following: list[Value] = []
        for i in range(0, len(empty), 2):
            count = Signal(level + 1, name=f"{name}_{level}_{i // 2}")
            m.d.comb += count.eq(Cat(Mux(empty[i], counts[i + 1], counts[i]), empty[i]))
            following.append(count)
        empty = [a & b for a, b in zip(empty[::2], empty[1::2], strict=True)]
        counts, level = following, level + 1
    return counts[0]


def shift_left(m: Module, value: ValueLike, distance: Value, *, name: str, least: int = 0) -> Value:
    """Shifts left by any distance; the width stays. The lowest ``least`` bits of the distance
    do not count."""
    value = Value.cast(value)
    for stage in reversed(range(least, len(distance))):
        step = 1 << stage
        moved = Signal(len(value), name=f"{name}_by_{step}")
        m.d.comb += moved.eq(Mux(distance[stage], value.shift_left(step)[: len(value)], value))
        value = moved
    return value


def shift_right_sticky(
    m: Module,
    value: ValueLike,
    distance: ValueLike,
    width: int,
    *,
    name: str,
    coarse_first: bool = False,
) -> tuple[Value, Value]:
    """Shifts right within a window; a sticky bit records the bits that are lost.

    ``value`` starts at the top of a window of ``width`` bits and moves down by ``distance``
    (any width, unsigned; large distances empty the window). Large steps before small ones shorten
    the path to the sticky bit, and take more cells.
    Returns the window, and a bit that is set if ones fell below it.
    """
    value, distance = Value.cast(value), Value.cast(distance)
    # The window is held as far as it can be filled: bits below ``value`` are zero at first.
    window = value if len(value) <= width else value[len(value) - width :]
    lost = [value[: len(value) - width].any()] if len(value) > width else []
    stages = min(len(distance), width.bit_length())
    for stage in reversed(range(stages)) if coarse_first else range(stages):
        step = 1 << stage
        grown = min(width, len(window) + step)
        stay = Cat(C(0, grown - len(window)), window)
        dropped = min(len(window) + step - grown, len(window))
        moved = window[dropped:]
        result = Signal(grown, name=f"{name}_by_{step}")
        m.d.comb += result.eq(Mux(distance[stage], moved, stay))
        if dropped:
            out = Signal(name=f"{name}_lost_{step}")
            m.d.comb += out.eq(distance[stage] & window[:dropped].any())
            lost.append(out)
        window = result
    if len(window) < width:
        window = Cat(C(0, width - len(window)), window)
    if stages < len(distance):
        far = Signal(name=f"{name}_far")
        m.d.comb += far.eq(distance[stages:].any())
        emptied = Signal(width, name=f"{name}_window")
        m.d.comb += emptied.eq(Mux(far, 0, window))
        lost.append(far & value.any())
        window = emptied
    return window, Cat(*lost).any() if lost else C(0, 1)


#: Which register stages a dot product of so many has, in the order of the data.
CUTS: dict[int, tuple[str, ...]] = {
    1: ("result",),
    2: ("products", "result"),
    3: ("products", "carry_save", "result"),
    4: ("products", "carry_save", "total", "result"),
    5: ("products", "carry_save", "total", "shifted", "result"),
    6: ("multiplied", "products", "carry_save", "total", "shifted", "result"),
    7: ("multiplied", "products", "distances", "carry_save", "total", "shifted", "result"),
}
BEFORE_PRODUCTS = ("aligned", "rounded")
"""Cuts of a pipeline that are before its products, see ``Otimes``."""
for _cut in reversed(BEFORE_PRODUCTS):
    CUTS[len(CUTS) + 1] = (_cut, *CUTS[len(CUTS)])

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
