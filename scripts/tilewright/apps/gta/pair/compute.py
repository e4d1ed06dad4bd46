"""Two products at the same time on GTA, beside each of them alone, against NumPy."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ....errors import UserError
from ....hw.spec.host.activity import Stopwatch, activity
from ....sim.gta.driver import GtaDriver
from ....sim.gta.golden.pgemm import pgemm
from ....sim.gta.product_call import ProductCall
from ....sim.gta.tiles.choice import Choice
from ...common.files import write_json
from ...common.limits import check_size
from ...common.matrix_files import write_array
from ..agreement import compare_product
from ..device import GtaRtl
from ..operands import Operand, numbers_in, read_operand, result_format
from ..options import GtaChoice
from ..products import check_products
from .job import PairJob
from .report import PairCycles, PairReport, print_pair

__all__ = ["multiply_pair"]

Patterns = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class _Product:
    """A job, its operands, and how it is run."""

    job: PairJob
    choice: GtaChoice
    operands: tuple[Operand, Operand]

    @property
    def call(self) -> ProductCall:
        a, b = self.operands
        return ProductCall(
            format=self.job.mode,
            a=a.words,
            b=b.words,
            dataflow=self.job.dataflow,
            lanes=self.job.lanes,
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, K, N."""
        a, b = (operand.words.shape for operand in self.operands)
        return a[0], a[1], b[1]


def multiply_pair(jobs: tuple[PairJob, PairJob], choices: tuple[GtaChoice, GtaChoice]) -> None:
    """Compute, write what is asked for, and report; exit with 1 if anything is wrong. Raises
    UserError for values and shapes that do not fit."""
    products = [_read(job, choice) for job, choice in zip(jobs, choices, strict=True)]
    choice, watch = choices[0], Stopwatch()
    expected = [pgemm(one.job.mode, one.call.a, one.call.b) for one in products]
    runs: list[tuple[Patterns, Patterns]] = []
    has_results, has_cycles = choice.backend != "cycles", choice.backend != "model"
    cycles: PairCycles | None = None
    calls = products[0].call, products[1].call
    where = "gta" if choice.backend == "rtl" else "the model of gta"
    with closing(GtaRtl(choice)) as device, activity(f"computing on {where}"):

        def pair(driver: GtaDriver, only: int | None = None) -> list[Patterns]:
            return driver.pair(calls[0], calls[1], choice.asked.layout, only=only)

        def alone(driver: GtaDriver, call: ProductCall) -> Patterns:
            return driver.pgemm(call.format, call.a, call.b, dataflow=call.dataflow)

        made = device.compute("pair", pair)
        found = made if has_results else expected
        laid = device.compute("pair", lambda driver: driver.choices)
        runs += zip(found, expected, strict=True)
        counts = dict(device.counts)
        if has_cycles:
            times: dict[str, list[int]] = {"alone": [], "in_turn": []}
            for number, call in enumerate(calls):
                words = device.compute("product", partial(alone, call=call))
                times["alone"].append(device.counts["cycles"])
                runs.append((words, expected[number]))
                (words,) = device.compute("product", partial(pair, only=number))
                times["in_turn"].append(device.counts["cycles"])
                runs.append((words, expected[number]))
            cycles = PairCycles(together=counts["cycles"], **times)
    assert laid is not None
    if not has_results:
        runs.clear()
    agreements = [
        compare_product(one.job.mode, words, *(operand.values for operand in one.operands))
        for one, words in zip(products, found, strict=True)
    ]
    for one, words in zip(products, found, strict=True):
        if one.job.output:
            write_array(one.job.output, numbers_in(words, result_format(one.job.mode)))
    report = PairReport(
        config=choice.config,
        backend=choice.backend,
        jobs=[_described(one, each) for one, each in zip(products, laid, strict=True)],
        cycles=cycles,
        counters=counts if has_cycles else None,
        seconds=watch.seconds,
        checked=sum(words.size for words, _ in runs),
        mismatches=sum(int(np.count_nonzero(words != golden)) for words, golden in runs),
        agreements=agreements,
    )
    if choice.json_file:
        write_json(choice.json_file, report.to_json())
    print_pair(report)
    if report.mismatches or any(agreement.wrong for agreement in agreements):
        raise typer.Exit(1)


def _read(job: PairJob, choice: GtaChoice) -> _Product:
    """The operands. Raises UserError."""
    a, b = read_operand(job.a, job.mode), read_operand(job.b, job.mode)
    (rows, depth), (deep, cols) = a.words.shape, b.words.shape
    if depth != deep:
        raise UserError(
            f"{job.b}: must have {depth} rows, as {job.a} is {rows} x {depth}, not {deep}"
        )
    what = f"the product of {job.a} and {job.b}"
    check_size(what, rows, cols)
    check_products(what, choice, rows * cols * depth)
    return _Product(job=job, choice=choice, operands=(a, b))


def _described(one: _Product, laid: Choice) -> dict[str, Any]:
    """For the report."""
    tiling = laid.tiling
    files: dict[str, Path | None] = {"a": one.job.a, "b": one.job.b, "result": one.job.output}
    return {
        **{name: str(file) if file else None for name, file in files.items()},
        "mode": one.job.mode,
        "shape": list(one.shape),
        "rounded": dict(zip("ab", (operand.rounded for operand in one.operands), strict=True)),
        "lanes": list(tiling.region.lanes),
        "region": f"{tiling.region.rows}x{tiling.region.cols}",
        "dataflow": laid.dataflow,
        "tiles": [tiling.m, tiling.n, tiling.k],
    }
