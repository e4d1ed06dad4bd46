"""Reads of a memory that return a word written in the same cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike

__all__ = ["reads_with_writes"]


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
