"""Drivers and monitors of valid/ready streams, for cocotb.

Payloads are whole words, packed beforehand. Gaps and stalls come in runs of random length, from a
seed, so that both single-cycle hiccups and long stops occur.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time


class Scoreboard:
    """Compares payloads in order and keeps the first mismatches.

    Parameters
    ----------
    expected: payloads in the order in which they must leave
    keep: mismatches to keep in full

    Members
    -------
    checked, wrong: payloads compared, payloads that differed
    mismatches: (index, got, expected) of the first ones
    """

    def __init__(self, expected: Sequence[int], keep: int = 10) -> None:
        self._expected = expected
        self._keep = keep
        self.checked = 0
        self.wrong = 0
        self.mismatches: list[tuple[int, int, int]] = []

    def accept(self, payload: int) -> None:
        """Compare the next payload; one too many raises IndexError."""
        expected = self._expected[self.checked]
        if payload != expected:
            self.wrong += 1
            if len(self.mismatches) < self._keep:
                self.mismatches.append((self.checked, payload, expected))
        self.checked += 1

    @property
    def complete(self) -> bool:
        """True if every expected payload has arrived without a difference."""
        return self.checked == len(self._expected) and self.wrong == 0


PERIOD_NS = 10
"""Clock period of every bench."""


def cycle() -> int:
    """Number of the current clock cycle."""
    return int(get_sim_time("ns")) // PERIOD_NS


class Pauser:
    """Decides cycle by cycle whether a side of a stream pauses.

    Parameters
    ----------
    seed: of its generator
    chance: share of the cycles that are paused, 0..1 (1 excluded)
    longest: longest run of paused cycles
    """

    def __init__(self, seed: str, chance: float, longest: int = 8) -> None:
        self._random = random.Random(seed)
        self._chance = chance
        self._longest = longest
        self._left = 0
        self._paused = False

    def __call__(self) -> bool:
        """Returns whether to pause in this cycle."""
        if self._chance == 0:
            return False
        if self._left == 0:
            self._paused = self._random.random() < self._chance
            self._left = self._random.randint(1, self._longest)
        self._left -= 1
        return self._paused


class StreamDriver:
    """Sends payloads into an input stream of the unit.

    Parameters
    ----------
    dut, clock: the top and its clock
    stream: the stream's entry in the sidecar
    pause: gaps before a payload

    Members
    -------
    transfers: cycle of every transfer, in order
    waited: for every transfer, how many cycles valid waited for ready
    """

    def __init__(
        self, dut: Any, clock: Any, stream: dict[str, Any], pause: Callable[[], bool]
    ) -> None:
        self._clock = clock
        self._valid = getattr(dut, stream["valid"])
        self._ready = getattr(dut, stream["ready"])
        self._payload = getattr(dut, stream["payload"])
        self._pause = pause
        self._valid.value = 0
        self.transfers: list[int] = []
        self.waited: list[int] = []

    async def send(self, payloads: Sequence[int]) -> None:
        """Send payloads one after the other; returns after the last transfer."""
        edge = RisingEdge(self._clock)
        for payload in payloads:
            while self._pause():
                self._valid.value = 0
                await edge
            self._valid.value = 1
            self._payload.value = payload
            wait = 0
            await edge
            while self._ready.value != 1:
                wait += 1
                await edge
            self.transfers.append(cycle())
            self.waited.append(wait)
        self._valid.value = 0


class StreamMonitor:
    """Takes payloads from an output stream of the unit and checks the stream rules.

    Parameters
    ----------
    dut, clock: the top and its clock
    stream: the stream's entry in the sidecar
    pause: cycles in which ready is low
    accept: called with every payload, in order

    Members
    -------
    transfers: cycle of every transfer, in order
    waited: for every transfer, how many cycles valid waited for ready
    faults: broken stream rules, one line each
    """

    def __init__(
        self,
        dut: Any,
        clock: Any,
        stream: dict[str, Any],
        pause: Callable[[], bool],
        accept: Callable[[int], None],
    ) -> None:
        self._clock = clock
        self._name = stream["name"]
        self._valid = getattr(dut, stream["valid"])
        self._ready = getattr(dut, stream["ready"])
        self._payload = getattr(dut, stream["payload"])
        self._pause = pause
        self._accept = accept
        self._ready.value = 0
        self.transfers: list[int] = []
        self.waited: list[int] = []
        self.faults: list[str] = []

    async def receive(self, count: int) -> None:
        """Take ``count`` payloads."""
        edge = RisingEdge(self._clock)
        held: int | None = None
        wait = 0
        while len(self.transfers) < count:
            ready = not self._pause()
            self._ready.value = int(ready)
            await edge
            if self._valid.value != 1:
                if held is not None:
                    self.faults.append(f"`{self._name}` took back its valid, cycle {cycle()}")
                held = None
                continue
            payload = int(self._payload.value)
            if held is not None and held != payload:
                self.faults.append(f"`{self._name}` changed its payload, cycle {cycle()}")
            if not ready:
                held = payload
                wait += 1
                continue
            self.transfers.append(cycle())
            self.waited.append(wait)
            self._accept(payload)
            held, wait = None, 0
        self._ready.value = 0
