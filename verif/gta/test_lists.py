"""Lists of commands on the RTL at native speed: any order, any memory, errors and resets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.jobs.gta import FAULTS
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.gta.devices import DEVICES, MEMORY_BYTES
from tilewright.verif.gta.lists import ListCase, check, random_case, refilling_case
from tilewright.verif.gta.wrong_lists import spoilt_case
from tilewright.verif.kit.behaviours import any_behaviour
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


def test_masks_of_any_lanes(pair: Pair) -> None:
    """Draws any masks: either every one is a rectangle, or the error names the first torn lane."""
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


def begin_anew(rng: np.random.Generator, device: Device, model: GtaModel) -> None:
    """Runs good jobs after one that was aborted."""
    assert check(device, model, refilling_case(rng, device.config, MEMORY_BYTES)).error == "none"
    assert check(device, model, good_case(rng, device)).error == "none"
