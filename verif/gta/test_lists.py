"""Lists of commands on the RTL at native speed: any order, any memory, errors and resets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.jobs.gta import FAULTS, beat_bytes, burst_beats, job_spec
from tilewright.hw.spec.jobs.gta_commands import COMMAND_BYTES
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.gta.devices import DEVICES, MEMORY_BYTES
from tilewright.verif.gta.lists import ListCase, check, random_case, refilling_case
from tilewright.verif.gta.wrong_lists import spoilt_case
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.broken_rules import wrong_values
from tilewright.verif.kit.job_checks import (
    QuietAtEnd,
    check_interrupt,
    register_answers,
    soft_reset_after,
    started_twice,
)
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

Device = NativeAccelerator[GtaConfig]
Pair = tuple[Device, GtaModel]


@pytest.fixture(scope="module", params=slow_but(["tiny"], DEVICES, ["all"]))
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    built = DEVICES[request.param]
    made = emit(built.unit, built.config)
    with NativeAccelerator(
        made, built.config, memory_bytes=MEMORY_BYTES, time_out=400_000
    ) as device:
        yield device, built.model(built.config, MEMORY_BYTES)


def good_case(rng: np.random.Generator, device: Device) -> ListCase:
    return random_case(rng, device.config, MEMORY_BYTES)


def storing_case(rng: np.random.Generator, device: Device) -> ListCase:
    """A list that reads rows and writes some."""
    while True:
        case = good_case(rng, device)
        if {"load", "store"} <= {kind for kind, _ in case.commands}:
            return case


def test_any_list_on_any_memory(pair: Pair) -> None:
    device, model = pair
    rng = rng_of(1)
    seen: Counter[str] = Counter()
    for number in range(by_size(60, 70, 3000)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        seen.update(kind for kind, _ in good_case(rng, device).commands)
        assert check(device, model, good_case(rng, device)).error == "none"
    assert min(seen.values()) > 20
    assert device.faults == []


def test_commands_that_are_wrong(pair: Pair) -> None:
    """A field, or a bit, is another one: the error is the model's, and a good job works after."""
    device, model = pair
    rng, wrong = rng_of(2), rng_of(1)
    seen: Counter[str] = Counter()
    for number in range(by_size(60, 80, 20000)):
        if not number % 20:
            device.behave(any_behaviour(rng))
        error = check(device, model, spoilt_case(wrong, device.config, MEMORY_BYTES)).error
        seen[error] += 1
        if error != "none":
            begin_anew(rng, device, model)
    print(seen)
    if len(device.config.formats) == 8 and device.config.lanes > 1:
        missing = set(FAULTS) - {"command_sum"} - set(seen)
        assert missing <= ({"command_range"} if device.config.addr_bits == 64 else set())
    assert ("command_sum" in seen) <= (device.config.most_products <= device.config.edge_bytes)
    assert seen["none"]


def test_registers_that_are_wrong(pair: Pair) -> None:
    """Every rule that a register can break."""
    device, model = pair
    rng = rng_of(3)
    device.behave(AxiBehaviour())
    case, spec = good_case(rng, device), job_spec(device.config)
    found = wrong_values(spec, case.registers)
    assert len(found) == 4 + (device.config.addr_bits < 64)
    for rule, value in found.items():
        ends = []
        for one in (QuietAtEnd(device), model):
            one.write_memory(0, case.memory.tobytes())
            registers = JobRegisters(one, spec)
            ends.append(registers.submit({**case.registers, rule.register: value}))
            assert one.read_memory(0, MEMORY_BYTES) == case.memory.tobytes()
        assert ends[0] == ends[1]
        assert (ends[0].error, ends[0].where) == (rule.error, rule.register)
    assert check(device, model, case).error == "none"


def test_masks_of_any_lanes(pair: Pair) -> None:
    """Any masks at all: either every one is a rectangle, or the first torn lane is named."""
    device, model = pair
    rng = rng_of(4)
    device.behave(AxiBehaviour())
    lanes, seen = device.config.lanes, set()
    for _ in range(by_size(20, 30, 1000)):
        case = good_case(rng, device)
        masks = tuple(rng.integers(2, size=lanes).tolist())
        layout = int(rng.integers(lanes.bit_length()))
        seen.add(check(device, model, replace(case, masks=masks, layout=layout).with_list()).error)
    assert seen <= {"masks", "zero_size"}
    cases = [replace(good_case(rng, device), masks=(0,) * lanes, layout=0)]
    if lanes > 2:
        cases.append(replace(cases[0], masks=(0, 1) + (0,) * (lanes - 2)))
    for case in cases:
        loads = [command for command in case.commands if command[0] == "load"]
        again = [(kind, {**fields, "executes": 0, "stores": 0}) for kind, fields in loads]
        if again:
            torn = any(case.masks) and lanes > 2
            assert (check(device, model, case.with_list(*again)).error == "masks") == torn


