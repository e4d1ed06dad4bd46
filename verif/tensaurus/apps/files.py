"""Files for the commands of tensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.apps.common.tensor_files import write_tensor
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.kit.commands import Run

MODEL = ("--backend", "model")


def random_tensor(
    seed: int, shape: tuple[int, ...], count: int, *, whole: bool = False
) -> tuple[Tensor, npt.NDArray[Any]]:
    """A tensor some of whose places come twice, its last index of every mode among them; and all
    its elements."""
    rng = np.random.default_rng(seed)
    indices = np.stack([rng.integers(0, size, count) for size in shape], axis=1)
    indices[-1] = np.array(shape) - 1
    values = rng.integers(-4, 5, count).astype(float) if whole else rng.standard_normal(count)
    dense = np.zeros(shape)
    np.add.at(dense, tuple(indices.T), values)
    return Tensor(shape=shape, indices=indices, values=values), dense


def save_tensor(run: Run, tensor: Tensor, name: str = "t.tns", *, zero_based: bool = False) -> Path:
    path = run.directory / name
    write_tensor(path, tensor, zero_based=zero_based)
    return path


def report(run: Run, *arguments: object, status: int = 0) -> dict[str, Any]:
    """The JSON of a run that ends so, on the model unless a backend is named."""
    file = run.directory / "report.json"
    backend = () if "--backend" in arguments else MODEL
    assert run(*arguments, *backend, "--json", file) == status, run.out
    found: dict[str, Any] = json.loads(file.read_text())
    return found
