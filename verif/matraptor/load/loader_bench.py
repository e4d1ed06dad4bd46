"""The cocotb test of ``Loaders``: scenarios from the settings, one after the other.

A scenario is a dictionary. ``kind``: "run" (all tokens come), "stop" (broken off at random
moments, ``rounds`` times, then a run), "error" (a bad response, then a run), "index" (an entry of
A names a row that B does not have, then a stop and a run of ``after``). ``task``: number of a task
of the settings, from ``LoaderJob.describe``. ``loaders``: "a", "b" or both. ``seed``; ``gap``,
``pause``: shares of the cycles in which tokens pause; ``latency``, ``stall``, ``mixed``: of the
memories, as in ``Behaviour``.
"""

from __future__ import annotations

import json
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, RisingEdge, with_timeout
from tilewright.verif.bench.axi_memory import AxiMemory, Behaviour, Storage
from tilewright.verif.bench.bench_job import settings_directory
from tilewright.verif.bench.scoreboard import Scoreboard
from tilewright.verif.bench.streams import PERIOD_NS, Pauser, StreamDriver, StreamMonitor

TIME_OUT = 100_000
SETTLED = 400
"""Cycles without a transfer after which nothing more will come."""
UNITS = 4


class Scene:
    """One scenario: memories at all ports, tokens and scoreboards at all lanes."""

    def __init__(self, dut: Any, settings: dict[str, Any], scenario: dict[str, Any]) -> None:
        self.dut, self.settings, self.scenario = dut, settings, scenario
        self.seed = f"{settings['seed']} {scenario.get('seed', 0)}"
        self.random = random.Random(self.seed)
        self.lanes: int = settings["lanes"]
        self.both: str = scenario.get("loaders", "ab")
        self.width = settings["data_bits"] // 8
        self.faults: list[str] = []
        self.bad: int | None = None
        self.storage = Storage(settings["data_bits"])
        self.boards: dict[tuple[str, int], Scoreboard] = {}
        self.monitors: dict[tuple[str, int], StreamMonitor] = {}
        self.jobs: list[Any] = []
        self.counts = [0] * UNITS * self.lanes
        self.memories = [self._memory(n) for n in range(settings["ports"])]

    def _memory(self, port: int) -> AxiMemory:
        scenario = self.scenario
        behaviour = Behaviour(
            latency=tuple(scenario.get("latency", (1, 1))),
            stall=scenario.get("stall", 0.0),
            mixed=scenario.get("mixed", False),
            read_error=lambda address: 2 if address == self.bad else 0,
        )
        return AxiMemory(
            self.dut,
            self.dut.clk,
            f"m{port}_axi",
            self.storage,
            behaviour,
            seed=self.seed,
            outstanding=1,
            may_wait=True,
        )

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
        dut, edge = self.dut, RisingEdge(self.dut.clk)
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
        await edge
        dut.start.value = 0

    async def _count(self) -> None:
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            beats = int(self.dut.beats.value)
            while beats:
                lowest = (beats & -beats).bit_length() - 1
                self.counts[lowest] += 1
                beats &= beats - 1

    def cancel(self) -> None:
        """Break off all that is being sent and taken."""
        for task in self.jobs:
            if not task.done():
                task.cancel()
        for lane in range(self.lanes):
            getattr(self.dut, f"i__{lane}__valid").value = 0
            for name in ("left", "product"):
                getattr(self.dut, f"{name}__{lane}__ready").value = 0

    async def reset(self) -> None:
        """Reset the top and start the memories."""
        edge = RisingEdge(self.dut.clk)
        self.cancel()
        self.dut.rst.value = 1
        self.dut.stop.value = 0
        self.dut.start.value = 0
        for _ in range(3):
            await edge
        self.dut.rst.value = 0
        for _ in range(2):
            await edge
            for port in range(len(self.memories)):
                if getattr(self.dut, f"m{port}_axi_arvalid").value != 0:
                    self.faults.append("ar is valid after reset")
        self._running = [memory.start() for memory in self.memories]

    def end(self) -> None:
        self.cancel()
        for memory, task in zip(self.memories, self._running, strict=True):
            task.cancel()
            self.faults += memory.faults

    async def finished(self) -> None:
        """Wait until all tokens have come and all loaders are idle."""
        try:
            await with_timeout(Combine(*self.jobs), TIME_OUT * PERIOD_NS, "ns")
        except TimeoutError:
            self.faults.append("timed out")
        await self.idle()
        self._counting.cancel()

    async def idle(self) -> None:
        """Wait until all are idle; then the bus owes nothing."""
        edge = RisingEdge(self.dut.clk)
        everyone = (1 << 2 * self.lanes) - 1
        for _ in range(TIME_OUT):
            await edge
            if int(self.dut.idle.value) == everyone:
                break
        else:
            self.faults.append(f"does not become idle: {int(self.dut.idle.value):#b}")
        if any(memory.owed("read") for memory in self.memories):
            self.faults.append("idle while the bus owes a response")
        for lane in range(self.lanes):
            for name in ("left", "product"):
                if getattr(self.dut, f"{name}__{lane}__valid").value == 1:
                    self.faults.append(f"{name} {lane} has a token when idle")

    def check(self, *, complete: bool = True) -> None:
        """Note what differed, or is missing."""
        for (name, lane), board in self.boards.items():
            for number, got, want in board.mismatches[:1]:
                self.faults.append(f"{name} {lane}: {number} is {got:#x}, not {want:#x}")
            if complete and not board.complete:
                self.faults.append(f"{name} {lane}: {board.checked} tokens came")
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
                    self.faults.append(f"{beats} beats from {address:#x} are in two blocks")
                right = address // stripe % self.settings["channels"]
                if not self.settings["direct"] and right != port:
                    self.faults.append(f"{address:#x} is asked for at channel {port}")
        want = [
            count if "aabb"[unit] in self.both else 0
            for lane in self.task["lanes"]
            for unit, count in enumerate(lane["beats"])
        ]
        if seen != want:
            self.faults.append(f"beats asked for {seen}, expected {want}")
        if self.counts != want:
            self.faults.append(f"beats counted {self.counts}, expected {want}")

    def forget(self) -> None:
        for memory in self.memories:
            memory.record.ar.clear()


