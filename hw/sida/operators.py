"""The operators of several semirings, of which one is chosen at run time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ..arith.add import FloatAdd
from ..arith.scalar_operators import ScalarProduct, choose, delay, is_true, saturating_sum, truth
from ..spec.formats import FloatFormat, Format, IntFormat
from ..spec.semirings import Semiring

__all__ = ["SelectedOptional", "SelectedProduct", "SelectedSum", "identity", "semiring_range"]


def semiring_range(operators: Sequence[Semiring]) -> range:
    """Returns the range of a semiring's number among these; at least one bit."""
    return range(max(2, len(operators)))


def identity(operators: Sequence[Semiring], format: Format, semiring: Value) -> Value:
    """Selects the identity of (+) of the chosen semiring."""
    found: dict[str, int] = {}
    for row in operators:
        pattern = row.identity_in(format)
        assert pattern is not None
        found[row.identity] = pattern
    return _chosen(
        (_is_one_of(operators, semiring, "identity", [word]), C(pattern, format.bits))
        for word, pattern in found.items()
    )


def _is_one_of(
    operators: Sequence[Semiring], semiring: Value, what: str, words: Iterable[str]
) -> Value:
    """Tells whether ``plus``, ``times`` or ``identity`` of the chosen semiring is one of these."""
    allowed = set(words)
    mine = [n for n, row in enumerate(operators) if getattr(row, what) in allowed]
    return C(1) if len(mine) == len(operators) else Cat(semiring == n for n in mine).any()


def _chosen(results: Iterable[tuple[Value, Value]]) -> Value:
    """Selects the result whose condition holds.

    At most one condition holds; the last one is not examined.
    """
    *before, (_, found) = results
    for condition, value in reversed(before):
        found = Mux(condition, value, found)
    return found


class _SelectedOperator(wiring.Component):
    """Base of the operators on two values, pipelined.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set. ``semiring`` must be the same while an operation is under way.
    """

    def __init__(
        self, operators: Sequence[Semiring], format: Format, stages: int, **others: Member
    ) -> None:
        self._operators = tuple(operators)
        self._format = format
        self._stages = stages
        if not self._operators:
            raise ValueError("`operators` must be at least one semiring")
        if stages not in range(1, 4):
            raise ValueError(f"`stages` must be in 1..3, not {stages}")
        members = {
            "semiring": In(semiring_range(self._operators)),
            "a": In(format.bits),
            "b": In(format.bits),
            "advance": In(1),
            "o": Out(format.bits),
        }
        super().__init__(members | others)

    @property
    def operators(self) -> tuple[Semiring, ...]:
        return self._operators

    @property
    def format(self) -> Format:
        return self._format

    @property
    def stages(self) -> int:
        return self._stages

    def _selects(self, what: str, *words: str) -> Value:
        return _is_one_of(self._operators, self.semiring, what, words)

    def _drive(
        self,
        m: Module,
        finished: list[tuple[Value, Value]],
        early: list[tuple[Value, Value]],
    ) -> None:
        """Results that have their registers, and results that take one cycle: these share them."""
        if early:
            value = delay(m, _chosen(early), self._stages, self.advance, "result")
            finished = [*finished, (C(1), value)]
        m.d.comb += self.o.eq(_chosen(finished))

    def _extremum(self, m: Module, what: str) -> list[tuple[Value, Value]]:
        """Returns the smaller or the larger operand, where a semiring needs it."""
        mine = {"min", "max"} & {getattr(row, what) for row in self._operators}
        if not mine:
            return []
        largest: ValueLike = self._selects(what, "max") if len(mine) > 1 else int("max" in mine)
        found = choose(m, self.a, self.b, self._format, maximum=Value.cast(largest))
        return [(self._selects(what, *mine), found)]


