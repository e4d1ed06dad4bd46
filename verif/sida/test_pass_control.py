"""The order of SIDA's passes as Verilog: every part waits for the one before, and for no other."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tilewright.hw.sida.pass_control import PassControl
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.registry import entries
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.slow

CONFIG = SidaConfig(**entries()["sida"].small)
RTL = NativeParts("sida_passes", {"passes": lambda: PassControl(CONFIG)})
OUTPUTS = (
    "load_program", "loads_scalars", "first", "second", "check", "save", "columns_pass", "finished",
)  # fmt: skip
ANSWERS = ("scalars_loaded", "x_loaded", "program_idle", "checked", "saved", "quiet", "sums_done")
"""Inputs that count in one state only; in the others they are random."""


class Stopped(Exception):
    """The job was cleared."""


class Job:
    """A job, from its start to its end or to a ``clear``.

    Parameters
    ----------
    clear_at: cycle of the clear; None: there is none
    """

    def __init__(self, sim: Any, rng: random.Random, clear_at: int | None) -> None:
        self.sim, self.rng, self.part = sim, rng, RTL["passes"]
        self.clear_at, self.cycle = clear_at, 0
        self.passes = self.ended = self.turned = 0

    async def cycle_of(self, *high: str, ready: int = 0, **inputs: int) -> None:
        """A cycle with these outputs high and no others; the inputs that count have the given
        values."""
        part, rng, sim = self.part, self.rng, self.sim
        for name in ANSWERS:
            sim.set(getattr(part, name), inputs.get(name, rng.randrange(2)))
        for name in ("part_done", "go", "taken"):
            sim.set(getattr(part, name), inputs.get(name, 0))
        sim.set(part.below, inputs.get("below", rng.randrange(4)))
        sim.set(part.whole.ready, ready)
        clears = self.cycle == self.clear_at
        sim.set(part.clear, clears)
        found = [name for name in OUTPUTS if sim.get(getattr(part, name))]
        assert found == [name for name in OUTPUTS if name in high]
        assert sim.get(part.whole.valid) == ("whole" in high)
        counts = [sim.get(getattr(part, name)) for name in ("passes", "ended", "turned")]
        assert counts == [self.passes, self.ended, self.turned]
        await sim.tick()
        self.cycle += 1
        if clears:
            raise Stopped

    async def waits(self, *high: str, **inputs: int) -> None:
        """Some cycles without the answer, then one with it."""
        missing = dict.fromkeys(inputs, 0)
        for _ in range(self.rng.randrange(4)):
            await self.cycle_of(*high, **missing)
        await self.cycle_of(*high, **inputs)

    async def asks(self, address: int, rows: int) -> None:
        for ready in (*[0] * self.rng.randrange(3), 1):
            word = self.sim.get(self.part.whole.payload)
            assert (word.address, word.columns) == (address, rows)
            await self.cycle_of("whole", ready=ready)

    async def product(self, *high: str, sums_done: int) -> None:
        """The part of the program ends, then the sums, and all is in memory."""
        for _ in range(self.rng.randrange(3)):
            await self.cycle_of(*high)
        await self.cycle_of(*high, part_done=1)
        order = [{"quiet": 0}, {"sums_done": 0}] if sums_done else [{"quiet": 0}]
        for _ in range(self.rng.randrange(3)):
            await self.cycle_of(*high, **self.rng.choice(order))
        await self.cycle_of(*high, quiet=1, **({"sums_done": 1} if sums_done else {}))

    async def run(self, job: dict[str, Any]) -> None:
        two, stops = job["second_product"], job["stops"]
        await self.asks(job["scalars"], SCALARS)
        await self.waits("loads_scalars", scalars_loaded=1)
        await self.asks(job["x"], job["rows"])
        await self.waits(x_loaded=1)
        await self.waits(program_idle=1)
        while True:
            await self.cycle_of("first")
            await self.product("columns_pass", sums_done=two)
            if two:
                await self.cycle_of("second")
                await self.product(sums_done=0)
            else:
                await self.cycle_of()
                self.turned ^= 1
            await self.cycle_of("check")
            self.passes += 1
            below = self.rng.choice([0, 0, 1, 2, 3])
            await self.waits(checked=1, below=below)
            if stops and below & 1:
                self.ended = 1
            elif stops and two and below & 2:
                self.ended = 2
            await self.cycle_of()
            if self.ended or self.passes == job["passes"]:
                break
        await self.cycle_of("save")
        await self.waits(saved=1)
        await self.waits(quiet=1)


def test_the_order_of_passes() -> None:
    rng = random.Random(1)

    async def bench(sim: Any) -> None:
        part = RTL["passes"]
        passes = ended = turned = finished = 0
        for number in range(by_size(4, 40, 400)):
            fields = {
                "scalars": rng.getrandbits(CONFIG.addr_bits),
                "x": rng.getrandbits(CONFIG.addr_bits),
                "rows": rng.randrange(1, 64), "passes": rng.choice([1, 2, 3, 1 << 31]),
                "second_product": rng.randrange(2), "stops": 1,
            }  # fmt: skip
            if fields["passes"] < 9:
                fields["stops"] = rng.randrange(2)
            sim.set(part.job, fields)
            job = Job(sim, rng, rng.randrange(60) if number % 3 == 2 else None)
            job.passes, job.ended, job.turned = passes, ended, turned
            clear_at, job.clear_at = job.clear_at, None
            idle = ("finished",) if finished else ()
            for _ in range(rng.randrange(3)):
                await job.cycle_of(*idle)
            await job.cycle_of(*idle, taken=1)
            job.passes = job.ended = 0
            await job.cycle_of(*idle, "load_program", go=1)
            job.turned, job.cycle, job.clear_at = 0, 0, clear_at
            try:
                await job.run(fields)
                finished = 1
            except Stopped:
                finished = 0
                # The counts of the last cycle are those of a job that is over.
                sim.set(part.clear, 0)
                job.passes = sim.get(part.passes)
                job.ended, job.turned = sim.get(part.ended), sim.get(part.turned)
            job.clear_at = None
            passes, ended, turned = job.passes, job.ended, job.turned

    for _ in range(3):
        # A reset comes after any job, and leaves nothing of it.
        RTL.simulate("passes", bench)
