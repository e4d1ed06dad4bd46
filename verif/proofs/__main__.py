"""Prints what is proved: ``python -m tilewright.verif.proofs [--long] [words of the rows]``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tilewright.verif.proofs.proof import Proof
from tilewright.verif.proofs.table import PROOFS
from tilewright.verif.stream.prover import Verdict, prove


def _row(proof: Proof, verdict: Verdict) -> str:
    depth = "unbounded" if verdict.cycles is None else f"{verdict.cycles} cycles"
    said = {True: "holds", False: f"broken in cycle {verdict.cycles}", None: "not found out"}
    found = said[verdict.holds]
    reached = [cycle for cycle in verdict.reached.values() if cycle is not None]
    last = f"{max(reached)}" if reached else "-"
    if verdict.holds is not True:
        depth = "-"
    columns = (proof.part, proof.says, found, depth, last, f"{verdict.seconds:.1f}")
    return f"| {' | '.join(columns)} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tilewright.verif.proofs", description=__doc__)
    parser.add_argument("--long", action="store_true", help="also those of the long test")
    parser.add_argument("words", nargs="*", help="only rows with one of these words")
    arguments = parser.parse_args()
    print("| part | property | result | depth | last event reached in cycle | seconds |")
    print("|---|---|---|---|---|---|")
    wrong = 0
    for proof in PROOFS:
        if proof.size == "long" and not arguments.long:
            continue
        if arguments.words and not any(word in proof.name for word in arguments.words):
            continue
        with tempfile.TemporaryDirectory() as directory:
            verdict = prove(
                proof.claim(), Path(directory), cycles=proof.cycles, within=proof.within
            )
        wrong += verdict.holds is not (not proof.refuted)
        print(_row(proof, verdict), flush=True)
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())
