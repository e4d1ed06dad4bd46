"""Prints what is proved: ``python -m tilewright.verif.proofs [--long] [words of the rows]``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tilewright.verif.proofs.claim import Proof
from tilewright.verif.proofs.table import PROOFS
from tilewright.verif.proofs.waits.explorer import explore
from tilewright.verif.proofs.waits.table import WAITS, Wait
from tilewright.verif.stream.prover import prove

_Row = TypeVar("_Row", Proof, Wait)


def _prove(proof: Proof, directory: Path) -> tuple[bool, tuple[str, ...]]:
    verdict = prove(proof.claim(), directory, cycles=proof.cycles, within=proof.within)
    depth = "unbounded" if verdict.cycles is None else f"{verdict.cycles} cycles"
    said = {True: "holds", False: f"broken in cycle {verdict.cycles}", None: "not found out"}
    found = said[verdict.holds]
    reached = [cycle for cycle in verdict.reached.values() if cycle is not None]
    last = f"{max(reached)}" if reached else "-"
    if verdict.holds is not True:
        depth = "-"
    columns = (proof.part, proof.says, found, depth, last, f"{verdict.seconds:.1f}")
    return verdict.holds is (not proof.refuted), columns


def _explore(wait: Wait, directory: Path) -> tuple[bool, tuple[str, ...]]:
    found = explore(wait.claim(patience=wait.patience), directory)
    longest = ", ".join(
        f"{name.replace('_', ' ')} {'for ever' if cycles is None else cycles}"
        for name, cycles in found.longest.items()
    )
    columns = (wait.part, f"{wait.patience}", longest, f"{found.states:,}", f"{found.seconds:.1f}")
    return found.longest == wait.longest, columns


def _print_table(
    head: Sequence[str],
    rows: Sequence[_Row],
    run: Callable[[_Row, Path], tuple[bool, tuple[str, ...]]],
) -> int:
    """Print a row for each, as soon as it is known. Returns how many are not as they should be."""
    print(f"| {' | '.join(head)} |")
    print(f"|{'---|' * len(head)}")
    wrong = 0
    for row in rows:
        with tempfile.TemporaryDirectory() as directory:
            right, columns = run(row, Path(directory))
        wrong += not right
        print(f"| {' | '.join(columns)} |", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tilewright.verif.proofs", description=__doc__)
    parser.add_argument("--long", action="store_true", help="also those of the long test")
    parser.add_argument("words", nargs="*", help="only rows with one of these words")
    arguments = parser.parse_args()

    def chosen(rows: Sequence[_Row]) -> list[_Row]:
        sizes = ("default", "long") if arguments.long else ("default",)
        words = arguments.words
        return [
            row
            for row in rows
            if row.size in sizes and (not words or any(word in row.name for word in words))
        ]

    wrong = _print_table(
        ("part", "property", "result", "depth", "last event reached in cycle", "seconds"),
        chosen(PROOFS),
        _prove,
    )
    print()
    return wrong + _print_table(
        ("part", "answers within, cycles", "longest waits, cycles", "states", "seconds"),
        chosen(WAITS),
        _explore,
    )


if __name__ == "__main__":
    raise SystemExit(main())
