"""The converter's model against the RTL: every byte of memory, every counter, every error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES, job_spec
from tilewright.sim.c2sr_converter.model import ConverterModel
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.c2sr.jobs import ConverterCase, any_case, load, matrix_of, place, run
from tilewright.verif.kit.job_checks import wrong_values
from tilewright.verif.kit.sampling import cases, slow_but

pytestmark = pytest.mark.quick

MEMORY_BYTES = 1 << 18
# The first is that of the exercise over all accelerators, which is built anyhow.
CONFIGS: dict[str, dict[str, Any]] = {
    "two": {"channels": 2, "outstanding": 2, "value": "fp16", "index_bits": 16},
    "three": {"channels": 3, "data_bits": 64, "value": "bf16", "index_bits": 16,
              "interleave": 256, "outstanding": 2},
}  # fmt: skip

Converter = NativeAccelerator[C2srConverterConfig]


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["two"]))
def device(request: pytest.FixtureRequest) -> Iterator[Converter]:
    config = C2srConverterConfig(**CONFIGS[request.param])
    made = emit("c2sr_converter", config)
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES) as device:
        yield device


def compare(
    device: Converter,
    case: ConverterCase,
    memory: np.ndarray[Any, Any],
    overrides: dict[str, int] | None = None,
) -> str:
    """The same job on both, in the same memory; the name of its error."""
    model = ConverterModel(device.config, device.memory_bytes)
    model.memory[:] = memory
    ends = [run(one, case, overrides) for one in (device, model)]
    rtl, expected = ends
    assert (rtl.error, rtl.detail) == (expected.error, expected.detail)
    if rtl.error == "none":
        assert {**rtl.counts, "cycles": 0} == expected.counts
        assert np.array_equal(device.memory, model.memory)
    else:
        assert np.array_equal(model.memory, memory)
    return rtl.error


@pytest.mark.parametrize("direction", MODES)
def test_any_matrix(device: Converter, direction: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(cases(80)):
        case = any_case(rng, device.config, direction)
        assert compare(device, case, load(rng, device, case)) == "none"


@pytest.mark.parametrize("direction", MODES)
def test_errors(device: Converter, direction: str) -> None:
    """Finds each rule that a job can break, a region that is too small, pointers that do not
    ascend, and arrays that end after the memory."""
    rng = np.random.default_rng(2)
    config, rows = device.config, 40
    lengths = rng.integers(1, 9, rows).astype(np.int64)
    case = place(rng, config, direction, matrix_of(rng, config, lengths, 20))
    seen = set()
    for rule, value in wrong_values(job_spec(config), case.registers).items():
        overrides = {rule.register: value}
        seen.add(compare(device, case, load(rng, device, case), overrides))
    for capacity in (1, 7, 30):
        seen.add(compare(device, case, load(rng, device, case), {"CAPACITY": capacity}))
    if direction == "csr_to_c2sr":
        for row in (0, 5, rows - 1):
            memory = load(rng, device, case)
            # The end of the row is 0; of the first row the beginning is not.
            address = case.base["csr_pointers"] + POINTER_BYTES * (row + 1 if row else 0)
            memory[address : address + POINTER_BYTES] = 0 if row else 1
            device.write_memory(0, memory.tobytes())
            seen.add(compare(device, case, memory))
    known = {"zero_size", "size_limit", "misaligned_base", "address_range", "region", "unsorted"}
    assert seen == known - ({"unsorted"} if direction == "c2sr_to_csr" else set())


@pytest.mark.parametrize("direction", MODES)
def test_what_is_outside_of_the_memory(device: Converter, direction: str) -> None:
    rng = np.random.default_rng(3)
    matrix = matrix_of(rng, device.config, np.full(30, 3, np.int64), 20)
    case = place(rng, device.config, direction, matrix)
    source, target = ("C2SR", "CSR") if direction == "c2sr_to_csr" else ("CSR", "C2SR")
    first = "PAIRS" if source == "C2SR" else "POINTERS"
    outside = {f"{source}_{first}": "bus_read", f"{source}_ENTRIES": "bus_read"}
    outside[f"{target}_ENTRIES"] = "bus_write"
    stripe = device.config.layout.stripe_bytes
    behind = -(-MEMORY_BYTES // stripe) * stripe
    for register, error in outside.items():
        memory = load(rng, device, case)
        model = ConverterModel(device.config, MEMORY_BYTES)
        model.memory[:] = memory
        rtl, expected = (run(one, case, {register: behind}) for one in (device, model))
        assert (rtl.error, expected.error, expected.detail) == (error, error, MEMORY_BYTES)
        assert rtl.detail >= MEMORY_BYTES
        assert np.array_equal(model.memory, memory)
