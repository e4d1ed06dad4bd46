"""A scenario on a top with AXI managers: what every bench of such tops does alike."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, RisingEdge, with_timeout
from tilewright.verif.bench.axi_memory import AxiMemory, Behaviour, Storage
from tilewright.verif.bench.axi_storage import any_modes
from tilewright.verif.bench.cocotb_build import settings_directory
from tilewright.verif.bench.streams import PERIOD_NS

ResponseAt = Callable[[int], int]

_VALIDS = ("arvalid", "awvalid", "wvalid")


class Scene:
    """One scenario on a top: memories at its managers, random numbers, and what went wrong.

    Parameters
    ----------
    dut: the top
    settings: its sizes, and the run's ``seed``
    scenario: what happens; ``seed``, and of the memories ``latency``, ``stall`` and ``mixed``, as
        in ``Behaviour``, and ``modes``: whether READY waits for VALID, and such, in one of the ways
        of ``axi_modes``, at random

    Members
    -------
    seed, random: of everything random in this scenario
    width: bytes of a beat
    edge: the clock's rising edge
    memories: those made by :meth:`memory`
    faults: what went wrong, a line each
    """

    prefixes: tuple[str, ...] = ()
    """Managers that must be quiet after a reset, besides those with memories of ours."""

    time_out = 50_000
    """Cycles after which a scenario has failed."""

    def __init__(self, dut: Any, settings: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
        self.dut, self.settings, self.scenario = dut, settings, scenario
        self.seed = f"{settings['seed']} {scenario.get('seed', 0)}"
        self.random = random.Random(self.seed)
        self.width: int = settings["data_bits"] // 8
        self.edge = RisingEdge(dut.clk)
        self.memories: list[AxiMemory] = []
        self.faults: list[str] = []
        self._running: list[Any] = []

    def memory(
        self,
        prefix: str,
        storage: Storage,
        *,
        outstanding: int,
        may_wait: bool = False,
        read_error: ResponseAt = lambda address: 0,
        write_error: ResponseAt = lambda address: 0,
    ) -> AxiMemory:
        """A memory at a manager, that behaves as the scenario says; it runs from the reset on."""
        behaviour = Behaviour(
            latency=tuple(self.scenario.get("latency", (1, 1))),
            stall=self.scenario.get("stall", 0.0),
            mixed=self.scenario.get("mixed", False),
            **(any_modes(f"{self.seed} {prefix}") if self.scenario.get("modes") else {}),
            read_error=read_error,
            write_error=write_error,
        )
        made = AxiMemory(
            self.dut,
            self.dut.clk,
            prefix,
            storage,
            behaviour,
            seed=self.seed,
            outstanding=outstanding,
            may_wait=may_wait,
        )
        self.memories.append(made)
        self.prefixes = (*self.prefixes, prefix)
        return made

    def fault(self, text: str) -> None:
        self.faults.append(text)

    def rest(self) -> None:
        """Drive all inputs of the top as they are when nothing happens; a bench says how."""
        raise TypeError(f"{type(self).__name__} does not say how its inputs rest")

    async def reset(self) -> None:
        """Reset the top, and start the memories."""
        self.dut.rst.value = 1
        self.rest()
        for _ in range(3):
            await self.edge
        self.dut.rst.value = 0
        valids = [f"{prefix}_{name}" for prefix in self.prefixes for name in _VALIDS]
        for _ in range(2):
            await self.edge
            for name in valids:
                if hasattr(self.dut, name) and getattr(self.dut, name).value != 0:
                    self.fault(f"{name} is high after reset")
        self._running = [memory.start() for memory in self.memories]

    def end(self) -> None:
        """Drive nothing more, stop the memories, and take over what they found."""
        self.rest()
        for memory, task in zip(self.memories, self._running, strict=True):
            task.cancel()
            self.faults += memory.faults

    async def joined(self, tasks: Iterable[Any]) -> bool:
        """Waits for all tasks and returns whether they finished before the time-out."""
        try:
            await with_timeout(Combine(*tasks), self.time_out * PERIOD_NS, "ns")
        except TimeoutError:
            self.fault("timed out")
            return False
        return True

    async def until(self, name: str, value: int = 1) -> None:
        """Waits until a port has a value; a time-out is a fault."""
        for _ in range(self.time_out):
            await self.edge
            if getattr(self.dut, name).value == value:
                return
        self.fault(f"`{name}` is {getattr(self.dut, name).value}, and does not become {value:#x}")

    async def until_idle(self, name: str, value: int = 1, *, sides: Iterable[str]) -> None:
        """Waits as :meth:`until`; then no response may be outstanding on the sides, "read" and
        "write"."""
        await self.until(name, value)
        owed = sum(memory.owed(side) for memory in self.memories for side in sides)
        if owed:
            self.fault(f"`{name}` comes while the bus owes {owed} answers")

    def compare(self, expected: Storage, found: Storage) -> None:
        """Compare all that was written with all that should have been."""
        for address in sorted(expected.written() | found.written()):
            got, want = found.get(address), expected.get(address)
            if got != want:
                self.fault(f"memory at {address:#x} is {got:#x}, expected {want:#x}")
                return


def break_off(tasks: Iterable[Any]) -> None:
    """Cancel the tasks that still run."""
    for task in tasks:
        if not task.done():
            task.cancel()


def span(cycles: list[int]) -> list[int]:
    """Returns the number of transfers and the number of cycles from the first to the last."""
    return [len(cycles), cycles[-1] - cycles[0] + 1 if cycles else 0]


_Scene = TypeVar("_Scene", bound=Scene)


async def run_scenarios(
    dut: Any,
    scene_of: Callable[[Mapping[str, Any], Mapping[str, Any]], _Scene],
    act: Callable[[_Scene], Awaitable[dict[str, Any]]],
) -> None:
    """Run the scenarios of the settings one after the other, each from a reset, and leave what each
    found, its first faults among it.

    Parameters
    ----------
    scene_of: makes the scene of settings and a scenario
    act: plays it, and says what it found
    """
    directory = settings_directory()
    settings = json.loads((directory / "settings.json").read_text())
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    results = []
    for scenario in settings["scenarios"]:
        scene = scene_of(settings, scenario)
        await scene.reset()
        found = await act(scene)
        scene.end()
        results.append({"faults": scene.faults[:20], **found})
    (directory / "result.json").write_text(json.dumps(results))
