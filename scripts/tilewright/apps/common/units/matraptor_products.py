"""Computes sparse products on MatRaptor: jobs, references, and the report of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ....errors import CheckFailed, UserError
from ....sim.matraptor.cycles.bound import Bound, bound, by_rows
from ....sim.matraptor.cycles.plan import Places, in_csr
from ....sim.matraptor.cycles.reasons import REASONS
from ....sim.matraptor.cycles.rows import Cycles
from ....sim.matraptor.cycles.traffic import by_outer_products
from ....sim.matraptor.driver import SparseDriver
from ....sim.matraptor.result.outer import by_columns
from ....sim.matraptor.splits import most_entries
from ....sim.sparse.c2sr import C2sr, from_csr, to_csr
from ....sim.timing.bound_broken import BoundBroken
from ..limits import other_backend
from ..report import Report, Rows, accelerator_figures, checks
from ..session import Session, Tally
from .matraptor import SparseChoice

__all__ = ["MOST_PRODUCTS", "MOST_TILES", "SparseProducts", "SparseTally", "sparse_report"]

MOST_PRODUCTS = {"rtl": 5_000_000, "cycles": 500_000_000, "model": 500_000_000}
"""Products of a multiplication, by backend: about ten minutes."""

MOST_TILES = 1000
"""Tiles of C that a product by outer products may have."""

_UNTIMED = ("operations", "bytes_written", "bytes_c_pairs", "bytes_c_entries", "merge_steps",
            "results", "lane_busy_max", "lane_busy_min")  # fmt: skip
_WORK = ("operations", "merge_steps", "results", "lane_busy_max", "lane_busy_min")
_READ = ("bytes_read", "bytes_a_pairs", "bytes_a_entries", "bytes_b_pairs", "bytes_b_entries")


@dataclass(kw_only=True)
class SparseTally(Tally):
    """Totals of all multiplications.

    Parameters
    ----------
    counts: counters of all jobs, added; of ``lane_busy_max`` and ``lane_busy_min`` also the sums
    jobs, overflows, copies: jobs that ran, those that ended with an overflow and were split, and
        those that made parts of B
    products: multiplications of whole matrices
    timed: what the cycle model found for each job that ended well
    whole: the bound of each multiplication, were it one job
    """

    jobs: int = 0
    overflows: int = 0
    copies: int = 0
    products: int = 0
    timed: list[Cycles] = field(default_factory=list)
    whole: list[Bound] = field(default_factory=list)

    @property
    def bounds(self) -> list[Bound]:
        """Bounds of the jobs that completed without error."""
        return [job.bound for job in self.timed]


class SparseProducts:
    """Multiplies SciPy matrices on an accelerator; keeps a tally. A context manager.

    Values are rounded to the accelerator's format when they become operands. Beside RTL the cycle
    model computes the same.

    Parameters
    ----------
    choice: the accelerator
    log: whether the cycle model keeps the requests to memory
    """

    def __init__(self, choice: SparseChoice, *, log: bool = False) -> None:
        self._choice = choice
        self._log = log
        self._session = Session(choice, SparseDriver)
        self._model: Session[SparseDriver] | None = None
        if choice.backend == "rtl":
            self._model = Session(choice, SparseDriver, backend="cycles")
        self.tally = SparseTally()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

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
        choice, tally = self._choice, self.tally
        products = int(most_entries(a.patterns(), b.patterns(), 1 << 62).sum())
        most = MOST_PRODUCTS[choice.backend]
        if products > most:
            raise UserError(
                f"{products:,} products are too many for the {choice.backend} backend, "
                f"which takes at most {most:,} of a multiplication"
                f"{other_backend(MOST_PRODUCTS, choice.backend, products)}"
            )
        expected: C2sr | None = None

        def work(driver: SparseDriver) -> C2sr:
            if self._log:
                self._session.device.log = True
            if choice.mode == "outer" and a.shape[0] and b.shape[1]:
                _check_tiles(driver.tiles(a, b).count)
            return driver.multiply(a, b, mode=choice.mode, layout=choice.layout)

        if self._model:
            expected = self._model.run(work)
        result = self._session.run(work)
        driver = self._session.driver
        tally.seconds += self._session.seconds
        tally.products += 1
        for job in driver.jobs:
            tally.jobs += 1
            tally.overflows += job.error != "none"
            tally.copies += job.copies
            # Of a job that makes a part of B only its time and its traffic count.
            tally.count(job.counts | (dict.fromkeys(_WORK, 0) if job.copies else {}))
        if self._model and expected:
            tally.checked += max(expected.nnz, 1)
            tally.mismatches += _differences(result, expected)
            tally.mismatches += self._count_differences(driver, self._model.driver)
        if choice.backend != "model":
            self._take_times((self._model or self._session).device.cycles)
            if driver.jobs:
                tally.whole.append(self._whole(a, b, result))
        return result

    def _take_times(self, found: list[Cycles]) -> None:
        """Adds the cycle model's results to the tally; no job may be faster than its bound."""
        ended = (job for job in self._session.driver.jobs if job.error == "none")
        for job, timed in zip(ended, found, strict=False):
            if job.counts["cycles"] < timed.bound.cycles:
                raise CheckFailed(str(BoundBroken(job.counts["cycles"], timed.bound.cycles)))
        self.tally.timed += found
        found.clear()

    def _whole(self, a: C2sr, b: C2sr, c: C2sr) -> Bound:
        """The bound of a product as one job, whatever its size."""
        choice, config = self._choice, self._choice.config
        if choice.mode == "rows":
            left, right = to_csr(a), to_csr(b)
            apart = choice.layout == "csr-arrays"
            places = in_csr(left, right, apart=apart)
            if choice.layout == "c2sr":
                places = Places(a.pointers, b.pointers)
            work = by_rows(config, left, right, places)
        else:
            work = by_outer_products(config, by_columns(config, a), b, c.shape[0])
        groups = max(config.lanes, config.channels)
        entries = np.bincount(np.arange(c.shape[0]) % groups, c.lengths, groups).astype(np.int64)
        return bound(config, work, entries, choice.memory, choice.gigahertz)

    def _count_differences(self, driver: SparseDriver, model: SparseDriver) -> int:
        """Counters of the hardware that are not the model's, of jobs that ended well."""
        pairs = zip(driver.jobs, model.jobs, strict=False)
        return len(driver.jobs) != len(model.jobs) or sum(
            job.counts[name] != expected.counts[name]
            for job, expected in pairs
            if expected.error == "none"
            for name in (*_UNTIMED, *(_READ if self._choice.mode == "outer" else ()))
        )


