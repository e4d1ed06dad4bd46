"""Streams by one path or another."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.stream.multiplex import bypass_unless, demultiplex, multiplex
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.quick

BITS = 12
TRANSFERS = 60
CYCLES = 2000


class Paths(wiring.Component):
    """Streams ``i_0`` and ``i_1`` to ``o_0`` and ``o_1``, as ``connect`` does; ``select``."""

    def __init__(self, connect: Callable[[Module, Paths], None]) -> None:
        self._connect = connect
        streams = {f"i_{n}": In(stream.Signature(BITS)) for n in range(2)}
        streams |= {f"o_{n}": Out(stream.Signature(BITS)) for n in range(2)}
        super().__init__({**streams, "select": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._connect(m, self)
        return m


def _demultiplex(m: Module, top: Any) -> None:
    demultiplex(m, top.select, top.i_0, (top.o_0, top.o_1))


def _multiplex(m: Module, top: Any) -> None:
    multiplex(m, top.select, (top.i_0, top.i_1), top.o_0)


def _bypass(m: Module, top: Any) -> None:
    """The part is outside, from ``o_0`` to ``i_1``."""
    bypass_unless(m, top.select, top.i_0, (top.o_0, top.i_1), top.o_1)


RTL = NativeParts(
    "multiplex",
    {
        "demultiplex": lambda: Paths(_demultiplex),
        "multiplex": lambda: Paths(_multiplex),
        "bypass": lambda: Paths(_bypass),
    },
)


def _run(connect: str, seed: int) -> dict[str, list[tuple[int, int]]]:
    """(select, payload) of the transfers at each stream; the select changes when nothing is on
    offer."""
    part, chosen = RTL[connect], random.Random(seed)
    names = ("i_0", "i_1", "o_0", "o_1")
    moved: dict[str, list[tuple[int, int]]] = {name: [] for name in names}

    async def bench(sim: Any) -> None:
        select, idle, waits = 0, True, dict.fromkeys(names, False)
        for _ in range(CYCLES):
            if idle and chosen.random() < 0.3:
                select = 1 - select
            sim.set(part.select, select)
            for index, name in enumerate(("i_0", "i_1")):
                i = getattr(part, name)
                left = len(moved[name]) < TRANSFERS
                sim.set(i.valid, int(waits[name] or (left and chosen.random() < 0.5)))
                sim.set(i.payload, index << 8 | len(moved[name]))
            for name in ("o_0", "o_1"):
                sim.set(getattr(part, name).ready, int(chosen.random() < 0.6))
            for name in names:
                port = getattr(part, name)
                valid, ready = sim.get(port.valid), sim.get(port.ready)
                if valid and ready:
                    moved[name].append((select, sim.get(port.payload)))
                waits[name] = bool(valid and not ready)
            idle = not any(sim.get(getattr(part, name).valid) for name in ("o_0", "o_1"))
            await sim.tick()

    RTL.simulate(connect, bench)
    return moved


@pytest.mark.parametrize("seed", range(2))
def test_demultiplex(seed: int) -> None:
    moved = _run("demultiplex", seed)
    assert len(moved["i_0"]) == TRANSFERS
    for path in range(2):
        mine = [item for item in moved["i_0"] if item[0] == path]
        assert moved[f"o_{path}"] == mine
        assert len(mine) > 10


@pytest.mark.parametrize("seed", range(2))
def test_multiplex(seed: int) -> None:
    moved = _run("multiplex", seed)
    for path in range(2):
        assert [item for item in moved["o_0"] if item[0] == path] == moved[f"i_{path}"]
        assert len(moved[f"i_{path}"]) == TRANSFERS
        assert {select for select, _ in moved[f"i_{path}"]} == {path}


@pytest.mark.parametrize("seed", range(2))
def test_bypass_unless(seed: int) -> None:
    moved = _run("bypass", seed)
    past, through = ([item for item in moved["i_0"] if item[0] == path] for path in range(2))
    assert min(len(past), len(through)) > 10
    assert moved["o_0"] == through
    assert [item for item in moved["o_1"] if not item[0]] == past
    assert [item for item in moved["o_1"] if item[0]] == moved["i_1"]
    assert len(moved["i_0"]) == len(moved["i_1"]) == TRANSFERS
