"""The memory on chip of a board: bursts of several managers at once, with pauses everywhere."""

from __future__ import annotations

import pytest
from tilewright.hw.board.block_memory import BlockMemory
from tilewright.hw.emit.unit import emit_component
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.board.memory_bench import Flat, MemoryBench, bursts_in
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, rng_of

MANAGERS, BYTES, WIDTH = 3, 8192, 8


@pytest.fixture(scope="module")
def bench() -> MemoryBench:
    memory = BlockMemory(MANAGERS, BYTES, addr_bits=32, data_bits=8 * WIDTH, id_bits=3)
    rtl = NativeSimulation(emit_component(Flat(memory, MANAGERS), name="memory"))
    return MemoryBench(rtl, managers=MANAGERS, memory_bytes=BYTES, width=WIDTH)


@pytest.mark.parametrize("seed", range(by_size(1, 3, 20)))
def test_bursts(bench: MemoryBench, seed: int) -> None:
    """Each manager writes its region and reads it again; another region is the next one's."""
    rng = rng_of(seed)
    bench.rtl.reset()
    pauses = Pauses(gap=0.3, stall=0.3, seed=seed) if seed else Pauses()
    size = BYTES // 4
    # The last region is outside the memory.
    firsts = [0, 3 * size, 4 * size]
    wanted = {n: bursts_in(rng, range(at, at + size), 20, WIDTH) for n, at in enumerate(firsts)}
    bench.move(rng, writes=wanted, pauses=pauses)
    cycles = bench.move(rng, reads=wanted, pauses=pauses)
    if not seed:  # A beat a cycle, and two or three cycles for each burst.
        everything = sum(one.beats for bursts in wanted.values() for one in bursts)
        assert cycles <= everything + 4 * sum(map(len, wanted.values())) + 10


@pytest.mark.parametrize("size", [0, 100, 4097])
def test_sizes(size: int) -> None:
    said = refusal(lambda: BlockMemory(1, size, addr_bits=32, data_bits=64, id_bits=1))
    assert said == f"`memory_bytes` must be a multiple of 4096, not {size}"
