"""Products of tensors on Tensaurus: operands, plans, jobs, and the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from ....errors import UserError
from ....hw.spec.formats import Format
from ....hw.spec.tensaurus import TensaurusConfig
from ....sim.numbers.values import decode
from ....sim.sparse.ciss import rounded
from ....sim.sparse.rounding import values_of
from ....sim.sparse.tensor import Tensor, canonical
from ....sim.tensaurus.driver import TensorDriver, plan_of
from ....sim.tensaurus.job_tiles import output_bytes
from ....sim.tensaurus.tiles import Plan
from ....sim.tensaurus.work import Work
from ..limits import check_size, other_backend
from ..memory import check_memory
from ..report import Report, Rows, accelerator_figures, checks
from ..rounding import round_to, warn_rounding
from ..session import Session, Tally
from .tensaurus import TensorChoice

__all__ = ["MOST_TILES", "TensorProducts", "TensorTally", "as_stored", "dense_words", "everything",
           "numbers_of", "tensor_report"]  # fmt: skip

MOST_TILES = 50_000
"""Tiles of a product: some minutes."""

MOST_MULTIPLICATIONS = {
    "rtl": 500_000_000,
    "cycles": 20_000_000_000,
    "model": 20_000_000_000,
}
"""Multiplications of a product, in all lanes, by backend: some minutes."""

_COUNTED = ("products", "operations", "drains", "bytes_written", "bytes_output")
"""Counters that do not depend on time, which the model has."""

Patterns = NDArray[np.uint64]


def as_stored(path: Path, tensor: Tensor, config: TensaurusConfig, mode: int) -> Tensor:
    """The tensor as a stream has it: values of one place added, rounded to the format, zeros left
    out if they mark headers. Says on stderr what rounding destroyed."""
    layout = config.layout(tensor.order)
    warn_rounding(path, round_to(canonical(tensor, mode).values, config.format), config.format)
    try:
        found = rounded(tensor, layout, mode)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    values = values_of(found.values, config.format)
    return Tensor(shape=tensor.shape, indices=tensor.indices[found.order], values=values)


def everything(what: object, tensor: Tensor) -> Tensor:
    """The tensor with every element an entry, zeros too, in the order of its modes. Raises
    UserError if these are too many."""
    check_size(
        what, *tensor.shape, instead="run spmm and spmv take sparse matrices, without --dense"
    )
    found = np.zeros(tensor.shape, tensor.values.dtype)
    found[tuple(tensor.indices.T)] = tensor.values
    places = np.indices(tensor.shape).reshape(tensor.order, -1)
    return Tensor(shape=tensor.shape, indices=np.ascontiguousarray(places.T), values=found.ravel())


def dense_words(tensor: Tensor, fmt: Format, mode: int) -> Patterns:
    """Patterns of a tensor that has ``everything``, the slices' mode first."""
    words = round_to(tensor.values, fmt).words.reshape(tensor.shape)
    return np.ascontiguousarray(np.moveaxis(words, mode, 0))


@dataclass(kw_only=True)
class TensorTally(Tally):
    """Totals of all products.

    Parameters
    ----------
    plans: of each product
    tiles: of all jobs
    """

    plans: list[Plan] = field(default_factory=list)
    tiles: int = 0


