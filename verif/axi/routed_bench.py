"""The cocotb test of ``RoutedReaders``: scenarios from the settings, one after the other.

A scenario is a dictionary. ``kind``: "traffic" (all requests are carried out), "stop" (broken off
at random moments, ``rounds`` times, each time usable again), "error" (one bad response).
``seed``. ``requests``: how many for each reader; or ``lists``, for readers by number, of (channel,
beat, beats). ``gap``, ``pause``: shares of the cycles in which requests and data pause;
``latency``, ``stall``, ``mixed``: of the memories, as in ``Behaviour``.
"""

from __future__ import annotations

import json
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, RisingEdge, with_timeout
from tilewright.verif.axi.traffic import content
from tilewright.verif.bench.axi_memory import AxiMemory, Behaviour, Storage
from tilewright.verif.bench.bench_job import settings_directory
from tilewright.verif.bench.scoreboard import Scoreboard
from tilewright.verif.bench.streams import PERIOD_NS, Pauser, StreamDriver, StreamMonitor

REGION = 1 << 16
TIME_OUT = 50_000
SETTLED = 300
"""Cycles without a transfer after which nothing more will come."""

Request = tuple[int, int, int]
"""Channel, address, beats."""


class Scene:
    """One scenario: memories at all channels, requests and scoreboards at all readers."""

    def __init__(self, dut: Any, settings: dict[str, Any], scenario: dict[str, Any]) -> None:
        self.dut, self.settings, self.scenario = dut, settings, scenario
        self.seed = f"{settings['seed']} {scenario.get('seed', 0)}"
        self.random = random.Random(self.seed)
        self.width = settings["data_bits"] // 8
        self.channels: int = settings["channels"]
        self.readers: int = settings["lanes"] * settings["readers"]
        self.slot_bits = (settings["outstanding"] - 1).bit_length()
        self.faults: list[str] = []
        self.bad: dict[tuple[int, int], int] = {}
        self.requests: dict[int, list[Request]] = {}
        self.boards: dict[int, Scoreboard] = {}
        self.monitors: dict[int, StreamMonitor] = {}
        self.tasks: list[Any] = []
        self.waits = [0, 0]
        self.memories = [self._memory(channel) for channel in range(self.channels)]

    def _memory(self, channel: int) -> AxiMemory:
        scenario = self.scenario
        behaviour = Behaviour(
            latency=tuple(scenario.get("latency", (1, 1))),
            stall=scenario.get("stall", 0.0),
            mixed=scenario.get("mixed", False),
            read_error=lambda address: self.bad.get((channel, address), 0),
        )
        return AxiMemory(
            self.dut,
            self.dut.clk,
            f"m{channel}_axi",
            Storage(8 * self.width, lambda address: self.content(channel, address)),
            behaviour,
            seed=self.seed,
            outstanding=1,
            may_wait=True,
        )

    def content(self, channel: int, address: int) -> int:
        """Different in every channel and at every address."""
        low, high = content(address ^ channel << 44), content(address + (1 << 50))
        return (low | high << 256) & (1 << 8 * self.width) - 1

    def draw(self) -> None:
        """Requests of every reader, in a region of its own."""
        lists = self.scenario.get("lists")
        for reader in range(self.readers):
            base = (1 << self.settings["addr_bits"]) - (reader + 1) * REGION
            if lists is not None:
                given = lists.get(str(reader), [])
            else:
                given = [self._any() for _ in range(self.scenario.get("requests", 40))]
            self.requests[reader] = [
                (channel, base + beat * self.width, beats) for channel, beat, beats in given
            ]

    def _any(self) -> Request:
        longest = self.settings["burst_beats"]
        beats = self.random.choice([1, longest, self.random.randint(1, longest)])
        block = self.random.randrange(REGION // self.width // longest)
        inside = self.random.randint(0, longest - beats)
        return self.random.randrange(self.channels), block * longest + inside, beats

    def beats(self, reader: int) -> list[tuple[int, int, bool]]:
        """Channel and address of every beat, and whether it is the last of its burst."""
        return [
            (channel, address + index * self.width, index == beats - 1)
            for channel, address, beats in self.requests[reader]
            for index in range(beats)
        ]

    def start(self) -> None:
        """Send and take everything, from now on."""
        dut, scenario, bits = self.dut, self.scenario, self.settings["addr_bits"]
        self.tasks = [cocotb.start_soon(self._conflicts())]
        self.jobs = []
        for reader in range(self.readers):
            names = {
                what: {part: f"{what}__{reader}__{part}" for part in ("valid", "ready", "payload")}
                for what in ("request", "o")
            }
            gap = Pauser(f"{self.seed} gap {reader}", scenario.get("gap", 0.0))
            pause = Pauser(f"{self.seed} pause {reader}", scenario.get("pause", 0.0))
            words = [
                address | (beats - 1) << bits | channel << bits + 8
                for channel, address, beats in self.requests[reader]
            ]
            expected = [
                self.content(channel, address) | last << 8 * self.width
                for channel, address, last in self.beats(reader)
            ]
            board = self.boards[reader] = Scoreboard(expected)
            driver = StreamDriver(dut, dut.clk, names["request"], gap)
            monitor = StreamMonitor(
                dut, dut.clk, {"name": f"o {reader}", **names["o"]}, pause, board.accept
            )
            self.monitors[reader] = monitor
            self.jobs += [
                cocotb.start_soon(driver.send(words)),
                cocotb.start_soon(monitor.receive(len(expected))),
            ]
        self.tasks += self.jobs

    async def _conflicts(self) -> None:
        """Compare the count of conflicts with what is offered and taken at the crossbar."""
        dut, lanes = self.dut, self.settings["lanes"]
        bits = max(1, (self.channels - 1).bit_length())
        edge = RisingEdge(dut.clk)
        before: int | None = None
        while True:
            await edge
            got = int(dut.conflicts.value)
            if before is not None and got != before:
                self.faults.append(f"conflicts is {got}, expected {before}")
            offered, taken = int(dut.offered.value), int(dut.taken.value)
            before = 0
            if offered:
                wanted = int(dut.wanted.value)
                place = [wanted >> bits * lane & (1 << bits) - 1 for lane in range(lanes)]
                served = {place[lane] for lane in range(lanes) if taken >> lane & 1}
                waiting = offered & ~taken
                before = sum(waiting >> lane & 1 and place[lane] in served for lane in range(lanes))
            self.waits[0] += before
            self.waits[1] += taken.bit_count()

    def cancel(self) -> None:
        """Break off all that is being sent and taken."""
        for task in self.tasks:
            if not task.done():
                task.cancel()
        self.tasks = []
        for reader in range(self.readers):
            getattr(self.dut, f"request__{reader}__valid").value = 0
            getattr(self.dut, f"o__{reader}__ready").value = 0

    async def reset(self) -> None:
        """Reset the top and start the memories."""
        edge = RisingEdge(self.dut.clk)
        self.cancel()
        self.dut.rst.value = 1
        self.dut.stop.value = 0
        for _ in range(3):
            await edge
        self.dut.rst.value = 0
        for _ in range(2):
            await edge
            for channel in range(self.channels):
                if getattr(self.dut, f"m{channel}_axi_arvalid").value != 0:
                    self.faults.append("ar is valid after reset")
        self._running = [memory.start() for memory in self.memories]

    def end(self) -> None:
        self.cancel()
        for memory, task in zip(self.memories, self._running, strict=True):
            task.cancel()
            self.faults += memory.faults

    async def finished(self) -> None:
        """Wait until all traffic is through and all readers are idle."""
        try:
            await with_timeout(Combine(*self.jobs), TIME_OUT * PERIOD_NS, "ns")
        except TimeoutError:
            self.faults.append("timed out")
        await self.idle()

    async def idle(self) -> None:
        """Wait until all are idle; then the bus owes nothing."""
        edge = RisingEdge(self.dut.clk)
        everyone = (1 << self.readers) - 1
        for _ in range(TIME_OUT):
            await edge
            if int(self.dut.idle.value) == everyone:
                break
        else:
            self.faults.append("does not become idle")
        if any(memory.owed("read") for memory in self.memories):
            self.faults.append("idle while the bus owes a response")

    def check(self, *, among: list[int] | None = None, complete: bool = True) -> None:
        """Note what differed, or is missing."""
        for reader, board in self.boards.items():
            for number, got, want in board.mismatches[:1]:
                self.faults.append(f"reader {reader}: beat {number} is {got:#x}, not {want:#x}")
            chosen = among is None or reader in among
            if complete and chosen and not board.complete:
                self.faults.append(f"reader {reader}: {board.checked} beats came")
        for monitor in self.monitors.values():
            self.faults += monitor.faults

    def check_bursts(self) -> None:
        """Every channel got the requests for it, under the IDs of the readers, in order."""
        for channel, memory in enumerate(self.memories):
            for reader in range(self.readers):
                want = [(a, n) for c, a, n in self.requests[reader] if c == channel]
                got = [(a, n) for _, id, a, n in memory.record.ar if self.owner(id) == reader]
                if got != want:
                    self.faults.append(f"channel {channel}, reader {reader}: {len(got)} bursts")
            memory.record.ar.clear()

    def owner(self, id: int) -> int:
        """The reader that an ID belongs to."""
        unit_bits = (self.settings["readers"] - 1).bit_length()
        unit = id >> self.slot_bits & (1 << unit_bits) - 1
        return (id >> self.slot_bits + unit_bits) * self.settings["readers"] + unit


async def traffic(scene: Scene) -> None:
    """Everything asked for is done, in order."""
    scene.draw()
    scene.start()
    await scene.finished()
    scene.check()
    scene.check_bursts()
    scene.cancel()


async def _break_off(scene: Scene) -> None:
    """Stop, by a pulse or until all is idle."""
    edge = RisingEdge(scene.dut.clk)
    scene.cancel()
    scene.dut.stop.value = 1
    await edge
    if scene.random.random() < 0.5:
        scene.dut.stop.value = 0
    for reader in range(scene.readers):
        if getattr(scene.dut, f"o__{reader}__valid").value == 1:
            scene.faults.append("a reader offers data while it is stopped")
    await scene.idle()
    if int(scene.dut.error.value):
        scene.faults.append("an error after the stop")
    scene.dut.stop.value = 0
    for memory in scene.memories:
        memory.record.ar.clear()


async def stop(scene: Scene) -> None:
    """Broken off anywhere, all becomes idle with the bus clean, and works again afterwards."""
    edge = RisingEdge(scene.dut.clk)
    for _ in range(scene.scenario["rounds"]):
        scene.draw()
        scene.start()
        for _ in range(scene.random.randint(1, 150)):
            await edge
        await _break_off(scene)
        scene.check(complete=False)
    await traffic(scene)


async def error(scene: Scene) -> None:
    """A bad response stops its reader, which says where it was; the others go on."""
    edge = RisingEdge(scene.dut.clk)
    scene.draw()
    failing = scene.random.randrange(scene.readers)
    place = scene.random.choice(scene.beats(failing))[:2]
    scene.bad[place] = scene.random.choice([2, 3])
    first = [beat[:2] for beat in scene.beats(failing)].index(place)
    scene.start()
    quiet = 0
    for _ in range(TIME_OUT):
        await edge
        quiet = min(memory.quiet_for("read") for memory in scene.memories)
        if quiet > SETTLED and int(scene.dut.error.value):
            break
    else:
        scene.faults.append("no error, or no rest")
    if int(scene.dut.error.value) != 1 << failing:
        scene.faults.append(f"errors {int(scene.dut.error.value):#x}, expected of {failing}")
    got = int(getattr(scene.dut, f"error_address__{failing}").value)
    if got != place[1]:
        scene.faults.append(f"error at {got:#x}, it was at {place[1]:#x}")
    if scene.boards[failing].checked > first:
        scene.faults.append("the bad beat left")
    scene.check(among=[reader for reader in range(scene.readers) if reader != failing])
    await _break_off(scene)
    scene.bad.clear()
    await traffic(scene)


KINDS = {"traffic": traffic, "stop": stop, "error": error}


def _summary(scene: Scene) -> dict[str, Any]:
    def span(cycles: list[int]) -> list[int]:
        return [len(cycles), cycles[-1] - cycles[0] + 1 if cycles else 0]

    records = [memory.record for memory in scene.memories]
    return {
        "faults": scene.faults[:20],
        "data": {reader: span(m.transfers) for reader, m in scene.monitors.items()},
        "r": [span([entry[0] for entry in record.r]) for record in records],
        "overtakes": sum(record.overtakes for record in records),
        "errors": sum(len(record.errors["read"]) for record in records),
        "conflicts": scene.waits[0],
        "requests": scene.waits[1],
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
        await scene.reset()
        await KINDS[scenario["kind"]](scene)
        scene.end()
        results.append(_summary(scene))
    (directory / "result.json").write_text(json.dumps(results))