def _check_tiles(tiles: int) -> None:
    if tiles > MOST_TILES:
        raise UserError(
            f"C takes {tiles:,} tiles that fit the queues, too many for mode outer, which "
            f"takes at most {MOST_TILES:,}; use --mode rows"
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


def sparse_report(
    app: str, title: str, rows: Rows, choice: SparseChoice, tally: SparseTally,
    details: dict[str, Any], *, wrong: bool,
) -> Report:  # fmt: skip
    """The report of a run.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    details: what the application adds to the JSON
    wrong: whether the application found its result wrong
    """
    figures = _figures(choice, tally)
    return Report(
        app=app,
        title=title,
        json_file=choice.json_file,
        figures={
            **accelerator_figures(choice, details), "memory": choice.memory.name,
            "gigahertz": choice.gigahertz, "multiplications": tally.products,
            "jobs": tally.jobs, "overflows": tally.overflows, "copies": tally.copies,
            "counters": tally.counts,
            **figures, **choice.clock_figures(tally.counts.get("cycles")), **checks(tally),
            "seconds": tally.seconds,
        },
        rows=[*rows, *_rows(choice, tally, figures)],
        tally=tally,
        compared="entries and the counters" if choice.backend == "rtl" else "",
        wrong=wrong,
    )  # fmt: skip


def _figures(choice: SparseChoice, tally: SparseTally) -> dict[str, Any]:
    """Derived figures; None where the backend does not count cycles."""
    counts, config = tally.counts, choice.config
    cycles = counts.get("cycles", 0)
    mean = counts.get("operations", 0) / config.lanes
    known = {
        "load_imbalance": counts["lane_busy_max"] / mean if mean else None,
        "microseconds": None, "gop_s": None, "bound_gop_s": None,
        "operations_per_compulsory_byte": None, "access_bytes": None, "memory_bytes": None,
        "compulsory_bytes": None, "memory_gb_s": None, "peak_gb_s": None,
        "bandwidth_utilisation": None, "multiplier_utilisation": None, "bound_cycles": None,
        "bound_by": None, "ratio_to_bound": None, "bound_cycles_even": None,
        "bound_cycles_b_once": None, "bound_cycles_one_job": None, "lane_cycles": None,
    }  # fmt: skip
    bounds = tally.bounds
    if not cycles or not bounds:
        return known
    memory = [limit.memory for limit in bounds]
    limit = sum(each.cycles for each in bounds)
    in_memory = sum(each.memory_cycles for each in bounds)
    in_lanes = sum(each.product_cycles for each in bounds)
    # A multiplication and an addition each.
    operations = 2 * counts["operations"]
    peak, compulsory = memory[0].peak, sum(each.bytes for each in memory)
    return known | {
        "microseconds": cycles / choice.gigahertz / 1000,
        "gop_s": operations / cycles * choice.gigahertz,
        "bound_gop_s": operations / limit * choice.gigahertz,
        "operations_per_compulsory_byte": operations / compulsory,
        "access_bytes": memory[0].piece_bytes,
        "memory_bytes": sum(job.memory_bytes for job in tally.timed),
        "compulsory_bytes": compulsory,
        "memory_gb_s": sum(job.memory_bytes for job in tally.timed) / cycles * choice.gigahertz,
        "peak_gb_s": peak * choice.gigahertz,
        "bandwidth_utilisation": compulsory / (cycles * peak),
        "multiplier_utilisation": counts["operations"] / (cycles * config.lanes),
        "bound_cycles": limit,
        "bound_by": "memory" if in_memory >= in_lanes else "products",
        "ratio_to_bound": cycles / limit,
        "bound_cycles_even": sum(each.cycles_even for each in bounds),
        "bound_cycles_b_once": sum(each.cycles_once for each in bounds),
        "bound_cycles_one_job": sum(each.cycles for each in tally.whole),
        "lane_cycles": _lane_cycles(tally) if choice.backend == "cycles" else None,
    }


def _lane_cycles(tally: SparseTally) -> dict[str, int]:
    """Sums the cycles of all lanes by reason, over all jobs."""
    return {name: sum(job.lane_cycles[name] for job in tally.timed) for name in REASONS}


def _rows(choice: SparseChoice, tally: SparseTally, figures: dict[str, Any]) -> Rows:
    counts, config = tally.counts, choice.config
    shape = f"{config.lanes} lanes, {config.channels} channels of {config.data_bits} bits"
    timed = choice.ran_on in ("rtl", "cycles")
    memory = f", memory {choice.memory.name}" if timed else ""
    outer = choice.mode == "outer"
    how = " by outer products" if outer else ""
    jobs = "a tile of C each" if outer else (
        f"{tally.overflows:,} ended with an overflow and were split"
        + (f", {tally.copies:,} made parts of B" if tally.copies else "")
    )  # fmt: skip
    merged = "" if outer else f"; merge steps {counts.get('merge_steps', 0):,}"
    rows = [
        ("unit", f"{choice.unit.name}, {shape}, {config.queues} queues of {config.queue_depth}"),
        ("operation", f"{config.semiring} in {config.value}{how}, {choice.ran_on}{memory}"),
        ("jobs", f"{tally.jobs:,} ({jobs})"),
        ("products", f"{counts.get('operations', 0):,}{merged}; entries written "
                     f"{counts.get('results', 0):,}"),
    ]  # fmt: skip
    if figures["load_imbalance"]:
        rows.append(("load imbalance", f"{figures['load_imbalance']:.3f} (busiest lane / mean)"))
    if figures["microseconds"] is not None:
        rows += [_cycles_row(counts), *choice.clock_rows(counts["cycles"])]
    if counts.get("bytes_read"):
        rows += _byte_rows(counts)
    if figures["microseconds"] is not None:
        rows += _timed_rows(choice, counts, figures)
    return rows


def _cycles_row(counts: dict[str, int]) -> tuple[str, str]:
    return (
        "cycles",
        f"{counts['cycles']:,}; {counts['stalls']:,} without a product between the first and the "
        f"last",
    )


def _byte_rows(counts: dict[str, int]) -> Rows:
    def operand(name: str) -> str:
        pairs, entries = counts[f"bytes_{name}_pairs"], counts[f"bytes_{name}_entries"]
        return f"{name.upper()} {pairs + entries:,} ({pairs:,} of pairs)"

    return [
        ("bytes read", f"{operand('a')}, {operand('b')}"),
        ("bytes written", operand("c")),
    ]


def _timed_rows(choice: SparseChoice, counts: dict[str, int], figures: dict[str, Any]) -> Rows:
    size, ratio = figures["access_bytes"], figures["ratio_to_bound"]
    pieces = "beats" if choice.memory.flat else "accesses"
    rows = [
        ("memory moved", f"{figures['memory_bytes']:,} bytes in {pieces} of {size}; compulsory: "
                         f"{figures['compulsory_bytes']:,}"),
        ("bandwidth", f"{figures['memory_gb_s']:.1f} of {figures['peak_gb_s']:.1f} GB/s; "
                      f"compulsory bytes: {figures['bandwidth_utilisation']:.1%} of the peak"),
        ("multipliers", f"{figures['multiplier_utilisation']:.1%} of the cycles"),
        ("conflicts", f"{counts['conflicts']:,} waits for a channel that served another lane"),
        ("bound", f"{figures['bound_cycles']:,.0f} cycles, by {figures['bound_by']}: the ratio to "
                  f"it is {ratio:.3f}"),
        ("roofline", f"{figures['gop_s']:.2f} of {figures['bound_gop_s']:.2f} GOP/s, the bound's: "
                     f"{1 / ratio:.1%}, one over the ratio; "
                     f"{figures['operations_per_compulsory_byte']:.3f} operations a byte"),
        *_other_bounds(counts["cycles"], figures),
    ]  # fmt: skip
    if figures["lane_cycles"]:
        rows.append(("lanes' cycles", _shares(figures["lane_cycles"])))
    return rows


def _other_bounds(cycles: int, figures: dict[str, Any]) -> Rows:
    """Lower ones: of what another placement, a cache or deeper queues could do without."""
    known = {
        "bound, evenly spread": figures["bound_cycles_even"],
        "bound, B read once": figures["bound_cycles_b_once"],
        "bound, were it one job": figures["bound_cycles_one_job"],
    }
    if figures["bound_cycles_one_job"] == figures["bound_cycles"]:
        del known["bound, were it one job"]
    return [(label, f"{limit:,.0f} cycles: {cycles / limit:.3f}") for label, limit in known.items()]


def _shares(lane_cycles: dict[str, int]) -> str:
    """Prints shares in percent, the largest first."""
    total = sum(lane_cycles.values())
    found = sorted(lane_cycles.items(), key=lambda each: -each[1])
    return ", ".join(f"{REASONS[name]} {count / total:.1%}" for name, count in found if count)
