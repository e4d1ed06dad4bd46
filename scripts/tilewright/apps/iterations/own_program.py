"""``tilewright run passes``: a program of the user's, pass after pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.elementwise.assembler import AssemblyError, assemble
from ...hw.spec.elementwise.program import PARTS, Program
from ...hw.spec.formats import FloatFormat, Format
from ...hw.spec.sida import SIDA_SEMIRINGS
from ...numbers_given import real, whole
from ...sim.numbers.values import Patterns, decode
from ...sim.sida.iterations.graphs import columns_of
from ...sim.sida.iterations.problem import Problem, Solution, Stop
from ..common.files import read_content, write_whole
from ..common.rounding import largest, round_to, warn_rounding
from .application import Source, matrix_of, read_vector
from .options import SidaChoice, SidaOptions, choose_sida
from .outcome import outcome_of_problem
from .report import Residual, finish_iterations
from .session import run_problem

__all__ = ["passes"]


@dataclass(frozen=True, kw_only=True)
class OwnOptions:
    """What a program of the user's is run with."""

    first: Annotated[str, typer.Option("--semiring", help="Of both products, or of the first.")] = (
        "mma"
    )
    second: Annotated[
        str | None, typer.Option("--second-semiring", help="Of the second product.")
    ] = None
    transposed: Annotated[
        bool, typer.Option("--transposed", help="The second product is with the transpose of L.")
    ] = False
    count: Annotated[
        int,
        typer.Option(
            "--passes", parser=whole("--passes", 1, 1_000_000), metavar="N", help="At most."
        ),
    ] = 1
    x: Annotated[
        Path | None, typer.Option("--x", metavar="FILE", help="First operand; default: ones.")
    ] = None
    vectors: Annotated[
        list[str] | None,
        typer.Option("--vector", metavar="NAME=FILE", help="A vector; default: zeros."),
    ] = None
    scalars: Annotated[
        list[str] | None,
        typer.Option(
            "--scalar",
            metavar="NAME=VALUE",
            help="A scalar, or what a reduction is before the first pass.",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="NAME,NAME",
            help="Reductions of E1 and of E2: it ends when one is below --below.",
        ),
    ] = None
    below: Annotated[str | None, typer.Option("--below", metavar="F", help="See --until.")] = None


def passes(
    file: Annotated[Path, typer.Argument(metavar="MATRIX", help="Square, .mtx or .npy.")],
    program: Annotated[
        Path, typer.Option("--program", metavar="FILE.ew", help="E1 and E2, as text.")
    ],
    own: OwnOptions,
    *,
    options: SidaOptions,
) -> None:
    """Run a program of your own: y = x L, E1 on y, w of E1's result times L (or its transpose), E2
    on w, which gives the next x; pass after pass.

    -o writes all vectors, .npz. On RTL everything is compared with the model.
    """
    if options.max_iterations is not None:
        raise UserError("--max-iterations and passes exclude each other: --passes says how many")
    for option, name in (("--semiring", own.first), ("--second-semiring", own.second)):
        if name is not None and name not in SIDA_SEMIRINGS:
            raise UserError(f"{option} must be one of {', '.join(SIDA_SEMIRINGS)}, not {name!r}")
    choice = choose_sida(options, "passes", own.first, floats=False, suffixes=(".npz",))
    if own.second is not None and own.second not in choice.config.semirings:
        raise UserError(
            f"`semirings` must have {own.second} for --second-semiring, not "
            f"{', '.join(choice.config.semirings)} alone"
        )
    text = _assembled(choice, program)
    fmt = choice.config.format
    scalars = _scalars(own.scalars or (), text, program, fmt)
    stop = _stop(own, text, fmt)
    _check_written(program, text, fmt)
    if choice.config.value == "int32":
        _check_integers(program, text, scalars, stop)
    matrix = matrix_of(choice, file)
    matrix.data = _rounded(choice, file, matrix.data)
    problem = Problem(
        program=text,
        semiring=SIDA_SEMIRINGS[own.first],
        second=SIDA_SEMIRINGS[own.second] if own.second else None,
        transposed=own.transposed,
        matrix=columns_of(matrix, fmt),
        x=_vector(choice, own.x, matrix.shape[0], 1.0),
        scalars=scalars,
        vectors=_vectors(choice, own.vectors or (), text, matrix.shape[0]),
        stop=stop,
        results=(text.vectors[0], text.vectors[0]),
    )
    run = run_problem(choice, problem, 2 * own.count)
    _finish(choice, file, program, problem, run)


def _finish(choice: SidaChoice, file: Path, program: Path, problem: Problem, run: Any) -> None:
    solution: Solution = run.solution
    fmt = choice.config.format
    arrays = {name: decode(values[:, 0], fmt) for name, values in solution.vectors.items()}
    numbers = {
        name: float(decode(np.array([pattern], np.uint64), fmt)[0])
        for name, pattern in solution.scalars.items()
    }
    reductions = [one.name for one in problem.program.scalars if one.reduction]
    source = Source(path=file, kind="matrix", text=f"{problem.matrix.size:,} rows",
                    details={"rows": problem.matrix.size})  # fmt: skip
    rows = [(source.kind, source.text), ("program", f"{program}, {problem.program.words} words")]
    rows += [(f"reduction {name}", f"{numbers[name]:.9g}") for name in reductions]
    for name, values in arrays.items():
        with np.errstate(all="ignore"):
            text = f"{values.min():.6g} to {values.max():.6g}, {values.sum():.9g} in all"
        rows.append((f"vector {name}", text))
    if choice.output:
        write_whole(choice.output, lambda out: np.savez(out, **arrays))  # type: ignore[arg-type]
        rows.append(("vectors", str(choice.output)))
    residual = None
    if problem.stop is not None:
        name = problem.stop.reductions[(solution.iterations + 1) % 2]
        limit = float(decode(np.array([problem.stop.pattern(fmt)], np.uint64), fmt)[0])
        residual = Residual(what=name, value=numbers[name], limit=limit)
    details = {
        "file": str(file), "program": str(program), **source.details,
        "semirings": [row.name for row in problem.semirings], "transposed": problem.transposed,
        "scalars": {name: value if np.isfinite(value) else None for name, value in numbers.items()},
    }  # fmt: skip
    finish_iterations(
        "passes", f"{program.name} on {file.name}", rows, choice,
        outcome_of_problem(choice, problem, run), details, verdict=None, residual=residual,
    )  # fmt: skip


