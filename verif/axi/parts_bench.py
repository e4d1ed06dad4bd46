"""The cocotb tests of ``AxiParts``: scenarios from the settings, one after the other.

A scenario is a dictionary. ``kind``: "traffic" (all requests are carried out), "stop" (broken off
at random moments, ``rounds`` times, each time usable again), "error" (bad responses). ``seed``.
``requests`` of each reader and writer and the ``longest``, or ``lists`` of requests by side
as (beats behind the region's start, beats); ``readers``, ``writers`` that take part. ``gap``,
``pause``: shares of the cycles in which what is sent and what is taken pauses. Of our own memory
``latency``, ``stall`` and ``mixed``, as in ``Behaviour``.
"""

from __future__ import annotations

import json
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from tilewright.verif.axi.parts_scene import REGION, TIME_OUT, Scene, Side
from tilewright.verif.axi.traffic import split
from tilewright.verif.bench.axi_memory import AxiMemory, Storage
from tilewright.verif.bench.axi_vip import axi_ram, random_pauses
from tilewright.verif.bench.bench_job import settings_directory
from tilewright.verif.bench.streams import PERIOD_NS

RAM_BYTES = 1 << 20


async def traffic(scene: Scene) -> None:
    """Everything asked for is done, and the bursts are the expected ones."""
    scene.draw()
    expected = scene.storage.copy()
    for side in scene.sides:
        side.start()
    for item in scene.write.traffic.values():
        item.apply(expected)
    await scene.finished(*scene.sides)
    scene.read.check()
    memory = scene.memory
    if memory is None:
        for address in expected.written():
            scene.storage.load(address, scene.ram.read(address, scene.width))
    else:
        scene.read.check_bursts(memory.record.ar)
        scene.write.check_bursts(memory.record.aw)
    scene.check_memory(expected)


async def stop(scene: Scene) -> None:
    """Broken off anywhere, a side becomes idle with the bus clean, and works again afterwards."""
    memory = scene.memory
    assert memory is not None
    edge = RisingEdge(scene.dut.clk)
    for _ in range(scene.scenario["rounds"]):
        scene.draw()
        before = scene.storage.copy()
        for side in scene.sides:
            side.start()
        for _ in range(scene.random.randint(1, scene.scenario.get("latest", 120))):
            await edge
        stopped = scene.random.choice([(scene.read,), (scene.write,), scene.sides])
        await _break_off(scene, memory, stopped)
        going_on = [side for side in scene.sides if side not in stopped]
        await scene.finished(*going_on)
        scene.read.check(complete=scene.read in going_on)
        _check_partial(scene, before, complete=scene.write in going_on)
    await traffic_again(scene)


async def _break_off(scene: Scene, memory: AxiMemory, sides: tuple[Side, ...]) -> None:
    """Stop some sides, by a pulse or until they are idle."""
    edge = RisingEdge(scene.dut.clk)
    seen = {side.name: len(_bursts(memory, side)) for side in sides}
    for side in sides:
        side.cancel()
        side.signal("stop").value = 1
    outputs = [side.stream("data", k)["valid"] for side in sides for k in side.members]
    await edge
    pulse = scene.random.random() < 0.5
    for side in sides:
        side.signal("stop").value = int(not pulse)
    if scene.read in sides and any(
        getattr(scene.dut, name).value == 1 for name in outputs if name.startswith("read")
    ):
        scene.fault("a reader offers data while it is stopped")
    for side in sides:
        await scene.idle(side)
        later = len(_bursts(memory, side)) - seen[side.name]
        # One at each member's output, two in the arbiter.
        if later > scene.settings["members"] + 2:
            scene.fault(f"{later} bursts of {side.name} issued after its stop")
        if side.signal("error").value != 0:
            scene.fault(f"{side.name} has an error after its stop")
        side.signal("stop").value = 0


def _bursts(memory: AxiMemory, side: Side) -> list[tuple[int, int, int, int]]:
    """The bursts of a side that came out of the port."""
    return memory.record.ar if side.name == "read" else memory.record.aw


