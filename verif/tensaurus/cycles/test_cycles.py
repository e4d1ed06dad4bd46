"""The cycle model of Tensaurus against the RTL: every counter is equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.tensaurus import READS, TENSAURUS, TensaurusConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.cycles.device import TensaurusCycles
from tilewright.sim.tensaurus.cycles.works import work_cycles
from tilewright.sim.tensaurus.driver import TensorDriver
from tilewright.sim.tensaurus.work import STORES
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.tensaurus.jobs import TensorCase, fitting, random_case, run_case
from tilewright.verif.tensaurus.model.cases import device as small
from tilewright.verif.tensaurus.model.cases import patterns

pytestmark = pytest.mark.slow

MEMORY_BYTES = 1 << 18
CONFIGS: dict[str, dict[str, Any]] = {
    "small": {},
    "three": {"rows": 3, "banks": 2, "order": 3, "channels": 3, "interleave": 128,
              "marker": "zero", "value": "fp16", "index_bits": 16},
    "four": {"rows": 4, "banks": 2, "cols": 1, "vlen": 3, "channels": 4, "window": 4,
             "row_queue": 2, "outstanding": 4},
    "min_plus": {"semiring": "minplus", "value": "int32", "order": 2, "cols": 1, "channels": 1},
    "int8": {"value": "int8", "cols": 2, "vlen": 4, "rows": 5, "order": 3, "olen": 8, "tlen": 8,
             "adder_stages": 1, "multiplier_stages": 1, "interleave": 256},
    # Units of two lines, and of a line of two blocks.
    "lines": {"value": "int32", "vlen": 8, "channels": 3, "order": 3, "outstanding": 8,
              "out_bytes": 8192},
    "wide": {"value": "bf16", "vlen": 13, "channels": 4, "data_bits": 256, "order": 3},
}  # fmt: skip
Device = NativeAccelerator[TensaurusConfig]


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["lines"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = small(**CONFIGS[request.param])
    with NativeAccelerator(
        emit(TENSAURUS, config), config, memory_bytes=MEMORY_BYTES, time_out=1_000_000
    ) as device:
        yield device


class _Noting(QuietAtEnd[TensaurusConfig]):
    """Notes the cycle of the interrupt."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._clock, self.end = device, 0

    def wait(self) -> None:
        super().wait()
        # The device does not count the first cycle without reset.
        self.end = self._clock.cycles + 1


def rtl_counts(device: Device, case: TensorCase, latency: int) -> tuple[dict[str, int], int]:
    """The counters behind a reset, and the cycles from that to the job's start."""
    device.reset()
    device.behave(AxiBehaviour(latency=(latency, latency)))
    noting = _Noting(device)
    driver = TensorDriver(noting)
    run_case(driver, case)
    return driver.counts, noting.end - driver.counts.get("cycles", 0)


def compare(device: Device, case: TensorCase, latency: int) -> dict[str, int]:
    """The counters, which must be equal."""
    counts, phase = rtl_counts(device, case, latency)
    memory = replace(FLAT, latency=latency)
    model = TensaurusCycles(device.config, MEMORY_BYTES, memory=memory, phase=phase)
    driver = TensorDriver(model)
    run_case(driver, case)
    assert driver.counts == counts, (case.work, case.cut)
    return counts


def test_all_counters_are_those_of_the_rtl(device: Device) -> None:
    """Products of every kernel, sparse and dense, in several tiles and groups, added up in the
    buffer and in memory."""
    rng = np.random.default_rng(1)
    kernels = fitting(device.config)
    kinds = sorted({(kernel.name, kernel.order) for kernel in kernels})
    for number in range(by_size(0, 3 * len(kinds), 50 * len(kinds))):
        name, order = kinds[number % len(kinds)]
        choices = [k for k in kernels if (k.name, k.order) == (name, order)]
        kernel = choices[int(rng.integers(len(choices)))]
        for dense, store in product((False, True), STORES[:1] if name == "mv" else STORES):
            case = random_case(rng, device.config, kernel=kernel, dense=dense, store=store)
            compare(device, case, int(rng.choice([1, 3, 20, 60])))


def test_slices_that_have_no_values(device: Device) -> None:
    """Behind the last one that has, or before the only one: what is written is as much."""
    rng = np.random.default_rng(4)
    config, took = device.config, []
    kernel = next(k for k in fitting(config) if (k.name, k.vectors) == ("mm", 1))
    slices = config.out_units
    for place in (0, slices - 1):
        case = random_case(rng, config, kernel=kernel, dense=False)
        tensor = Tensor(shape=(slices, 4), indices=np.array([[place, 2]]), values=np.array([3.0]))
        rank = config.unit_values
        work = replace(case.work, shape=tensor.shape, ranks=(rank,))
        operands = {1: patterns(rng, (4, rank), config.format)}
        cut = replace(case.cut, steps=tensor.shape)
        took.append(compare(device, TensorCase(work, cut, tensor, operands), 5)["cycles"])
    assert abs(took[1] - took[0]) < config.rows


@pytest.mark.parametrize("memory", [FLAT, HBM, HBM_32], ids=lambda memory: memory.name)
def test_a_work_is_the_job_of_its_driver(memory: MemoryModel) -> None:
    """The counts of a work are those of its driver's job, with values or without, and again on a
    second run."""
    rng = np.random.default_rng(2)
    config = small(rows=4, channels=4)
    for number in range(12):
        case = random_case(rng, config, dense=bool(number % 2), store=STORES[number // 2 % 2])
        model = TensaurusCycles(config, 1 << 20, memory=memory, gigahertz=1.5)
        run_case(TensorDriver(model), case)
        tensor = case.tensor if isinstance(case.tensor, Tensor) else None
        found = work_cycles(config, case.work, case.cut, tensor, memory=memory, gigahertz=1.5)
        if not found.tiles:
            assert not model.cycles
            assert not any(found.counts.values())
            continue
        (expected,) = model.cycles
        assert found == expected
        assert sum(found.memory_read) >= found.counts["bytes_read"]
        assert found.counts["bytes_read"] == sum(found.counts[f"bytes_{name}"] for name in READS)


def test_parts_that_do_not_fit() -> None:
    rng = np.random.default_rng(3)
    config = small()
    case = random_case(rng, config, dense=True)
    with pytest.raises(ValueError, match=r"^`tensor` must be None$"):
        work_cycles(config, case.work, case.cut, Tensor.__new__(Tensor))
    sparse = replace(case.work, dense=False)
    with pytest.raises(ValueError, match=r"^`tensor` must be there$"):
        work_cycles(config, sparse, case.cut, None)