class TensorProducts:
    """Multiplies tensors with matrices on an accelerator; keeps a tally. A context manager.

    The RTL is built when the first product is known to fit; beside it the model computes the same.
    """

    def __init__(self, choice: TensorChoice) -> None:
        self._choice = choice
        self._session = Session(choice, TensorDriver)
        self._model: Session[TensorDriver] | None = None
        if choice.backend == "rtl":
            self._model = Session(choice, TensorDriver, backend="model")
        self.tally = TensorTally()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

    def multiply(
        self,
        work: Work,
        tensor: Tensor | Patterns,
        operands: Mapping[int, Patterns],
        mode: int = 0,
    ) -> Patterns:
        """The product, patterns of the format of sums.

        Parameters
        ----------
        tensor: sparse, its slices those of ``mode``, or dense patterns, slices first
        operands: of each other mode, patterns

        Raises UserError if it is too large, or fits no tiles; if the RTL cannot be built.
        """
        try:
            plan = plan_of(self._choice.config, work, tensor, mode, self._choice.fixed)
        except ValueError as error:
            raise UserError(str(error)) from None
        self._check_size(work, tensor, plan)
        run = partial(_run, work=work, plan=plan, tensor=tensor, operands=operands, mode=mode)
        expected = self._model.run(run) if self._model else None
        result = self._session.run(run)
        driver, tally = self._session.driver, self.tally
        tally.seconds += self._session.seconds
        tally.plans.append(plan)
        tally.tiles += driver.tiles
        tally.count(driver.counts)
        if self._model and expected is not None:
            tally.compare(result, expected)
            modelled = self._model.driver.counts
            tally.mismatches += sum(
                driver.counts.get(name) != modelled.get(name) for name in _COUNTED
            )
        return result

    def _check_size(self, work: Work, tensor: Tensor | Patterns, plan: Plan) -> None:
        values = tensor.nnz if isinstance(tensor, Tensor) else tensor.size
        multiplications = values * prod(work.result_shape[1:])
        backend = self._choice.backend
        if multiplications > MOST_MULTIPLICATIONS[backend]:
            raise UserError(
                f"{multiplications:,} multiplications are too many for the {backend} backend, "
                f"which takes at most {MOST_MULTIPLICATIONS[backend]:,} of a product"
                f"{other_backend(MOST_MULTIPLICATIONS, backend, multiplications)}"
            )
        if plan.cost.tiles > MOST_TILES:
            raise UserError(
                f"some {plan.cost.tiles:,} tiles are too many; at most {MOST_TILES:,} of a product"
            )
        # The result and the reference, which are compared; the device's memory.
        config, cut = self._choice.config, plan.cut
        slices = work.shape[0] * prod(cut.group_counts(config, work))
        outputs = output_bytes(config, cut.kernel, slices, cut.store)
        check_memory("the product", 48 * prod(work.result_shape) + 2 * outputs)


def _run(
    driver: TensorDriver,
    *,
    work: Work,
    plan: Plan,
    tensor: Tensor | Patterns,
    operands: Mapping[int, Patterns],
    mode: int,
) -> Patterns:
    if isinstance(tensor, Tensor):
        return driver.sparse(work, plan.cut, tensor, operands, mode)
    return driver.dense(work, plan.cut, tensor, operands)


def numbers_of(patterns: Patterns, fmt: Format) -> NDArray[Any]:
    """Decodes patterns of a result: float32 if it holds all numbers, float64, or int64."""
    values = decode(patterns, fmt)
    narrow = values.dtype.kind == "f" and fmt.name != "fp64"
    return values.astype(np.float32) if narrow else values


_LETTERS = "ijkl"


