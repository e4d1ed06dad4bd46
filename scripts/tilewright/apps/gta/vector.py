"""Runs operations on vectors on GTA, against NumPy where that computes the same exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FORMATS
from ...hw.spec.gta import BANKS, element_bytes, is_float
from ...hw.spec.host.activity import Stopwatch, activity
from ...hw.spec.jobs.gta_vector import OCTET, octet_cycles
from ...sim.gta.driver import GtaDriver
from ...sim.gta.golden.moves import select, slide_down, slide_up
from ...sim.gta.golden.vector import elementwise, reduce
from ..common.agreement import Agreement, exactly
from ..common.limits import counted, other_backend
from ..common.matrix_files import write_array
from ..common.report import Report, accelerator_figures, checks
from ..common.session import Tally
from ..common.units.gta import GtaChoice, gta_session
from .operands import Operand, numbers_in, operand_of, read_numbers
from .vector_functions import COMPARISONS, REDUCTIONS, SLIDES

__all__ = ["MOST_CYCLES", "compute_vectors"]

Patterns = NDArray[np.uint64]
Values = NDArray[Any]

MOST_CYCLES = {"rtl": 20_000_000, "cycles": 400_000_000}
"""Most cycles of a run, about, by backend: some minutes."""


_TYPES: dict[str, Any] = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}

_ANY: dict[str, Callable[..., Values]] = {
    "min": np.minimum,
    "max": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "select": lambda mask, a, b: np.choose(mask == 0, [a, b]),
    "reduce_min": lambda a: a.min(axis=-1),
    "reduce_max": lambda a: a.max(axis=-1),
}
"""Functions of all formats, which round nothing."""

_ROUNDED: dict[str, Callable[..., Values]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "reduce_sum": lambda a: np.add.accumulate(
        np.concatenate([np.zeros((*a.shape[:-1], 1), a.dtype), a], axis=-1), axis=-1
    )[..., -1],
}
"""Functions of NumPy's formats, rounded once, or in ascending order."""


def compute_vectors(
    choice: GtaChoice, function: str, files: Sequence[Path], places: int, output: Path | None
) -> None:
    """Compute, write the result if that is asked for, and report; exit with 1 if anything is wrong.
    Raises UserError for values and shapes that do not fit."""
    operands = _read_operands(choice.format, function, files)
    words = [operand.words for operand in operands]
    watch = Stopwatch()
    expected = found = _golden(choice.format, function, words, places)
    counts: dict[str, int] = {}
    if choice.backend != "model":
        _check_length(choice, function, words, files)
        with gta_session(choice) as session, activity("computing on gta"):
            made = session.run(_driven(choice.format, function, words, places), "vector")
            counts = session.driver.counts
        # The model of cycles has no results.
        found = made if choice.backend == "rtl" else expected
    tally = Tally(seconds=watch.seconds)
    if choice.backend == "rtl":
        tally.compare(found, expected)
    numbers = (
        found.astype(np.uint8) if function in COMPARISONS else numbers_in(found, choice.format)
    )
    agreement = _reference(choice.format, function, operands, places, numbers)
    if output:
        write_array(output, numbers)
    shape = words[0].shape
    details = {
        "function": function, "shape": list(shape),
        "places": places if function in SLIDES else None,
        "rounded": dict(zip("abc", (operand.rounded for operand in operands), strict=False)),
    }  # fmt: skip
    lanes = counted(choice.config.lanes, "lane")
    rows = [
        ("unit", f"gta of {lanes}, {choice.format}, {choice.ran_on}"),
        ("elements", " x ".join(f"{size:,}" for size in shape)),
    ]
    if result := _said(numbers, output):
        rows.append(("result", result))
    if counts:
        rows.append(("cycles", f"{counts['cycles']:,} of jobs, {counts['busy_cycles']:,} with the "
                               f"array at work"))  # fmt: skip
        rows.append(("bytes", f"{counts['bytes_read']:,} read, {counts['bytes_list']:,} of them of "
                              f"lists; {counts['bytes_written']:,} written"))  # fmt: skip
        rows += choice.clock_rows(counts["cycles"])
    Report(
        app="vector",
        title=f"{function} of {', '.join(file.name for file in files)}",
        json_file=choice.json_file,
        figures={
            **accelerator_figures(choice, details, mode=choice.format),
            "cycles": counts.get("cycles"), **choice.clock_figures(counts.get("cycles")),
            "counters": counts or None,
            "seconds": tally.seconds, **checks(tally),
            "references": [agreement.to_json()] if agreement else [],
        },
        rows=rows,
        tally=tally,
        compared="results" if choice.backend == "rtl" else "",
        after=[("reference", agreement.verdict if agreement else "none but the model")],
        wrong=bool(agreement and agreement.wrong),
    ).finish()  # fmt: skip


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
    """Returns work that computes a function by a driver."""

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


