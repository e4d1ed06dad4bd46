"""Operations on vectors on GTA, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ....errors import UserError
from ....hw.spec.gta import BANKS, element_bytes, is_float
from ....hw.spec.host.activity import Stopwatch, activity
from ....hw.spec.jobs.gta_vector import OCTET, octet_cycles
from ....report_table import print_rows
from ....reports import compiled_rows
from ....sim.gta.driver import GtaDriver
from ....sim.gta.golden.moves import select, slide_down, slide_up
from ....sim.gta.golden.reduction import reduce
from ....sim.gta.golden.vector import elementwise
from ...common.files import write_json
from ...common.limits import other_backend
from ...common.matrix_files import write_array
from ...common.words import counted
from ..agreement import Agreement
from ..device import GtaRtl
from ..operands import numbers_in
from ..options import GtaChoice
from .names import COMPARISONS, REDUCTIONS, SLIDES
from .operands import read_operands
from .reference import reference

__all__ = ["MOST_CYCLES", "compute_vectors"]

Patterns = NDArray[np.uint64]

MOST_CYCLES = {"rtl": 20_000_000, "cycles": 400_000_000}
"""Of a run, about, by backend: some minutes."""


def compute_vectors(
    choice: GtaChoice, function: str, files: Sequence[Path], places: int, output: Path | None
) -> None:
    """Compute, write the result if that is asked for, and report; exit with 1 if anything is wrong.
    Raises UserError for values and shapes that do not fit."""
    operands = read_operands(choice.format, function, files)
    words = [operand.words for operand in operands]
    watch = Stopwatch()
    expected = found = _golden(choice.format, function, words, places)
    counts: dict[str, int] = {}
    if choice.backend != "model":
        _check_length(choice, function, words, files)
        with closing(GtaRtl(choice)) as device, activity("computing on gta"):
            made = device.compute("vector", _driven(choice.format, function, words, places))
        counts = device.counts
        # The model of cycles has no results.
        found = made if choice.backend == "rtl" else expected
    wrong = int(np.count_nonzero(found != expected))
    numbers = (
        found.astype(np.uint8) if function in COMPARISONS else numbers_in(found, choice.format)
    )
    agreement = reference(choice.format, function, operands, places, numbers)
    if output:
        write_array(output, numbers)
    report = {
        "app": "vector",
        "function": function,
        "shape": list(words[0].shape),
        "places": places if function in SLIDES else None,
        "rounded": dict(zip("abc", (operand.rounded for operand in operands), strict=False)),
        "unit": "gta",
        "config": choice.config.resolved(),
        "mode": choice.format,
        "backend": choice.backend,
        "cycles": counts.get("cycles"),
        "counters": counts or None,
        "seconds": watch.seconds,
        "checked": found.size if choice.backend == "rtl" else 0,
        "mismatches": wrong,
        "references": [agreement.to_json()] if agreement else [],
    }
    if choice.json_file:
        write_json(choice.json_file, report)
    _print(choice, function, files, report, agreement, _said(numbers, output))
    if wrong or (agreement and agreement.wrong):
        raise typer.Exit(1)


def _golden(format: str, function: str, words: Sequence[Patterns], places: int) -> Patterns:
    if function in SLIDES:
        slide = slide_up if function == "slide_up" else slide_down
        return slide(format, words[0], places)
    if function in REDUCTIONS:
        return reduce(REDUCTIONS[function], format, words[0])
    if function == "select":
        return select(format, *words)
    return elementwise(function, format, *words)


def _driven(
    format: str, function: str, words: Sequence[Patterns], places: int
) -> Callable[[GtaDriver], Patterns]:
    """The same by a driver."""

    def work(driver: GtaDriver) -> Patterns:
        if function in SLIDES:
            slide = driver.slide_up if function == "slide_up" else driver.slide_down
            return slide(format, words[0], places)
        if function in REDUCTIONS:
            return driver.reduce(REDUCTIONS[function], format, words[0])
        return driver.vector(function, format, *words)

    return work


def _check_length(
    choice: GtaChoice, function: str, words: Sequence[Patterns], files: Sequence[Path]
) -> None:
    """Raise UserError for a run that nobody waits for."""
    config, format, size = choice.config, choice.format, words[0].size
    moved = (len(words) + 1) * size * element_bytes(format) // (config.data_bits // 8)
    places, chain = size, 1
    name = {"reduce_min": "min", "reduce_max": "max", "reduce_sum": "add"}.get(function, function)
    if function == "reduce_sum" and is_float(format):
        chain, name = words[0].shape[-1], "sum"
        places = size // chain
    octets = -(-places // (OCTET * BANKS * config.lanes))
    cycles = octets * octet_cycles(config, "slide" if name in SLIDES else name, format, chain)
    most = MOST_CYCLES[choice.backend]
    if moved + cycles > most:
        raise UserError(
            f"{files[0]}: some {moved + cycles:,} cycles are too many for the {choice.backend} "
            f"backend; at most {most:,} are allowed"
            f"{other_backend(MOST_CYCLES, choice.backend, moved + cycles)}"
        )


def _said(numbers: NDArray[Any], output: Path | None) -> str:
    """A result that is one number, and where it is written."""
    parts = [str(numbers.reshape(-1)[0])] if numbers.size == 1 else []
    return ", in ".join([*parts, *([str(output)] if output else [])])


def _print(
    choice: GtaChoice,
    function: str,
    files: Sequence[Path],
    report: dict[str, Any],
    agreement: Agreement | None,
    result: str,
) -> None:
    lanes = counted(choice.config.lanes, "lane")
    counts = report["counters"]
    rows = [
        ("unit", f"gta of {lanes}, {choice.format}, {choice.backend}"),
        ("elements", " x ".join(f"{size:,}" for size in report["shape"])),
    ]
    if result:
        rows.append(("result", result))
    if counts:
        rows.append(("cycles", f"{counts['cycles']:,} of jobs, {counts['busy_cycles']:,} with the "
                               f"array at work"))  # fmt: skip
        rows.append(("bytes", f"{counts['bytes_read']:,} read, {counts['bytes_list']:,} of them of "
                              f"lists; {counts['bytes_written']:,} written"))  # fmt: skip
    rows += [*compiled_rows(), ("simulation", f"{report['seconds']:.2f} s")]
    if choice.backend == "rtl":
        verdict = "bit for bit equal" if not report["mismatches"] else "DIFFERENT"
        rows.append(("against the model", f"{report['mismatches']:,} mismatches in "
                                          f"{report['checked']:,} results: {verdict}"))  # fmt: skip
    rows.append(("reference", agreement.verdict if agreement else "none but the model"))
    title = f"{function} of {', '.join(file.name for file in files)}"
    print_rows(title, rows)