def tensor_report(
    app: str, title: str, rows: Rows, choice: TensorChoice, tally: TensorTally,
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
    return Report(
        app=app,
        title=title,
        json_file=choice.json_file,
        figures={
            **accelerator_figures(choice, details), **choice.timing,
            **choice.clock_figures(tally.counts.get("cycles")),
            "products": len(tally.plans), "tiles": tally.tiles,
            "plans": [_plan_json(plan) for plan in tally.plans[:100]], "counters": tally.counts,
            **checks(tally), "seconds": tally.seconds,
        },
        rows=[*rows, *_rows(choice, tally)],
        tally=tally,
        compared="values and the counters" if choice.backend == "rtl" else "",
        tables=[_explained(plan) for plan in tally.plans[:1] if choice.explain],
        wrong=wrong,
    )  # fmt: skip


def _plan_json(plan: Plan) -> dict[str, Any]:
    """A plan's figures."""
    cut, cost = plan.cut, plan.cost
    return {
        "kernel": cut.kernel.name, "order": cut.kernel.order, "vectors": cut.kernel.vectors,
        "scalars": list(cut.kernel.scalars), "steps": list(cut.steps),
        "loops": "".join(_LETTERS[mode] for mode in cut.loops), "compared": plan.compared,
        "store": cut.store,
        "bytes": {
            "tensor": cost.tensor, "headers": cost.headers, "operands": list(cost.operands),
            "output": cost.output, "list": cost.list, "total": cost.total,
        },
        "cycles": {
            "memory": cost.cycles.memory, "array": cost.cycles.array, "drains": cost.cycles.drains,
        },
        "times": list(plan.loads),
    }  # fmt: skip


def _rows(choice: TensorChoice, tally: TensorTally) -> Rows:
    counts, config = tally.counts, choice.config
    rows = [
        ("unit", f"{choice.unit.name}, {config.rows} x {config.cols} elements, vectors of "
                 f"{config.vlen}; {config.channels} channels of {config.data_bits} bits"),
        ("operation", f"{config.semiring} in {config.value}, {choice.ran_on}"),
    ]  # fmt: skip
    if tally.plans:
        cut = tally.plans[0].cut
        sizes = " x ".join(f"{step:,}" for step in cut.steps)
        rows.append(("tiles", f"{tally.tiles:,}, of {sizes} at most"))
        total = sum(plan.cost.total for plan in tally.plans)
        rows.append(("bytes", f"{total:,} expected; --explain says which"))
    if counts:
        rows.append(("products", f"{counts['products']:,} of vectors, "
                                 f"{counts['operations']:,} operations"))  # fmt: skip
    if counts.get("cycles"):
        rows += _timed_rows(choice, counts)
    return rows


def _timed_rows(choice: TensorChoice, counts: dict[str, int]) -> Rows:
    """Returns the report rows of a run that counts cycles."""
    config, cycles = choice.config, counts["cycles"]
    peak = config.rows * cycles
    waits = ", ".join(
        f"{name.removeprefix('wait_')} {counts[name] / peak:.1%}"
        for name in ("wait_slots", "wait_operands", "wait_sums", "wait_output")
    )
    timed = []
    if choice.backend == "cycles":
        seconds = cycles / choice.gigahertz * 1e-9
        moved = (counts["bytes_read"] + counts["bytes_written"]) / seconds
        timed = [("rates", f"at {choice.gigahertz:g} GHz on {choice.memory.name}: "
                           f"{counts['operations'] / seconds * 1e-9:,.4g} GOP/s, "
                           f"{moved * 1e-9:,.4g} GB/s")]  # fmt: skip
    return [
        *choice.clock_rows(cycles),
        *timed,
        ("cycles", f"{cycles:,}; rows began products in {counts['products'] / peak:.1%} of theirs; "
                   f"waited for {waits}"),
        ("bytes read", f"tensor {counts['bytes_tensor']:,}, operands "
                       f"{counts['bytes_matrices']:,}, list {counts['bytes_list']:,}, result "
                       f"{counts['bytes_output']:,}"),
        ("bytes written", f"{counts['bytes_written']:,}"),
    ]  # fmt: skip


def _explained(plan: Plan) -> Table:
    """Tabulates the costs of a plan's tiles."""
    cut, cost = plan.cut, plan.cost
    letters = _LETTERS[: cut.kernel.order]
    loops = ", ".join(_LETTERS[mode] for mode in cut.loops)
    table = Table(
        title=f"tiles: the fastest of {plan.compared:,}; loops over columns, i, {loops}, each "
        "turning back at its end",
        title_justify="left",
    )
    for name in ("of", "in a tile", "read or written", "bytes expected"):
        table.add_column(name, justify="right")
    table.add_row("tensor", f"{cut.steps[0]:,} slices", _times(plan.loads[0]),
                  f"{cost.tensor:,} ({cost.headers:,} of headers)")  # fmt: skip
    for mode in range(1, cut.kernel.order):
        row = cut.kernel.vectors
        what = f"{row} unit{'s' if row > 1 else ''}"
        if mode in cut.kernel.scalar_modes:
            count = 1 if cut.kernel.name == "mv" else cut.kernel.scalars[mode - 1]
            what = f"{count} scalar{'s' if count > 1 else ''}"
        table.add_row(f"operand of {letters[mode]}", f"{cut.steps[mode]:,} rows of {what}",
                      _times(plan.loads[mode]), f"{cost.operands[mode - 1]:,}")  # fmt: skip
    often = "1 x" if cut.store == "buffer" else "read and written in memory where a tile adds"
    table.add_row("result", f"{cut.steps[0]:,} slices", often, f"{cost.output:,}")
    table.add_row(
        "list", "", "1 x", f"{cost.list:,} ({cost.tiles:,} tile{'s' * (cost.tiles != 1)})"
    )
    table.add_row("all", "", "", f"{cost.total:,}")
    table.caption = (
        f"cycles expected: {cost.cycles.memory:,} of memory, {cost.cycles.array:,} of the array, "
        f"{cost.cycles.drains:,} of slices that leave it"
    )
    table.caption_justify = "left"
    return table


def _times(count: float) -> str:
    return f"{count:,.4g} x"
