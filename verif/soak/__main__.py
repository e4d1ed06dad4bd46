"""``./scripts/test --soak HOURS``: all accelerators in turn, each on memories at random.

A unit's turn takes some seconds; the next turn is that of the unit with the fewest cycles. A run
ends after its hours, when every unit has its cycles, at the first fault, or by an interrupt; what
was reached is in a file, with which the next run continues.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from tilewright.hw.spec.host.cache import cache_directory
from tilewright.registry import entries
from tilewright.sim.device.protocol import JobError
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiRuleError
from tilewright.verif.soak.soaked_unit import Progress, ProgressError, SoakedUnit, UnitProgress

_TURN = 20.0
"""Seconds of a unit's turn at most, and of the whole run a unit's share of it."""
_FAULTS = (AssertionError, AcceleratorTimeout, AxiRuleError, JobError)


class SoakFault(Exception):
    """An accelerator failed on a seed; the text has all details."""

    def __init__(self, unit: str, seed: int, what: str) -> None:
        super().__init__(f"{unit}, seed {seed}: {what}")
        self.unit, self.seed = unit, seed


def accelerators() -> list[str]:
    """The names of all accelerators."""
    return [name for name, entry in entries().items() if entry.unit.jobs is not None]


def run_seed(unit: SoakedUnit, seed: int) -> tuple[int, int]:
    """The jobs and cycles of a seed. Raises SoakFault."""
    try:
        return unit.round(seed)
    except _FAULTS as error:
        text = " ".join(str(error).split()) or "a wrong result"
        raise SoakFault(unit.name, seed, text) from error


def soak(
    units: Sequence[SoakedUnit],
    progress: Progress,
    seconds: float,
    *,
    cycles: int | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Give the units turns. Raises SoakFault at the first fault.

    Parameters
    ----------
    progress: where they begin; saved after every turn, without the seed that failed
    seconds: of the whole run; it ends with the seed that is in progress then
    cycles: of each unit, after which it gets no more turns
    say: takes a line of each turn
    """
    end = time.monotonic() + seconds
    turn = min(_TURN, seconds / len(units))
    known = {unit.name: progress.of(unit.name, unit.design) for unit in units}

    def enough(own: UnitProgress) -> bool:
        return cycles is not None and own.cycles >= cycles

    while time.monotonic() < end:
        unit = min(units, key=lambda one: known[one.name].cycles)
        own = known[unit.name]
        if enough(own):
            return
        first, done = own.seed, own.cycles
        until = min(end, time.monotonic() + turn)
        begun = time.process_time()
        try:
            while own.seed == first or not (enough(own) or time.monotonic() >= until):
                jobs, took = run_seed(unit, own.seed)
                own.seed, own.jobs, own.cycles = own.seed + 1, own.jobs + jobs, own.cycles + took
        finally:
            own.seconds += (spent := time.process_time() - begun)
            progress.save()
        rate = (own.cycles - done) / spent
        say(
            f"{unit.name}: seeds {first} to {own.seed - 1}, {own.cycles - done:,} cycles, "
            f"{rate:,.0f} a second; {own.cycles:,} in all"
        )


def _table(known: dict[str, UnitProgress]) -> list[str]:
    rows = [("unit", "design", "seeds", "jobs", "cycles", "cycles/s")]
    rows += [
        (name, x.design, f"0..{x.seed - 1}", f"{x.jobs:,}", f"{x.cycles:,}", f"{x.rate:,.0f}")
        for name, x in known.items()
        if x.seed
    ]
    total = sum(one.cycles for one in known.values())
    rows.append(("all", "", "", f"{sum(x.jobs for x in known.values()):,}", f"{total:,}", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < 3 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/test --soak", description=__doc__)
    parser.add_argument("hours", type=float, help="hours to run at most")
    parser.add_argument(
        "--unit", action="append", choices=accelerators(), help="accelerator to run (default: all)"
    )
    parser.add_argument(
        "--cycles", type=int, metavar="N", help="end when each unit has run N cycles"
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="file of progress (default: soak.json in the cache directory)",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="run this seed of each unit and nothing else"
    )
    return parser.parse_args(words)


def _run(given: argparse.Namespace, units: list[SoakedUnit]) -> None:
    if given.seed is not None:
        for unit in units:
            jobs, cycles = run_seed(unit, given.seed)
            print(f"{unit.name}: seed {given.seed}, {jobs:,} jobs, {cycles:,} cycles")
        return
    progress = Progress(given.state or cache_directory() / "soak.json")
    try:
        soak(units, progress, 3600 * given.hours, cycles=given.cycles, say=_say)
    finally:
        print(*_table({unit.name: progress.of(unit.name, unit.design) for unit in units}), sep="\n")


def _say(line: str) -> None:
    print(line, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Run; returns 1 after a fault, 2 for a file that is not of a soak run."""
    given = _arguments(words)
    known = entries()
    with ExitStack() as open_units:
        units = []
        for name in given.unit or accelerators():
            units.append(open_units.enter_context(closing(SoakedUnit(known[name]))))
            _say(f"{name}: built, design {units[-1].design}")
        try:
            _run(given, units)
        except SoakFault as fault:
            again = f"./scripts/test --soak 0 --unit {fault.unit} --seed {fault.seed}"
            print(f"{fault}\nreplay it: {again}")
            return 1
        except KeyboardInterrupt:
            print("interrupted; the next run continues")
            return 130
        except ProgressError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
