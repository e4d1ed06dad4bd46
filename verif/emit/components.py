"""Small components for the emitter's tests: plain ports, a state machine with memory, a grid,
what its passes have to tell apart."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Arithmetic(wiring.Component):
    """Signed and unsigned operations of unequal widths, dropped carries, a register."""

    def __init__(self) -> None:
        super().__init__(
            {
                "a": In(4),
                "b": In(3),
                "s": In(signed(4)),
                "o": Out(9),
                "t": Out(signed(7)),
                "f": Out(4),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = Signal(6)
        m.d.sync += total.eq(total + self.a * self.b + 3)
        m.d.comb += [
            self.o.eq((self.a << self.b[:2]) - (total >> self.b[1:]) + self.s),
            self.t.eq(-self.s + Mux(self.a[0], self.s, self.b)),
            self.f.eq(Cat(self.s < self.a, self.s >= self.t, self.b == 0, (self.a + self.b)[4])),
        ]
        return m


class Machine(wiring.Component):
    """A state machine, a memory, an array, and words of Verilog as names."""

    def __init__(self) -> None:
        super().__init__({"i": In(4), "o": Out(8), "busy": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=4, init=[1, 2, 3, 5])
        port = memory.read_port(domain="comb")
        write = memory.write_port()
        small, table = Signal(3, init=5), Signal(2)
        with m.FSM(name="control") as fsm:
            with m.State("IDLE"), m.If(self.i[0]):
                m.d.sync += small.eq(self.i)
                m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += table.eq(table + 1)
                with m.Switch(small):
                    with m.Case(1, 3):
                        m.d.sync += small.eq(0)
                    with m.Default():
                        m.next = "IDLE"
        m.d.comb += [
            port.addr.eq(Array([table, small[:2]])[self.i[1]]),
            write.addr.eq(table),
            write.data.eq(self.o ^ self.i),
            write.en.eq(self.i[3]),
            self.o.eq(port.data + small),
            self.busy.eq(fsm.ongoing("RUN")),
        ]
        return m


class Tables(wiring.Component):
    """Synchronous read ports of all kinds; operations with constants and with equal operands."""

    def __init__(self) -> None:
        super().__init__(
            {"i": In(8), "at": In(2), "to": In(2), "write": In(2), "read": In(1)}
            | {name: Out(8) for name in ("held", "latest", "seen", "zero", "square")}
            | {"low": Out(4), "high": Out(4)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=8, depth=4, init=[])
        m.submodules.zeros = zeros = Memory(shape=8, depth=4, init=[])
        m.submodules.squares = squares = Memory(shape=8, depth=4, init=[0, 1, 4, 9])
        write = words.write_port(granularity=4)
        held = words.read_port()
        parted = words.read_port()
        latest = words.read_port()
        seen = words.read_port(transparent_for=[write])
        zero = zeros.read_port()
        square = squares.read_port()
        same = self.i[0] & Const(1, 1)
        for port in (held, parted, latest, seen, zero, square):
            m.d.comb += port.addr.eq(self.at)
        m.d.comb += [
            write.addr.eq(self.to),
            write.data.eq(self.i << Const(0, 1)),
            write.en.eq(self.write | Const(0, 2)),
            held.en.eq(Mux(Const(1, 1), self.read, self.write[0])),
            parted.en.eq(Mux(self.write[1], self.i[0], same)),
            self.held.eq(held.data),
            Cat(self.low, self.high).eq(parted.data),
            self.latest.eq(Mux(Const(0, 1), self.i, latest.data)),
            self.seen.eq(seen.data),
            self.zero.eq(zero.data),
            self.square.eq(square.data),
        ]
        return m


class Namesakes(wiring.Component):
    """Signals of one name, whose numbers are also those of operations that compute nothing."""

    def __init__(self) -> None:
        super().__init__({"i": In(8), "o": Out(data.ArrayLayout(8, 4))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for place in range(4):
            word = Signal(8, name="word")
            m.d.sync += word.eq(self.i + place)
            m.d.comb += self.o[place].eq(word & Const(0xFF, 8))
        return m


class Patterns(wiring.Component):
    """Decisions with a single branch, which several values take."""

    def __init__(self) -> None:
        super().__init__({"i": In(4), "o": Out(4), "held": Out(4)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.Switch(self.i), m.Case("1-0-"):
            m.d.comb += self.o.eq(self.i)
        with m.Switch(self.i), m.Case("--01"):
            m.d.sync += self.held.eq(self.i)
        return m


class Cell(wiring.Component):
    """One element of the test grid; its output ``unused`` is left open."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        vector = data.ArrayLayout(4, depth)
        super().__init__(
            {"en": In(1), "a": In(vector), "b": In(vector), "d": Out(9), "unused": Out(3)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = Signal(9)
        for k in range(self._depth):
            m.submodules[f"arithmetic_{k}"] = part = Arithmetic()
            m.d.comb += [part.a.eq(self.a[k]), part.b.eq(self.b[k]), part.s.eq(self.a[k])]
            following = Signal(9, name=f"total_{k}")
            m.d.comb += following.eq(total + part.o)
            total = following
        with m.If(self.en):
            m.d.sync += self.d.eq(total)
        m.d.comb += self.unused.eq(total)
        return m


class Grid(wiring.Component):
    """A square of cells between two streams."""

    def __init__(self, size: int, depth: int = 2) -> None:
        self._size, self._depth = size, depth
        operand = data.ArrayLayout(data.ArrayLayout(4, depth), size)
        result = data.ArrayLayout(data.ArrayLayout(9, size), size)
        i = stream.Signature(data.StructLayout({"op": 2, "a": operand, "b": operand}))
        o = stream.Signature(data.StructLayout({"d": result, "error": 1}))
        super().__init__({"i": In(i), "o": Out(o)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
        for r in range(self._size):
            for c in range(self._size):
                m.submodules[f"cell_{r}_{c}"] = cell = Cell(self._depth)
                m.d.comb += [
                    cell.en.eq(self.i.valid & self.i.ready),
                    cell.a.eq(self.i.p.a[r]),
                    cell.b.eq(self.i.p.b[c]),
                    self.o.p.d[r][c].eq(cell.d),
                ]
        m.d.comb += self.o.p.error.eq(self.i.p.op == 3)
        return m


class Choices(wiring.Component):
    """Choices that use only some bits, signed and unsigned, and shifts by constants."""

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(6),
                "s": In(signed(4)),
                "up": In(2),
                "o": Out(8),
                "low": Out(3),
                "count": Out(3),
                "far": Out(4),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wide = Mux(self.up[0], self.s << Const(3, 2), self.i)
        m.d.comb += [
            self.o.eq(Mux(self.up[1], wide << Const(2, 2), self.s)),
            self.low.eq(Mux(self.up[0], self.i - self.s, self.s + 1)),
            self.far.eq((self.i << Const(7, 3)) >> 5),
        ]
        m.d.sync += self.count.eq(Mux(self.up == 0, self.count - 1, self.count + self.up))
        return m


class Steps(wiring.Component):
    """Sums and differences with nothing: as written, and in the bits that are used."""

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(5),
                "s": In(signed(4)),
                "wide": Out(9),
                "negative": Out(signed(7)),
                "place": Out(4),
                "behind": Out(4),
                "less": Out(6),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = Signal(5)
        m.d.comb += [
            total.eq(self.i + 3),
            self.wide.eq((self.i + 0) * 3),
            self.negative.eq(Const(0, signed(3)) + (self.s - Const(0, signed(2)))),
            self.place.eq(Mux(total >= 16, total - 16, total)),
            self.less.eq(Const(0, 5) - self.i),
        ]
        m.d.sync += self.behind.eq(self.i[:4] + 16)
        return m
