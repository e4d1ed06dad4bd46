"""The sums of columns that go on from set to set."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...spec.sida import SidaConfig
from ...stream.valid_pipeline import ValidPipeline
from ..operators import SelectedOptional, semiring_range

__all__ = ["ColumnPartials", "part_layout"]


def part_layout(config: SidaConfig) -> data.StructLayout:
    """A value, if there is one."""
    return data.StructLayout({"present": 1, "value": config.format.bits})


class ColumnPartials(wiring.Component):
    """Adds what the sets that a column goes through have of it.

    One column is open at a time. A set adds to it, and may end it; then it begins the next one,
    perhaps with something. What a column gets is dealt out in turn to ``partials`` partial sums,
    so that each adder is through with one when its turn comes again; in the end they are added in
    pairs. A column may begin, and another one end, in every cycle: at the end of the first adder
    the old column's sums move on to the pairs while the new one's first value takes their place.

    Latency ``latency`` cycles. The data's registers have no reset.

    Source: SIDA, section on the OS core; the order of the sums is ours.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    semiring: in; number of the chosen one
    valid: in; there is a set
    added: in; what it adds to the open column
    ends: in; then that column is complete
    opened: in; what the next one begins with
    total: out; of the column that ended so long ago; anything if none did
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        part = part_layout(config)
        super().__init__(
            {
                "semiring": In(semiring_range(config.operators)),
                "valid": In(1),
                "added": In(part),
                "ends": In(1),
                "opened": In(part),
                "total": Out(part),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    @property
    def latency(self) -> int:
        """In cycles."""
        levels = 1 + (self._config.partials - 1).bit_length()
        return levels * self._config.adder_stages

    def _optional(self) -> SelectedOptional:
        config = self._config
        return SelectedOptional(config.operators, config.format, config.adder_stages)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        stages, partials, bits = config.adder_stages, config.partials, config.format.bits
        sums = [Signal(bits, name=f"sum_{n}", reset_less=True) for n in range(partials)]
        adds = Signal()
        ends = Signal()
        turn = Signal(range(partials))
        count = Signal(range(partials + 1))
        after = Signal(range(partials + 1))
        m.d.comb += [
            adds.eq(self.valid & self.added.present),
            ends.eq(self.valid & self.ends),
            after.eq(Mux(adds & (count != partials), count + 1, count)),
        ]
        with m.If(ends):
            m.d.sync += [turn.eq(self.opened.present), count.eq(self.opened.present)]
        with m.Elif(adds):
            m.d.sync += [turn.eq(Mux(turn == partials - 1, 0, turn + 1)), count.eq(after)]
        with m.If(self.clear):
            m.d.sync += [turn.eq(0), count.eq(0)]
        m.submodules.add = add = self._optional()
        m.d.comb += [
            add.semiring.eq(self.semiring),
            add.advance.eq(1),
            add.a.eq(Array(sums)[turn]),
            add.a_present.eq(count == partials),
            add.b.eq(self.added.value),
            add.b_present.eq(1),
        ]
        m.submodules.adding = adding = ValidPipeline(stages)
        m.submodules.ending = ending = ValidPipeline(stages)
        for pipeline, enters in ((adding, adds), (ending, ends)):
            m.d.comb += [
                pipeline.i.eq(enters),
                pipeline.advance.eq(1),
                pipeline.clear.eq(self.clear),
            ]
        place = delay(m, turn, stages, Value.cast(1), "turn")
        begun = delay(m, self.opened.value, stages, Value.cast(1), "opened")
        current = []
        for n, kept in enumerate(sums):
            now = Signal(bits, name=f"now_{n}")
            m.d.comb += now.eq(Mux(adding.o & (place == n), add.o, kept))
            m.d.sync += kept.eq(Mux(ending.o, begun, now) if n == 0 else now)
            current.append(now)
        self._pairs(m, current, delay(m, after, stages, Value.cast(1), "count"))
        return m

    def _pairs(self, m: Module, sums: list[Signal], count: Value) -> None:
        """Adds the partial sums of a column that is complete."""
        stages = self._config.adder_stages
        level: list[Value] = list(sums)
        present = Signal(len(level), name="present")
        m.d.comb += present.eq(Cat(n < count for n in range(len(level))))
        depth = 0
        while len(level) > 1:
            following: list[Value] = []
            for n in range(len(level) // 2):
                m.submodules[f"pair_{depth}_{n}"] = pair = self._optional()
                m.d.comb += [
                    pair.semiring.eq(self.semiring),
                    pair.advance.eq(1),
                    pair.a.eq(level[2 * n]),
                    pair.a_present.eq(present[2 * n]),
                    pair.b.eq(level[2 * n + 1]),
                    pair.b_present.eq(present[2 * n + 1]),
                ]
                following.append(pair.o)
            if len(level) % 2:
                following.append(delay(m, level[-1], stages, Value.cast(1), f"alone_{depth}"))
            either = Signal(len(following), name=f"either_{depth}")
            m.d.comb += either.eq(
                Cat(present[2 * n : 2 * n + 2].any() for n in range(len(following)))
            )
            later = delay(m, either, stages, Value.cast(1), f"present_{depth}")
            present = Signal(len(following), name=f"present_behind_{depth}")
            m.d.comb += present.eq(later)
            level, depth = following, depth + 1
        m.d.comb += [self.total.value.eq(level[0]), self.total.present.eq(present[0])]
