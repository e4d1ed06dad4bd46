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
from tilewright.verif.bench.axi_vip import lite_master
from tilewright.verif.bench.device_memories import AxiRams, BusWatch, Memories
from tilewright.verif.bench.streams import PERIOD_NS, cycle

RESET_CYCLES = 3


class _Server:
    """The requests by name."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self._dut, self._settings = dut, settings
        kind = AxiRams if settings["axi_ram"] else Memories
        self._memory: Any = kind(dut, settings)
        self._lite = lite_master(dut, seed=str(settings["seed"]), stall=settings["lite_stall"])
        self._watches: list[Any] = []
        self._seen: list[tuple[int, int]] = []

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

    async def under_way(self) -> int:
        found: int = self._memory.under_way
        return found

    async def moved(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self._memory.moved
        return found

    async def watch(self) -> None:
        """Note from now on what the unit has at its input, and count bytes at the managers."""
        dut, settings = self._dut, self._settings
        self._seen = []
        bus = BusWatch(dut, settings["prefixes"], settings["data_bits"])
        self._watches = [bus, cocotb.start_soon(self._observe())]

    async def seen(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The cycles with an operation and for each whether the unit took it; bytes read and
        written over each manager."""
        for watch in self._watches:
            watch.cancel()
        return self._seen, self._watches[0].moved

    async def _observe(self) -> None:
        valid, ready = (getattr(self._dut, name) for name in self._settings["watched"])
        edge = RisingEdge(self._dut.clk)
        while True:
            await edge
            if valid.value == 1:
                self._seen.append((cycle(), int(ready.value)))


@cocotb.test()
async def serve(dut: Any) -> None:
    """Answers requests until the last one."""
    connection: Connection = Client(os.environ["TILEWRIGHT_SOCKET"], "AF_UNIX")
    settings = connection.recv()
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    # Drivers and monitors must see no unknown values from before the reset.
    dut.rst.value = 1
    await ClockCycles(dut.clk, RESET_CYCLES)
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
