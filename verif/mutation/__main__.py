"""Mutation testing: ``python -m tilewright.verif.mutation --mutants N``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.verif.mutation.report import killed_share, table
from tilewright.verif.mutation.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Part:
    """Modules, and the tests that must notice what is wrong with them.

    Parameters
    ----------
    folders: paths of the modules begin with one of these
    tests: files and options of pytest; the default size
    share: of the mutants, among the parts that all systems share
    bar: of the mutants that are not equivalent, the share to be killed
    candidates: mutations of each module that a design is built with
    """

    folders: tuple[str, ...]
    tests: tuple[str, ...]
    share: float = 0.0
    bar: float = 0.95
    candidates: int = 20


def _shared(name: str, share: float, *tests: str) -> Part:
    found = [test if test.startswith("-") else f"verif/{name}/{test}" for test in tests or ("",)]
    left_out = ("--ignore-glob=*formal*", "--ignore-glob=*model*", "-k", "not is_found")
    candidates = 20 if name == "arith" else 40
    return Part((f"hw/{name}/",), (*found, *left_out), share, candidates=candidates)


SHARED = {
    "arith": _shared("arith", 0.60, "", "--ignore-glob=*testfloat*"),
    "stream": _shared("stream", 0.16),
    "axi": _shared("axi", 0.16, "exhaustive"),
    "job": _shared("job", 0.08),
}
"""What all systems share. Left out: models, which do not run the Verilog; designs that are broken
on purpose; operands of TestFloat, which takes longer than all others."""


def _system(folders: tuple[str, ...], *tests: str) -> Part:
    return Part(folders, tests, bar=0.9, candidates=60)


SYSTEMS = {
    "c2sr_converter": _system(("hw/c2sr_converter/",), "verif/c2sr/test_converter.py"),
    "engine": _system(
        tuple(f"hw/engine/{n}" for n in ("job_", "load", "operand_w", "row_w", "seq", "stor")),
        "verif/engine/test_native.py",
        "verif/engine/test_control.py",
    ),
    "matraptor": _system(
        ("hw/matraptor/control", "hw/matraptor/load/"), "verif/matraptor/test_native.py"
    ),
    "sida": _system(
        ("hw/sida/control", "hw/sida/pass_control", "hw/sida/load/"), "verif/sida/test_native.py"
    ),
    "tensaurus": _system(
        ("hw/tensaurus/control", "hw/tensaurus/load/"), "verif/tensaurus/test_native.py"
    ),
}
"""Job control and loaders of accelerators."""

PARTS = SHARED | SYSTEMS

STAND_INS = {
    "verif.stream.test_multiplex.Paths": "hw/stream/multiplex.py",
    "verif.job.test_activity.Counters": "hw/job/activity.py",
    "verif.job.test_checks.Evaluator": "hw/job/checks.py",
    "verif.job.test_states.Control": "hw/job/states.py",
    "verif.job.test_states.Controlled": "hw/job/states.py",
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
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(SHARED))
    parser.add_argument("--json", type=Path, help="also write every mutant to this file")
    told = parser.parse_args()
    rows: list[dict[str, Any]] = []
    sound = True
    shares = {part: PARTS[part].share or 1 / len(told.parts) for part in told.parts}
    for name, share in shares.items():
        part, mutants = PARTS[name], round(told.mutants * share / sum(shares.values()))
        with tempfile.TemporaryDirectory() as scratch:
            settings = Settings(
                folders=part.folders,
                mutants=mutants,
                seed=told.seed,
                result=Path(scratch) / "result.json",
                here=part.candidates,
                most=4 * part.candidates,
                stand_ins=STAND_INS,
            )
            found = run(settings, list(part.tests))
        rows += found["mutants"]
        sound &= found["sound"]
        counts = Counter(one["verdict"] for one in found["mutants"])
        sound &= killed_share(counts) >= part.bar
        print(
            f"{name}: {killed_share(counts):.1%} killed, to be {part.bar:.0%}, "
            f"{found['seconds']:.0f} s of processor time",
            flush=True,
        )
    for one in rows:
        if one["verdict"] == "survivor":
            print(f"survivor {one['mutation']['module']}: {one['mutation']['where']}")
    print(f"seed {told.seed}\n{table(rows)}")
    if told.json:
        told.json.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(not sound)


if __name__ == "__main__":
    main()
