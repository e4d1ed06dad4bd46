"""Division of row numbers by constants, against Python's."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.channels.channel_of_row import ChannelOfRow, located_layout
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.stream.queue import Queue
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.kit.sampling import cases, slow_but


class ChannelDivisions(wiring.Component):
    """One build tests all divisors.

    Parameters
    ----------
    index_bits: width of a row's number

    Members
    -------
    i: ``row``
    o: ``channel_N``, ``index_N`` for N in 1..16
    """

    def __init__(self, index_bits: int) -> None:
        self._index_bits = index_bits
        results = {f"channel_{n}": 4 for n in range(1, 17)}
        results |= {f"index_{n}": index_bits for n in range(1, 17)}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"row": index_bits}))),
                "o": Out(stream.Signature(data.StructLayout(results))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts, results = [], []
        for channels in range(1, 17):
            part = ChannelOfRow(self._index_bits, channels, self._index_bits)
            queue = Queue(located_layout(self._index_bits, channels, self._index_bits), 8)
            m.submodules[f"by_{channels}"], m.submodules[f"result_{channels}"] = part, queue
            wiring.connect(m, part.o, queue.i)
            found = queue.o.payload
            m.d.comb += [
                part.i.payload.row.eq(self.i.payload.row),
                part.i.payload.carried.eq(~self.i.payload.row),
                self.o.payload[f"channel_{channels}"].eq(found.channel),
                self.o.payload[f"index_{channels}"].eq(found.index),
            ]
            parts.append(part)
            results.append(queue)
        given = Cat(part.i.ready for part in parts).all()
        there = Cat(queue.o.valid for queue in results).all()
        # The carried payload belongs to the row.
        same = Cat(q.o.payload.carried == results[0].o.payload.carried for q in results).all()
        m.d.comb += [self.i.ready.eq(given), self.o.valid.eq(there & same)]
        for part, queue in zip(parts, results, strict=True):
            m.d.comb += [
                part.i.valid.eq(self.i.valid & given),
                queue.o.ready.eq(self.o.ready & there & same),
            ]
        return m


@pytest.mark.parametrize("index_bits", slow_but([32], [16, 32]))
def test_division_by_every_number_of_channels(index_bits: int) -> None:
    """All rows of 16 bits; of 32, small ones, the largest and random ones."""
    unit = NativeSimulation(emit_component(ChannelDivisions(index_bits), name="divisions"))
    top = 1 << index_bits
    rows = (
        np.arange(top, dtype=np.uint64)[:65536]
        if index_bits == 16
        else np.concatenate(
            [
                np.arange(1000, dtype=np.uint64),
                np.arange(top - 1000, top, dtype=np.uint64),
                np.random.default_rng(4).integers(0, top, cases(200_000), dtype=np.uint64),
            ]
        )
    )
    words = pack({"row": rows}, unit.stream("i"))
    run = unit.run(words, pauses=Pauses(seed=3, gap=0.2, stall=0.2))
    got = unpack(run.payloads, unit.stream("o"))
    for channels in range(1, 17):
        quotients, remainders = np.divmod(rows, np.uint64(channels))
        assert np.array_equal(got[f"channel_{channels}"].astype(np.uint64), remainders)
        assert np.array_equal(got[f"index_{channels}"].astype(np.uint64), quotients)
    unit.reset()
    run = unit.run(words[:1000])
    assert run.input_cycles[-1] - run.input_cycles[0] == 999
