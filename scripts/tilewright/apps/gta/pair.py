"""Runs two products at the same time on GTA, beside each of them alone, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.host.activity import Stopwatch, activity
from ...sim.gta.driver import GtaDriver, ProductCall
from ...sim.gta.golden.pgemm import pgemm
from ...sim.gta.tiles.choice import Choice
from ..common.limits import check_size, counted
from ..common.matrix_files import write_array
from ..common.report import Report, Rows, accelerator_figures, checks
from ..common.session import Tally
from ..common.units.gta import GtaChoice, gta_session
from .operands import Operand, compare_product, numbers_in, read_operand, result_format
from .pair_jobs import PairJob
from .products import check_products

__all__ = ["multiply_pair"]

Patterns = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class _Cycles:
    """Cycles of whole jobs, on the RTL or by the model of cycles.

    Parameters
    ----------
    together: of both at the same time
    alone: of each on all lanes
    in_turn: of each on the lanes that it has together with the other, which are idle
    """

    together: int
    alone: list[int]
    in_turn: list[int]


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
    """Compute, write the requested files, and report; exit with 1 if anything is wrong. Raises
    UserError for values and shapes that do not fit."""
    products = [_read(job, choice) for job, choice in zip(jobs, choices, strict=True)]
    choice, watch = choices[0], Stopwatch()
    expected = [pgemm(one.job.mode, one.call.a, one.call.b) for one in products]
    runs: list[tuple[Patterns, Patterns]] = []
    has_results, has_cycles = choice.backend != "cycles", choice.backend != "model"
    cycles: _Cycles | None = None
    calls = products[0].call, products[1].call
    where = "gta" if choice.backend == "rtl" else "the model of gta"
    with gta_session(choice) as session, activity(f"computing on {where}"):

        def pair(driver: GtaDriver, only: int | None = None) -> list[Patterns]:
            return driver.pair(calls[0], calls[1], choice.asked.layout, only=only)

        def alone(driver: GtaDriver, call: ProductCall) -> Patterns:
            return driver.pgemm(call.format, call.a, call.b, dataflow=call.dataflow)

        made = session.run(pair, "pair")
        found = made if has_results else expected
        laid = session.driver.choices
        runs += zip(found, expected, strict=True)
        counts = dict(session.driver.counts)
        if has_cycles:
            times: dict[str, list[int]] = {"alone": [], "in_turn": []}
            for number, call in enumerate(calls):
                words = session.run(partial(alone, call=call), "product")
                times["alone"].append(session.driver.counts["cycles"])
                runs.append((words, expected[number]))
                (words,) = session.run(partial(pair, only=number), "product")
                times["in_turn"].append(session.driver.counts["cycles"])
                runs.append((words, expected[number]))
            cycles = _Cycles(together=counts["cycles"], **times)
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
    tally = Tally(seconds=watch.seconds)
    for words, golden in runs:
        tally.compare(words, golden)
    described = [_described(one, each) for one, each in zip(products, laid, strict=True)]
    Report(
        app="pair",
        title="pair",
        json_file=choice.json_file,
        figures={
            **accelerator_figures(choice, {}, mode=[one["mode"] for one in described]),
            "jobs": described,
            "cycles": cycles.together if cycles else None,
            **choice.clock_figures(cycles.together if cycles else None),
            "alone": cycles.alone if cycles else None,
            "in_turn": cycles.in_turn if cycles else None,
            "counters": counts if has_cycles else None,
            "seconds": tally.seconds, **checks(tally),
            "references": [agreement.to_json() for agreement in agreements],
        },
        rows=_rows(choice, described, cycles),
        tally=tally,
        compared="results" if tally.checked else "",
        after=[("reference", agreement.verdict) for agreement in agreements],
        wrong=any(agreement.wrong for agreement in agreements),
    ).finish()  # fmt: skip


def _rows(choice: GtaChoice, jobs: Sequence[dict[str, Any]], cycles: _Cycles | None) -> Rows:
    rows = [("unit", f"gta of {counted(choice.config.lanes, 'lane')}, {choice.ran_on}")]
    for number, job in enumerate(jobs, 1):
        shape = " x ".join(f"{size:,}" for size in job["shape"])
        tiles = " x ".join(map(str, job["tiles"]))
        lanes = "+".join(map(str, job["lanes"]))
        rows.append((f"job {number}", f"{job['a']} x {job['b']}, {shape} in {job['mode']}: lanes "
                                      f"{lanes} ({job['region']}), {job['dataflow']}, tiles of "
                                      f"{tiles}"))  # fmt: skip
        if job["result"]:
            rows.append(("result", job["result"]))
    if cycles:
        rows += [
            ("cycles", f"{cycles.together:,} of both at the same time"),
            ("alone", _behind(cycles.alone, cycles.together, "each on all lanes")),
            (
                "in turn",
                _behind(cycles.in_turn, cycles.together, "each on the same lanes as above"),
            ),
            *choice.clock_rows(cycles.together),
        ]
    return rows


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
    """Describes a product for the JSON report."""
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


def _behind(each: Sequence[int], together: int, how: str) -> str:
    total = sum(each)
    return (f"{each[0]:,} and {each[1]:,}, {how}, one after the other: {total:,}, "
            f"{total / max(1, together):.2f} times as many")  # fmt: skip
