"""The tile planner: sizes of tiles and the order of loops, by the time that they are expected to
take, and among equals by the bytes that they move.

Source: Tensaurus, section on the memory store unit, which leaves the sizes open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

import numpy as np
import numpy.typing as npt

from ...hw.spec.tensaurus import TensaurusConfig
from ...hw.spec.tensaurus_tiles import TILE_BYTES
from .expected_time import Cycles, expected_cycles, fibers_of
from .images import output_bytes
from .result.kernel import Kernel
from .work import STORES, Cut, Work, balanced, count_of, most_slices

__all__ = ["Cost", "Plan", "cost_of", "loads", "plan"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Bytes that a cut moves and cycles that it takes, if values are spread evenly over slices.

    Parameters
    ----------
    tensor: of the streams, headers and no-ops included; ``headers``: of the headers alone
    operands: of each other mode's operand, padding included
    output: of the result, padding included: written once from the buffer; in memory the units of
        each slice that has values are read and written with each tile
    tiles: expected number of tiles that have values; ``list``: of their descriptions
    cycles: of memory, array and drains
    """

    tensor: int
    headers: int
    operands: tuple[int, ...]
    output: int
    tiles: int
    list: int
    cycles: Cycles

    @property
    def total(self) -> int:
        """All that is read and written."""
        return self.tensor + sum(self.operands) + self.output + self.list

    @property
    def order(self) -> tuple[int, int]:
        """The less the better."""
        return self.cycles.most, self.total


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
    spread = _Spread(work, lengths, fibers)
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


class _Spread:
    """How the values of a work's slices are spread over tiles."""

    def __init__(
        self, work: Work, lengths: Ints | None, fibers: Sequence[float] | None = None
    ) -> None:
        self.values = prod(work.shape) if lengths is None else int(lengths.sum())
        if lengths is None:
            self.fibers: Sequence[float] = [prod(work.shape[:n]) for n in range(2, work.order)]
        else:
            self.fibers = fibers_of(work.shape, self.values) if fibers is None else fibers
        self.longest = 0 if lengths is None else int(lengths.max(initial=0))
        self._lengths, self._count = np.unique(
            np.zeros(0, np.int64) if lengths is None else lengths, return_counts=True
        )
        self._headers: dict[int, float] = {}

    def headers(self, tiles: int) -> float:
        """Slices that are announced, if each is cut into so many tiles."""
        if tiles not in self._headers:
            missed = (1 - 1 / tiles) ** self._lengths.astype(np.float64)
            self._headers[tiles] = float((tiles * (1 - missed) * self._count).sum())
        return self._headers[tiles]


def cost_of(config: TensaurusConfig, work: Work, cut: Cut, spread: _Spread | Ints | None) -> Cost:
    """What a cut is expected to move; ``spread``: the slices' lengths, see :func:`plan`."""
    if not isinstance(spread, _Spread):
        spread = _Spread(work, spread)
    kernel = cut.kernel
    groups = prod(cut.group_counts(config, work))
    ranges = cut.range_counts(work)
    inner = prod(ranges[1:])
    times = loads(config, work, cut)
    per_value = config.format.bits // 8
    operands = tuple(
        int(times[mode] * work.shape[mode] * kernel.row_values(config, mode) * per_value)
        for mode in range(1, work.order)
    )
    if work.dense:
        line = config.line_bytes
        pitch = count_of(prod(cut.steps[1:]) * per_value, line) * line
        tiles, headers = float(ranges[0] * inner), 0.0
        announced = float(work.shape[0] * inner)
        stream = float(work.shape[0] * inner * pitch)
    else:
        entry = config.layout(work.order).entry_bytes
        announced = headers = spread.headers(inner) if inner else 0.0
        all_tiles = ranges[0] * inner
        tiles = all_tiles * -np.expm1(-spread.values / all_tiles) if all_tiles else 0.0
        slots = spread.values + headers
        # A tile is as long as its longest row: rows are level, but for a slice that is longer.
        level = max(slots / config.rows, spread.longest / max(1, inner) * min(1, ranges[0]))
        stream = (level + tiles) * entry
        headers = headers * config.layout(work.order).slot_bytes
    output = groups * output_bytes(config, kernel, work.shape[0])
    if cut.store == "memory":
        unit_bytes = config.unit_block_bytes + config.result_unit_bytes
        output = int(groups * announced) * kernel.units * unit_bytes
    listed = int(np.ceil(groups * tiles))
    moved = int(groups * stream) + sum(operands) + output + listed * TILE_BYTES
    cycles = expected_cycles(
        config, work, cut, values=spread.values, headers=announced, fibers=spread.fibers,
        moved=moved,
    )  # fmt: skip
    return Cost(
        tensor=int(groups * stream),
        headers=int(groups * headers),
        operands=operands,
        output=output,
        tiles=listed,
        list=listed * TILE_BYTES,
        cycles=cycles,
    )


def loads(config: TensaurusConfig, work: Work, cut: Cut) -> tuple[float, ...]:
    """How often the tensor, and each other mode's operand, goes through the memory's ports, if
    every tile has values."""
    groups, ranges = cut.group_counts(config, work), cut.range_counts(work)
    counts = [*groups, ranges[0], *(ranges[mode] for mode in cut.loops)]
    found = [float(prod(groups))]
    for mode in range(1, work.order):
        own = {len(groups) + 1 + cut.loops.index(mode)}
        own.add(mode - 1 if len(groups) > 1 else 0)
        # A tile is loaded anew whenever one of its loops goes on.
        changes, outer = 1, 1
        for number, count in enumerate(counts):
            changes += (count - 1) * outer if number in own else 0
            outer *= count
        found.append(changes / max(1, ranges[mode]))
    return tuple(found)


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
    # What does not fit is refused later, with a reason.
    most = max(1, min(size, room))
    if alone:
        return (balanced(size, most),)
    found = []
    while most:
        found.append(balanced(size, most))
        most //= 2
    return sorted(set(found))
