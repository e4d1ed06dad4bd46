"""The RTL of the default Tensaurus, 8 x 8 elements of four values, at native speed: a product of
each kernel as large as a tile, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.tensaurus import TENSAURUS, TensaurusConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.driver import plan_of
from tilewright.sim.tensaurus.work import Work
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import rng_of
from tilewright.verif.tensaurus.jobs import TensorCase, check_case
from tilewright.verif.tensaurus.model.cases import patterns

pytestmark = pytest.mark.long

CONFIG = TensaurusConfig()
MEMORY_BYTES = 1 << 22

SPARSE = {
    "mttkrp": (Work(kernel="mttkrp", shape=(300, 500, 500), ranks=(32, 32)), 20_000),
    "mttkrp, four vectors": (Work(kernel="mttkrp", shape=(60, 90, 100), ranks=(128, 128)), 5_000),
    "ttmc": (Work(kernel="ttmc", shape=(200, 300, 700), ranks=(4, 32)), 20_000),
    "mm": (Work(kernel="mm", shape=(500, 1000), ranks=(128,)), 30_000),
    "mv": (Work(kernel="mv", shape=(4000, 4000), ranks=(1,)), 60_000),
}
"""Each product, and the number of values of its tensor."""

DENSE = {
    "gemm": Work(kernel="mm", shape=(200, 300), ranks=(100,), dense=True),
    "mttkrp": Work(kernel="mttkrp", shape=(40, 50, 60), ranks=(33, 33), dense=True),
    "ttmc": Work(kernel="ttmc", shape=(40, 30, 50), ranks=(4, 32), dense=True),
    "gemv": Work(kernel="mv", shape=(300, 700), ranks=(1,), dense=True),
}

Device = NativeAccelerator[TensaurusConfig]


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with NativeAccelerator(
        emit(TENSAURUS, CONFIG), CONFIG, memory_bytes=MEMORY_BYTES, time_out=1_000_000
    ) as device:
        yield device


def sparse(rng: np.random.Generator, work: Work, count: int) -> TensorCase:
    """Values anywhere, in the tiles that the planner chooses."""
    places = np.sort(rng.choice(int(np.prod(work.shape)), count, replace=False))
    indices = np.stack(np.unravel_index(places, work.shape), axis=1).astype(np.int64)
    tensor = Tensor(shape=work.shape, indices=indices, values=rng.standard_normal(count))
    return TensorCase(work, plan_of(CONFIG, work, tensor).cut, tensor, operands(rng, work))


def operands(rng: np.random.Generator, work: Work) -> dict[int, np.ndarray]:
    return {
        mode: patterns(rng, (work.shape[mode], rank), CONFIG.format)
        for mode, rank in enumerate(work.ranks, 1)
    }


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("ideal", [True, False])
def test_sparse_products(device: Device, name: str, ideal: bool) -> None:
    """The memory answers at once, where most cycles have a product, or behaves in any other way."""
    rng = rng_of(1 + list(SPARSE).index(name))
    work, count = SPARSE[name]
    device.behave(AxiBehaviour() if ideal else any_behaviour(rng))
    counts, _ = check_case(rng, device, sparse(rng, work, count))
    vectors = -(-work.ranks[-1] // CONFIG.unit_values)
    assert counts["products"] >= count * vectors
    assert counts["cycles"] > counts["products"] / CONFIG.rows
    if ideal:
        assert counts["busy_cycles"] > counts["cycles"] / 2


@pytest.mark.parametrize("name", DENSE)
def test_dense_products(device: Device, name: str) -> None:
    """Rows, columns and slices have padding."""
    rng = rng_of(11 + list(DENSE).index(name))
    work = DENSE[name]
    device.behave(any_behaviour(rng))
    tensor = patterns(rng, work.shape, CONFIG.format)
    case = TensorCase(work, plan_of(CONFIG, work, tensor).cut, tensor, operands(rng, work))
    counts, _ = check_case(rng, device, case)
    assert counts["products"] >= np.prod(work.shape)


def test_many_tiles_with_sums_in_memory(device: Device) -> None:
    rng = rng_of(21)
    device.behave(any_behaviour(rng))
    case = sparse(rng, Work(kernel="mm", shape=(6000, 3000), ranks=(64,)), 6000)
    assert case.cut.store == "memory"
    counts, tiles = check_case(rng, device, case)
    assert tiles > 1
    assert counts["bytes_output"] > 0
