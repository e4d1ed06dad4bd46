"""Takes commands of the list apart, and refuses those that are wrong."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...job.states import code_shape
from ...spec.gta import FORMATS_OF_GTA, ROWS, GtaConfig, element_bytes, is_float, limbs
from ...spec.jobs.gta import COMMANDS_BITS, FAULTS, job_spec
from ...spec.jobs.gta_commands import COMMAND_BYTES, FIELDS, KINDS, OPERATIONS, widths_of_results
from ..layouts import csr_layout
from .field_checks import RowsCheck, VectorCheck
from .fold_extents import FoldExtents
from .layouts import command_layout, counts_layout
from .region_scan import RegionScan
from .row_walk import log2


def _sizes(name: str) -> int:
    """A bit for each ``result_size`` that results may have."""
    return sum(1 << log2(width) - 2 for width in widths_of_results(name))


class FormatTable(wiring.Component):
    """Looks up the properties of a format. No latency.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    number: in; as in commands
    there: out; jobs may have it; nothing is said of others
    floats: out; it is a floating-point format
    element: out; an element has 1 << element bytes
    limbs: out; an integer has 1 << limbs limbs; 0 for floats
    sizes: out; a bit for each ``result_size`` that results may have
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "number": In(8),
                "there": Out(1),
                "floats": Out(1),
                "element": Out(2),
                "limbs": Out(2),
                "sizes": Out(3),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        names = FORMATS_OF_GTA
        usable = (*self._config.integers, *self._config.floats)
        limb_logs = [0 if is_float(name) else log2(limbs(name)) for name in names]
        known = ~self.number[3:].any()
        m.d.comb += [
            self.there.eq(known & self._chosen([name in usable for name in names], 1)),
            self.floats.eq(self._chosen([is_float(name) for name in names], 1)),
            self.element.eq(self._chosen([log2(element_bytes(name)) for name in names], 2)),
            self.limbs.eq(self._chosen(limb_logs, 2)),
            self.sizes.eq(self._chosen([_sizes(name) for name in names], 3)),
        ]
        return m

    def _chosen(self, values: list[int] | list[bool], bits: int) -> Value:
        return Array(Const(int(value), bits) for value in values)[self.number[:3]]


class ExecuteCheck(wiring.Component):
    """Checks all fields of an EXECUTE, and the lanes of its group.

    Takes a cycle for each lane, one for each fold downwards or across, and four; in SIMD there are
    no folds.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    csr: in; see ``csr_layout``
    command: in; constant from ``start`` to ``done``
    start: in, a pulse
    done: out; with it ``faults``, a bit for each of ``FAULTS``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "command": In(8 * COMMAND_BYTES),
                "start": In(1),
                "done": Out(1),
                "faults": Out(len(FAULTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        command = command_layout("execute")(self.command)
        m.submodules.scan = scan = RegionScan(config)
        m.submodules.table = table = FormatTable(config)
        m.submodules.extents = extents = FoldExtents(config)
        m.submodules.vector = vector = VectorCheck(config)
        simd = command.operation == OPERATIONS.index("simd")
        scanning = Signal()
        rows = Signal(range(ROWS * config.lanes + 1))
        m.d.comb += [
            scan.csr.eq(self.csr),
            scan.start.eq(self.start),
            scan.mask.eq(command.group),
            table.number.eq(command.format),
            rows.eq(scan.rows.shift_left(log2(ROWS))),
            extents.command.eq(self.command),
            extents.floats.eq(table.floats),
            extents.element.eq(table.element),
            extents.limbs.eq(table.limbs),
            extents.rows.eq(rows),
            extents.start.eq(scanning & scan.done & ~simd),
            vector.command.eq(self.command),
            *(
                getattr(vector, name).eq(getattr(table, name))
                for name in ("there", "floats", "element", "limbs", "sizes")
            ),
            self.done.eq(~scanning & extents.done),
        ]
        with m.If(self.start):
            m.d.sync += scanning.eq(1)
        with m.Elif(scan.done):
            m.d.sync += scanning.eq(0)
        both = {
            "command": command.operation >= len(OPERATIONS),
            "command_lanes": command.group[config.mask_bits :].any() | ~scan.some,
        }
        folds = self._folds(rows, table) | {"command_memory": extents.over}
        of_both, of_folds = (
            Cat(found.get(name, Const(0)) for name in FAULTS) for found in (both, folds)
        )
        m.d.comb += self.faults.eq(of_both | Mux(simd, vector.faults, of_folds))
        return m

    def _folds(self, rows: Value, table: FormatTable) -> dict[str, Value]:
        """Returns the faults of a product of matrices by name, but for those of memory ranges."""
        config = self._config
        command = command_layout("execute")(self.command)
        ws = command.operation == OPERATIONS.index("ws")
        last = command.rows_last
        # In OS, rows are limbs, which come in whole groups.
        cut = Mux(
            table.limbs[1], last[:2].any() | (table.limbs[0] & last[2]), table.limbs[0] & last[0]
        )
        sizes = (command.row_folds, command.col_folds, command.time, last)
        width_there = Mux(
            command.result_size < 3, table.sizes.bit_select(command.result_size[:2], 1), 0
        )
        products = Mux(ws, rows, command.time)
        return {
            "command": command.result_base[0] | command.result_stride[0],
            "command_format": ~table.there | (table.floats & ws) | ~width_there,
            "command_size": ~Cat(size.any() for size in sizes).all() | (last > rows) | (~ws & cut),
            "command_sum": ~table.floats & (products > config.most_products),
        }


class CommandCheck(wiring.Component):
    """Checks commands and passes valid ones on to their kind's queue, in order.

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
        """Counts the commands before the current one, in all and of each kind."""
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
        """Tells whether a command is of no kind, or sets bits that belong to no field."""
        stray: Value = ~Cat(is_kind).any()
        for kind, name in zip(is_kind, KINDS, strict=True):
            known = sum((1 << bits) - 1 << low for low, bits in FIELDS[name].values())
            unknown = Cat(word[n] for n in range(8 * COMMAND_BYTES) if not known >> n & 1)
            stray = stray | (kind & unknown.any())
        return stray

    def _states(
        self, m: Module, begin: Signal, done: Value, faults: Value, ready: Value, offered: Signal
    ) -> None:
        """Examines a command, then passes it on, or stays at one that is wrong."""
        with m.FSM(name="state"):
            with m.State("wait"):
                with m.If(self.words.valid):
                    m.d.comb += begin.eq(1)
                    m.next = "look"
                self._forget(m)
            with m.State("look"):
                # A check that begins is not done in the next cycle.
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
        """Returns to the state "wait" on ``clear``; used in every state."""
        with m.If(self.clear):
            m.next = "wait"
