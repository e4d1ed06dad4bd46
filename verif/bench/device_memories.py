"""The memories that :class:`AxiDevice` may have at its managers, in the simulator: one content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tilewright.verif.bench.axi_memory import DECERR, OKAY, AxiMemory, Behaviour, Storage
from tilewright.verif.bench.axi_storage import MODES
from tilewright.verif.bench.axi_vip import axi_ram, pause_ram


class BusWatch:
    """Counts from the next cycle on until it is cancelled.

    Parameters
    ----------
    dut: the top, its clock ``clk``
    prefixes: of the managers
    data_bits: of a beat

    Members
    -------
    under_way: bursts whose last response has not been taken
    """

    def __init__(self, dut: Any, prefixes: Iterable[str], data_bits: int) -> None:
        self._clock, self._beat_bytes = dut.clk, data_bits // 8
        self._ports = [
            {
                channel: [getattr(dut, f"{prefix}_{channel}{name}") for name in ("valid", "ready")]
                for channel in ("ar", "aw", "r", "w", "b")
            }
            | {"data": [getattr(dut, f"{prefix}_{name}") for name in ("rlast", "wstrb")]}
            for prefix in prefixes
        ]
        self._bytes = [[0, 0] for _ in self._ports]
        self.under_way = 0
        self._task = cocotb.start_soon(self._run())

    @property
    def moved(self) -> list[tuple[int, int]]:
        """Returns for each manager the bytes of the beats read, and the bytes written with their
        strobe set."""
        return [(read, written) for read, written in self._bytes]

    def cancel(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        edge = RisingEdge(self._clock)
        while True:
            await edge
            for port, moved_bytes in zip(self._ports, self._bytes, strict=True):
                moved = [
                    channel
                    for channel in ("ar", "aw", "r", "w", "b")
                    if all(handle.value == 1 for handle in port[channel])
                ]
                last, strobe = port["data"]
                for channel in moved:
                    if channel in ("ar", "aw"):
                        self.under_way += 1
                    elif channel == "w":
                        moved_bytes[1] += int(strobe.value).bit_count()
                    elif channel == "b":
                        self.under_way -= 1
                    else:
                        moved_bytes[0] += self._beat_bytes
                        self.under_way -= int(last.value)


class AxiRams:
    """cocotbext-axi's memories at all managers; which beats fail, and how much its channels pause,
    can change between jobs."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self._rams: list[Any] = []
        self._bad: dict[str, set[int]] = {}
        for prefix in settings["prefixes"]:
            ram = axi_ram(
                dut,
                prefix,
                size=settings["memory_bytes"],
            )
            first = self._rams[0] if self._rams else ram
            for part in (ram, ram.write_if, ram.read_if):
                part.mem = first.mem
            self._rams.append(ram)
            self._let_fail(ram, settings["memory_bytes"])
        self._seed = settings["seed"]
        self.behave(settings)
        self._watch = BusWatch(dut, settings["prefixes"], settings["data_bits"])
        self.faults: list[str] = []

    def load(self, address: int, content: bytes) -> None:
        self._rams[0].write(address, content)

    def dump(self, address: int, count: int) -> bytes:
        return bytes(self._rams[0].read(address, count))

    def _let_fail(self, ram: Any, size: int) -> None:
        """Makes some beats, and all after the end of memory, respond with SLVERR."""
        reads, writes, width = ram.read_if._read, ram.write_if._write, ram.read_if.byte_lanes

        def check(side: str, address: int) -> None:
            if address >= size or address // width * width in self._bad[side]:
                raise ValueError(f"{side} at {address:#x} fails")

        async def read(address: int, length: int) -> Any:
            check("read", address)
            return await reads(address, length)

        async def write(address: int, data: Any) -> None:
            check("write", address)
            await writes(address, data)

        ram.read_if._read, ram.write_if._write = read, write

    def behave(self, settings: dict[str, Any]) -> None:
        """Fail, and pause, differently from now on. Raises ValueError for latencies and for
        responses that overtake each other, which this memory has not."""
        if tuple(settings["latency"]) != (1, 1) or settings["mixed"]:
            raise ValueError("cocotbext-axi's memory answers at once and in order")
        self._bad = {side: set(beats) for side, beats in settings["bad_beats"].items()}
        for number, ram in enumerate(self._rams):
            pause_ram(ram, f"{self._seed} {number}", settings["stall"])

    @property
    def under_way(self) -> int:
        return self._watch.under_way

    @property
    def moved(self) -> list[tuple[int, int]]:
        return self._watch.moved


class Memories:
    """Our own memories at all managers; behaviour can change between jobs."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self._dut, self._settings = dut, settings
        self._storage = Storage(settings["data_bits"])
        self.load, self.dump = self._storage.load, self._storage.dump
        self._ports: list[AxiMemory] = []
        self._tasks: list[Any] = []
        self._past: list[str] = []
        self._past_moved: list[tuple[int, int]] = []
        self.behave(settings)

    @property
    def faults(self) -> list[str]:
        return self._past + [fault for port in self._ports for fault in port.faults]

    @property
    def under_way(self) -> int:
        return sum(port.owed(side) for port in self._ports for side in ("read", "write"))

    @property
    def moved(self) -> list[tuple[int, int]]:
        now = [(port.bytes["read"], port.bytes["write"]) for port in self._ports]
        return [(r + x, w + y) for (r, w), (x, y) in zip(now, self._past_moved, strict=True)]

    def behave(self, settings: dict[str, Any]) -> None:
        """Changes the responses from now on; nothing may be in flight."""
        if self.under_way:
            raise ValueError(f"{self.under_way} bursts are under way")
        nothing = [(0, 0)] * len(self._settings["prefixes"])
        self._past, self._past_moved = self.faults, self.moved if self._ports else nothing
        for task in self._tasks:
            task.cancel()
        size, bad = self._settings["memory_bytes"], settings["bad_beats"]

        def answer(kind: str) -> Any:
            wrong = bad[kind]
            return lambda address: DECERR if address >= size else wrong.get(address, OKAY)

        behaviour = Behaviour(
            latency=tuple(settings["latency"]),
            stall=settings["stall"],
            mixed=settings["mixed"],
            **{name: settings[name] for name in MODES if name in settings},
            read_error=answer("read"),
            write_error=answer("write"),
        )
        self._ports = [
            AxiMemory(
                self._dut,
                self._dut.clk,
                prefix,
                self._storage,
                behaviour,
                seed=str(settings["seed"]),
                outstanding=self._settings["outstanding"],
                may_wait=self._settings["may_wait"],
            )
            for prefix in self._settings["prefixes"]
        ]
        self._tasks = [port.start() for port in self._ports]
