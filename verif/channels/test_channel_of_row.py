"""Division of row numbers by constants, against Python's."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.channels.divisions import ChannelDivisions
from tilewright.verif.kit.sampling import cases, slow_but


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
