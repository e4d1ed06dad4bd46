"""``AxiParts`` in the simulator: its readers and writers with their traffic, and its memory."""

from __future__ import annotations

import random
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cocotb
from tilewright.verif.bench.axi_memory import AxiMemory, Storage
from tilewright.verif.bench.scene import Scene, break_off
from tilewright.verif.bench.streams import Pauser, Scoreboard, StreamDriver, StreamMonitor

_ODD = 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95


@dataclass(frozen=True)
class Request:
    """``beats`` beats from ``address`` on."""

    address: int
    beats: int


@dataclass
class Traffic:
    """Requests and data of one reader or writer.

    Parameters
    ----------
    requests: in order
    data: for a writer, (value, strobe) of every beat
    """

    requests: list[Request]
    data: list[tuple[int, int]] = field(default_factory=list)

    def addresses(self, width: int) -> Iterator[tuple[int, bool]]:
        """Yields the address of every beat, and whether it is the last of its request."""
        for request in self.requests:
            for index in range(request.beats):
                yield request.address + index * width, index == request.beats - 1

    def apply(self, storage: Storage) -> None:
        """Write all the data."""
        places = self.addresses(storage.bytes)
        for (address, _), (value, strobe) in zip(places, self.data, strict=True):
            storage.put(address, value, strobe)


def content(address: int) -> int:
    """Returns the initial content of the beat at an address; it differs between addresses."""
    return (address + 1) * _ODD & (1 << 256) - 1


