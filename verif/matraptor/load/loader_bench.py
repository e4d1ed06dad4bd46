"""The cocotb test of ``Loaders``: scenarios from the settings, one after the other.

A scenario is a dictionary. ``kind``: "run" (all tokens come), "stop" (broken off at random
moments, ``rounds`` times, then a run), "error" (a bad response, then a run), "index" (an entry of
A names a row that B does not have, then a stop and a run of ``after``). ``task``: number of a task
of the settings, from ``LoaderJob.describe``. ``loaders``: "a", "b" or both. ``seed``; ``gap``,
``pause``: shares of the cycles in which tokens pause; ``latency``, ``stall``, ``mixed``,
``modes``: of the memories, as in ``Scene``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import cocotb
from tilewright.verif.bench.axi_memory import Storage
from tilewright.verif.bench.scene import Scene, break_off, run_scenarios, span
from tilewright.verif.bench.streams import Pauser, Scoreboard, StreamDriver, StreamMonitor

SETTLED = 400
"""Cycles without a transfer after which nothing more will come."""
UNITS = 4


class LoaderScene(Scene):
    """One scenario: memories at all ports, tokens and scoreboards at all lanes."""

    time_out = 100_000

    def __init__(self, dut: Any, settings: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
        super().__init__(dut, settings, scenario)
        self.lanes: int = settings["lanes"]
        self.both: str = scenario.get("loaders", "ab")
        self.bad: int | None = None
        self.storage = Storage(settings["data_bits"])
        self.boards: dict[tuple[str, int], Scoreboard] = {}
        self.monitors: dict[tuple[str, int], StreamMonitor] = {}
        self.jobs: list[Any] = []
        self.counts = [0] * UNITS * self.lanes
        for port in range(settings["ports"]):
            self.memory(
                f"m{port}_axi",
                self.storage,
                outstanding=1,
                may_wait=True,
                read_error=lambda address: 2 if address == self.bad else 0,
            )
        self.load(scenario["task"])

    def load(self, number: int) -> None:
        """A task into memory and registers."""
        self.task = self.settings["tasks"][number]
        for address, content in self.task["image"]:
            self.storage.load(address, bytes.fromhex(content))
        self.dut.job.value = self.task["job"]
        for lane in range(self.lanes):
            getattr(self.dut, f"rows_in_lane__{lane}").value = self.task["lanes"][lane]["rows"]

    def _stream(self, name: str, lane: int) -> dict[str, str]:
        full = f"{name}__{lane}"
        parts = {part: f"{full}__{part}" for part in ("valid", "ready", "payload")}
        return {"name": full, **parts}

    def _monitor(self, name: str, lane: int) -> Any:
        """Take the tokens of a stream; of one that is not present only how it ends a row."""
        present, ends = self.settings["tokens"][name]
        board = Scoreboard(self.task["lanes"][lane][name])
        pause = Pauser(f"{self.seed} {name} {lane}", self.scenario.get("pause", 0.0))

        def accept(payload: int) -> None:
            board.accept(payload if payload & present else payload & ends)

        stream = self._stream(name, lane)
        monitor = StreamMonitor(self.dut, self.dut.clk, stream, pause, accept)
        self.boards[name, lane], self.monitors[name, lane] = board, monitor
        return monitor.receive(len(self.task["lanes"][lane][name]))

    async def start(self) -> None:
        """Send and take everything, from now on."""
        dut = self.dut
        self.counts = [0] * UNITS * self.lanes
        self.jobs = []
        self._counting = cocotb.start_soon(self._count())
        dut.start.value = int("a" in self.both)
        for lane in range(self.lanes):
            if "a" in self.both:
                self.jobs.append(cocotb.start_soon(self._monitor("left", lane)))
            if "b" in self.both:
                gap = Pauser(f"{self.seed} gap {lane}", self.scenario.get("gap", 0.0))
                driver = StreamDriver(dut, dut.clk, self._stream("i", lane), gap)
                tokens = self.task["lanes"][lane]["left"]
                self.jobs.append(cocotb.start_soon(driver.send(tokens)))
                self.jobs.append(cocotb.start_soon(self._monitor("product", lane)))
        await self.edge
        dut.start.value = 0

    async def _count(self) -> None:
        while True:
            await self.edge
            beats = int(self.dut.beats.value)
            while beats:
                lowest = (beats & -beats).bit_length() - 1
                self.counts[lowest] += 1
                beats &= beats - 1

    def rest(self) -> None:
        """Break off all that is being sent and taken."""
        break_off(self.jobs)
        self.dut.start.value = 0
        self.dut.stop.value = 0
        for lane in range(self.lanes):
            getattr(self.dut, f"i__{lane}__valid").value = 0
            for name in ("left", "product"):
                getattr(self.dut, f"{name}__{lane}__ready").value = 0

    async def finished(self) -> None:
        """Waits until all tokens have arrived and all loaders are idle."""
        await self.joined(self.jobs)
        await self.idle()
        self._counting.cancel()

    async def idle(self) -> None:
        """Waits until all are idle; then no response may be outstanding."""
        await self.until_idle("idle", (1 << 2 * self.lanes) - 1, sides=["read"])
        for lane in range(self.lanes):
            for name in ("left", "product"):
                if getattr(self.dut, f"{name}__{lane}__valid").value == 1:
                    self.fault(f"{name} {lane} has a token when idle")

    def check(self, *, complete: bool = True) -> None:
        """Note what differed, or is missing."""
        for (name, lane), board in self.boards.items():
            for number, got, want in board.mismatches[:1]:
                self.fault(f"{name} {lane}: {number} is {got:#x}, not {want:#x}")
            if complete and not board.complete:
                self.fault(f"{name} {lane}: {board.checked} tokens came")
        for monitor in self.monitors.values():
            self.faults += monitor.faults

    def owner(self, port: int, id: int) -> tuple[int, int]:
        """Lane and reader of an ID."""
        bits = self.settings["slot_bits"]
        return (0, port) if self.settings["direct"] else (id >> bits + 2, id >> bits & 3)

    def check_bus(self) -> None:
        """Every block is read from its channel, and no beat more than needed."""
        stripe = self.settings["interleave"]
        seen = [0] * UNITS * self.lanes
        for port, memory in enumerate(self.memories):
            for _, id, address, beats in memory.record.ar:
                lane, unit = self.owner(port, id)
                seen[lane * UNITS + unit] += beats
                if address // stripe != (address + beats * self.width - 1) // stripe:
                    self.fault(f"{beats} beats from {address:#x} are in two blocks")
                right = address // stripe % self.settings["channels"]
                if not self.settings["direct"] and right != port:
                    self.fault(f"{address:#x} is asked for at channel {port}")
        want = [
            count if "aabb"[unit] in self.both else 0
            for lane in self.task["lanes"]
            for unit, count in enumerate(lane["beats"])
        ]
        if seen != want:
            self.fault(f"beats asked for {seen}, expected {want}")
        if self.counts != want:
            self.fault(f"beats counted {self.counts}, expected {want}")

    def forget(self) -> None:
        for memory in self.memories:
            memory.record.ar.clear()


async def run(scene: LoaderScene) -> None:
    """Checks that all tokens arrive, and that only needed data is read."""
    scene.forget()
    await scene.start()
    await scene.finished()
    scene.check()
    scene.check_bus()
    scene.rest()


async def _break_off(scene: LoaderScene) -> None:
    """Stop, by a pulse or until all is idle."""
    scene.rest()
    scene._counting.cancel()
    scene.dut.stop.value = 1
    await scene.edge
    await scene.edge
    if scene.random.random() < 0.5:
        scene.dut.stop.value = 0
    await scene.idle()
    if int(scene.dut.error.value) or int(scene.dut.index_error.value):
        scene.fault("an error after the stop")
    scene.dut.stop.value = 0


async def stop(scene: LoaderScene) -> None:
    """Broken off anywhere, all becomes idle with the bus clean, and works again afterwards."""
    for _ in range(scene.scenario["rounds"]):
        await scene.start()
        for _ in range(scene.random.randint(1, 300)):
            await scene.edge
        await _break_off(scene)
        scene.check(complete=False)
    await run(scene)


async def _settle(scene: LoaderScene) -> None:
    """Wait until nothing moves."""
    quiet, before = 0, -1
    while quiet < SETTLED:
        await scene.edge
        moved = sum(board.checked for board in scene.boards.values())
        busy = any(memory.quiet_for("read") < 2 for memory in scene.memories)
        quiet = 0 if busy or moved != before else quiet + 1
        before = moved


async def error(scene: LoaderScene) -> None:
    """A bad response stops the loaders that get it; the others send everything."""
    await run(scene)
    readers: dict[int, set[int]] = {}
    for port, memory in enumerate(scene.memories):
        for _, id, address, beats in memory.record.ar:
            lane, unit = scene.owner(port, id)
            for beat in range(beats):
                place = readers.setdefault(address + beat * scene.width, set())
                place.add(2 * lane + unit // 2)
    scene.bad = scene.random.choice(sorted(readers))
    await scene.start()
    await _settle(scene)
    got = int(scene.dut.error.value)
    if got != sum(1 << loader for loader in readers[scene.bad]):
        scene.fault(f"errors {got:#b}, expected of {readers[scene.bad]}")
    for loader in readers[scene.bad]:
        address = int(getattr(scene.dut, f"error_address__{loader}").value)
        if address != scene.bad:
            scene.fault(f"error at {address:#x}, it was at {scene.bad:#x}")
    scene.check(complete=False)
    for (name, lane), board in scene.boards.items():
        failed = 2 * lane + (name == "product") in readers[scene.bad]
        if not failed and not board.complete:
            scene.fault(f"{name} {lane} is not complete, though it has no error")
    await _break_off(scene)
    scene.bad = None
    await run(scene)


async def index(scene: LoaderScene) -> None:
    """An index error reports its row; everything before the entry is sent."""
    await scene.start()
    await _settle(scene)
    wrong = [lane["wrong_row"] for lane in scene.task["lanes"]]
    got = int(scene.dut.index_error.value)
    if got != sum(1 << lane for lane, row in enumerate(wrong) if row is not None):
        scene.fault(f"index errors {got:#b}, expected rows {wrong}")
    for lane, row in enumerate(wrong):
        found = int(getattr(scene.dut, f"index_row__{lane}").value)
        if row is not None and found != row:
            scene.fault(f"lane {lane}: error in row {found:#x}, expected {row:#x}")
    scene.check()
    await _break_off(scene)
    scene.load(scene.scenario["after"])
    await run(scene)


KINDS = {"run": run, "stop": stop, "error": error, "index": index}


async def play(scene: LoaderScene) -> dict[str, Any]:
    """Play a scenario; how many tokens came in how many cycles."""
    await KINDS[scene.scenario["kind"]](scene)
    records = [memory.record for memory in scene.memories]
    return {
        "tokens": {f"{n} {lane}": span(m.transfers) for (n, lane), m in scene.monitors.items()},
        "r": [span([entry[0] for entry in record.r]) for record in records],
        "overtakes": sum(record.overtakes for record in records),
        "errors": sum(len(record.errors["read"]) for record in records),
    }


@cocotb.test()
async def scenarios(dut: Any) -> None:
    await run_scenarios(dut, partial(LoaderScene, dut), play)
