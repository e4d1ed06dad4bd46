"""Reductions over all elements, in the order of additions of the products' columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.add import FloatAdd
from ...arith.compare import FloatMinMax
from ...arith.scalar_operators import delay, is_true, truth
from ...spec.elementwise.instructions import SCALARS
from ...spec.formats import FloatFormat, Format
from ...spec.sida import SidaConfig
from .layouts import KINDS, values_layout


class ReductionSum(wiring.Component):
    """Computes the sum, minimum, maximum or disjunction of two values that may be absent.

    If one is absent, the other is the result.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset.

    Parameters
    ----------
    format: of the values
    stages: register stages, 1..3

    Members
    -------
    kind: in; number of the reduction, see ``KINDS``
    a, b: in; the values
    a_present, b_present: in; whether they count
    o: out; arbitrary if neither is present
    """

    def __init__(self, format: Format, stages: int) -> None:
        self._format, self._stages = format, stages
        super().__init__(
            {
                "kind": In(range(len(KINDS))),
                "a": In(format.bits),
                "b": In(format.bits),
                "a_present": In(1),
                "b_present": In(1),
                "o": Out(format.bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, a, b = self._format, self.a, self.b
        both = self.a_present & self.b_present
        maximum = self.kind == KINDS.index("rmax")
        extreme: Value
        if isinstance(fmt, FloatFormat):
            m.submodules.choose = choose = FloatMinMax(fmt)
            m.d.comb += [choose.a.eq(a), choose.b.eq(b), choose.maximum.eq(maximum)]
            extreme = choose.o
        else:
            extreme = Mux((a.as_signed() < b.as_signed()) ^ maximum, a, b)
        alone = Signal(fmt.bits)
        with m.If(~both):
            m.d.comb += alone.eq(Mux(self.a_present, a, b))
        with m.Elif(self.kind == KINDS.index("ror")):
            m.d.comb += alone.eq(truth(is_true(a, fmt) | is_true(b, fmt), fmt))
        with m.Else():
            m.d.comb += alone.eq(extreme)
        adds = delay(m, both & (self.kind == KINDS.index("rsum")), self._stages, C(1), "adds")
        chosen = delay(m, alone, self._stages, C(1), "chosen")
        total: Value
        if isinstance(fmt, FloatFormat):
            m.submodules.add = add = FloatAdd(fmt, stages=self._stages)
            m.d.comb += [add.a.eq(a), add.b.eq(b), add.advance.eq(1)]
            total = add.o
        else:
            total = delay(m, (a + b)[: fmt.bits], self._stages, C(1), "total")
        m.d.comb += self.o.eq(Mux(adds, total, chosen))
        return m


class ReductionTree(wiring.Component):
    """Reduces the elements that are present in a row.

    Latency ``latency`` cycles, a row a cycle. Registers have no reset.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    kind: in; number of the reduction, see ``KINDS``
    mask: in; which elements there are, at least one
    values: in; the row's. For a disjunction any values
    o: out; the result; 0 or 1 of a disjunction
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "kind": In(range(len(KINDS))),
                "mask": In(config.pes),
                "values": In(values_layout(config)),
                "o": Out(config.format.bits),
            }
        )

    @property
    def latency(self) -> int:
        return (self._config.pes.bit_length() - 1) * self._config.adder_stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, stages = self._config.format, self._config.adder_stages
        kind: Value = self.kind
        present = [self.mask[leaf] for leaf in range(self._config.pes)]
        values: list[Value] = []
        for leaf in range(self._config.pes):
            value = Signal(fmt.bits, name=f"leaf_{leaf}")
            m.d.comb += value.eq(self.values[leaf])
            with m.If(kind == KINDS.index("ror")):
                m.d.comb += value.eq(truth(is_true(self.values[leaf], fmt), fmt))
            values.append(value)
        level = 0
        while len(values) > 1:
            pairs: list[Value] = []
            for n in range(len(values) // 2):
                m.submodules[f"sum_{level}_{n}"] = node = ReductionSum(fmt, stages)
                m.d.comb += [
                    node.kind.eq(kind),
                    node.a.eq(values[2 * n]),
                    node.b.eq(values[2 * n + 1]),
                    node.a_present.eq(present[2 * n]),
                    node.b_present.eq(present[2 * n + 1]),
                ]
                pairs.append(node.o)
            present = [
                delay(m, present[2 * n] | present[2 * n + 1], stages, C(1), f"present_{level}_{n}")
                for n in range(len(pairs))
            ]
            kind = delay(m, kind, stages, C(1), f"kind_{level}")
            values, level = pairs, level + 1
        m.d.comb += self.o.eq(values[0])
        return m


class Reductions(wiring.Component):
    """Reduces what each reducing instruction of a part is given, row by row.

    Inputs are registered first. A row goes through a tree, and to the partial result whose turn it
    is, of ``partials`` for each instruction, so that one can come every cycle. When the part is
    over these are reduced in pairs, instruction by instruction, and those of one scalar one after
    the other.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    start: in; a part begins
    valid: in; a row comes
    kind, slot: in, with it; number of the reduction, see ``KINDS``, and the instruction's place
    turn, fresh: in, with it; the partial result, and whether it has nothing yet
    mask, values: in, with it; the row
    busy: out; rows are on their way
    finish: in; what instruction ``slot`` has is to be brought to scalar ``number``. It stays set
        until ``finished``; nothing may be on its way
    number, count: in, with it; ``count``: rows that there were, ``partials`` if more
    finished: out; for one cycle; the scalar is written at its end
    scalar: in; what scalar ``number`` was a cycle before
    write: out; writes ``total`` to scalar ``number``
    total: out
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        bits = config.format.bits
        super().__init__(
            {
                "start": In(1),
                "valid": In(1),
                "kind": In(range(len(KINDS))),
                "slot": In(range(config.program_words)),
                "turn": In(range(config.partials)),
                "fresh": In(1),
                "mask": In(config.pes),
                "values": In(values_layout(config)),
                "busy": Out(1),
                "finish": In(1),
                "number": In(range(SCALARS)),
                "count": In(range(config.partials + 1)),
                "finished": Out(1),
                "scalar": In(bits),
                "write": Out(1),
                "total": Out(bits),
                "clear": In(1),
            }
        )

    def _register(self, m: Module) -> Any:
        """Registers the inputs; returns them, a cycle late."""
        given = ("kind", "slot", "turn", "fresh", "mask", "values", "number", "count")
        found = {}
        for name in given:
            value = getattr(self, name)
            found[name] = Signal.like(value, name=f"given_{name}", reset_less=True)
            m.d.sync += found[name].eq(value)
        finish = Signal(name="given_finish")
        m.d.sync += finish.eq(self.finish & ~self.finished & ~self.clear)
        return SimpleNamespace(**found, finish=finish)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        given = self._register(m)
        m.submodules.tree = tree = ReductionTree(config)
        m.submodules.sum = adder = ReductionSum(config.format, config.adder_stages)
        turn_bits = (config.partials - 1).bit_length()
        m.submodules.partials = partials = Memory(
            shape=config.format.bits, depth=config.program_words << turn_bits, init=[]
        )
        kept = partials.read_port(domain="comb")
        other = partials.read_port(domain="comb")
        write = partials.write_port()
        flight = Signal(1 + tree.latency + config.adder_stages)
        m.d.sync += flight.eq(Cat(self.valid, flight)[: len(flight)])
        with m.If(self.clear):
            m.d.sync += flight.eq(0)
        m.d.comb += [
            tree.kind.eq(given.kind),
            tree.mask.eq(given.mask),
            tree.values.eq(given.values),
            self.busy.eq(flight.any()),
        ]
        place = delay(m, Cat(given.turn, given.slot), tree.latency - 1, C(1), "early_place")
        fields = {"kind": given.kind, "fresh": given.fresh}
        behind = {name: delay(m, value, tree.latency, C(1), name) for name, value in fields.items()}
        # A partial result is read a cycle ahead of its use: one that is written then is passed on.
        partial = Signal(config.format.bits, reset_less=True)
        m.d.sync += partial.eq(Mux(write.en & (write.addr == kept.addr), write.data, kept.data))
        m.d.comb += [
            kept.addr.eq(place),
            adder.kind.eq(behind["kind"]),
            adder.a.eq(partial),
            adder.a_present.eq(~behind["fresh"]),
            adder.b.eq(tree.o),
            adder.b_present.eq(1),
            write.addr.eq(delay(m, place, 1 + config.adder_stages, C(1), "result_place")),
            write.data.eq(adder.o),
            write.en.eq(flight[-1]),
            self.total.eq(adder.o),
        ]
        self._finish(m, given, adder, partial, kept, other, write)
        return m

    def _pairs(self) -> list[tuple[int, int]]:
        """Lists the pairs of partial results to reduce, each into its first one, in order."""
        found: list[tuple[int, int]] = []
        left = list(range(self._config.partials))
        while len(left) > 1:
            found += [(left[n], left[n + 1]) for n in range(0, len(left) - 1, 2)]
            left = left[::2]
        return found

    def _finish(
        self,
        m: Module,
        given: Any,
        adder: ReductionSum,
        partial: Signal,
        kept: Value,
        other: Value,
        write: Value,
    ) -> None:
        """Pairs of an instruction's partial results; what is left goes to the scalar."""
        config, pairs = self._config, self._pairs()
        step = Signal(range(len(pairs) + 1))
        left = Signal(range(config.adder_stages + 2))
        seen = Signal(SCALARS)
        first = Signal(range(config.partials))
        second = Signal(range(config.partials))
        last = Signal()
        m.d.comb += last.eq(step == len(pairs))
        with m.Switch(step):
            for n, (x, y) in enumerate(pairs):
                with m.Case(n):
                    m.d.comb += [first.eq(x), second.eq(y)]
        following = Signal.like(step)
        m.d.comb += following.eq(Mux(last, 0, step + 1))
        active = Signal(name="finishes")
        waits = Signal(name="waits")
        # The pair's second one, a cycle after its address, as is the first one in ``partial``.
        its_other = Signal.like(partial, reset_less=True)
        m.d.sync += its_other.eq(other.data)
        m.d.comb += other.addr.eq(Cat(second, given.slot))
        with m.If(active):
            m.d.comb += [
                kept.addr.eq(Cat(first, given.slot)),
                adder.kind.eq(given.kind),
                adder.a.eq(Mux(last, self.scalar, partial)),
                adder.b.eq(Mux(last, partial, its_other)),
                adder.a_present.eq(~last | seen.bit_select(given.number, 1)),
            ]
        with m.If(~active):
            m.d.sync += active.eq(given.finish)
        with m.Elif(~waits):
            m.d.sync += left.eq(1 + config.adder_stages)
            with m.If(~last & (second >= given.count)):
                m.d.sync += step.eq(following)
            with m.Else():
                m.d.sync += waits.eq(1)
        with m.Else():
            m.d.sync += left.eq(left - 1)
            with m.If(left == 1):
                m.d.comb += [
                    write.addr.eq(Cat(first, given.slot)),
                    write.en.eq(~last),
                    self.write.eq(last),
                    self.finished.eq(last),
                ]
                m.d.sync += [step.eq(following), waits.eq(0), active.eq(~last)]
                with m.If(last):
                    m.d.sync += seen.bit_select(given.number, 1).eq(1)
        with m.If(self.clear):
            m.d.sync += [step.eq(0), waits.eq(0), active.eq(0)]
        with m.If(self.start):
            m.d.sync += seen.eq(0)
