"""Sparse products from the command line: backends, operands, reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import random_array
from tilewright.verif.kit.commands import Run

MODEL = ("--backend", "model")
CYCLES = ("--backend", "cycles")
TWO = ("--lanes", "2", "--set", "queues=5", "--set", "outstanding=16")
"""Settings that the RTL is built with."""


def write_random(path: Path, rows: int, cols: int, density: float, seed: int) -> Path:
    """A random matrix in a Matrix Market file."""
    rng = np.random.default_rng(seed)
    matrix = random_array((rows, cols), density=density, rng=rng)
    mmwrite(path, matrix.tocoo())
    return path


def report_of(run: Run, *arguments: object, status: int = 0) -> dict[str, Any]:
    """The report of a command that must end so."""
    file = run.directory / "report.json"
    assert run(*arguments, "--json", file) == status, run.out
    found: dict[str, Any] = json.loads(file.read_text())
    return found
