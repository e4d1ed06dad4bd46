"""The commands on RTL: each value and each counter is compared with the model's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.apps.common.units import tensaurus_products as session
from tilewright.verif.kit.commands import Run, draw
from tilewright.verif.tensaurus.apps.files import random_tensor, report, save_tensor
from tilewright.verif.tensaurus.model.cases import device

CONFIG = device()
NAMES = ("rows", "cols", "vlen", "order", "spm_bytes", "banks", "out_bytes", "channels",
         "data_bits", "marker")  # fmt: skip
RTL = ("--backend", "rtl", *(
    word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}")
))  # fmt: skip
"""The configuration that other benches build."""


def checked(run: Run, *arguments: object) -> dict[str, Any]:
    """A report of a run that equals the model's."""
    found = report(run, *arguments, *RTL)
    assert found["backend"] == "rtl"
    assert found["checked"] > 0
    assert found["mismatches"] == 0
    counts = found["counters"]
    assert counts["cycles"] * CONFIG.rows >= counts["products"] > 0
    assert "bit for bit equal" in run.out
    return found


@pytest.mark.slow
def test_every_command_runs_on_rtl(run: Run) -> None:
    tensor, _ = random_tensor(1, (12, 10, 9), 120)
    four, _ = random_tensor(2, (5, 4, 3, 4), 60)
    path, other = save_tensor(run, tensor), save_tensor(run, four, "four.tns")
    found = checked(run, "spmttkrp", path, "--rank", 7, "--mode", 2)
    assert found["reference"]["wrong"] == 0
    assert found["counters"]["bytes_read"] == sum(
        found["counters"][f"bytes_{name}"] for name in ("tensor", "matrices", "list")
    )
    checked(run, "spttmc", other, "--rank", "2,3,7")
    checked(run, "spmttkrp", other, "--dense", "--rank", 5)
    matrix = run.save("a.npy", np.where(draw(1, 20, 15) > 1, draw(2, 20, 15), 0.0))
    checked(run, "spmm", matrix, "--rank", 8)
    checked(run, "spmv", matrix)
    checked(run, "gemv", matrix)
    checked(run, "gemm", matrix, run.save("b.npy", draw(3, 15, 8)), "--unit", "tensaurus")
    graph = run.save("g.npy", np.eye(12)[::-1])
    assert checked(run, "gcn", graph, run.save("x.npy", draw(4, 12, 5)))["products"] == 4
    assert checked(run, "cpd", path, "--rank", 2, "--iterations", 2)["products"] == 6
    assert checked(run, "tucker", path, "--ranks", "2,2,2", "--iterations", 2)["products"] == 6


@pytest.mark.slow
def test_a_value_that_differs_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, _ = random_tensor(1, (6, 5, 4), 30)
    path, compute = save_tensor(run, tensor), session._run
    calls = []

    def once_wrong(driver: Any, **named: Any) -> Any:
        found = compute(driver, **named)
        calls.append(found.size)
        if len(calls) == 1:
            found.flat[0] ^= np.uint64(1)
        return found

    monkeypatch.setattr(session, "_run", once_wrong)
    found = report(run, "spmttkrp", path, "--rank", 3, *RTL, status=1)
    assert found["mismatches"] == 1
    assert found["reference"]["wrong"] == 0
    assert "DIFFERENT" in run.out
    assert len(calls) == 2
