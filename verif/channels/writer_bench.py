"""Runs lanes' rows through the row writer and compares the memory, in the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import cocotb
from tilewright.verif.axi.parts_scene import content
from tilewright.verif.bench.axi_memory import Storage
from tilewright.verif.bench.scene import Scene, run_scenarios
from tilewright.verif.bench.streams import Pauser, StreamDriver
from tilewright.verif.channels.lane_rows import (
    Rows,
    WriterJob,
    WriterSettings,
    draw_rows,
    row_number,
    token_bits,
)

_JOB = ("pairs_base", "entries_base", "capacity")
_STREAM = {f: f"i__{f}" for f in ("valid", "ready", "payload")} | {"name": "i"}


class WriterScene(Scene):
    """One scenario: a lane's rows, and a memory that all its channels share."""

    time_out = 20_000

    def __init__(self, dut: Any, settings: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
        self.writer = writer = WriterSettings(**settings["writer"])
        super().__init__(dut, {**settings, "data_bits": writer.data_bits}, scenario)
        self.mask = (1 << writer.data_bits) - 1
        self.lane = self.random.randrange(writer.lanes)
        self.storage = Storage(writer.data_bits, self.initial)
        self.expected = self.storage.copy()
        for slot in range(writer.lane_map.lane_channels):
            self.memory(f"m{slot}_axi", self.storage, outstanding=writer.outstanding)

    def initial(self, address: int) -> int:
        word = content(address)
        return (word | word << 256) & self.mask

    def rest(self) -> None:
        for name in ("start", "stop", "i__valid", *_JOB):
            getattr(self.dut, name).value = 0
        self.dut.lane.value = self.lane

    async def start(self, job: WriterJob) -> None:
        for name in _JOB:
            getattr(self.dut, name).value = getattr(job, name)
        self.dut.start.value = 1
        await self.edge
        self.dut.start.value = 0

    async def play(self) -> dict[str, Any]:
        """Writes a lane's rows; if requested, other rows that are aborted come first."""
        scenario, writer = self.scenario, self.writer
        longest, most = scenario.get("longest", 40), scenario.get("rows", 200)
        if scenario.get("broken"):
            await self._break(draw_rows(self.random, writer, self.lane, most, longest))
        count = self.random.randint(self.lane + 1, most)
        rows = draw_rows(self.random, writer, self.lane, count, longest)
        if scenario.get("lengths") is not None:
            rows = self._lengths()
        found = await self._whole(rows)
        self.compare(self.expected, self.storage)
        bursts = [burst for memory in self.memories for burst in memory.record.aw]
        found["aw"] = [[id, address, beats] for _, id, address, beats in bursts]
        return found

    def _driver(self) -> StreamDriver:
        pause = Pauser(f"gap {self.seed}", self.scenario.get("gap", 0.0))
        return StreamDriver(self.dut, self.dut.clk, _STREAM, pause)

    def _lengths(self) -> Rows:
        """Rows with given numbers of entries."""
        writer, lengths = self.writer, self.scenario["lengths"]
        rows = draw_rows(self.random, writer, self.lane, len(lengths) * writer.lanes, 0)
        rows.content = [
            (place, [(self.random.getrandbits(16), n) for n in range(length)])
            for (place, _), length in zip(rows.content, lengths, strict=True)
        ]
        return rows

    def _job(self, rows: Rows, *, room: int = 0) -> WriterJob:
        """A job whose regions have just enough room, or less (``room`` < 0) or more blocks."""
        layout = self.writer.layout
        capacity = (-(-rows.most // layout.block_entries) + room) * layout.block_entries
        stripe = layout.stripe_bytes
        pairs = (1 << self.writer.addr_bits) - stripe * 4096
        return WriterJob(
            pairs_base=pairs,
            entries_base=pairs + stripe * 1024,
            capacity=max(capacity, layout.block_entries),
        )

    async def _whole(self, rows: Rows) -> dict[str, Any]:
        writer, dut = self.writer, self.dut
        job = self._job(rows)
        rows.apply(writer, job, self.expected)
        tokens = token_bits(self.random, writer, rows)
        await self.start(job)
        driver = self._driver()
        counts = {"stored_entry": 0, "stored_row": 0}
        counter = cocotb.start_soon(self._count(counts))
        task = cocotb.start_soon(driver.send(tokens))
        await self.until_idle("finished", sides=["write"])
        counter.cancel()
        if not task.done():
            self.fault("finished before all was sent")
            task.cancel()
        wanted = {"stored_entry": sum(len(x) for _, x in rows.content)}
        wanted["stored_row"] = len(rows.content)
        if counts != wanted:
            self.fault(f"counts are {counts}, expected {wanted}")
        if dut.region.value != 0:
            self.fault("`region` is set")
        return {"tokens": len(tokens), "waited": sum(driver.waited), **wanted}

    async def _count(self, counts: dict[str, int]) -> None:
        while True:
            await self.edge
            for name in counts:
                counts[name] += int(getattr(self.dut, name).value)

    async def _break(self, rows: Rows) -> None:
        """Rows that do not fit, or that are stopped; what was written must be in its place."""
        writer, dut, storage = self.writer, self.dut, self.storage
        fits = self.scenario["broken"] == "stop"
        job = self._job(rows, room=0 if fits else -1)
        await self.start(job)
        task = cocotb.start_soon(self._driver().send(token_bits(self.random, writer, rows)))
        wrong = self._first_outside(rows, job.capacity)
        if fits or wrong is None:
            for _ in range(self.random.randint(0, 300)):
                await self.edge
        else:
            await self.until("region")
            got = row_number(writer, rows.lane, int(dut.region_row.value))
            if got != wrong:
                self.fault(f"`region_row` is {got}, expected {wrong}")
        dut.stop.value = 1
        task.cancel()
        dut.i__valid.value = 0
        await self.until_idle("idle", sides=["write"])
        dut.stop.value = 0
        await self.edge
        if dut.region.value != 0:
            self.fault("`region` stays")
        whole = storage.copy()
        rows.content = self._inside(rows, job.capacity)
        rows.apply(writer, job, whole)
        # All that was written is what the whole rows would have left there.
        for address in storage.written():
            got, before = storage.get(address), self.initial(address)
            want, width = whole.get(address), storage.bytes
            for byte in range(width):
                its = 0xFF << 8 * byte
                if got & its not in (before & its, want & its):
                    self.fault(f"byte {address + byte:#x} is wrong after a stop")
                    return
            self.expected.put(address, got, (1 << width) - 1)

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


@cocotb.test()
async def scenarios(dut: Any) -> None:
    """All scenarios, one after the other."""
    await run_scenarios(dut, partial(WriterScene, dut), WriterScene.play)
