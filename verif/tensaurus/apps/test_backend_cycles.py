"""The commands on the cycle model: counters are those of the commands on RTL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.verif.kit.commands import Run, draw
from tilewright.verif.tensaurus.apps.files import random_tensor, report, save_tensor
from tilewright.verif.tensaurus.model.cases import device

pytestmark = pytest.mark.long

CONFIG = device()
NAMES = ("rows", "cols", "vlen", "order", "spm_bytes", "banks", "out_bytes", "channels",
         "data_bits", "marker")  # fmt: skip
SETTINGS = [word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}")]


def timed(run: Run, *arguments: object, memory: str = "flat") -> dict[str, Any]:
    """A report of the cycle model."""
    options = ("--backend", "cycles", "--memory", memory, "--gigahertz", "1.5")
    found = report(run, *arguments, *options, *SETTINGS)
    assert (found["backend"], found["memory"], found["gigahertz"]) == ("cycles", memory, 1.5)
    return found


@pytest.mark.slow
def test_every_product_counts_what_rtl_does(run: Run) -> None:
    tensor, _ = random_tensor(1, (12, 10, 9), 120)
    four, _ = random_tensor(2, (5, 4, 3, 4), 60)
    path, other = save_tensor(run, tensor), save_tensor(run, four, "four.tns")
    matrix = run.save("a.npy", np.where(draw(1, 20, 15) > 1, draw(2, 20, 15), 0.0))
    for command in (
        ("spmttkrp", path, "--rank", 7, "--mode", 2),
        ("spmttkrp", path, "--rank", 7, "--tile", "store=memory"),
        ("spttmc", other, "--rank", "2,3,7"),
        ("spmttkrp", other, "--dense", "--rank", 5),
        ("spmm", matrix, "--rank", 8),
        ("spmv", matrix),
        ("gemv", matrix),
        ("gemm", matrix, run.save("b.npy", draw(3, 15, 8)), "--unit", "tensaurus"),
    ):
        real = report(run, *command, "--backend", "rtl", *SETTINGS)
        found = timed(run, *command)
        assert found["counters"] == real["counters"]
        assert found["reference"]["wrong"] == 0
        assert "GOP/s" in run.out


@pytest.mark.slow
def test_jobs_of_all_products_are_added(run: Run) -> None:
    tensor, _ = random_tensor(1, (8, 7, 6), 60)
    path = save_tensor(run, tensor)
    graph, features = run.save("g.npy", np.eye(12)[::-1]), run.save("x.npy", draw(4, 12, 5))
    for command in (
        ("gcn", graph, features),
        ("cpd", path, "--rank", 2, "--iterations", 1),
        ("tucker", path, "--ranks", "2,2,2", "--iterations", 1),
    ):
        found = timed(run, *command, memory="hbm32")
        assert found["products"] > 1
        assert found["counters"]["cycles"] > found["products"] * 50


def test_memory_is_for_what_has_one(run: Run) -> None:
    a = run.save("a.npy", draw(1, 4, 4))
    for option, value, given in (("--memory", "hbm", "'hbm'"), ("--gigahertz", 1, "1.0")):
        assert run.refused("gemm", a, a, option, value) == (
            f"{option} is of a cycle model: it must come with --on engine, not alone, as {given}"
        )
