"""Points of the roofline, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...apps.common.tensor_files import read_tensor
from ...hw.spec.tensaurus import TensaurusConfig
from ...sim.sparse.generated.matrices import LAYERS, even_matrix, layer_matrix
from ...sim.sparse.generated.tensors import TENSORS, generate, split_last
from ...sim.sparse.tensor import Tensor, from_csr, modes_from
from ...sim.tensaurus.cycles.machine import TensorCycles
from ...sim.tensaurus.cycles.works import work_cycles
from ...sim.tensaurus.driver import plan_of
from ...sim.tensaurus.work import Work
from ...sim.timing.dram import FLAT, HBM, MemoryModel
from ..generated_matrices import KINDS
from .host import host_seconds
from .point import Point, compulsory_bytes, operations_wanted, roof_of

GROUPS = ("tensors", "layers", "matrices", "densities", "measurements")
"""Tensors as large as the papers', pruned layers, matrices, a sweep of densities, small tensors
that were measured."""

_RANK, _WIDE = 32, 128
"""Columns of operands where nothing else is said, and of more."""
_OTHER_RANK = {3: 4, 4: 2}
"""Columns of TTMc's operands of all modes but the last, by order: a slice's sum is then as large as
an output register's vectors."""
_DENSITIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 0.6, 0.9)
_SQUARE = 2048
_PARTS = {"nell-2": 170, "netflix": 7, "poisson3D": 60}
"""Into how many the last mode is cut, for tensors of four modes: of the days a week has 7."""
_KIND_PRODUCTS, _SEED = 1_000_000, 11
_MEASUREMENTS = {
    "IL-2": ((13, 4, 12, 8), 3_972, "IL2_Response_Tensor"),
    "COVID-19": ((438, 6, 11), 28_908, "COVID19_data"),
    "Kinetic": ((64, 12, 10, 60), 459_044, "Kinetic"),
}
"""Shape, how many values are there and are not zero, and the file in TensorLy."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A tensor to measure with.

    Parameters
    ----------
    group: of :data:`GROUPS`
    name: of it
    origin: "generated", "file", or the package that it is in
    columns: of a matrix' operands, one after the other; 1 of a vector
    make: makes it
    """

    group: str
    name: str
    origin: str
    columns: tuple[int, ...] = ()
    make: Callable[[], Tensor]


def works(source: Source, tensor: Tensor) -> Iterator[tuple[Work, int]]:
    """Yields the computations on a tensor, and the mode of the slices. A matrix is multiplied by a
    matrix or a vector; other tensors have MTTKRP and TTMc along every mode."""
    order = tensor.order
    if order == 2:
        for columns in source.columns:
            kernel = "mm" if columns > 1 else "mv"
            yield Work(kernel=kernel, shape=tensor.shape, ranks=(columns,)), 0
        return
    others = (_OTHER_RANK[order],) * (order - 2)
    for kernel, ranks in (("mttkrp", (_RANK,) * (order - 1)), ("ttmc", (*others, _RANK))):
        for mode in range(order):
            shape = tuple(tensor.shape[one] for one in modes_from(order, mode))
            yield Work(kernel=kernel, shape=shape, ranks=ranks), mode


def sources(
    scale: float, files: Sequence[Path] = (), said: Callable[[str], None] = lambda said: None
) -> Iterator[Source]:
    """Yields all sources, group after group.

    Parameters
    ----------
    scale: values of the generated tensors, and columns of the layers' operands, as a part of the
        real ones'
    files: more tensors and matrices; one that is named as a generated tensor stands for it
    said: is told what is left out, and why
    """
    given = {path.stem: path for path in files}
    yield from _tensors(scale, {name: given.pop(name) for name in TENSORS if name in given})
    yield from _layers(scale)
    yield from _matrices(said)
    for name, path in given.items():
        yield Source(
            group="matrices", name=name, origin="file", columns=(_RANK, _WIDE, 1),
            make=partial(read_tensor, path),
        )  # fmt: skip
    for density in _DENSITIES:
        yield Source(
            group="densities", name=f"density {density:g}", origin="generated", columns=(_WIDE,),
            make=partial(even_matrix, (_SQUARE, _SQUARE), density),
        )  # fmt: skip
    yield from _measurements()


def _tensors(scale: float, given: dict[str, Path]) -> Iterator[Source]:
    for name, parts in _PARTS.items():
        make = (
            partial(read_tensor, given[name]) if name in given else partial(generate, name, scale)
        )
        origin = "file" if name in given else "generated"
        yield Source(group="tensors", name=name, origin=origin, make=make)
        yield Source(
            group="tensors", name=f"{name}, four modes", origin=origin,
            make=partial(_split, make, parts),
        )  # fmt: skip


def _split(make: Callable[[], Tensor], parts: int) -> Tensor:
    return split_last(make(), parts)


def _layers(scale: float) -> Iterator[Source]:
    for network, layers in LAYERS.items():
        for name, layer in layers.items():
            columns = layer.pixels
            if columns > _WIDE:
                columns = max(_WIDE, round(columns * scale))
            yield Source(
                group="layers", name=f"{network} {name}", origin="generated", columns=(columns,),
                make=partial(layer_matrix, network, name),
            )  # fmt: skip


def _matrices(said: Callable[[str], None]) -> Iterator[Source]:
    columns = (_RANK, _WIDE, 1)
    for kind in KINDS:
        yield Source(
            group="matrices", name=kind, origin="generated", columns=columns,
            make=partial(_of_kind, kind),
        )  # fmt: skip
    folder = os.environ.get("TILEWRIGHT_DATA")
    paths = sorted(Path(folder, "matrices").glob("*.mtx")) if folder else []
    if not paths:
        said("TILEWRIGHT_DATA names no directory with matrices: those of files are left out")
    for path in paths:
        yield Source(
            group="matrices", name=path.stem, origin="file", columns=columns,
            make=partial(read_tensor, path),
        )  # fmt: skip


def _of_kind(kind: str) -> Tensor:
    return from_csr(KINDS[kind](_KIND_PRODUCTS, _SEED))


def _measurements() -> Iterator[Source]:
    found = find_spec("tensorly")
    folder = Path(found.origin).parent / "datasets" / "data" if found and found.origin else None
    for name, (shape, count, file) in _MEASUREMENTS.items():
        path = folder / f"{file}.npy" if folder else None
        there = path is not None and path.is_file()
        yield Source(
            group="measurements", name=name, origin="TensorLy" if there else "generated",
            make=partial(_measured, path) if path and there else partial(_like, shape, count),
        )  # fmt: skip


def _measured(path: Path) -> Tensor:
    """The values of a file that are there and are not zero."""
    return _entries(np.nan_to_num(np.load(path).astype(np.float64)))


def _like(shape: tuple[int, ...], count: int) -> Tensor:
    """Draws a tensor with so many values at random places."""
    rng = np.random.default_rng(_SEED)
    dense = np.zeros(int(np.prod(shape)))
    dense[rng.choice(len(dense), count, replace=False)] = rng.random(count) + 0.5
    return _entries(dense.reshape(shape))


def _entries(dense: np.ndarray) -> Tensor:
    places = np.nonzero(dense)
    return Tensor(
        shape=dense.shape, indices=np.stack(places, axis=1).astype(np.int64), values=dense[places]
    )


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
