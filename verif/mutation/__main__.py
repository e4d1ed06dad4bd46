"""Mutation testing: ``python -m tilewright.verif.mutation --mutants N``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tilewright.verif.mutation.report import table
from tilewright.verif.mutation.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PARTS = {"arith": 0.62, "stream": 0.16, "axi": 0.14, "job": 0.08}
"""Folders of ``hw`` whose modules all systems share, and their share of the mutants."""

STAND_INS = {
    "tilewright.verif.stream.test_multiplex.Paths": "hw/stream/multiplex.py",
    "tilewright.verif.job.test_activity.Counters": "hw/job/activity.py",
    "tilewright.verif.job.test_checks.Evaluator": "hw/job/checks.py",
    "tilewright.verif.job.test_states.Control": "hw/job/states.py",
    "tilewright.verif.job.test_states.Controlled": "hw/job/states.py",
}


def run(settings: Settings, tests: list[str]) -> dict[str, Any]:
    """Run the tests on mutants, in a process of their own; returns what it wrote."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "--assert=plain",
        "-o", "timeout=0", "-p", "tilewright.verif.mutation.plugin", *tests,
    ]  # fmt: skip
    environment = {**os.environ, "TILEWRIGHT_TESTS": "default", **settings.environment()}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    found: dict[str, Any] = json.loads(settings.result.read_text())
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="./scripts/test --mutants", description=__doc__)
    parser.add_argument("mutants", type=int, help="how many in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, help="also write every mutant to this file")
    told = parser.parse_args()
    total, rows, sound = sum(PARTS[part] for part in told.parts), [], True
    for part in told.parts:
        with tempfile.TemporaryDirectory() as scratch:
            settings = Settings(
                folders=(f"hw/{part}/",),
                mutants=round(told.mutants * PARTS[part] / total),
                seed=told.seed,
                result=Path(scratch) / "result.json",
                stand_ins=STAND_INS,
            )
            found = run(settings, [f"verif/{part}", "--ignore-glob=*formal*"])
        rows += found["mutants"]
        sound &= found["sound"]
        print(f"{part}: {found['seconds']:.0f} s of processor time", flush=True)
    for one in rows:
        if one["verdict"] == "survivor":
            print(f"survivor {one['mutation']['module']}: {one['mutation']['where']}")
    print(f"seed {told.seed}\n{table(rows)}")
    if told.json:
        told.json.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(not sound)


if __name__ == "__main__":
    main()
