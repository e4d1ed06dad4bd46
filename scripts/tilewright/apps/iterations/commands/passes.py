"""``tilewright run passes``: a program of the user's, pass after pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.elementwise.assembler import AssemblyError, assemble
from ....hw.spec.elementwise.program import PARTS, Program
from ....hw.spec.host.words import not_one_of
from ....hw.spec.sida import SIDA_SEMIRINGS
from ...common.files import ARRAY_NAMES, read_content
from ...common.first_lines import check_first_lines
from ...common.sizing import cure
from ...common.units.sida import SidaChoice, SidaOptions, choose_sida
from ..options import IterationOptions, OwnOptions

__all__ = ["passes"]


def passes(
    file: Annotated[
        Path, typer.Argument(metavar="MATRIX", help=f"The square matrix L, {ARRAY_NAMES}.")
    ],
    program: Annotated[
        Path, typer.Option("--program", metavar="FILE.ew", help="The program, E1 and E2, as text.")
    ],
    own: OwnOptions,
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:
    """Run your own program, pass after pass: y = x L, E1 on y, w = E1's result times L (or its
    transpose), E2 on w, which gives the next x.

    -o writes all vectors, .npz. With the rtl backend all values are compared with the model.
    """
    if how.max_iterations is not None:
        raise UserError("--max-iterations and passes exclude each other: --passes says how many")
    for option, name in (("--semiring", own.first), ("--second-semiring", own.second)):
        if name is not None and name not in SIDA_SEMIRINGS:
            raise UserError(not_one_of(option, SIDA_SEMIRINGS, name))
    choice = choose_sida(
        options, "passes", own.first, output=how.output, floats=False, suffixes=(".npz",)
    )
    if own.second is not None and own.second not in choice.config.semirings:
        raise UserError(
            f"`semirings` must have {own.second} for --second-semiring, not "
            f"{', '.join(choice.config.semirings)} alone"
        )
    text = _assembled(choice, program)
    choice = choice.with_least("program_words", text.words, f"{text.words} words of {program}")
    check_first_lines(file, choice.check_matrix)
    if own.x:
        check_first_lines(own.x)
    from ..inputs import read_own

    given = read_own(choice, own, text, program)
    from ..inputs import matrix_of

    matrix = matrix_of(choice, file)
    choice = choice.sized(matrix.shape[0], "rows")
    from ..own_program import run_own

    run_own(choice, file, matrix, program, own, given)


def _assembled(choice: SidaChoice, path: Path) -> Program:
    """The program of a file; UserError with line and column if it is none."""
    try:
        found = assemble(read_content(path).decode())
    except UnicodeDecodeError:
        raise UserError(f"{path}: must be text in UTF-8") from None
    except AssemblyError as error:
        raise UserError(f"{path}: {error}") from None
    config = choice.with_least("program_words", found.words, "words").config
    if found.words > config.program_words:
        raise UserError(
            f"{path}: {found.words} words are too many for `program_words` {config.program_words}, "
            f"instructions of a program{cure(config, 'program_words', found.words)}"
        )
    if not found.vectors:
        raise UserError(f"{path}: must declare a vector, since only what is stored is kept")
    for part in PARTS:
        for one in found.part(part):
            name = one.operation.name
            if name == "dot" or (one.operation.floats and config.value == "int32"):
                why = "one feature" if name == "dot" else config.value
                raise UserError(f"{path}: {part} has {name}, which a unit of {why} has not")
    return found
