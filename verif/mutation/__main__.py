"""Mutation testing: ``python -m tilewright.verif.mutation --mutants N``."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.verif.mutation.proof import Mutation
from tilewright.verif.mutation.settings import Settings, killed_share, read_end, read_rows, table

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


_SEMIRINGS = (
    "verif/matrix_units/simd2/test_simd2_alus.py",
    "verif/matrix_units/simd2/test_simd2_pairs.py::test_every_pair_alone_in_a_result[int8]",
)
"""Tests of `hw/arith/semiring`: the two ALUs of floats, and a unit of integers."""


def _shared(name: str, share: float, *tests: str, more: tuple[str, ...] = ()) -> Part:
    found = [test if test.startswith("-") else f"verif/{name}/{test}" for test in tests or ("",)]
    left_out = ("--ignore-glob=*formal*", "--ignore-glob=*model*", "-k", "not is_found")
    candidates = 25 if name == "arith" else 40
    return Part((f"hw/{name}/",), (*found, *more, *left_out), share, candidates=candidates)


SHARED = {
    "arith": _shared("arith", 0.60, "", "--ignore-glob=*testfloat*", more=_SEMIRINGS),
    "stream": _shared("stream", 0.16),
    "axi": _shared("axi", 0.16, "exhaustive", "test_interconnect.py"),
    "job": _shared("job", 0.08),
}
"""Parts that all systems share. Left out: models, which do not run the Verilog; designs that are
broken on purpose; operands of TestFloat, which takes longer than all others."""


def _system(folders: tuple[str, ...], *tests: str) -> Part:
    return Part(folders, tests, bar=0.9, candidates=110)


_CONTROLS = ("verif/job/test_controls.py", "verif/job/test_counters.py")

SYSTEMS = {
    "c2sr_converter": _system(
        ("hw/c2sr_converter/",), "verif/c2sr/test_native_parts.py", *_CONTROLS,
        *("-k", "c2sr"),
    ),
    "engine": _system(
        tuple(f"hw/engine/{n}" for n in ("job_", "block_tr", "operand_w", "feeder")),
        *("verif/engine/test_native_parts.py", "verif/engine/test_row_walker.py", *_CONTROLS),
        *("-k", "test_native_parts or row_walk or engine"),
    ),
    "gta": _system(
        ("hw/gta/control/", "hw/gta/lane_loader"),
        *("verif/gta/test_native_parts.py", *_CONTROLS, "-k", "test_native_parts or gta"),
    ),
    "matraptor": _system(
        ("hw/matraptor/control", "hw/matraptor/load/"),
        *("verif/matraptor/load", *_CONTROLS, "-k", "native_loaders or matraptor"),
    ),
    "sida": _system(
        ("hw/sida/pass_control", "hw/sida/load/"),
        *("verif/sida/load", "verif/sida/test_pass_control.py", *_CONTROLS),
        *("-k", "loader or test_pass_control or sida"),
    ),
    "t2s": _system(
        tuple(f"hw/t2s/{n}" for n in ("t2s", "loader")),
        *("verif/t2s/memory/test_native_loader.py", *_CONTROLS, "-k", "run_walk or t2s"),
    ),
    "tensaurus": _system(
        ("hw/tensaurus/tensaurus", "hw/tensaurus/load/"),
        *("verif/tensaurus/load", *_CONTROLS, "-k", "loader or tiles or tensaurus"),
    ),
}  # fmt: skip
"""Job control, counters and loaders of accelerators, which benches of single parts run."""


def _together(parts: Sequence[Part]) -> Part:
    """All of these in one run, which builds once what they share."""
    files = dict.fromkeys(one for part in parts for one in part.tests if one.startswith("verif/"))
    chosen = " or ".join(f"({part.tests[-1]})" for part in parts)
    return _system(tuple(one for part in parts for one in part.folders), *files, "-k", chosen)


TOGETHER = {"accelerators": _together([*SYSTEMS.values()])}

PARTS = SHARED | SYSTEMS | TOGETHER

STAND_INS = {
    "verif.stream.test_multiplex.Paths": "hw/stream/multiplex.py",
    "verif.job.test_activity.Counters": "hw/job/activity.py",
    "verif.job.test_checks.Evaluator": "hw/job/checks.py",
    "verif.job.test_states.Control": "hw/job/states.py",
    "verif.job.test_states.Controlled": "hw/job/states.py",
}


def run(settings: Settings, tests: list[str]) -> None:
    """Runs the tests on mutants in a separate process, which writes the result file."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "--assert=plain",
        "-o", "timeout=0", "-p", "tilewright.verif.mutation.plugin", *tests,
    ]  # fmt: skip
    environment = {**os.environ, "TILEWRIGHT_TESTS": "default", **settings.environment()}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


def _report(name: str, file: Path) -> tuple[list[dict[str, Any]], bool]:
    """Print what became of a part's mutants; returns them, and whether the part is as it should
    be."""
    rows, end, bar = read_rows(file), read_end(file), PARTS[name].bar
    share = killed_share(Counter(one["verdict"] for one in rows))
    how = f"{end['seconds']:.0f} s of processor time" if end else "cut off"
    print(f"{name}: {len(rows)} mutants, {share:.1%} killed, to be {bar:.0%}, {how}", flush=True)
    return rows, bool(end and end["sound"]) and share >= bar


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="./scripts/test --mutants", description=__doc__)
    parser.add_argument("mutants", type=int, help="how many in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(SHARED))
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="write every mutant to a file per part in DIR when it is decided; "
        "a run of the same sources continues there",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="run the survivors that --results DIR holds on the present tests; the other mutants "
        "of the same designs keep their verdicts",
    )
    parser.add_argument(
        "--proof-seconds",
        type=int,
        default=60,
        metavar="N",
        help="processor time of the proof that a survivor changes nothing; 0: no proof, "
        "all of them count as survivors",
    )
    told = parser.parse_args()
    if told.again and not told.results:
        parser.error("--again needs --results DIR, which holds the mutants of an earlier run")
    # A run that is ended from outside says how far it came, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as scratch:
        results = told.results or Path(scratch)
        results.mkdir(parents=True, exist_ok=True)
        settings = {"seed": told.seed, "again": told.again, "proof_seconds": told.proof_seconds}
        sys.exit(not _run_parts(told.mutants, told.parts, results, **settings))


def _run_parts(
    mutants: int, parts: list[str], results: Path, *, seed: int, again: bool, proof_seconds: int
) -> bool:
    """Run mutants of parts and print what became of them, also if an interrupt cuts the run off;
    whether all is as it should be."""
    shares = {part: PARTS[part].share or 1 / len(parts) for part in parts}
    rows: list[dict[str, Any]] = []
    sound = True
    for name, share in shares.items():
        part, file = PARTS[name], results / f"{name}.jsonl"
        settings = Settings(
            folders=part.folders,
            mutants=round(mutants * share / sum(shares.values())),
            seed=seed,
            result=file,
            here=part.candidates,
            most=4 * part.candidates,
            again=again,
            proof_seconds=proof_seconds,
            stand_ins=STAND_INS,
        )
        interrupted = False
        try:
            run(settings, list(part.tests))
        except KeyboardInterrupt:
            interrupted = True
        found, as_it_should = _report(name, file)
        rows, sound = rows + found, sound and as_it_should
        if interrupted:
            break
    for one in rows:
        if one["verdict"] == "survivor":
            print(f"survivor ({one['why']}): {Mutation(**one['mutation']).short}")
    print(f"seed {seed}\n{table(rows)}")
    return sound and not interrupted


if __name__ == "__main__":
    main()
