"""Whether a mutation changes nothing that can be seen."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tilewright.verif.kit.front_ends import run_yosys
from tilewright.verif.mutation.mutations import Mutation

__all__ = ["is_equivalent"]

_PROVED = "SAT proof finished - no model found: SUCCESS!"
_INDUCED = "Induction step proven: SUCCESS!"


def _sides(mutation: Mutation) -> str:
    change = re.sub(r"-module \S+", "-module gate", mutation.change)
    return (
        "read_rtlil prepared.il; memory_map; dffunmap; opt_clean; rename mutated gold; "
        f"copy gold gate; mutate {change}; "
    )


def is_equivalent(directory: Path, mutation: Mutation, seconds: int) -> bool:
    """Whether no input tells the mutated netlist of a directory from the other; False, too, if
    the solver does not know after some seconds.

    First the next states and outputs are compared for all states, then the outputs after a reset.
    """
    return _same_step(directory, mutation, seconds) or _same_run(directory, mutation, seconds)


def _sat(directory: Path, script: str) -> str:
    try:
        run_yosys(script, directory)
    except AssertionError:
        return ""
    return (directory / "log").read_text()


def _same_step(directory: Path, mutation: Mutation, seconds: int) -> bool:
    """Whether outputs and next states are equal in all states."""
    log = _sat(
        directory,
        _sides(mutation)
        + "expose -evert-dff -shared gold gate; "
        + "miter -equiv -flatten gold gate miter; opt -full miter; "
        + f"sat -timeout {seconds} -prove trigger 0 miter",
    )
    return _PROVED in log


def _same_run(directory: Path, mutation: Mutation, seconds: int) -> bool:
    """Whether outputs are equal in all cycles after the reset, by induction."""
    log = _sat(
        directory,
        _sides(mutation)
        + "miter -equiv -flatten gold gate miter; opt -full miter; "
        + f"sat -timeout {seconds} -tempinduct -maxsteps 12 -set-init-zero "
        + "-set-at 1 in_rst 1 -prove-skip 1 -prove trigger 0 miter",
    )
    return _INDUCED in log


assert shutil