def split(request: Request, width: int, burst_beats: int) -> Iterator[Request]:
    """The bursts of a request: cut at the multiples of ``burst_beats`` beats."""
    address, left = request.address, request.beats
    while left:
        beats = min(left, burst_beats - address // width % burst_beats)
        yield Request(address, beats)
        address, left = address + beats * width, left - beats


def draw(
    generator: random.Random, *, count: int, base: int, size: int, width: int, longest: int
) -> list[Request]:
    """Requests in ``size`` bytes from ``base`` on: short ones, long ones, and such as end or start
    at a multiple of 4 KiB."""
    requests = []
    for _ in range(count):
        beats = generator.choice([1, 2, generator.randint(1, 8), generator.randint(1, longest)])
        place = generator.randrange(size // width)
        if generator.random() < 0.3:
            place = place // (4096 // width) * (4096 // width) - generator.choice([0, 1, beats])
        place = max(0, min(place, size // width - beats))
        requests.append(Request(base + place * width, beats))
    return requests


def draw_data(generator: random.Random, beats: int, width: int) -> list[tuple[int, int]]:
    """Values and strobes of beats to write: all bytes, some, or none."""
    full = (1 << width) - 1
    return [
        (
            generator.getrandbits(8 * width),
            generator.choice([full, full, generator.getrandbits(width)]),
        )
        for _ in range(beats)
    ]


REGION = 1 << 14
"""Bytes that each reader or writer works on."""


class Side:
    """The readers, or the writers, of the top, with their traffic."""

    def __init__(self, scene: PartsScene, name: str, members: list[int]) -> None:
        self.scene, self.name, self.members = scene, name, members
        self.traffic: dict[int, Traffic] = {}
        self.monitors: dict[int, StreamMonitor] = {}
        self.boards: dict[int, Scoreboard] = {}
        self.drivers: dict[int, list[StreamDriver]] = {}
        self.tasks: list[Any] = []

    def stream(self, what: str, index: int) -> dict[str, str]:
        name = f"{self.name}_{what}__{index}"
        parts = {part: f"{name}__{part}" for part in ("valid", "ready", "payload")}
        return {"name": name, **parts}

    def signal(self, name: str) -> Any:
        return getattr(self.scene.dut, f"{self.name}_{name}")

    def quiet(self) -> None:
        """Offer nothing and take nothing."""
        for index in range(self.scene.settings["members"]):
            for what in ("request", "data"):
                stream = self.stream(what, index)
                driven = what == "request" or self.name == "write"
                getattr(self.scene.dut, stream["valid" if driven else "ready"]).value = 0

    def start(self) -> None:
        """Send and take everything, from now on."""
        scene, scenario = self.scene, self.scene.scenario
        self.tasks, jobs = [], []
        for index in self.members:
            seed = f"{scene.seed} {self.name} {index}"
            gap = [Pauser(f"{seed} {n}", scenario.get("gap", 0.0)) for n in range(2)]
            traffic = self.traffic[index]
            request = self.stream("request", index)
            driver = StreamDriver(scene.dut, scene.dut.clk, request, gap[0])
            shift = scene.settings["addr_bits"]
            words = [r.address | r.beats << shift for r in traffic.requests]
            jobs.append(driver.send(words))
            self.drivers[index] = [driver]
            jobs.append(self._data(index, traffic, gap[1], seed))
        self.tasks = [cocotb.start_soon(job) for job in jobs]

    def _data(
        self, index: int, traffic: Traffic, gap: Pauser, seed: str
    ) -> Coroutine[Any, Any, None]:
        scene, stream = self.scene, self.stream("data", index)
        bits = scene.settings["data_bits"]
        if self.name == "write":
            driver = StreamDriver(scene.dut, scene.dut.clk, stream, gap)
            self.drivers[index].append(driver)
            return driver.send([value | strobe << bits for value, strobe in traffic.data])
        expected = [
            scene.initial(address) | last << bits
            for address, last in traffic.addresses(scene.width)
        ]
        pause = Pauser(f"{seed} pause", scene.scenario.get("pause", 0.0))
        self.boards[index] = Scoreboard(expected)
        self.monitors[index] = StreamMonitor(
            scene.dut, scene.dut.clk, stream, pause, self.boards[index].accept
        )
        return self.monitors[index].receive(len(expected))

    def cancel(self) -> None:
        """Break off all that is being sent and taken."""
        break_off(self.tasks)
        self.quiet()

    def check(self, *, complete: bool = True) -> None:
        """Note what differed, or is missing."""
        for index, board in self.boards.items():
            place = f"reader {index}"
            for number, got, want in board.mismatches[:1]:
                self.scene.fault(f"{place}: beat {number} is {got:#x}, expected {want:#x}")
            if complete and not board.complete:
                self.scene.fault(f"{place}: {board.checked} beats came")
        for monitor in self.monitors.values():
            for text in monitor.faults:
                self.scene.fault(text)

    def check_bursts(self, record: list[tuple[int, int, int, int]]) -> None:
        """Compare the addresses on the bus with what the requests must become."""
        for index in self.members:
            want = [
                (burst.address, burst.beats)
                for request in self.traffic[index].requests
                for burst in split(request, self.scene.width, self.scene.burst_beats)
            ]
            got = [(address, beats) for _, id, address, beats in record if id == index]
            if got != want:
                self.scene.fault(f"{self.name} {index}: bursts {got[:4]}, expected {want[:4]}")


class PartsScene(Scene):
    """One scenario on the top.

    Parameters
    ----------
    dut, settings, scenario: see :class:`Scene` and ``parts_bench``
    ram: cocotbext-axi's memory, if it is the one at the port

    Members
    -------
    read, write: the readers and the writers
    storage: what our own memory holds
    errors: by side, responses to beats (for writes: bursts) at addresses
    """

    prefixes = ("m0_axi",)

    def __init__(
        self, dut: Any, settings: Mapping[str, Any], scenario: Mapping[str, Any], ram: Any = None
    ) -> None:
        super().__init__(dut, settings, scenario)
        self.ram = ram
        self.burst_beats: int = settings["burst_beats"]
        everyone = list(range(settings["members"]))
        self.read = Side(self, "read", scenario.get("readers", everyone))
        self.write = Side(self, "write", scenario.get("writers", everyone))
        self.sides = (self.read, self.write)
        self.storage = Storage(settings["data_bits"], self.initial)
        self.errors: dict[str, dict[int, int]] = {"read": {}, "write": {}}
        self.port: AxiMemory | None = None
        if ram is None:
            self.port = self.memory(
                "m0_axi",
                self.storage,
                outstanding=settings["outstanding"],
                read_error=lambda address: self.errors["read"].get(address, 0),
                write_error=lambda address: self.errors["write"].get(address, 0),
            )

    def initial(self, address: int) -> int:
        """Returns the initial content of the memory at an address."""
        return content(address) & (1 << 8 * self.width) - 1

    def base(self, side: str, index: int) -> int:
        """Returns the first address of a reader's or writer's region; in our own memory the regions
        lie at the top of the address range."""
        place = (2 * index + (side == "write")) * REGION
        top = 1 << (20 if self.ram else self.settings["addr_bits"])
        return top - 16 * REGION + place

    def draw(self) -> None:
        """New traffic for everyone."""
        scenario = self.scenario
        for side in self.sides:
            given = scenario.get("lists", {}).get(side.name)
            for index in side.members:
                base = self.base(side.name, index)
                if given:
                    requests = [Request(base + n * self.width, beats) for n, beats in given]
                else:
                    requests = draw(
                        self.random,
                        count=scenario.get("requests", 20),
                        base=base,
                        size=REGION,
                        width=self.width,
                        longest=scenario.get("longest", 40),
                    )
                data = []
                if side is self.write:
                    data = draw_data(self.random, sum(r.beats for r in requests), self.width)
                side.traffic[index] = Traffic(requests, data)

    def rest(self) -> None:
        for side in self.sides:
            side.cancel()
            side.signal("stop").value = 0

    async def finished(self, *sides: Side) -> None:
        """Wait until all traffic of the sides is through and they are idle."""
        if await self.joined(task for side in sides for task in side.tasks):
            for side in sides:
                await self.idle(side)

    async def idle(self, side: Side) -> None:
        """Waits until a side is idle; then no response may be outstanding."""
        await self.until_idle(f"{side.name}_idle", sides=[side.name])

    def check_memory(self, expected: Storage) -> None:
        """Compare all that was written with all that should have been."""
        self.compare(expected, self.storage)
