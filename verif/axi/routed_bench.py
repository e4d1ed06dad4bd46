"""The cocotb test of ``RoutedReaders``: scenarios from the settings, one after the other.

A scenario is a dictionary. ``kind``: "traffic" (all requests are carried out), "stop" (broken off
at random moments, ``rounds`` times, each time usable again), "error" (one bad response).
``seed``. ``requests``: how many for each reader; or ``lists``, for readers by number, of (channel,
beat, beats). ``gap``, ``pause``: shares of the cycles in which requests and data pause;
``latency``, ``stall``, ``mixed``, ``modes``: of the memories, as in ``Scene``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import cocotb
from tilewright.verif.axi.parts_scene import content
from tilewright.verif.bench.axi_memory import AxiMemory, Storage
from tilewright.verif.bench.scene import Scene, break_off, run_scenarios, span
from tilewright.verif.bench.streams import Pauser, Scoreboard, StreamDriver, StreamMonitor

REGION = 1 << 16
SETTLED = 300
"""Cycles without a transfer after which nothing more will come."""

Request = tuple[int, int, int]
"""Channel, address, beats."""


class RoutedScene(Scene):
    """One scenario: memories at all channels, requests and scoreboards at all readers."""

    def __init__(self, dut: Any, settings: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
        super().__init__(dut, settings, scenario)
        self.channels: int = settings["channels"]
        self.readers: int = settings["lanes"] * settings["readers"]
        self.slot_bits = (settings["outstanding"] - 1).bit_length()
        self.bad: dict[tuple[int, int], int] = {}
        self.requests: dict[int, list[Request]] = {}
        self.boards: dict[int, Scoreboard] = {}
        self.monitors: dict[int, StreamMonitor] = {}
        self.tasks: list[Any] = []
        self.waits = [0, 0]
        for channel in range(self.channels):
            self._add_memory(channel)

    def _add_memory(self, channel: int) -> AxiMemory:
        return self.memory(
            f"m{channel}_axi",
            Storage(8 * self.width, lambda address: self.content(channel, address)),
            outstanding=1,
            may_wait=True,
            read_error=lambda address: self.bad.get((channel, address), 0),
        )

    def content(self, channel: int, address: int) -> int:
        """Different in every channel and at every address."""
        low, high = content(address ^ channel << 44), content(address + (1 << 50))
        return (low | high << 256) & (1 << 8 * self.width) - 1

    def draw(self) -> None:
        """Draws requests of every reader, each in a separate region."""
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
        before: int | None = None
        while True:
            await self.edge
            got = int(dut.conflicts.value)
            if before is not None and got != before:
                self.fault(f"conflicts is {got}, expected {before}")
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

    def rest(self) -> None:
        """Break off all that is being sent and taken."""
        break_off(self.tasks)
        self.tasks = []
        self.dut.stop.value = 0
        for reader in range(self.readers):
            getattr(self.dut, f"request__{reader}__valid").value = 0
            getattr(self.dut, f"o__{reader}__ready").value = 0

    async def finished(self) -> None:
        """Wait until all traffic is through and all readers are idle."""
        await self.joined(self.jobs)
        await self.idle()

    async def idle(self) -> None:
        """Waits until all are idle; then no response may be outstanding."""
        await self.until_idle("idle", (1 << self.readers) - 1, sides=["read"])

    def check(self, *, among: list[int] | None = None, complete: bool = True) -> None:
        """Note what differed, or is missing."""
        for reader, board in self.boards.items():
            for number, got, want in board.mismatches[:1]:
                self.fault(f"reader {reader}: beat {number} is {got:#x}, not {want:#x}")
            chosen = among is None or reader in among
            if complete and chosen and not board.complete:
                self.fault(f"reader {reader}: {board.checked} beats came")
        for monitor in self.monitors.values():
            self.faults += monitor.faults

    def check_bursts(self) -> None:
        """Every channel got the requests for it, under the IDs of the readers, in order."""
        for channel, memory in enumerate(self.memories):
            for reader in range(self.readers):
                want = [(a, n) for c, a, n in self.requests[reader] if c == channel]
                got = [(a, n) for _, id, a, n in memory.record.ar if self.owner(id) == reader]
                if got != want:
                    self.fault(f"channel {channel}, reader {reader}: {len(got)} bursts")
            memory.record.ar.clear()

    def owner(self, id: int) -> int:
        """The reader that an ID belongs to."""
        unit_bits = (self.settings["readers"] - 1).bit_length()
        unit = id >> self.slot_bits & (1 << unit_bits) - 1
        return (id >> self.slot_bits + unit_bits) * self.settings["readers"] + unit


async def traffic(scene: RoutedScene) -> None:
    """Checks that all requests are complete, in order."""
    scene.draw()
    scene.start()
    await scene.finished()
    scene.check()
    scene.check_bursts()
    scene.rest()


async def _break_off(scene: RoutedScene) -> None:
    """Stop, by a pulse or until all is idle."""
    scene.rest()
    scene.dut.stop.value = 1
    await scene.edge
    if scene.random.random() < 0.5:
        scene.dut.stop.value = 0
    for reader in range(scene.readers):
        if getattr(scene.dut, f"o__{reader}__valid").value == 1:
            scene.fault("a reader offers data while it is stopped")
    await scene.idle()
    if int(scene.dut.error.value):
        scene.fault("an error after the stop")
    scene.dut.stop.value = 0
    for memory in scene.memories:
        memory.record.ar.clear()


async def stop(scene: RoutedScene) -> None:
    """Broken off anywhere, all becomes idle with the bus clean, and works again afterwards."""
    for _ in range(scene.scenario["rounds"]):
        scene.draw()
        scene.start()
        for _ in range(scene.random.randint(1, 150)):
            await scene.edge
        await _break_off(scene)
        scene.check(complete=False)
    await traffic(scene)


async def error(scene: RoutedScene) -> None:
    """A bad response stops its reader, which says where it was; the others go on."""
    scene.draw()
    failing = scene.random.randrange(scene.readers)
    place = scene.random.choice(scene.beats(failing))[:2]
    scene.bad[place] = scene.random.choice([2, 3])
    first = [beat[:2] for beat in scene.beats(failing)].index(place)
    scene.start()
    quiet = 0
    for _ in range(scene.time_out):
        await scene.edge
        quiet = min(memory.quiet_for("read") for memory in scene.memories)
        if quiet > SETTLED and int(scene.dut.error.value):
            break
    else:
        scene.fault("no error, or no rest")
    if int(scene.dut.error.value) != 1 << failing:
        scene.fault(f"errors {int(scene.dut.error.value):#x}, expected of {failing}")
    got = int(getattr(scene.dut, f"error_address__{failing}").value)
    if got != place[1]:
        scene.fault(f"error at {got:#x}, it was at {place[1]:#x}")
    if scene.boards[failing].checked > first:
        scene.fault("the bad beat left")
    scene.check(among=[reader for reader in range(scene.readers) if reader != failing])
    await _break_off(scene)
    scene.bad.clear()
    await traffic(scene)


KINDS = {"traffic": traffic, "stop": stop, "error": error}


async def play(scene: RoutedScene) -> dict[str, Any]:
    """Play a scenario; how many transfers there were in how many cycles."""
    await KINDS[scene.scenario["kind"]](scene)
    records = [memory.record for memory in scene.memories]
    return {
        "data": {reader: span(m.transfers) for reader, m in scene.monitors.items()},
        "r": [span([entry[0] for entry in record.r]) for record in records],
        "overtakes": sum(record.overtakes for record in records),
        "errors": sum(len(record.errors["read"]) for record in records),
        "conflicts": scene.waits[0],
        "requests": scene.waits[1],
    }


@cocotb.test()
async def scenarios(dut: Any) -> None:
    await run_scenarios(dut, partial(RoutedScene, dut), play)
