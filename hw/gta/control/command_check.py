"""Takes commands of the list apart, and refuses those that are wrong."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...job.states import code_shape
from ...spec.gta import GtaConfig
from ...spec.jobs.gta import COMMANDS_BITS, FAULTS, job_spec
from ...spec.jobs.gta_commands import COMMAND_BYTES, FIELDS, KINDS
from ..layouts import csr_layout
from .execute_check import ExecuteCheck
from .layouts import command_layout, counts_layout
from .rows_check import RowsCheck

__all__ = ["CommandCheck"]


class CommandCheck(wiring.Component):
    """Passes commands on that hold, to their kind's queue, in order.

    An EXECUTE takes some ten cycles, and one for each lane and fold, a LOAD or a STORE six, and one
    for each time that its rows go through the lanes; commands before it work meanwhile.
    After one that is wrong nothing is taken any more, until ``clear``.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    csr: in; see ``csr_layout``
    words: commands as they are in memory
    o: array of streams, by ``KINDS``: commands as they are in memory
    start: in, a pulse: the first command of a job comes next
    number: out; of the command that is looked at
    passed: out; how many of each kind were passed on
    wrong: out; why that one is wrong, a code; 0: it is not
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        self._spec = job_spec(config)
        word = stream.Signature(8 * COMMAND_BYTES)
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "words": In(word),
                "o": Out(word).array(len(KINDS)),
                "start": In(1),
                "number": Out(COMMANDS_BITS),
                "passed": Out(counts_layout()),
                "wrong": Out(code_shape(self._spec)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.rows = rows = RowsCheck(config)
        m.submodules.execute = execute = ExecuteCheck(config)
        word = self.words.payload
        before = command_layout("load")(word)
        is_kind = [before.kind == number + 1 for number in range(len(KINDS))]
        load, executes, store = is_kind
        self._count(m, is_kind)
        late = Cat(before[name] > self.passed[name] for name in counts_layout().members).any()
        begin = Signal()
        done = Signal()
        m.d.comb += [
            rows.command.eq(word),
            rows.store.eq(store),
            rows.start.eq(begin & (load | store)),
            execute.csr.eq(self.csr),
            execute.command.eq(word),
            execute.start.eq(begin & executes),
            done.eq(rows.done & execute.done),
        ]
        faults = Signal(len(FAULTS))
        own = Mux(executes, execute.faults, Mux(load | store, rows.faults, 0))
        early = {"command": self._stray(word, is_kind), "command_order": late}
        m.d.sync += faults.eq(own | Cat(early.get(name, Const(0)) for name in FAULTS))
        ready = Signal()
        offered = Signal()
        self._states(m, begin, done, faults, ready, offered)
        m.d.comb += [
            ready.eq(Cat(o.ready & kind for o, kind in zip(self.o, is_kind, strict=True)).any()),
            self.words.ready.eq(offered & ready),
        ]
        for kind, o in zip(is_kind, self.o, strict=True):
            m.d.comb += [o.valid.eq(offered & kind), o.payload.eq(word)]
        return m

    def _count(self, m: Module, is_kind: list[Value]) -> None:
        """How many commands there were before, and of each kind."""
        passed = self.words.valid & self.words.ready
        with m.If(passed):
            m.d.sync += self.number.eq(self.number + 1)
        with m.If(self.start):
            m.d.sync += self.number.eq(0)
        for name, kind in zip(counts_layout().members, is_kind, strict=True):
            count = self.passed[name]
            with m.If(passed & kind):
                m.d.sync += count.eq(count + 1)
            with m.If(self.start):
                m.d.sync += count.eq(0)

    @staticmethod
    def _stray(word: Value, is_kind: list[Value]) -> Value:
        """Whether it is of no kind, or bits are set that belong to no field."""
        stray: Value = ~Cat(is_kind).any()
        for kind, name in zip(is_kind, KINDS, strict=True):
            known = sum((1 << bits) - 1 << low for low, bits in FIELDS[name].values())
            unknown = Cat(word[n] for n in range(8 * COMMAND_BYTES) if not known >> n & 1)
            stray = stray | (kind & unknown.any())
        return stray

    def _states(
        self, m: Module, begin: Signal, done: Value, faults: Value, ready: Value, offered: Signal
    ) -> None:
        """Look at a command, then pass it on, or stay with one that is wrong."""
        with m.FSM(name="state"):
            with m.State("wait"):
                with m.If(self.words.valid):
                    m.d.comb += begin.eq(1)
                    m.next = "look"
                self._forget(m)
            with m.State("look"):
                # What is begun is not done in the cycle behind it.
                m.next = "check"
                self._forget(m)
            with m.State("check"):
                with m.If(done):
                    m.next = "judge"
                self._forget(m)
            with m.State("judge"):
                m.next = "offer"
                with m.If(faults.any()):
                    m.next = "wrong"
                self._forget(m)
            with m.State("offer"):
                m.d.comb += offered.eq(1)
                with m.If(ready):
                    m.next = "wait"
                self._forget(m)
            with m.State("wrong"):
                for index, name in reversed(list(enumerate(FAULTS))):
                    with m.If(faults[index]):
                        m.d.comb += self.wrong.eq(self._spec.code(name))
                self._forget(m)

    def _forget(self, m: Module) -> None:
        """In any state."""
        with m.If(self.clear):
            m.next = "wait"
