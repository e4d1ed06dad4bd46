"""Graphs in files, and reports of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scipy.io import mmwrite
from scipy.sparse import coo_array
from tilewright.verif.kit.commands import Run


def save_graph(run: Run, graph: Any, name: str = "g.mtx") -> Path:
    """A SciPy matrix as a Matrix Market file."""
    path = run.directory / name
    mmwrite(path, coo_array(graph), precision=17)
    return path


def report(run: Run, *arguments: object, status: int = 0) -> dict[str, Any]:
    """The JSON of a run that ends so, on the model unless a backend is named."""
    backend = () if "--backend" in arguments else ("--backend", "model")
    file = run.directory / "report.json"
    assert run(*arguments, *backend, "--json", file) == status, run.out
    return run.report()
