"""The cocotb tests of ``AxiParts``: scenarios from the settings, one after the other.

A scenario is a dictionary. ``kind``: "traffic" (all requests are carried out), "stop" (broken off
at random moments, ``rounds`` times, each time usable again), "error" (bad responses). ``seed``.
``requests`` of each reader and writer and the ``longest``, or ``lists`` of requests by side
as (beats behind the region's start, beats); ``readers``, ``writers`` that take part. ``gap``,
``pause``: shares of the cycles in which what is sent and what is taken pauses. Of our own memory
``latency``, ``stall`` and ``mixed``, as in ``Behaviour``, and ``modes``, as in ``Scene``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cocotb
from tilewright.verif.axi.parts_scene import REGION, PartsScene, Side, split
from tilewright.verif.bench.axi_memory import AxiMemory, Storage
from tilewright.verif.bench.axi_vip import axi_ram, random_pauses
from tilewright.verif.bench.scene import run_scenarios, span

RAM_BYTES = 1 << 20


async def traffic(scene: PartsScene) -> None:
    """Checks that all requests are complete, and that the bursts are the expected ones."""
    scene.draw()
    expected = scene.storage.copy()
    for side in scene.sides:
        side.start()
    for item in scene.write.traffic.values():
        item.apply(expected)
    await scene.finished(*scene.sides)
    scene.read.check()
    memory = scene.port
    if memory is None:
        for address in expected.written():
            scene.storage.load(address, scene.ram.read(address, scene.width))
    else:
        scene.read.check_bursts(memory.record.ar)
        scene.write.check_bursts(memory.record.aw)
    scene.check_memory(expected)


async def stop(scene: PartsScene) -> None:
    """Broken off anywhere, a side becomes idle with the bus clean, and works again afterwards."""
    memory = scene.port
    assert memory is not None
    for _ in range(scene.scenario["rounds"]):
        scene.draw()
        before = scene.storage.copy()
        for side in scene.sides:
            side.start()
        for _ in range(scene.random.randint(1, scene.scenario.get("latest", 120))):
            await scene.edge
        stopped = scene.random.choice([(scene.read,), (scene.write,), scene.sides])
        await _break_off(scene, memory, stopped)
        going_on = [side for side in scene.sides if side not in stopped]
        await scene.finished(*going_on)
        scene.read.check(complete=scene.read in going_on)
        _check_partial(scene, before, complete=scene.write in going_on)
    await traffic_again(scene)


async def _break_off(scene: PartsScene, memory: AxiMemory, sides: tuple[Side, ...]) -> None:
    """Stop some sides, by a pulse or until they are idle."""
    seen = {side.name: len(_bursts(memory, side)) for side in sides}
    for side in sides:
        side.cancel()
        side.signal("stop").value = 1
    outputs = [side.stream("data", k)["valid"] for side in sides for k in side.members]
    await scene.edge
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


def _check_partial(scene: PartsScene, before: Storage, *, complete: bool) -> None:
    """Checks that memory changed only as requested, and completely if ``complete``."""
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


async def error(scene: PartsScene) -> None:
    """A bad response is reported with its address, its data never passed on; then all is well."""
    memory = scene.port
    assert memory is not None
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
    for _ in range(scene.time_out):
        await scene.edge
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


def _check_error(scene: PartsScene, side: Side, memory: AxiMemory) -> None:
    """Checks that the reported error is the first one on the bus."""
    got = int(side.signal("error_address").value)
    _, want = memory.record.errors[side.name][0]
    if got != want:
        scene.fault(f"{side.name} reports an error at {got:#x}, it was at {want:#x}")


def _check_failed_reads(scene: PartsScene, failing: set[int], places: dict[int, list[int]]) -> None:
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
    scene: PartsScene, memory: AxiMemory, before: Storage, failing: set[int]
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


async def traffic_again(scene: PartsScene) -> None:
    """Ordinary traffic after something else."""
    assert scene.port is not None
    scene.port.record.ar.clear()
    scene.port.record.aw.clear()
    await traffic(scene)


KINDS = {"traffic": traffic, "stop": stop, "error": error}


async def play(scene: PartsScene) -> dict[str, Any]:
    """Play a scenario; how many transfers there were in how many cycles."""
    if scene.ram is not None:
        _prepare_ram(scene.ram, scene)
    await KINDS[scene.scenario["kind"]](scene)
    found: dict[str, Any] = {
        "read_data": {k: span(m.transfers) for k, m in scene.read.monitors.items()},
        "write_data": {k: span(d[1].transfers) for k, d in scene.write.drivers.items()},
    }
    if scene.port is not None:
        record = scene.port.record
        found["ar"] = span([entry[0] for entry in record.ar])
        found["aw"] = span([entry[0] for entry in record.aw])
        found["w"] = span(record.w)
        found["r"] = span([entry[0] for entry in record.r])
        found["overtakes"] = record.overtakes
        found["errors"] = {side: len(rows) for side, rows in record.errors.items()}
        found["most"] = record.most
    return found


def _prepare_ram(ram: Any, scene: PartsScene) -> None:
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
async def scenarios(dut: Any) -> None:
    rams: list[Any] = []

    def scene_of(settings: Mapping[str, Any], scenario: Mapping[str, Any]) -> PartsScene:
        if settings["ram"] and not rams:
            rams.append(axi_ram(dut, "m0_axi", size=RAM_BYTES, reset=dut.rst))
        return PartsScene(dut, settings, scenario, rams[0] if rams else None)

    await run_scenarios(dut, scene_of, play)
