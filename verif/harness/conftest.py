"""A mover that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.harness.mover import MEMORY_BYTES, mover


@pytest.fixture(scope="module")
def shared() -> Iterator[NativeAccelerator[None]]:
    """Device that a file's tests share; each test finds the state that the previous one left."""
    with NativeAccelerator(
        mover(), None, memory_bytes=MEMORY_BYTES, register_time_out=2000
    ) as device:
        yield device


@pytest.fixture
def device(shared: NativeAccelerator[None]) -> NativeAccelerator[None]:
    """Resets the device and gives it an ideal memory of zeros."""
    shared.memory[:] = 0
    shared.reset()
    shared.behave(AxiBehaviour())
    return shared
