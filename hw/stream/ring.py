"""Addresses that walk round a memory, and counts of its contents."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

NO_COLLISIONS: Final = {"syn_ramstyle": "no_rw_check"}
"""Attribute of a memory whose ports never read a word in the cycle in which it is written. Without
it, synthesis for FPGAs adds registers and multiplexers that bring the old word in that case."""


def reads_with_writes(
    m: Module, memory: Any, write: Any, addresses: dict[str, ValueLike], enable: ValueLike = 1
) -> list[Value]:
    """Reads a memory at some addresses, one cycle of latency each. An address that is written in
    the cycle in which it is read gives the word that is written.

    Parameters
    ----------
    memory, write: an ``amaranth.lib.memory.Memory``, and its write port, of whole words
    addresses: by a name for each, of the words that are read
    enable: reads; else what was read before stays
    """
    word = Signal(len(Value.cast(write.data)), name="written_word", reset_less=True)
    with m.If(enable):
        m.d.sync += word.eq(write.data)
    found: list[Value] = []
    for name, address in addresses.items():
        read = memory.read_port()
        written = Signal(name=f"{name}_written", reset_less=True)
        m.d.comb += [read.en.eq(enable), read.addr.eq(address)]
        with m.If(enable):
            m.d.sync += written.eq(write.en & (write.addr == read.addr))
        found.append(Mux(written, word, read.data))
    return found


def ring_address(
    m: Module,
    name: str,
    depth: int,
    *,
    advance: ValueLike,
    clear: ValueLike | None = None,
    begin: int = 0,
) -> Signal:
    """A register that counts 0, 1, ... ``depth - 1``, 0, a step in each cycle with ``advance``.

    It begins with ``begin``, and ``clear`` takes it back to that. Its width is that of a memory
    port's address.
    """
    address = Signal(range(depth), name=name, init=begin)
    with m.If(advance):
        m.d.sync += address.eq(address + 1)
        if depth & (depth - 1):
            with m.If(address == depth - 1):
                m.d.sync += address.eq(0)
    if clear is not None:
        with m.If(clear):
            m.d.sync += address.eq(begin)
    return address


def moved_count(count: Value, up: Value, down: Value) -> Value:
    """A count, one more, or one less. What moves it arrives late: it drives a multiplexer's select,
    not the carry chain."""
    return Mux(up == down, count, Mux(up, count + 1, count - 1))


class DelayRing(wiring.Component):
    """Delays ``i`` by ``cycles`` cycles; the first outputs are undefined.

    Parameters
    ----------
    width: bits
    cycles: at least 2

    Members
    -------
    i, o: in, and the same later
    """

    verilog_parameters: ClassVar = {"WIDTH": "width"}

    def __init__(self, width: int, cycles: int) -> None:
        self._width, self._cycles = width, cycles
        if cycles < 2:
            raise ValueError(f"`cycles` must be at least 2, not {cycles}")
        super().__init__({"i": In(width), "o": Out(width)})

    @property
    def width(self) -> int:
        return self._width

    @property
    def cycles(self) -> int:
        return self._cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A word is read one round after its write, and stays in the port's register for a cycle.
        depth = self._cycles - 1
        m.submodules.words = words = Memory(shape=unsigned(self._width), depth=depth, init=[])
        write, read = words.write_port(), words.read_port()
        place = ring_address(m, "place", depth, advance=1)
        m.d.comb += [
            write.en.eq(1),
            write.addr.eq(place),
            write.data.eq(self.i),
            read.en.eq(1),
            read.addr.eq(place),
            self.o.eq(read.data),
        ]
        return m