def _check_partial(scene: Scene, before: Storage, *, complete: bool) -> None:
    """What was written is part of what was asked for; all of it if ``complete``."""
    possible: dict[int, list[set[int]]] = {}
    expected = before.copy()
    for item in scene.write.traffic.values():
        item.apply(expected)
        places = item.addresses(scene.width)
        for (address, _), (value, strobe) in zip(places, item.data, strict=True):
            old = before.get(address).to_bytes(scene.width, "little")
            sets = possible.setdefault(address, [{byte} for byte in old])
            for lane, byte in enumerate(value.to_bytes(scene.width, "little")):
                if strobe >> lane & 1:
                    sets[lane].add(byte)
    if complete:
        scene.check_memory(expected)
        return
    for address in scene.storage.written():
        got = scene.storage.get(address).to_bytes(scene.width, "little")
        old = before.get(address).to_bytes(scene.width, "little")
        allowed = possible.get(address, [{byte} for byte in old])
        if not all(byte in lane for byte, lane in zip(got, allowed, strict=True)):
            scene.fault(f"memory at {address:#x} holds what nobody wrote")
            return


async def error(scene: Scene) -> None:
    """A bad response is reported with its address, its data never passed on; then all is well."""
    memory = scene.memory
    assert memory is not None
    edge = RisingEdge(scene.dut.clk)
    scene.draw()
    before = scene.storage.copy()
    places: dict[str, dict[int, list[int]]] = {"read": {}, "write": {}}
    for side in scene.sides:
        for index in side.members:
            requests = side.traffic[index].requests
            bursts = (b for r in requests for b in split(r, scene.width, scene.burst_beats))
            beats = (address for address, _ in side.traffic[index].addresses(scene.width))
            found = list(beats if side is scene.read else (b.address for b in bursts))
            places[side.name][index] = found
        for _ in range(scene.scenario.get("errors", 2)):
            index = scene.random.choice(side.members)
            address = scene.random.choice(places[side.name][index])
            scene.errors[side.name][address] = scene.random.choice([2, 3])
        side.start()
    failing = {
        side.name: {
            k for k in side.members if scene.errors[side.name].keys() & places[side.name][k]
        }
        for side in scene.sides
    }
    waiting = list(scene.sides)
    seen: dict[str, int] = {}
    for _ in range(TIME_OUT):
        await edge
        for side in list(waiting):
            if side.signal("error").value == 1:
                waiting.remove(side)
                seen[side.name] = len(_bursts(memory, side))
                _check_error(scene, side, memory)
        settled = all(memory.quiet_for(side.name) > 100 for side in scene.sides)
        if not waiting and settled:
            break
    else:
        scene.fault(f"no error of {[side.name for side in waiting]}, or no rest")
    for side in (side for side in scene.sides if side.name in seen):
        first, _ = memory.record.errors[side.name][0]
        later = [id for _, id, _, _ in _bursts(memory, side)[seen[side.name] :]].count(first)
        if later > 3:  # one at its output, two in the arbiter
            scene.fault(f"{side.name} {first} issued {later} bursts after its error")
    _check_failed_reads(scene, failing["read"], places["read"])
    _check_failed_writes(scene, memory, before, failing["write"])
    await _break_off(scene, memory, scene.sides)
    for table in scene.errors.values():
        table.clear()
    await traffic_again(scene)


def _check_error(scene: Scene, side: Side, memory: AxiMemory) -> None:
    """The error that has just come is the bus's first."""
    got = int(side.signal("error_address").value)
    _, want = memory.record.errors[side.name][0]
    if got != want:
        scene.fault(f"{side.name} reports an error at {got:#x}, it was at {want:#x}")


def _check_failed_reads(scene: Scene, failing: set[int], places: dict[int, list[int]]) -> None:
    """A failing reader delivers all beats before the failing one and no other."""
    scene.read.check(complete=False)
    for index, board in scene.read.boards.items():
        bad = (n for n, address in enumerate(places[index]) if address in scene.errors["read"])
        want = next(bad, len(places[index]))
        if board.checked != want:
            scene.fault(f"reader {index} delivered {board.checked} beats, expected {want}")
        if (index in failing) != (want < len(places[index])):
            scene.fault(f"reader {index} was to fail")


