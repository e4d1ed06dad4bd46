"""``python -m tilewright.synth.tables.memories`` prints the law of a library's memories, and the
error of each formula at each of its macros."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from ..memories.estimate import library_law
from ..memories.fits import deviations
from ..memories.laws import Law
from ..memories.report import MemoryLaw
from ..targets import target_library

FIGURES = ("area", "access_ns", "read_pj", "write_pj")


def rows(law: Law) -> list[list[str]]:
    """Returns for each macro its size, and the errors of each figure in percent: fitted, and left
    out."""
    sizes = [(macro.words, macro.width) for macro in law.macros]
    columns = [[f"{words} x {width}" for words, width in sizes]]
    for name in FIGURES:
        fit = getattr(law, name)
        _, errors, left_out = deviations(fit.terms, sizes, [getattr(m, name) for m in law.macros])
        columns.append([f"{a:+.1f} / {b:+.1f}" for a, b in zip(errors, left_out, strict=True)])
    return [list(row) for row in zip(*columns, strict=True)]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tilewright.synth.tables.memories")
    parser.add_argument("--target", default="sg13g2", help="as of `synth`; a cell library")
    parser.add_argument("--liberty-path", help="folder of the known libraries")
    asked = parser.parse_args(arguments)
    try:
        library = target_library(asked.target, liberty_path=asked.liberty_path)
        if library is None:
            parser.error(f"--target must be a cell library, not {asked.target}")
        law = library_law(library)
    except ValueError as error:
        parser.error(str(error))
    console = Console(soft_wrap=True)
    MemoryLaw.of(law).print(console)
    for name in ("read", "write"):
        fit = getattr(law, f"{name}_pj")
        if fit is not None:
            console.print(f"  energy of a {name} {fit} pJ, error {fit.errors}", highlight=False)
    if law.macros:
        print(f"| macro | {' | '.join(FIGURES)} |", "|---" * (len(FIGURES) + 1) + "|", sep="\n")
        for row in rows(law):
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