def _read_operands(format: str, function: str, files: Sequence[Path]) -> list[Operand]:
    """Operands of one shape; one number stands for as many. Of a slide it is a vector, of a mask 0
    and 1. Raises UserError for values and shapes that do not fit."""
    found = []
    for number, file in enumerate(files):
        array = read_numbers(file, None)
        if function in SLIDES:
            if array.size != max(array.shape):
                raise UserError(
                    f"{file}: must hold a vector (1 dimension), not {array.ndim} dimensions"
                )
            array = array.ravel()
        if function == "select" and not number:
            array = _mask(array, format)
        found.append(operand_of(file, array, format))
    sizes = [operand.words.size for operand in found]
    largest = sizes.index(max(sizes))
    shape = found[largest].words.shape
    for file, operand in zip(files, found, strict=True):
        if operand.words.shape != shape and operand.words.size > 1:
            wanted, given = (" x ".join(map(str, x)) for x in (shape, operand.words.shape))
            raise UserError(
                f"{file}: must be {wanted}, as {files[largest]} is, or one number, not {given}"
            )
    return [
        Operand(
            words=_filled(operand.words, shape),
            values=_filled(operand.values, shape),
            rounded=operand.rounded,
        )
        for operand in found
    ]


def _mask(array: NDArray[Any], format: str) -> NDArray[np.uint8]:
    """Returns 1 for values that are not 0. Lanes look at all bits, so that -0 of floats counts."""
    some = array != 0
    if is_float(format) and array.dtype.kind == "f":
        some |= np.signbit(array)
    return some.astype(np.uint8)


def _filled(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if array.shape == shape:
        return array
    return np.full(shape, array.reshape(-1)[0], array.dtype)


def _reference(
    format: str, function: str, operands: Sequence[Operand], places: int, found: Values
) -> Agreement | None:
    """A result beside NumPy's: integers and the zeros' signs aside all bits; None where it has no
    such operation."""
    values = [operand.values for operand in operands]
    if function in SLIDES:
        expected = _slid(values[0], places if function == "slide_up" else -places)
    elif function in _ANY:
        expected = _ANY[function](*values)
    elif not is_float(format):
        expected = _integers(format, function, values)
    elif format in _TYPES and function in _ROUNDED:
        with np.errstate(all="ignore"):
            expected = _ROUNDED[function](*(each.astype(_TYPES[format]) for each in values))
    else:
        return None
    nowhere = np.isnan(expected) & np.isnan(found) if is_float(format) else np.False_
    return exactly("NumPy", np.where(nowhere, 0, found), np.where(nowhere, 0, expected))


def _slid(values: Values, places: int) -> Values:
    moved = np.zeros_like(values)
    kept = max(0, len(values) - abs(places))
    if places >= 0:
        moved[len(values) - kept :] = values[:kept]
    else:
        moved[:kept] = values[len(values) - kept :]
    return moved


def _integers(format: str, function: str, values: Sequence[Values]) -> Values:
    """Modulo the width of the format."""
    bits = FORMATS[format].bits
    own = [each.astype(f"i{bits // 8}") for each in values]
    with np.errstate(over="ignore"):
        if function == "mulh":
            whole = own[0].astype(object) * own[1].astype(object) >> bits
            return whole.astype(np.int64).astype(own[0].dtype)
        if function == "fma":
            return own[0] * own[1] + own[2]
        if function == "reduce_sum":
            return own[0].sum(axis=-1, dtype=own[0].dtype)
        if function in _ROUNDED:
            return _ROUNDED[function](*own)
        amount = own[1] & own[1].dtype.type(bits - 1)
        if function == "srl":
            return (own[0].view(f"u{bits // 8}") >> amount.view(f"u{bits // 8}")).view(own[0].dtype)
        return own[0] << amount if function == "sll" else own[0] >> amount
