"""Datapath of sums to a lane's memory of results."""

from __future__ import annotations

from typing import Final, TypeAlias

from amaranth.hdl import C, Cat, Const, Module, Mux, ShapeLike, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import (
    BANKS,
    COLS,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
    limbs,
)
from ..float.headers import column_header
from ..layouts import result_words
from .multi_precision_accumulator import (
    by_limbs,
    column_sums_layout,
    group_sizes,
    sum_bits,
    unit_delay,
    unit_sizes,
)


def row_step_layout(config: GtaConfig) -> data.StructLayout:
    """Control of a row's feed in a cycle: a limb where ``valid``, the ``first`` of a fold.

    ``address``: its byte in the bank. ``rows``: rows of this lane that are in use. ``drains``: with
    ``first``: the sums of the fold before are good ones.
    """
    return data.StructLayout(
        {
            "valid": 1,
            "first": 1,
            "drains": 1,
            "address": range(config.edge_bytes),
            "rows": range(ROWS + 1),
        }
    )


def result_step_layout(config: GtaConfig) -> data.StructLayout:
    """Control of a partial result: it is the ``first`` of a sum over limbs, or completes it.

    ``complete``: the sum is a result. ``accumulate``: it is added to the old one. ``last``: the
    last one of a command. ``bank``: of the group's banks. ``word``, ``place``: in the bank; places
    are of 4 bytes.
    """
    return data.StructLayout(
        {
            "first": 1,
            "complete": 1,
            "accumulate": 1,
            "last": 1,
            "bank": range(BANKS),
            "word": range(result_words(config)),
            "place": range(RESULT_WORD_BYTES // 4),
        }
    )


def edge_layout(config: GtaConfig) -> data.StructLayout:
    """Signals from the last row of a lane to the first row of the lane below."""
    fields: dict[str, ShapeLike] = {"y": data.ArrayLayout(signed(LIMB_BITS + 1), COLS)}
    if config.integers:
        for name in ("sum", "drain") if config.second_rank else ("sum",):
            fields[name] = data.ArrayLayout(signed(config.partial_bits), COLS)
    if config.floats:
        fields["headers"] = data.ArrayLayout(column_header(config), config.row_adders)
    return data.StructLayout(fields)


assert LEFT_WORD_BYTES * 2 == RESULT_WORD_BYTES


Step: TypeAlias = "data.View[data.StructLayout]"


class ResultPath(wiring.Component):
    """Adds results to what the memory has, where a step says so, and writes them.

    The steps of a group whose last column is c come c + d cycles after column 0's, d the delay of
    its limbs in the accumulator (:func:`unit_delay`). The group reads its bank a cycle later, picks
    the old element in the second cycle while the accumulator completes the sum, adds both in the
    third and writes in the fourth. What a bank does in a cycle is chosen in the cycle before, into
    registers. Another result of the same place may follow after four cycles; the array takes eight
    at least.

    In WS the results of a format of one limb follow each other in ascending order, one a cycle. Of
    those that have 4 bytes two are read at a time, and the second one is kept for a cycle, so that
    every other cycle of each bank is free for accesses from outside.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    weights, limbs_log, size: in; WS, log2 L, and 4 << size bytes a result; constant while anything
      is under way
    step: in; of column 0
    first: out; by column, to the accumulator: a sum begins
    sums: in; of the accumulator
    read, read_address: out; banks that are read, and where
    part: out; by bank, a cycle later, the quarter of the word that is wanted, see ``LaneMemories``
    halves, quarters: in; with it
    write, write_address, write_half: out; by bank, a bit for each byte that is written, where, and
      what both halves of the word are given; zeros where no byte is written
    will_write: out; by bank, it is written in the next cycle
    done: out; the last result of a command is in the memory: 12 cycles after its step and log2 L
      more, L the most limbs of the configuration
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        self._widest = max((sum_bits(config, c) for c in range(COLS)), default=0)
        address = data.ArrayLayout(range(result_words(config)), BANKS)
        super().__init__(
            {
                "weights": In(1),
                "limbs_log": In(2),
                "size": In(2),
                "step": In(result_step_layout(config)),
                "first": Out(COLS),
                "sums": In(column_sums_layout(config)),
                "read": Out(BANKS),
                "read_address": Out(address),
                "part": Out(data.ArrayLayout(2, BANKS)),
                "halves": In(data.ArrayLayout(4 * RESULT_WORD_BYTES, BANKS)),
                "quarters": In(data.ArrayLayout(2 * RESULT_WORD_BYTES, BANKS)),
                "write": Out(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "write_address": Out(address),
                "write_half": Out(data.ArrayLayout(4 * RESULT_WORD_BYTES, BANKS)),
                "will_write": Out(BANKS),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        steps: list[Step] = [self.step]
        for n in range(1, self._at(COLS - 1) + 5):
            steps.append(self._later(m, steps[-1], n))
        m.d.comb += [self.first[c].eq(steps[self._at(c) + 2].first) for c in range(COLS)]
        m.d.sync += self.done.eq(steps[-1].complete & steps[-1].last)
        pairs = Signal()
        if 1 in group_sizes(config):
            m.d.comb += pairs.eq(self.weights & self._are_limbs(1) & (self.size == 0))
        old = [self._read(m, b, steps, pairs) for b in range(BANKS)]
        totals = {c: self._add(m, c, steps, old) for c in range(COLS) if unit_sizes(config, c)}
        doubles = {c: self._doubles(m, c, total) for c, total in totals.items()}
        for b in range(BANKS):
            self._write(m, b, steps, totals, doubles)
        return m

    def _later(self, m: Module, step: Step, number: int) -> Step:
        """A step a cycle later; only that it is complete has a reset."""
        held = Signal(result_step_layout(self.config), name=f"held_{number}", reset_less=True)
        complete = Signal(name=f"complete_{number}")
        later = Signal(result_step_layout(self.config), name=f"step_{number}")
        m.d.sync += [held.eq(step), complete.eq(step.complete)]
        m.d.comb += [later.eq(held), later.complete.eq(complete)]
        return later

    def _at(self, column: int) -> int:
        """Cycles from column 0's step to that of the groups whose last column this is."""
        return column + unit_delay(self.config, column)

    def _sizes(self, bank: int) -> dict[int, int]:
        """Returns, by size of groups, the last column of the bank's group."""
        return {n: bank | (n - 1) for n in group_sizes(self.config)}

    def _step(self, m: Module, bank: int, steps: list[Step], later: int, name: str) -> Step:
        """Returns the step of the bank's group, a number of cycles later."""
        layout = result_step_layout(self.config)
        found = Signal(layout, name=f"{name}_{bank}")
        choice = {n: steps[self._at(c) + later].as_value() for n, c in self._sizes(bank).items()}
        m.d.comb += found.eq(by_limbs(self.limbs_log, choice))
        return found

    def _is_bank(self, bank: int, step: Step) -> Value:
        own = {n: Const(bank % n, 3) for n in group_sizes(self.config)}
        return step.complete & (step.bank == by_limbs(self.limbs_log, own))

    def _read(self, m: Module, bank: int, steps: list[Step], pairs: Signal) -> Value:
        """Reads a bank's old element, if it has not come with the one before it in ``pairs``; it is
        there, from bit 0 on, a cycle later."""
        step = self._step(m, bank, steps, 0, "reads")
        kept = pairs & step.place[0]
        reads = Signal(name=f"is_read_{bank}")
        word = Signal.like(step.word, name=f"read_word_{bank}", reset_less=True)
        m.d.sync += [
            reads.eq(step.accumulate & self._is_bank(bank, step) & ~kept),
            word.eq(step.word),
        ]
        m.d.comb += [self.read[bank].eq(reads), self.read_address[bank].eq(word)]
        place = self._step(m, bank, steps, 1, "shows").place
        half, double = self.halves[bank], self.quarters[bank]
        found = Signal(self._widest, name=f"old_{bank}")
        part = Signal(2, name=f"part_{bank}", reset_less=True)
        is_second = Signal(name=f"is_second_{bank}", reset_less=True)
        m.d.sync += [
            part.eq(Cat(place[1] & (self.size <= 1), place[2])),
            is_second.eq(place[0] & (self.size == 0)),
        ]
        m.d.comb += [
            self.part[bank].eq(part),
            found.eq(Cat(double, half[64:])[: self._widest]),
        ]
        second: Value = double[32:]
        if 1 in group_sizes(self.config):
            behind = Signal(32, name=f"old_behind_{bank}", reset_less=True)
            m.d.sync += behind.eq(second)
            second = Mux(pairs, behind, second)
        with m.If(is_second):
            m.d.comb += found[:32].eq(second)
        return found

    def _add(self, m: Module, column: int, steps: list[Step], old: list[Value]) -> Value:
        """The total of the group that ends in a column, four cycles after its step."""
        step = steps[self._at(column) + 1]
        width = sum_bits(self.config, column)
        sizes = unit_sizes(self.config, column)
        found: Value = C(0, width)
        for b in range(column + 1 - sizes[-1], column + 1):
            ends = [self._are_limbs(n) & (step.bank == b % n) for n in sizes if b > column - n]
            own = step.accumulate & Cat(*ends).any()
            parts = Signal(3, name=f"adds_{b}_to_{column}", reset_less=True)
            # The elements behind it do not count, but in four states they would make a whole sum
            # unknown.
            m.d.sync += parts.eq(Cat(own, own & (self.size != 0), own & (self.size == 2)))
            gates = Cat(*(parts[n].replicate(32) for n in (0, 1, 2, 2)))
            found = found | (old[b][:width] & gates[:width])
        addend = Signal(width, name=f"addend_{column}", reset_less=True)
        total = Signal(width, name=f"total_{column}", reset_less=True)
        m.d.sync += [
            addend.eq(found),
            total.eq(self.sums[f"column_{column}"] + addend),
        ]
        return total

    def _are_limbs(self, size: int) -> Value:
        """Tells whether the format has that many limbs."""
        if len(group_sizes(self.config)) == 1:
            return C(1)
        return self.limbs_log == size.bit_length() - 1

    def _doubles(self, m: Module, column: int, total: Value) -> Value:
        """Returns the low 64 bits of a total, or its low 32 bits twice."""
        found = Signal(64, name=f"doubles_{column}")
        m.d.comb += found.eq(Cat(total[:32], Mux(self.size == 0, total[:32], total[32:64])))
        return found

    def _write(
        self,
        m: Module,
        bank: int,
        steps: list[Step],
        totals: dict[int, Value],
        doubles: dict[int, Value],
    ) -> None:
        """Writes a bank's result. To a bank that is not written zeros are given."""
        step = self._step(m, bank, steps, 3, "writes")
        next_here = Signal(name=f"will_be_written_{bank}")
        here = Signal(name=f"is_written_{bank}")
        m.d.comb += [next_here.eq(self._is_bank(bank, step)), self.will_write[bank].eq(next_here)]
        m.d.sync += here.eq(next_here)
        low: Value = C(0, 64)
        high: Value = C(0, 64)
        for n, column in self._sizes(bank).items():
            own = Signal(name=f"is_sum_{column}_to_{bank}")
            whole = Signal(name=f"is_whole_{column}_to_{bank}")
            m.d.sync += own.eq(next_here & self._are_limbs(n))
            low = low | (doubles[column] & own.replicate(64))
            if len(totals[column]) > 64 and n >= limbs("int32"):
                m.d.sync += whole.eq(next_here & self._are_limbs(n) & (self.size == 2))
                high = high | (totals[column][64:] & whole.replicate(64))
        narrow = low
        if self._widest > 64:
            is_narrow = Signal(name=f"is_narrow_{bank}")
            m.d.sync += is_narrow.eq(next_here & (self.size != 2))
            narrow = low & is_narrow.replicate(64)
        m.d.comb += self.write_half[bank].eq(Cat(low, narrow | high))
        mask = Signal(RESULT_WORD_BYTES, name=f"mask_{bank}")
        units = {size: bits for size, bits in enumerate((32, 64, 128)) if bits <= self._widest}
        with m.Switch(self.size):
            for size, bits in units.items():
                copies = 8 * RESULT_WORD_BYTES // bits
                with m.Default() if bits == self._widest else m.Case(size):
                    m.d.comb += mask.eq(
                        Cat(Cat(*[step.place[size:] == n] * (bits // 8)) for n in range(copies))
                    )
        word = Signal.like(step.word, name=f"written_word_{bank}", reset_less=True)
        written = Signal.like(mask, name=f"written_bytes_{bank}")
        m.d.sync += [word.eq(step.word), written.eq(mask & next_here.replicate(len(mask)))]
        m.d.comb += [self.write_address[bank].eq(word), self.write[bank].eq(written)]
