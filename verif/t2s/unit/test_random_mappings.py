"""Random mappings as hardware: random jobs beside the model, whatever the memory does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.config import Flag, IntRange, OneOf, parameter
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.hw.spec.t2s.parts import Design
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import by_size

from ..random_mappings import KERNELS, random_mapping
from .jobs import check_case, largest_case_bytes, random_case

_JOBS = 6
_TIME_OUT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class DrawnConfig(T2sConfig):
    """An array of a mapping that is drawn. Raises ValueError for one that has no hardware."""

    kernel: str = parameter("gemm", allowed=OneOf(tuple(KERNELS)), doc="what is mapped")
    seed: int = parameter(0, allowed=IntRange(0, 1 << 30), doc="of the mapping")
    words: bool = parameter(False, allowed=Flag(), doc="initial values, functions of words")

    @cached_property
    def plan(self) -> Design:
        rng = np.random.default_rng([self.seed, *self.kernel.encode()])
        words = np.random.default_rng(self.seed) if self.words else None
        return lowered(random_mapping(self.kernel, rng, words), self)


def _drawn(kernel: str, count: int, **settings: Any) -> list[DrawnConfig]:
    """Mappings that have hardware."""
    found: list[DrawnConfig] = []
    for seed in range(40 * count):
        if len(found) == count:
            break
        try:
            found.append(
                DrawnConfig(kernel=kernel, seed=seed, trip_bits=6, outstanding=2, **settings)
            )
        except (MappingError, ValueError):
            continue  # Not all that is drawn is legal, or has hardware.
    assert len(found) == count
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_random_mappings(kernel: str) -> None:
    _run(kernel, _drawn(kernel, by_size(1, 1, 17), format="int8"))


@pytest.mark.long
@pytest.mark.parametrize("format", ["int8", "fp16"])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_initial_values_and_functions_of_words(kernel: str, format: str) -> None:
    drawn = _drawn(kernel, 6, format=format, words=True)
    programs = [one.plan.program for one in drawn]
    assert any(one.start for one in programs)
    assert any(tensor.functions for one in programs for tensor in one.tensors)
    _run(kernel, drawn)


def _run(kernel: str, drawn: list[DrawnConfig]) -> None:
    rng = np.random.default_rng(7)
    for config in drawn:
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
