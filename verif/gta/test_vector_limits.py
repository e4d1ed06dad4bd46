"""Commands on vectors at their limits, and one step beyond: the RTL refuses what the model does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_commands import FIELDS, KINDS, command_bytes
from tilewright.hw.spec.jobs.gta_vector import VECTOR_FUNCTIONS, functions_of
from tilewright.sim.gta.model import GtaModel, first_fault
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.gta.devices import DEVICES, MEMORY_BYTES
from tilewright.verif.gta.lists import ListCase, check, random_vectors, refilling_case
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long

Pair = tuple[NativeAccelerator[GtaConfig], GtaModel]
STEPS = {"time": 1, "chain": 1, "left_base": 1, "top_base": 1, "result_base": 2, "amount": 1}


@pytest.fixture(
    scope="module", params=slow_but(["tiny"], ["tiny", "all", "plain_sums", "plain_one"], ["all"])
)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    built = DEVICES[request.param]
    with NativeAccelerator(
        emit(built.unit, built.config), built.config, memory_bytes=MEMORY_BYTES, time_out=400_000
    ) as device:
        yield device, built.model(built.config, MEMORY_BYTES)


def fault(config: GtaConfig, fields: dict[str, int]) -> str | None:
    content = command_bytes("execute", fields)
    return first_fault(config, (0,) * config.lanes, 0, content, dict.fromkeys(KINDS, 0))


def largest(config: GtaConfig, fields: dict[str, int], name: str) -> int:
    """The largest value of a field with which the command holds."""
    step = STEPS[name]
    low, high = fields[name] // step, (1 << min(18, FIELDS["execute"][name][1])) // step - 1
    while low < high:
        middle = (low + high + 1) // 2
        holds = fault(config, {**fields, name: middle * step}) is None
        low, high = (middle, high) if holds else (low, middle - 1)
    return low * step


def run(pair: Pair, case: ListCase, fields: dict[str, int]) -> str:
    return check(*pair, case.with_list(("execute", fields))).error


def test_limits(pair: Pair) -> None:
    """Each field is as large as can be, and then larger."""
    device, model = pair
    config, rng = device.config, np.random.default_rng(1)
    seen: Counter[str] = Counter()
    for _ in range(by_size(12, 25, 1000)):
        case = refilling_case(rng, config, MEMORY_BYTES)
        assert check(device, model, case).error == "none"
        fields = random_vectors(rng, config, 0) | {"left_base": 0, "top_base": 0, "result_base": 0}
        fields |= {"time": 1, "chain": 1}
        if fault(config, fields) is not None:
            # Sums of no length fit the elements of some configurations.
            assert fault(config, fields) == "command_sum"
            continue
        for name in rng.permutation(list(STEPS))[: by_size(2, 3, 4)].tolist():
            fields[name] = largest(config, fields, name)
            beyond = {**fields, name: fields[name] + STEPS[name]}
            if beyond[name] < 1 << FIELDS["execute"][name][1]:
                seen[run(pair, case, beyond)] += 1
        assert run(pair, case, fields) == "none"
    assert seen["command_memory"] > 5
    assert set(seen) <= {"command_memory", "command_size", "command_sum"}


def test_functions_and_formats(pair: Pair) -> None:
    """All that have a number, and more; fields of products of matrices mean nothing."""
    device, model = pair
    config, rng = device.config, np.random.default_rng(2)
    case = refilling_case(rng, config, MEMORY_BYTES)
    assert check(device, model, case).error == "none"
    usable = (*config.integers, *config.floats)
    numbers = [(f, n) for f in range(len(FORMATS_OF_GTA) + 1) for n in range(20)]
    chosen = rng.permutation(numbers)[: by_size(40, 90, 180)].tolist()
    others = {"rows_last": 9999, "row_folds": 0, "left_stride": 0xFFFF, "result_stride": 3}
    for format, number in chosen:
        fields = random_vectors(rng, config, 0) | others
        fields |= {"format": format, "function": number, "time": 1, "chain": 1}
        fields |= {"left_base": 0, "top_base": 0, "result_base": 0}
        name = FORMATS_OF_GTA[format] if format < len(FORMATS_OF_GTA) else ""
        known = tuple(VECTOR_FUNCTIONS)[number : number + 1]
        there = name in usable and bool(known) and known[0] in functions_of(name)
        found = run(pair, case, fields)
        assert (found == "command_format") == (not there)
        assert found in ("none", "command_format", "command_sum")
