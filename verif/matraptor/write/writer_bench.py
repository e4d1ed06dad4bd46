"""Runs lanes' rows through the row writer and compares the memory, in the simulator."""

from __future__ import annotations

import json
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.verif.axi.traffic import content
from tilewright.verif.bench.axi_memory import AxiMemory, Behaviour, Storage
from tilewright.verif.bench.bench_job import settings_directory
from tilewright.verif.bench.streams import PERIOD_NS, Pauser, StreamDriver
from tilewright.verif.matraptor.rows import Rows, draw_rows, job_bits, row_number, token_bits

__all__ = ["run"]

TIME_OUT = 20_000
_STREAM = {f: f"i__{f}" for f in ("valid", "ready", "payload")} | {"name": "i"}


class _Scene:
    """One configuration of the top, and a memory that all its channels share."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self.dut, self.config = dut, MatRaptorConfig(**settings["config"])
        self.mask = (1 << self.config.data_bits) - 1
        self.faults: list[str] = []
        self.ports: list[AxiMemory] = []
        self.edge = RisingEdge(dut.clk)

    def initial(self, address: int) -> int:
        word = content(address)
        return (word | word << 256) & self.mask

    async def reset(self) -> None:
        self.dut.rst.value = 1
        for name in ("start", "stop", "i__valid", "lane", "job"):
            getattr(self.dut, name).value = 0
        for _ in range(3):
            await self.edge
        self.dut.rst.value = 0
        await self.edge

    def memories(self, storage: Storage, scenario: dict[str, Any]) -> list[AxiMemory]:
        behaviour = Behaviour(
            latency=tuple(scenario.get("latency", (1, 1))),
            stall=scenario.get("stall", 0.0),
            mixed=scenario.get("mixed", False),
        )
        return [
            AxiMemory(
                self.dut,
                self.dut.clk,
                f"m{slot}_axi",
                storage,
                behaviour,
                seed=str(scenario["seed"]),
                outstanding=self.config.outstanding,
            )
            for slot in range(self.config.lane_channels)
        ]

    async def pulse(self, name: str, cycles: int = 1) -> None:
        handle = getattr(self.dut, name)
        handle.value = 1
        for _ in range(cycles):
            await self.edge
        handle.value = 0

    async def until(self, name: str) -> None:
        for _ in range(TIME_OUT):
            await self.edge
            if getattr(self.dut, name).value == 1:
                return
        self.faults.append(f"`{name}` does not come")

    async def until_quiet(self, name: str) -> None:
        """Then the bus must owe nothing."""
        await self.until(name)
        owed = sum(memory.owed("write") for memory in self.ports)
        if owed:
            self.faults.append(f"`{name}` comes while {owed} bursts are under way")

    async def scenario(self, scenario: dict[str, Any]) -> dict[str, Any]:
        """A lane's rows; and before them, if asked for, other rows that are broken off."""
        config, dut = self.config, self.dut
        generator = random.Random(scenario["seed"])
        self.faults = []
        await self.reset()
        lane = generator.randrange(config.lanes)
        dut.lane.value = lane
        storage = Storage(config.data_bits, self.initial)
        expected = storage.copy()
        self.ports = memories = self.memories(storage, scenario)
        tasks = [memory.start() for memory in memories]
        longest, most = scenario.get("longest", 40), scenario.get("rows", 200)
        if scenario.get("broken"):
            rows = draw_rows(generator, config, lane, most, longest)
            await self._break(generator, scenario, rows, expected, storage)
        rows = draw_rows(generator, config, lane, generator.randint(lane + 1, most), longest)
        if scenario.get("lengths") is not None:
            rows = self._lengths(generator, scenario, lane)
        found = await self._whole(generator, scenario, rows, expected)
        self._compare(storage, expected)
        for memory, task in zip(memories, tasks, strict=True):
            task.cancel()
            self.faults += memory.faults
        bursts = [burst for memory in memories for burst in memory.record.aw]
        found["aw"] = [[id, address, beats] for _, id, address, beats in bursts]
        return {"faults": self.faults, **found}

    def _lengths(self, generator: random.Random, scenario: dict[str, Any], lane: int) -> Rows:
        """Rows with given numbers of entries."""
        config, lengths = self.config, scenario["lengths"]
        rows = draw_rows(generator, config, lane, len(lengths) * config.lanes, 0)
        rows.content = [
            (place, [(generator.getrandbits(16), n) for n in range(length)])
            for (place, _), length in zip(rows.content, lengths, strict=True)
        ]
        return rows

    def _job(self, rows: Rows, *, room: int = 0) -> dict[str, int]:
        """A job whose regions have just enough room, or less (``room`` < 0) or more blocks."""
        layout = self.config.layout
        capacity = (-(-rows.most // layout.block_entries) + room) * layout.block_entries
        stripe = layout.stripe_bytes
        pairs = (1 << self.config.addr_bits) - stripe * 4096
        return {
            "c_pairs": pairs,
            "c_entries": pairs + stripe * 1024,
            "rows": rows.rows,
            "capacity": max(capacity, layout.block_entries),
        }

    async def _whole(
        self,
        generator: random.Random,
        scenario: dict[str, Any],
        rows: Rows,
        expected: Storage,
    ) -> dict[str, Any]:
        config, dut = self.config, self.dut
        job = self._job(rows)
        rows.apply(config, job, expected)
        tokens = token_bits(generator, config, rows)
        dut.job.value = job_bits(config, job)
        await self.pulse("start")
        pause = Pauser(f"gap {scenario['seed']}", scenario.get("gap", 0.0))
        driver = StreamDriver(dut, dut.clk, _STREAM, pause)
        counts = {"stored_entry": 0, "stored_row": 0}
        counter = cocotb.start_soon(self._count(counts))
        task = cocotb.start_soon(driver.send(tokens))
        await self.until_quiet("finished")
        counter.cancel()
        if not task.done():
            self.faults.append("finished before all was sent")
            task.cancel()
        wanted = {"stored_entry": sum(len(x) for _, x in rows.content)}
        wanted["stored_row"] = len(rows.content)
        if counts != wanted:
            self.faults.append(f"counts are {counts}, expected {wanted}")
        if dut.region.value != 0:
            self.faults.append("`region` is set")
        return {"tokens": len(tokens), "waited": sum(driver.waited), **wanted}

    async def _count(self, counts: dict[str, int]) -> None:
        while True:
            await self.edge
            for name in counts:
                counts[name] += int(getattr(self.dut, name).value)

    async def _break(
        self,
        generator: random.Random,
        scenario: dict[str, Any],
        rows: Rows,
        expected: Storage,
        storage: Storage,
    ) -> None:
        """Rows that do not fit, or that are stopped; what was written must be in its place."""
        config, dut = self.config, self.dut
        fits = scenario["broken"] == "stop"
        job = self._job(rows, room=0 if fits else -1)
        dut.job.value = job_bits(config, job)
        await self.pulse("start")
        driver = StreamDriver(
            dut, dut.clk, _STREAM, Pauser(f"gap {scenario['seed']}", scenario.get("gap", 0.0))
        )
        task = cocotb.start_soon(driver.send(token_bits(generator, config, rows)))
        wrong = self._first_outside(rows, job["capacity"])
        if fits or wrong is None:
            for _ in range(generator.randint(0, 300)):
                await self.edge
        else:
            await self.until("region")
            got = row_number(config, rows.lane, int(dut.region_row.value))
            if got != wrong:
                self.faults.append(f"`region_row` is {got}, expected {wrong}")
        dut.stop.value = 1
        task.cancel()
        dut.i__valid.value = 0
        await self.until_quiet("idle")
        dut.stop.value = 0
        await self.edge
        if dut.region.value != 0:
            self.faults.append("`region` stays")
        whole = storage.copy()
        rows.content = self._inside(rows, job["capacity"])
        rows.apply(config, job, whole)
        # All that was written is what the whole rows would have left there.
        for address in storage.written():
            got, before = storage.get(address), self.initial(address)
            want, width = whole.get(address), storage.bytes
            for byte in range(width):
                its = 0xFF << 8 * byte
                if got & its not in (before & its, want & its):
                    self.faults.append(f"byte {address + byte:#x} is wrong after a stop")
                    return
            expected.put(address, got, (1 << width) - 1)

    def _first_outside(self, rows: Rows, capacity: int) -> int | None:
        counts: dict[int, int] = {}
        for place, entries in rows.content:
            counts[place.slot] = counts.get(place.slot, 0) + len(entries)
            if counts[place.slot] > capacity:
                return place.i
        return None

    def _inside(self, rows: Rows, capacity: int) -> list[Any]:
        """The rows up to the first entry that has no room."""
        counts: dict[int, int] = {}
        inside = []
        for place, entries in rows.content:
            room = capacity - counts.get(place.slot, 0)
            inside.append((place, entries[:room]))
            if len(entries) > room:
                break
            counts[place.slot] = counts.get(place.slot, 0) + len(entries)
        return inside

    def _compare(self, storage: Storage, expected: Storage) -> None:
        for address in sorted(expected.written() | storage.written()):
            got, want = storage.get(address), expected.get(address)
            if got != want:
                self.faults.append(f"memory at {address:#x} is {got:#x}, expected {want:#x}")
                return


@cocotb.test()
async def run(dut: Any) -> None:
    """All scenarios, one after the other."""
    directory = settings_directory()
    settings = json.loads((directory / "settings.json").read_text())
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    scene = _Scene(dut, settings)
    results = [await scene.scenario(scenario) for scenario in settings["scenarios"]]
    (directory / "result.json").write_text(json.dumps(results))
