"""The cocotb side of :class:`AxiDevice`: does what a program in another process asks for.

Requests come over a local socket while the simulation stands still; each is a name and arguments,
each answer a value. Time passes only during requests that need it.
"""

from __future__ import annotations

import os
from multiprocessing.connection import Client, Connection
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge
from tilewright.verif.kit.axi import axi_ram, lite_master
from tilewright.verif.kit.axi_memory import DECERR, OKAY, AxiMemory, Behaviour, Storage
from tilewright.verif.kit.streams import PERIOD_NS, cycle

__all__ = ["serve"]

RESET_CYCLES = 3


class _AxiRams:
    """cocotbext-axi's memories at all managers, one content."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self._rams: list[Any] = []
        for prefix in settings["prefixes"]:
            ram = axi_ram(
                dut,
                prefix,
                size=settings["memory_bytes"],
                seed=settings["seed"],
                stall=settings["stall"],
            )
            first = self._rams[0] if self._rams else ram
            for part in (ram, ram.write_if, ram.read_if):
                part.mem = first.mem
            self._rams.append(ram)
        self.faults: list[str] = []

    def load(self, address: int, content: bytes) -> None:
        self._rams[0].write(address, content)

    def dump(self, address: int, count: int) -> bytes:
        return bytes(self._rams[0].read(address, count))

    def behave(self, settings: dict[str, Any]) -> None:
        raise ValueError("cocotbext-axi's memory behaves as it was built")


class _Memories:
    """Our own memories at all managers, one content; behaviour can change between jobs."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self._dut, self._settings = dut, settings
        self._storage = Storage(settings["data_bits"])
        self.load, self.dump = self._storage.load, self._storage.dump
        self._ports: list[AxiMemory] = []
        self._tasks: list[Any] = []
        self._past: list[str] = []
        self.behave(settings)

    @property
    def faults(self) -> list[str]:
        return self._past + [fault for port in self._ports for fault in port.faults]

    def behave(self, settings: dict[str, Any]) -> None:
        """Answer differently from now on; nothing may be under way."""
        owed = sum(port.owed(side) for port in self._ports for side in ("read", "write"))
        if owed:
            raise ValueError(f"{owed} bursts are under way")
        self._past = self.faults
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


class _Server:
    """The requests by name."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self._dut, self._settings = dut, settings
        kind = _AxiRams if settings["axi_ram"] else _Memories
        self._memory: Any = kind(dut, settings)
        self._lite = lite_master(dut, seed=str(settings["seed"]), stall=settings["lite_stall"])
        self._watch: Any = None
        self._seen: list[tuple[int, int]] = []
        self._moved = {"read": 0, "write": 0}

    async def reset(self) -> None:
        self._dut.rst.value = 1
        await ClockCycles(self._dut.clk, RESET_CYCLES)
        self._dut.rst.value = 0
        await ClockCycles(self._dut.clk, RESET_CYCLES)

    async def read(self, offset: int) -> tuple[int, int]:
        answer = await self._lite.read(offset, 4)
        return int(answer.resp), int.from_bytes(answer.data, "little")

    async def write(self, offset: int, value: int) -> int:
        answer = await self._lite.write(offset, value.to_bytes(4, "little"))
        return int(answer.resp)

    async def load(self, address: int, content: bytes) -> None:
        self._memory.load(address, content)

    async def dump(self, address: int, count: int) -> bytes:
        found: bytes = self._memory.dump(address, count)
        return found

    async def behave(self, settings: dict[str, Any]) -> None:
        self._memory.behave(settings)

    async def wait(self, limit: int) -> tuple[bool, int]:
        """Wait for the interrupt, at most ``limit`` cycles; whether it came, and the cycles."""
        start = cycle()
        if self._dut.irq.value == 0:
            clock = self._dut.clk
            await First(RisingEdge(self._dut.irq), ClockCycles(clock, limit))
        return bool(self._dut.irq.value == 1), cycle() - start

    async def run(self, cycles: int) -> None:
        await ClockCycles(self._dut.clk, cycles)

    async def irq(self) -> bool:
        return bool(self._dut.irq.value == 1)

    async def faults(self) -> list[str]:
        found: list[str] = self._memory.faults
        return found

    async def watch(self) -> None:
        """Note from now on what the unit has at its input, and count bytes at the managers."""
        self._seen, self._moved = [], {"read": 0, "write": 0}
        self._watch = cocotb.start_soon(self._observe())

    async def seen(self) -> tuple[list[tuple[int, int]], dict[str, int]]:
        """The cycles with an operation and for each whether the unit took it; bytes by side."""
        self._watch.cancel()
        return self._seen, self._moved

    async def _observe(self) -> None:
        valid, ready = self._dut.unit__i__valid, self._dut.unit__i__ready
        reads, writes = (
            [
                [getattr(self._dut, f"{prefix}_{name}") for name in names]
                for prefix in self._settings["prefixes"]
            ]
            for names in (("rvalid", "rready"), ("wvalid", "wready", "wstrb"))
        )
        beat_bytes = self._settings["data_bits"] // 8
        edge = RisingEdge(self._dut.clk)
        while True:
            await edge
            if valid.value == 1:
                self._seen.append((cycle(), int(ready.value)))
            for given, taken in reads:
                if given.value == taken.value == 1:
                    self._moved["read"] += beat_bytes
            for given, taken, strobe in writes:
                if given.value == taken.value == 1:
                    self._moved["write"] += int(strobe.value).bit_count()


@cocotb.test()
async def serve(dut: Any) -> None:
    """Answer requests until there are no more."""
    connection: Connection = Client(os.environ["TILEWRIGHT_SOCKET"], "AF_UNIX")
    settings = connection.recv()
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    server = _Server(dut, settings)
    await server.reset()
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send((None, await getattr(server, name)(*arguments)))
        except ValueError as error:
            connection.send((str(error), None))
