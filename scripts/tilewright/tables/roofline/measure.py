"""Points of the roofline, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...hw.spec.tensaurus import TensaurusConfig
from ...sim.sparse.tensor import Tensor
from ...sim.tensaurus.cycles.machine import TensorCycles
from ...sim.tensaurus.cycles.works import work_cycles
from ...sim.tensaurus.driver import plan_of
from ...sim.tensaurus.work import Work
from ...sim.timing.dram import FLAT, HBM, MemoryModel
from .host import host_seconds
from .inputs import Source, works
from .point import Point, compulsory_bytes, operations_wanted, roof_of

__all__ = ["GIGAHERTZ", "Setting", "may_have", "measure"]

GIGAHERTZ = 1.0
"""The clock: eight ports of 128 bits then carry what eight channels of HBM have. The paper's is
2 GHz, of which its elements use every other cycle."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Setting of the measurement, and its references.

    Parameters
    ----------
    config: of the accelerator, its ``order`` aside, which is that of the tensor
    memory: the one with banks
    flat: whether one without is measured, too
    host: whether SciPy computes the same
    """

    config: TensaurusConfig
    memory: MemoryModel = HBM
    flat: bool = True
    host: bool = True


def may_have(source: Source, only: str) -> bool:
    """Tells whether ``only`` may select products of a tensor: a group, or a part of the name of a
    product, "nell-2, mode 1, mttkrp"."""
    within = only == source.group or only in source.name
    return within or only.startswith(f"{source.name}, mode")


def measure(
    source: Source,
    setting: Setting,
    said: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
) -> Iterator[Point]:
    """The products of a tensor that are meant, see :func:`may_have`."""
    said(f"{source.name}: {source.origin}")
    tensor = source.make()
    for work, mode in works(source, tensor):
        label = source.name if work.order == 2 else f"{source.name}, mode {mode + 1}"
        if only != source.group and only not in f"{label}, {work.kernel}":
            continue
        said(f"{label}: {work.kernel}, F = {work.ranks[-1]}, {tensor.nnz:,} values")
        yield _point(source, label, setting, work, tensor, mode)


def _point(
    source: Source, label: str, setting: Setting, work: Work, tensor: Tensor, mode: int
) -> Point:
    config = setting.config
    if work.order > config.order:
        config = replace(config, order=work.order)
    cut = plan_of(config, work, tensor, mode).cut

    def cycles(memory: MemoryModel) -> TensorCycles:
        return work_cycles(config, work, cut, tensor, mode, memory=memory, gigahertz=GIGAHERTZ)

    banked = cycles(setting.memory)
    counts = banked.counts
    return Point(
        group=source.group,
        label=label,
        origin=source.origin,
        kernel=work.kernel,
        columns=work.ranks[-1],
        values=tensor.nnz,
        tiles=banked.tiles,
        store=cut.store,
        slices=int(np.count_nonzero(np.bincount(tensor.indices[:, mode], minlength=1))),
        operations=operations_wanted(config, work, cut, counts["operations"]),
        read=counts["bytes_read"],
        written=counts["bytes_written"],
        compulsory=compulsory_bytes(config, work, tensor, mode, cut.store),
        cycles=banked.cycles,
        flat_cycles=cycles(FLAT).cycles if setting.flat else None,
        gigahertz=GIGAHERTZ,
        reference=host_seconds(work, tensor, mode) if setting.host else None,
        roof=roof_of(config, setting.memory, GIGAHERTZ),
    )
