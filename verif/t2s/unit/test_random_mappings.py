"""Random mappings as hardware: random jobs against the model, for any behaviour of memory."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import by_size, slow_but

from ..random_mappings import KERNELS
from .drawn import DrawnConfig, drawn
from .jobs import check_case, largest_case_bytes, random_case

pytestmark = pytest.mark.long

_JOBS = 6
_TIME_OUT = 1_000_000


@pytest.mark.parametrize("kernel", slow_but([], sorted(KERNELS), ["gemm", "mttkrp", "ttmc"]))
def test_random_mappings(kernel: str) -> None:
    _run(kernel, drawn(kernel, by_size(1, 1, 17), format="int8"))


@pytest.mark.long
@pytest.mark.parametrize("format", ["int8", "fp16"])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_initial_values_and_functions_of_words(kernel: str, format: str) -> None:
    configs = drawn(kernel, 6, format=format, words=True)
    programs = [one.plan.program for one in configs]
    assert any(one.start for one in programs)
    assert any(tensor.functions for one in programs for tensor in one.tensors)
    _run(kernel, configs)


def _run(kernel: str, configs: list[DrawnConfig]) -> None:
    rng = np.random.default_rng(7)
    for config in configs:
        size = max(1 << 14, 2 * largest_case_bytes(config, 2))
        with NativeAccelerator(
            emit(T2S, config), config, memory_bytes=size, time_out=_TIME_OUT
        ) as device:
            for number in range(_JOBS):
                device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
                try:
                    check_case(device, random_case(rng, config, size))
                except Exception as error:
                    raise AssertionError(f"{kernel}, seed {config.seed}: {error}") from error
