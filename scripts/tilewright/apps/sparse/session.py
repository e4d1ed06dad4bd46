"""Sparse products on the chosen accelerator: devices, jobs, the tally, progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckFailed, UserError
from ...hw.spec.host.activity import Stopwatch, activity
from ...sim.device.placement import NoRoom
from ...sim.device.protocol import JobError
from ...sim.matraptor.cycles.bound import Bound, bound, by_rows
from ...sim.matraptor.cycles.plan import Places
from ...sim.matraptor.cycles.report import Cycles
from ...sim.matraptor.cycles.traffic import by_outer_products
from ...sim.matraptor.driver import SparseDriver, most_entries
from ...sim.matraptor.model import MatRaptorModel
from ...sim.matraptor.result.outer import by_columns
from ...sim.sparse.c2sr import C2sr, from_csr, to_csr
from ...sim.timing.bound_broken import BoundBroken
from ..common.limits import other_backend
from .devices import Devices, SparseDevices
from .options import SparseChoice

__all__ = ["MOST_PRODUCTS", "MOST_TILES", "SparseProducts", "SparseTally", "sparse_unit"]

MOST_PRODUCTS = {"rtl": 5_000_000, "cycles": 500_000_000, "model": 500_000_000}
"""Products of a multiplication, by backend: about ten minutes."""

MOST_TILES = 1000
"""Tiles of C that a product by outer products may have."""

_ADDED = ("cycles", "busy_cycles", "stalls", "operations", "bytes_read", "bytes_written",
          "bytes_a_pairs", "bytes_a_entries", "bytes_b_pairs", "bytes_b_entries",
          "bytes_c_pairs", "bytes_c_entries", "conflicts", "merge_steps", "results")  # fmt: skip
_UNTIMED = ("operations", "bytes_written", "bytes_c_pairs", "bytes_c_entries", "merge_steps",
            "results", "lane_busy_max", "lane_busy_min")  # fmt: skip
_READ = ("bytes_read", "bytes_a_pairs", "bytes_a_entries", "bytes_b_pairs", "bytes_b_entries")


@dataclass(kw_only=True)
class SparseTally:
    """What all multiplications together did.

    Parameters
    ----------
    counts: counters of all jobs, added; of ``lane_busy_max`` and ``lane_busy_min`` also the sums
    jobs, overflows: jobs that ran, and those that ended with an overflow and were split
    products: multiplications of whole matrices
    timed: what the cycle model found for each job that ended well
    whole: the bound of each multiplication, were it one job
    checked, mismatches: entries compared with the model, and those that differ
    seconds: of simulation
    """

    counts: dict[str, int] = field(default_factory=dict)
    jobs: int = 0
    overflows: int = 0
    products: int = 0
    timed: list[Cycles] = field(default_factory=list)
    whole: list[Bound] = field(default_factory=list)
    checked: int = 0
    mismatches: int = 0
    seconds: float = 0.0

    @property
    def bounds(self) -> list[Bound]:
        """Those of the jobs that ended well."""
        return [job.bound for job in self.timed]


class SparseProducts:
    """Multiplies SciPy matrices on an accelerator; keeps a tally.

    Values are rounded to the accelerator's format when they become operands.

    Parameters
    ----------
    choice: what the user asks for
    devices: the accelerator, and the model if it is RTL
    """

    def __init__(self, choice: SparseChoice, devices: SparseDevices) -> None:
        self._choice, self._devices = choice, devices
        self._use(devices.now)
        self.tally = SparseTally()

    def _use(self, devices: Devices) -> None:
        self._driver = SparseDriver(devices.device)
        self._model = None if devices.model is None else SparseDriver(devices.model)
        timed = devices.model or devices.device
        self._timed = timed if isinstance(timed, MatRaptorModel) else None

    def operand(self, matrix: Any) -> C2sr:
        """A matrix in C2SR. Raises UserError if it does not fit."""
        try:
            return from_csr(matrix, self._choice.config.layout)
        except ValueError as error:
            raise UserError(str(error)) from None

    def multiply(self, a: C2sr, b: C2sr) -> C2sr:
        """The product.

        Raises UserError if it is too large for the backend or the memory, CheckFailed if a job took
        fewer cycles than its bound.
        """
        try:
            return self._multiply(a, b)
        except BoundBroken as error:
            raise CheckFailed(str(error)) from None

    def _multiply(self, a: C2sr, b: C2sr) -> C2sr:
        tally = self.tally
        products = int(most_entries(a.patterns(), b.patterns(), 1 << 62).sum())
        most = MOST_PRODUCTS[self._choice.backend]
        if products > most:
            raise UserError(
                f"{products:,} products are too many for the {self._choice.backend} backend, "
                f"which takes at most {most:,} of a multiplication"
                f"{other_backend(MOST_PRODUCTS, self._choice.backend, products)}"
            )
        mode = self._choice.mode
        if mode == "outer" and a.shape[0] and b.shape[1]:
            tiles = self._driver.tiles(a, b).count
            if tiles > MOST_TILES:
                raise UserError(
                    f"C takes {tiles:,} tiles that fit the queues, too many for mode outer, which "
                    f"takes at most {MOST_TILES:,}; use --mode rows"
                )
        watch = Stopwatch()
        try:
            result = self._with_room(a, b)
        except ValueError as error:
            raise UserError(str(error)) from None
        except JobError as error:
            raise UserError(f"the product cannot be computed: {error}") from None
        tally.seconds += watch.seconds
        tally.products += 1
        self._count()
        if self._model is not None:
            expected = self._model.multiply(a, b, mode=mode)
            tally.checked += max(expected.nnz, 1)
            tally.mismatches += _differences(result, expected)
            tally.mismatches += self._count_differences()
        if self._timed is not None and self._choice.backend != "model":
            self._take_times(self._timed.cycles)
            if self._driver.jobs:
                tally.whole.append(self._whole(a, b, result))
        return result

    def _with_room(self, a: C2sr, b: C2sr) -> C2sr:
        """The product on devices that have the memory for it."""
        while True:
            try:
                return self._driver.multiply(a, b, mode=self._choice.mode)
            except NoRoom as lacking:
                self._use(self._devices.grow(lacking))

    def _take_times(self, found: list[Cycles]) -> None:
        """What the cycle model found, to the tally; every job took as long as its bound."""
        ended = (job for job in self._driver.jobs if job.error == "none")
        for job, timed in zip(ended, found, strict=False):
            if job.counts["cycles"] < timed.bound.cycles:
                raise BoundBroken(job.counts["cycles"], timed.bound.cycles)
        self.tally.timed += found
        found.clear()

    def _whole(self, a: C2sr, b: C2sr, c: C2sr) -> Bound:
        """The bound of a product as one job, whatever its size."""
        choice, config = self._choice, self._choice.config
        if choice.mode == "rows":
            work = by_rows(config, to_csr(a), to_csr(b), Places(a.pointers, b.pointers))
        else:
            work = by_outer_products(config, by_columns(config, a), b, c.shape[0])
        groups = max(config.lanes, config.channels)
        entries = np.bincount(np.arange(c.shape[0]) % groups, c.lengths, groups).astype(np.int64)
        return bound(config, work, entries, choice.memory, choice.gigahertz)

    def _count(self) -> None:
        counts = self.tally.counts
        for job in self._driver.jobs:
            self.tally.jobs += 1
            self.tally.overflows += job.error != "none"
            for name, value in job.counts.items():
                counts[name] = counts.get(name, 0) + value

    def _count_differences(self) -> int:
        """Counters of the hardware that are not the model's, of jobs that ended well."""
        assert self._model is not None
        pairs = zip(self._driver.jobs, self._model.jobs, strict=False)
        return len(self._driver.jobs) != len(self._model.jobs) or sum(
            job.counts[name] != expected.counts[name]
            for job, expected in pairs
            if expected.error == "none"
            for name in (*_UNTIMED, *(_READ if self._choice.mode == "outer" else ()))
        )


def _differences(found: C2sr, expected: C2sr) -> int:
    """Entries in which two results differ."""
    if found.same_as(expected):
        return 0
    x, y = found.patterns(), expected.patterns()
    if not np.array_equal(x.starts, y.starts):
        return max(1, abs(len(x.columns) - len(y.columns)))
    wrong: NDArray[np.bool_] = (x.columns != y.columns) | (x.values != y.values)
    return max(1, int(np.count_nonzero(wrong)))


@contextmanager
def sparse_unit(choice: SparseChoice) -> Iterator[SparseProducts]:
    """The accelerator, built; shows on a terminal that it is being built."""
    with ExitStack() as stack:
        verb = "building and running" if choice.backend == "rtl" else "computing on the model of"
        stack.enter_context(activity(f"{verb} {choice.unit}"))
        devices = SparseDevices(choice)
        stack.callback(devices.close)
        yield SparseProducts(choice, devices)