def _check_failed_writes(
    scene: Scene, memory: AxiMemory, before: Storage, failing: set[int]
) -> None:
    """All bursts that were issued are written, but for those that failed."""
    expected = before.copy()
    for index, item in scene.write.traffic.items():
        issued = [(a, n) for _, id, a, n in memory.record.aw if id == index]
        bursts = [b for r in item.requests for b in split(r, scene.width, scene.burst_beats)]
        if issued != [(b.address, b.beats) for b in bursts[: len(issued)]]:
            scene.fault(f"writer {index} issued other bursts than those requested")
        if index not in failing and len(issued) < len(bursts):
            scene.fault(f"writer {index} did not finish though it did not fail")
        data = iter(item.data)
        for burst in bursts[: len(issued)]:
            for number in range(burst.beats):
                value, strobe = next(data)
                if burst.address not in scene.errors["write"]:
                    expected.put(burst.address + number * scene.width, value, strobe)
    scene.check_memory(expected)


async def traffic_again(scene: Scene) -> None:
    """Ordinary traffic after something else."""
    assert scene.memory is not None
    scene.memory.record.ar.clear()
    scene.memory.record.aw.clear()
    await traffic(scene)


KINDS = {"traffic": traffic, "stop": stop, "error": error}


def _summary(scene: Scene) -> dict[str, Any]:
    """What the test outside asserts on: how many transfers in how many cycles."""

    def span(cycles: list[int]) -> list[int]:
        return [len(cycles), cycles[-1] - cycles[0] + 1 if cycles else 0]

    found: dict[str, Any] = {"faults": scene.faults[:20]}
    found["read_data"] = {k: span(m.transfers) for k, m in scene.read.monitors.items()}
    found["write_data"] = {k: span(d[1].transfers) for k, d in scene.write.drivers.items()}
    if scene.memory is not None:
        record = scene.memory.record
        found["ar"] = span([entry[0] for entry in record.ar])
        found["aw"] = span([entry[0] for entry in record.aw])
        found["w"] = span(record.w)
        found["r"] = span([entry[0] for entry in record.r])
        found["overtakes"] = record.overtakes
        found["errors"] = {side: len(rows) for side, rows in record.errors.items()}
        found["most"] = record.most
    return found


def _prepare_ram(ram: Any, scene: Scene) -> None:
    """The content that readers expect, and this scenario's pauses."""
    for index in scene.read.members:
        start = scene.base("read", index)
        words = (scene.initial(start + n) for n in range(0, REGION, scene.width))
        ram.write(start, b"".join(word.to_bytes(scene.width, "little") for word in words))
    for index in scene.write.members:
        start = scene.base("write", index)
        words = (scene.initial(start + n) for n in range(0, REGION, scene.width))
        ram.write(start, b"".join(word.to_bytes(scene.width, "little") for word in words))
    write, read = ram.write_if, ram.read_if
    channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
    for number, channel in enumerate(channels):
        pauses = random_pauses(f"{scene.seed} {number}", scene.scenario.get("stall", 0.0))
        channel.set_pause_generator(pauses)


@cocotb.test()
async def run_scenarios(dut: Any) -> None:
    """Run the scenarios of the settings and write a summary of each."""
    directory = settings_directory()
    settings = json.loads((directory / "settings.json").read_text())
    ram = axi_ram(dut, "m0_axi", size=RAM_BYTES, reset=dut.rst) if settings["ram"] else None
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    results = []
    for scenario in settings["scenarios"]:
        scene = Scene(dut, settings, scenario, ram)
        if ram is not None:
            _prepare_ram(ram, scene)
        await scene.reset()
        await KINDS[scenario["kind"]](scene)
        scene.end()
        results.append(_summary(scene))
    (directory / "result.json").write_text(json.dumps(results))