def _assembled(choice: SidaChoice, path: Path) -> Program:
    """The program of a file; UserError with line and column if it is none."""
    config = choice.config
    try:
        found = assemble(read_content(path).decode(), config.program_words)
    except UnicodeDecodeError:
        raise UserError(f"{path}: must be text in UTF-8") from None
    except AssemblyError as error:
        raise UserError(f"{path}: {error}") from None
    if not found.vectors:
        raise UserError(f"{path}: must declare a vector, since only what is stored is kept")
    for part in PARTS:
        for one in found.part(part):
            name = one.operation.name
            if name == "dot" or (one.operation.floats and config.value == "int32"):
                why = "one feature" if name == "dot" else config.value
                raise UserError(f"{path}: {part} has {name}, which a unit of {why} has not")
    return found


def _number(option: str, text: str, fmt: Format) -> float:
    """A number that a format reaches; UserError otherwise."""
    return real(option, -largest(fmt), largest(fmt))(text)


def _check_written(path: Path, program: Program, fmt: Format) -> None:
    """Warn of numbers in the text that a format of floats does not hold."""
    written = [one.value for one in program.scalars if one.value is not None]
    finite = np.array([value for value in written if np.isfinite(value)])
    if len(finite) and isinstance(fmt, FloatFormat):
        warn_rounding(path, round_to(finite, fmt), fmt)


def _scalars(given: Sequence[str], program: Program, path: Path, fmt: Format) -> dict[str, float]:
    """What --scalar says."""
    known = {one.name: one for one in program.scalars if one.name and one.value is None}
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals or name not in known:
            raise UserError(
                f"--scalar must be of NAME=VALUE, names {', '.join(known) or 'none'}, not {text!r}"
            )
        if name in found:
            raise UserError(f"--scalar must give {name} once, not {found[name]:g} and {value!r}")
        special = isinstance(fmt, FloatFormat) and re.fullmatch("[+-]?(inf|nan)", value)
        found[name] = float(value) if special else _number(f"--scalar {name}", value, fmt)
    missing = [name for name, one in known.items() if not one.reduction and name not in found]
    if missing:
        raise UserError(f"{path}: takes scalar {missing[0]}: give --scalar {missing[0]}=VALUE")
    return found


def _check_integers(
    path: Path, program: Program, scalars: Mapping[str, float], stop: Stop | None
) -> None:
    """What has no place in integers of 32 bits."""
    written = [one.value for one in program.scalars if one.value is not None]
    for value in [*written, *scalars.values(), *([] if stop is None else [stop.limit])]:
        if not (abs(value) < 1 << 31 and value == int(value)):
            raise UserError(f"{path}: {value:g} is no integer of 32 bits, which int32 needs")


def _stop(own: OwnOptions, program: Program, fmt: Format) -> Stop | None:
    """What --until and --below say."""
    if (own.until is None) != (own.below is None):
        raise UserError("--until and --below go together")
    if own.until is None or own.below is None:
        return None
    names = [word.strip() for word in own.until.split(",")]
    known = [one.name for one in program.scalars if one.reduction]
    if len(names) != 2 or not set(names) <= set(known):
        raise UserError(
            f"--until must be two reductions of {', '.join(known) or 'none'}, not {own.until!r}"
        )
    return Stop(reductions=(names[0], names[1]), limit=_number("--below", own.below, fmt))


def _vectors(
    choice: SidaChoice, given: Sequence[str], program: Program, size: int
) -> dict[str, Patterns]:
    """What --vector says; zeros otherwise."""
    files: dict[str, Path] = {}
    for text in given:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals or name not in program.vectors:
            raise UserError(
                f"--vector must be of NAME=FILE, names {', '.join(program.vectors)}, not {text!r}"
            )
        if name in files:
            raise UserError(
                f"--vector must give {name} once, not {str(files[name])!r} and {value!r}"
            )
        files[name] = Path(value)
    return {name: _vector(choice, files.get(name), size, 0.0) for name in program.vectors}


def _vector(choice: SidaChoice, path: Path | None, size: int, value: float) -> Patterns:
    """(size, 1) patterns."""
    if path is None:
        return round_to(np.full((size, 1), value), choice.config.format).words
    rounded = round_to(read_vector(path, size)[:, None], choice.config.format)
    warn_rounding(path, rounded, choice.config.format)
    return rounded.words


def _rounded(choice: SidaChoice, path: Path, values: NDArray[Any]) -> NDArray[Any]:
    rounded = round_to(values, choice.config.format)
    warn_rounding(path, rounded, choice.config.format)
    return rounded.values
