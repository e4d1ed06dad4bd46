"""A memory of a lane: banks with a port for reading and a port for writing each."""

from __future__ import annotations

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS

__all__ = ["LaneMemory"]


class LaneMemory(wiring.Component):
    """Eight banks of words whose bytes are written one by one.

    Latency one cycle from ``read`` to ``read_data``, which stays until the bank's next read. A word
    that is read while it is written gives its old content. Nothing is known of a byte before it is
    written.

    Parameters
    ----------
    words: of a bank
    word_bytes: of a word

    Members
    -------
    read: in; banks that are read, a bit each
    read_address, write_address: in; by bank
    read_data: out; by bank
    write: in; by bank, a bit for each byte that is written
    write_data: in; by bank
    """

    def __init__(self, *, words: int, word_bytes: int) -> None:
        self._words, self._word_bytes = words, word_bytes
        address = data.ArrayLayout(range(words), BANKS)
        word = data.ArrayLayout(8 * word_bytes, BANKS)
        super().__init__(
            {
                "read": In(BANKS),
                "read_address": In(address),
                "read_data": Out(word),
                "write": In(data.ArrayLayout(word_bytes, BANKS)),
                "write_address": In(address),
                "write_data": In(word),
            }
        )

    @property
    def words(self) -> int:
        return self._words

    @property
    def word_bytes(self) -> int:
        return self._word_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n in range(BANKS):
            m.submodules[f"bank_{n}"] = bank = Memory(
                shape=unsigned(8 * self._word_bytes), depth=self._words, init=[]
            )
            writing, reading = bank.write_port(granularity=8), bank.read_port()
            m.d.comb += [
                writing.en.eq(self.write[n]),
                writing.addr.eq(self.write_address[n]),
                writing.data.eq(self.write_data[n]),
                reading.en.eq(self.read[n]),
                reading.addr.eq(self.read_address[n]),
                self.read_data[n].eq(reading.data),
            ]
        return m
