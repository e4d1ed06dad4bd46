"""Random products on any device with Tensaurus' RTL, compared with the model of the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.numbers.values import decode
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.driver import TensorDriver
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.work import STORES, Cut, Work, most_slices
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd
from tilewright.verif.kit.sampling import draw_until
from tilewright.verif.tensaurus.model.cases import kernels, patterns

Patterns = npt.NDArray[np.uint64]
TensorRtl = JobRtl[TensaurusConfig]
"""Device that runs the jobs."""

_COUNTED = ("products", "operations", "drains", "bytes_written", "bytes_output")
"""Counters that do not depend on time."""


@dataclass(frozen=True)
class TensorCase:
    """A product and the tiles that it is cut into; ``tensor``: of a dense one all patterns."""

    work: Work
    cut: Cut
    tensor: Tensor | Patterns
    operands: Mapping[int, Patterns]


def fitting(config: TensaurusConfig) -> list[Kernel]:
    """Kernels of a device, with few and many vectors, as many as it has room for."""

    def fits(kernel: Kernel) -> bool:
        try:
            kernel.check(config)
        except ValueError:
            return False
        return True

    return [kernel for kernel in kernels(config) if fits(kernel)]


def random_case(
    rng: np.random.Generator,
    config: TensaurusConfig,
    *,
    kernel: Kernel | None = None,
    dense: bool | None = None,
    store: str | None = "buffer",
    most: int = 12,
    values: int = 200,
) -> TensorCase:
    """Draws a product with any patterns, in tiles of any size that fit.

    Parameters
    ----------
    kernel: any, if None
    dense: either, if None
    store: either that the kernel can have, if None
    most: the longest mode of a tensor of order 3; a matrix has more, one of order 4 fewer
    values: of a sparse tensor at most
    """
    found = fitting(config)
    one = kernel or found[int(rng.integers(len(found)))]
    all_there = bool(rng.integers(2)) if dense is None else dense
    longest = {2: 3 * most, 3: most, 4: most // 2}[one.order]
    shape = tuple(int(n) for n in rng.integers(1, longest + 1, one.order))
    ranks = []
    for mode in range(1, one.order):
        columns = one.row_values(config, mode)
        # One group, a full one or not, or more.
        ranks.append(int(rng.integers(1, 2 * columns + 1)) if one.name != "mv" else 1)
    if one.name == "mttkrp":
        ranks = ranks[:1] * len(ranks)
    work = Work(kernel=one.name, shape=shape, ranks=tuple(ranks), dense=all_there)
    operands = {
        mode: patterns(rng, (shape[mode], ranks[mode - 1]), config.format)
        for mode in range(1, one.order)
    }
    tensor: Tensor | Patterns
    if all_there:
        tensor = patterns(rng, shape, config.format)
    else:
        tensor = _sparse(rng, config, shape, values)
    if store is None:
        store = "buffer" if one.name == "mv" else STORES[int(rng.integers(2))]
    return TensorCase(work, _any_cut(rng, config, one, shape, store), tensor, operands)


def _sparse(
    rng: np.random.Generator, config: TensaurusConfig, shape: tuple[int, ...], most: int
) -> Tensor:
    """Draws a tensor with distinct places, often many in one fiber."""
    cells = int(np.prod(shape))
    count = int(rng.integers(1, min(cells, most) + 1))
    places = rng.choice(cells, count, replace=False)
    indices = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
    values = decode(patterns(rng, (count,), config.format), config.format)
    return Tensor(shape=shape, indices=indices, values=values)


def _any_cut(
    rng: np.random.Generator,
    config: TensaurusConfig,
    kernel: Kernel,
    shape: tuple[int, ...],
    store: str,
) -> Cut:
    slices = most_slices(config, kernel, store)

    def draw() -> Cut | None:
        steps = [int(rng.integers(1, min(shape[0], slices) + 1))]
        steps += [int(rng.integers(1, size + 1)) for size in shape[1:]]
        loops = tuple(int(mode) for mode in rng.permutation(np.arange(1, kernel.order)))
        cut = Cut(kernel=kernel, steps=tuple(steps), loops=loops, store=store)
        try:
            cut.check(config)
        except ValueError:
            return None
        # Not too many tiles.
        tiles = np.prod([-(-size // step) for size, step in zip(shape, steps, strict=True)])
        return cut if tiles <= 12 else None

    return draw_until(draw)


def run_case(driver: TensorDriver, case: TensorCase) -> Patterns:
    """The result on a device."""
    if isinstance(case.tensor, Tensor):
        return driver.sparse(case.work, case.cut, case.tensor, case.operands)
    return driver.dense(case.work, case.cut, case.tensor, case.operands)


def fill(rng: np.random.Generator, device: TensorRtl, model: TensaurusModel) -> None:
    """The same random bytes in both memories."""
    content = rng.bytes(device.memory_bytes)
    device.write_memory(0, content)
    model.write_memory(0, content)


def check_case(
    rng: np.random.Generator, device: TensorRtl, case: TensorCase
) -> tuple[dict[str, int], int]:
    """Runs a product on the RTL and on the model. Results, all of memory and the counters must be
    the same, the counted bytes those that moved over the bus, and the bus quiet at the end.

    Returns the counters, and the number of tiles. Raises Mismatch.
    """
    model = TensaurusModel(device.config, device.memory_bytes)
    fill(rng, device, model)
    hardware, software = TensorDriver(QuietAtEnd(device)), TensorDriver(model)
    expected = run_case(software, case)
    before = device.moved
    try:
        found = run_case(hardware, case)
    except JobError as error:
        raise Mismatch(f"{case.work}, {case.cut}: {error}") from None
    wrong = np.argwhere(found != expected)
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise Mismatch(
            f"{case.work}, {case.cut}: {len(wrong)} of {found.size} values are wrong, first "
            f"{place}: {found[place]:#x}, expected {expected[place]:#x}"
        )
    content = np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)
    different = np.flatnonzero(content != model.memory)
    if len(different):
        raise Mismatch(f"{case.work}: {len(different)} bytes differ, first {different[0]:#x}")
    counts = hardware.counts
    for name in _COUNTED if software.counts else ():
        if counts[name] != software.counts[name]:
            raise Mismatch(
                f"{case.work}: {name} is {counts[name]}, expected {software.counts[name]}"
            )
    if software.counts:
        moved = np.subtract(device.moved, before).sum(axis=0).tolist()
        if moved != [counts["bytes_read"], counts["bytes_written"]]:
            raise Mismatch(f"{case.work}: over the bus went {moved}, counters: {counts}")
    return counts, hardware.tiles