@pytest.mark.parametrize("side", ["read", "write"])
def test_bus_errors(pair: Pair, side: str) -> None:
    """Of a beat of the list or of rows, or of a burst of results; then a good job."""
    device, model = pair
    rng = rng_of(5)
    beat = beat_bytes(device.config)
    for number in range(by_size(6, 9, 400)):
        case = storing_case(rng, device)
        kind = "load" if side == "read" else "store"
        chosen = [fields for name, fields in case.commands if name == kind]
        fields = chosen[int(rng.integers(len(chosen)))]
        row = fields["base"] + int(rng.integers(fields["rows"])) * fields["stride"]
        first = row // beat * beat
        if side == "read" and not number % 3:
            first = int(rng.integers(len(case.commands) * COMMAND_BYTES)) // beat * beat
        device.behave(any_behaviour(rng, **{f"{side}_errors": {first: 2}}))
        device.write_memory(0, case.memory.tobytes())
        status = JobRegisters(QuietAtEnd(device), job_spec(case.config)).submit(case.registers)
        assert status.error == f"bus_{side}"
        burst = burst_beats(device.config) * beat if side == "write" else beat
        assert 0 <= first - status.detail < burst
        left = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8)
        assert (left == case.memory)[~case.written()].all()
        device.behave(any_behaviour(rng))
        begin_anew(rng, device, model)
    assert device.faults == []


def begin_anew(rng: np.random.Generator, device: Device, model: GtaModel) -> None:
    """Good jobs behind one that was broken off."""
    assert check(device, model, refilling_case(rng, device.config, MEMORY_BYTES)).error == "none"
    assert check(device, model, good_case(rng, device)).error == "none"


def test_soft_reset_at_any_time(pair: Pair) -> None:
    device, model = pair
    rng = rng_of(6)
    registers = JobRegisters(device, job_spec(device.config))
    stopped, count = 0, by_size(20, 20, 1500)
    for _ in range(count):
        device.behave(any_behaviour(rng))
        case = good_case(rng, device)
        device.write_memory(0, case.memory.tobytes())
        registers.write_all(case.registers)
        stopped += soft_reset_after(device, registers, int(rng.integers(0, 600)))
        left = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8)
        assert (left == case.memory)[~case.written()].all()
        begin_anew(rng, device, model)
    assert stopped > count // 4
    assert device.faults == []


def test_soft_reset_in_every_cycle(pair: Pair) -> None:
    """Of a short job on a memory that answers at once."""
    device, model = pair
    rng = rng_of(7)
    device.behave(AxiBehaviour())
    registers = JobRegisters(device, job_spec(device.config))
    case = storing_case(rng, device)
    device.write_memory(0, case.memory.tobytes())
    cycles = np.arange(registers.submit(case.registers).counts["cycles"] + 4)
    for cycle in rng.permutation(cycles)[: by_size(40, 60, len(cycles))].tolist():
        soft_reset_after(device, registers, cycle)
        left = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8)
        assert (left == case.memory)[~case.written()].all()
        device.write_memory(0, case.memory.tobytes())
        registers.write_all(case.registers)
    begin_anew(rng, device, model)


def test_registers_and_interrupt(pair: Pair) -> None:
    device, _ = pair
    rng = rng_of(8)
    device.behave(AxiBehaviour(latency=(60, 60)))
    case, spec = storing_case(rng, device), job_spec(device.config)
    device.write_memory(0, case.memory.tobytes())
    answers = register_answers(device, spec.registers)
    assert answers[-4:] == ["refused"] * 4
    check_interrupt(device, spec, case.registers, 30_000)
    device.write_memory(0, case.memory.tobytes())
    started_twice(device, JobRegisters(device, spec), case.registers)


def test_the_answer_is_that_of_a_model_alone() -> None:
    """Models know all constants, and refuse what the hardware refuses."""
    built = DEVICES["plain"]
    model = built.model(built.config, MEMORY_BYTES)
    registers = JobRegisters(model, job_spec(built.config))
    word = registers.read("CONFIG0")
    assert registers.register("CONFIG0").get(word, "lanes") == built.config.lanes
    assert register_answers(model, job_spec(built.config).registers)[-1] == "refused"