class SelectedProduct(_SelectedOperator):
    """Computes ``o = a (x) b`` of the chosen semiring, as :class:`ScalarProduct` does.

    Semirings of the same (x) share its hardware. Latency ``stages`` cycles, an operation a cycle.
    Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    operators: the semirings
    format: of a, b and o
    stages: register stages, 1..3

    Members
    -------
    semiring: in; number of the chosen one, the same while an operation is under way
    a, b: the operands
    advance: enables all registers
    o: the product
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        words = dict.fromkeys(row.times for row in self._operators)
        finished: list[tuple[Value, Value]] = []
        early = self._extremum(m, "times")
        if "and" in words:
            both = is_true(self.a, fmt) & is_true(self.b, fmt)
            early.append((self._selects("times", "and"), truth(both, fmt)))
        if "second" in words:
            kept = Mux(is_true(self.a, fmt), self.b, C(0, fmt.bits))
            early.append((self._selects("times", "second"), kept))
        if isinstance(fmt, IntFormat):
            early = self._padded(m, fmt, early + self._integer(m, fmt, set(words)))
        else:
            finished = self._rounded(m, list(words))
        self._drive(m, finished, early)
        return m

    def _rounded(self, m: Module, words: list[str]) -> list[tuple[Value, Value]]:
        """Builds the operators that need an adder or a multiplier of floats."""
        found = []
        for word in words:
            if word not in ("mul", "add", "square_difference"):
                continue
            row = next(row for row in self._operators if row.times == word)
            m.submodules[word] = part = ScalarProduct(row, self._format, self._stages)
            m.d.comb += [part.a.eq(self.a), part.b.eq(self.b), part.advance.eq(self.advance)]
            found.append((self._selects("times", word), part.o))
        return found

    def _integer(self, m: Module, fmt: IntFormat, words: set[str]) -> list[tuple[Value, Value]]:
        """Sums and products, before their registers."""
        found = []
        if "add" in words:
            total = saturating_sum(m, self.a, self.b, fmt)
            found.append((self._selects("times", "add"), total))
        if mine := words & {"mul", "square_difference"}:
            squares = (
                self._selects("times", "square_difference") if "square_difference" in mine else C(0)
            )
            left = Signal(fmt.bits)
            right = Signal(fmt.bits)
            product = Signal(fmt.bits)
            m.d.comb += [
                left.eq(Mux(squares, self.a - self.b, self.a)),
                right.eq(Mux(squares, left, self.b)),
                product.eq(left.as_signed() * right.as_signed()),
            ]
            found.append((self._selects("times", *mine), product))
        return found

    def _padded(
        self, m: Module, fmt: IntFormat, early: list[tuple[Value, Value]]
    ) -> list[tuple[Value, Value]]:
        """Makes the product of two padding values the identity where (+) is min or max."""
        padded = Signal()
        for number, row in enumerate(self._operators):
            if row.plus not in ("min", "max"):
                continue
            a, b = row.padding_in(fmt) or (0, 0)
            with m.If((self.semiring == number) & (self.a == a) & (self.b == b)):
                m.d.comb += padded.eq(1)
        return [(padded, identity(self._operators, fmt, self.semiring)), *early]


class SelectedSum(_SelectedOperator):
    """Computes ``o = a (+) b`` of the chosen semiring, as :class:`ScalarSum` does.

    Semirings of the same (+) share its hardware, and so do minimum and maximum. Latency ``stages``
    cycles, an operation a cycle. Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    operators: the semirings
    format: of a, b and o
    stages: register stages, 1..3

    Members
    -------
    semiring: in; number of the chosen one, the same while an operation is under way
    a, b: the operands
    advance: enables all registers
    o: the sum
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        words = {row.plus for row in self._operators}
        finished: list[tuple[Value, Value]] = []
        early = self._extremum(m, "plus")
        if "or" in words:
            either = is_true(self.a, fmt) | is_true(self.b, fmt)
            early.append((self._selects("plus", "or"), truth(either, fmt)))
        if "add" in words and isinstance(fmt, FloatFormat):
            m.submodules.add = add = FloatAdd(fmt, stages=self._stages)
            m.d.comb += [add.a.eq(self.a), add.b.eq(self.b), add.advance.eq(self.advance)]
            finished.append((self._selects("plus", "add"), add.o))
        elif "add" in words:
            early.append((self._selects("plus", "add"), (self.a + self.b)[: fmt.bits]))
        self._drive(m, finished, early)
        return m


class SelectedOptional(_SelectedOperator):
    """Computes ``a (+) b`` of two values that may be absent.

    If one is absent, the other is the result, unchanged.

    Timing as :class:`SelectedSum`.

    Parameters
    ----------
    operators: the semirings
    format: of a, b and o
    stages: register stages, 1..3

    Members
    -------
    semiring: in; number of the chosen one, the same while an operation is under way
    a, b: the operands
    a_present, b_present: whether they count
    advance: enables all registers
    o: the sum; arbitrary if neither is present
    """

    def __init__(self, operators: Sequence[Semiring], format: Format, stages: int) -> None:
        super().__init__(operators, format, stages, a_present=In(1), b_present=In(1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sum = total = SelectedSum(self._operators, self._format, self._stages)
        alone = Mux(self.a_present, self.a, self.b)
        both = self.a_present & self.b_present
        kept = delay(m, alone, self._stages, self.advance, "alone")
        sums = delay(m, both, self._stages, self.advance, "both")
        m.d.comb += [
            total.semiring.eq(self.semiring),
            total.a.eq(self.a),
            total.b.eq(self.b),
            total.advance.eq(self.advance),
            self.o.eq(Mux(sums, total.o, kept)),
        ]
        return m