async def run(scene: Scene) -> None:
    """All tokens come, and nothing is read that is not needed."""
    scene.forget()
    await scene.start()
    await scene.finished()
    scene.check()
    scene.check_bus()
    scene.cancel()


async def _break_off(scene: Scene) -> None:
    """Stop, by a pulse or until all is idle."""
    edge = RisingEdge(scene.dut.clk)
    scene.cancel()
    scene._counting.cancel()
    scene.dut.stop.value = 1
    await edge
    await edge
    if scene.random.random() < 0.5:
        scene.dut.stop.value = 0
    await scene.idle()
    if int(scene.dut.error.value) or int(scene.dut.index_error.value):
        scene.faults.append("an error after the stop")
    scene.dut.stop.value = 0


async def stop(scene: Scene) -> None:
    """Broken off anywhere, all becomes idle with the bus clean, and works again afterwards."""
    edge = RisingEdge(scene.dut.clk)
    for _ in range(scene.scenario["rounds"]):
        await scene.start()
        for _ in range(scene.random.randint(1, 300)):
            await edge
        await _break_off(scene)
        scene.check(complete=False)
    await run(scene)


async def _settle(scene: Scene) -> None:
    """Wait until nothing moves."""
    edge = RisingEdge(scene.dut.clk)
    quiet, before = 0, -1
    while quiet < SETTLED:
        await edge
        moved = sum(board.checked for board in scene.boards.values())
        busy = any(memory.quiet_for("read") < 2 for memory in scene.memories)
        quiet = 0 if busy or moved != before else quiet + 1
        before = moved


async def error(scene: Scene) -> None:
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
        scene.faults.append(f"errors {got:#b}, expected of {readers[scene.bad]}")
    for loader in readers[scene.bad]:
        address = int(getattr(scene.dut, f"error_address__{loader}").value)
        if address != scene.bad:
            scene.faults.append(f"error at {address:#x}, it was at {scene.bad:#x}")
    scene.check(complete=False)
    for (name, lane), board in scene.boards.items():
        failed = 2 * lane + (name == "product") in readers[scene.bad]
        if not failed and not board.complete:
            scene.faults.append(f"{name} {lane} is not complete, though it has no error")
    await _break_off(scene)
    scene.bad = None
    await run(scene)


async def index(scene: Scene) -> None:
    """What comes before the entry is sent; its row is reported."""
    await scene.start()
    await _settle(scene)
    wrong = [lane["wrong_row"] for lane in scene.task["lanes"]]
    got = int(scene.dut.index_error.value)
    if got != sum(1 << lane for lane, row in enumerate(wrong) if row is not None):
        scene.faults.append(f"index errors {got:#b}, expected rows {wrong}")
    for lane, row in enumerate(wrong):
        found = int(getattr(scene.dut, f"index_row__{lane}").value)
        if row is not None and found != row:
            scene.faults.append(f"lane {lane}: error in row {found:#x}, expected {row:#x}")
    scene.check()
    await _break_off(scene)
    scene.load(scene.scenario["after"])
    await run(scene)


KINDS = {"run": run, "stop": stop, "error": error, "index": index}


def _summary(scene: Scene) -> dict[str, Any]:
    def span(cycles: list[int]) -> list[int]:
        return [len(cycles), cycles[-1] - cycles[0] + 1 if cycles else 0]

    records = [memory.record for memory in scene.memories]
    return {
        "faults": scene.faults[:20],
        "tokens": {f"{n} {lane}": span(m.transfers) for (n, lane), m in scene.monitors.items()},
        "r": [span([entry[0] for entry in record.r]) for record in records],
        "overtakes": sum(record.overtakes for record in records),
        "errors": sum(len(record.errors["read"]) for record in records),
    }


@cocotb.test()
async def run_scenarios(dut: Any) -> None:
    """Run the scenarios of the settings and write a summary of each."""
    directory = settings_directory()
    settings = json.loads((directory / "settings.json").read_text())
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    results = []
    for scenario in settings["scenarios"]:
        scene = Scene(dut, settings, scenario)
        scene.load(scenario["task"])
        await scene.reset()
        await KINDS[scenario["kind"]](scene)
        scene.end()
        results.append(_summary(scene))
    (directory / "result.json").write_text(json.dumps(results))
