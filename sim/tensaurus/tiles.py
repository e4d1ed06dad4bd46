"""The tile planner: sizes of tiles and the order of loops, by the time that they are expected to
take, and among equals by the bytes that they move.

Source: Tensaurus, section on the memory store unit, which leaves the sizes open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from ...hw.spec.tensaurus import TensaurusConfig
from .result.kernel import Kernel
from .tile_cost import Cost, Spread, cost_of, loads
from .work import STORES, Cut, Work, balanced, count_of, most_slices

__all__ = ["Plan", "plan"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cut that is expected to be done first.

    Parameters
    ----------
    cut, cost: of it
    compared: how many cuts there were to choose from
    loads: how often the tensor is streamed, and each operand is read
    """

    cut: Cut
    cost: Cost
    compared: int
    loads: tuple[float, ...]


def plan(
    config: TensaurusConfig,
    work: Work,
    lengths: Ints | None,
    fixed: Mapping[str, int | tuple[int, ...]] | None = None,
    fibers: Sequence[int] | None = None,
) -> Plan:
    """The best cut of a work, among equals the first that was looked at, which has fewest vectors.

    Parameters
    ----------
    lengths: values of each slice that has some; None if the work is dense
    fibers: different places of values in the first two modes, in the first three, ..., in all but
        the last; None: as many as of values that are anywhere
    fixed: what is not to be chosen: "vectors", "scalars_1", "scalars_2", "step_0" (slices),
        "step_1", ..., "loops", and "store", its place in ``STORES``

    Raises
    ------
    ValueError if the device does not have the kernel, or no cut that fits has what is fixed.
    """
    given = dict(fixed or {})
    best: tuple[Cut, Cost] | None = None
    compared = 0
    spread = Spread(work, lengths, fibers)
    reason = f"a fiber must have at most {config.tlen} vectors, a slice {config.olen}"
    for cut in _cuts(config, work, given):
        try:
            cut.check(config)
        except ValueError as error:
            reason = str(error)
            continue
        compared += 1
        cost = cost_of(config, work, cut, spread)
        if best is None or cost.order < best[1].order:
            best = cut, cost
    if best is None:
        raise ValueError(f"no tiles fit the device: {reason}")
    cut, cost = best
    return Plan(cut=cut, cost=cost, compared=compared, loads=loads(config, work, cut))


def _cuts(
    config: TensaurusConfig, work: Work, fixed: Mapping[str, int | tuple[int, ...]]
) -> Iterator[Cut]:
    """Those that are worth a look."""
    names = {"vectors", "scalars_1", "scalars_2", "loops", "store"}
    names |= {f"step_{mode}" for mode in range(work.order)}
    if unknown := set(fixed) - names:
        raise ValueError(f"`fixed` must be of {', '.join(sorted(names))}, not {min(unknown)}")
    orders = list(permutations(range(1, work.order)))
    if "loops" in fixed:
        orders = [fixed["loops"]]  # type: ignore[list-item]
    stores: Sequence[str] = STORES[:1] if work.kernel == "mv" else STORES
    if "store" in fixed:
        stores = [STORES[fixed["store"]]]  # type: ignore[index]
    for kernel, store in product(_kernels(config, work, fixed), stores):
        most = most_slices(config, kernel, store)
        most = min(most, config.layout(work.order).largest_slice + 1)
        most = max(1, min(most, work.shape[0]))
        slices = fixed.get("step_0", balanced(work.shape[0], most))
        for steps in _steps(config, work, kernel, fixed):
            for loops in orders:
                yield Cut(kernel=kernel, steps=(slices, *steps), loops=loops, store=store)  # type: ignore[arg-type]


def _kernels(
    config: TensaurusConfig, work: Work, fixed: Mapping[str, int | tuple[int, ...]]
) -> Iterator[Kernel]:
    """Numbers of vectors and of scalars that a device can use together."""
    units = count_of(work.ranks[-1], config.unit_values)
    if work.kernel == "mv":
        yield Kernel(name="mv", order=2)
        return
    limit = config.olen if work.kernel == "mm" else min(config.tlen, config.olen)
    choices: list[Sequence[int]] = [_choices("vectors", units, limit, fixed)]
    for mode in (1, 2):
        used = work.kernel == "ttmc" and mode < work.order - 1
        most = (config.olen, config.tlen)[mode - 1]
        choices.append(
            _choices(f"scalars_{mode}", work.ranks[mode - 1], most, fixed) if used else (1,)
        )
    for vectors, nf1, nf2 in product(*choices):
        if nf2 * vectors <= limit and nf1 * nf2 * vectors <= config.olen:
            yield Kernel(name=work.kernel, order=work.order, vectors=vectors, scalars=(nf1, nf2))


def _choices(
    name: str, size: int, most: int, fixed: Mapping[str, int | tuple[int, ...]]
) -> Sequence[int]:
    if name in fixed:
        return (fixed[name],)  # type: ignore[return-value]
    return sorted({balanced(size, step) for step in range(1, min(size, most) + 1)})


def _steps(
    config: TensaurusConfig, work: Work, kernel: Kernel, fixed: Mapping[str, int | tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """Indices of each other mode that a tile may have: as many as fit, shared out by halves."""

    indices = config.layout(work.order).largest_index + 1

    def choose(mode: int, units: int, scalars: int) -> Iterator[tuple[int, ...]]:
        if mode == work.order:
            yield ()
            return
        array = mode in kernel.array_modes
        row = kernel.vectors if array else kernel.row_values(config, mode)
        # The modes behind must have a row each.
        later = sum(1 for other in kernel.array_modes if other > mode) * kernel.vectors
        room = min((units - later) // row if array else scalars // row, indices)
        alone = not later if array else mode == kernel.scalar_modes[-1]
        size = max(1, work.shape[mode])
        for step in _halves(size, room, alone, fixed.get(f"step_{mode}")):
            left = units - step * row if array else units
            used = count_of(step * row, config.vlen) * config.vlen
            rest = scalars if array else scalars - used
            for others in choose(mode + 1, left, rest):
                yield (step, *others)

    return choose(1, config.spm_units, config.spm_scalars)


def _halves(
    size: int, room: int, alone: bool, fixed: int | tuple[int, ...] | None
) -> Sequence[int]:
    """Steps to try: all that fits if nobody else is to, else also a half, a quarter, ..."""
    if fixed is not None:
        return (fixed,)  # type: ignore[return-value]
    # A tile that does not fit is refused later, with a reason.
    most = max(1, min(size, room))
    if alone:
        return (balanced(size, most),)
    found = []
    while most:
        found.append(balanced(size, most))
        most //= 2
    return sorted(set(found))
