"""Cycles on one array of 8-bit products are SCALE-Sim's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.sim.gta.fold_cycles import Folds, multiplied

DATAFLOWS = ("ws", "is", "os")


def shapes() -> list[tuple[int, int, int, int, int]]:
    """Forty: rows and columns of an array, then M, N and K, from one fold to dozens."""
    rng = np.random.default_rng(15)
    found = [(8, 8, 8, 8, 8), (1, 1, 1, 1, 1), (8, 32, 7, 33, 9), (32, 8, 100, 1, 1)]
    while len(found) < 40:
        array = rng.choice([1, 2, 3, 5, 8, 16, 24, 32], 2)
        sizes = rng.integers(1, rng.choice([9, 40, 90]), 3)
        found.append((*map(int, array), *map(int, sizes)))  # type: ignore[arg-type]
    return found


def folds(dataflow: str, rows: int, cols: int, m: int, n: int, k: int) -> Folds:
    down, across, time = {"ws": (k, n, m), "is": (k, m, n), "os": (m, n, k)}[dataflow]
    return Folds(
        stationary=dataflow != "os",
        rows=rows,
        cols=cols,
        time=time,
        folds=-(-down // rows) * -(-across // cols),
        overlap=False,
    )


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_the_published_formula(dataflow: str) -> None:
    """A fold takes 2 R + C + T - 2 cycles if an operand is stationary (SCALE-Sim's equation 1),
    and R + C + T - 2 until the last product otherwise; all folds are full ones."""
    for rows, cols, m, n, k in shapes():
        one = folds(dataflow, rows, cols, m, n, k)
        load = rows if dataflow != "os" else 0
        assert multiplied(one) == one.folds * (load + rows + cols + one.time - 2)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_scalesim_itself(dataflow: str) -> None:
    """The demands that it computes, a line a cycle."""
    pytest.importorskip("scalesim", reason="needs the package scalesim")
    for rows, cols, m, n, k in shapes():
        one = folds(dataflow, rows, cols, m, n, k)
        theirs = demanded_cycles(dataflow, rows, cols, m, n, k)
        assert multiplied(one) == theirs, (dataflow, rows, cols, m, n, k)


def demanded_cycles(dataflow: str, rows: int, cols: int, m: int, n: int, k: int) -> int:
    """Lines of SCALE-Sim's matrix of demands, whose columns are an edge of its array."""
    from importlib import import_module

    from scalesim.scale_config import scale_config

    config: Any = scale_config()
    config.array_rows, config.array_cols, config.df = rows, cols, dataflow
    config.valid_conf_flag = True
    name = f"systolic_compute_{dataflow}"
    array = getattr(import_module(f"scalesim.compute.{name}"), name)()
    array.set_params(
        config_obj=config,
        ifmap_op_mat=np.arange(m * k).reshape(m, k),
        filter_op_mat=np.arange(k * n).reshape(k, n),
        ofmap_op_mat=np.arange(m * n).reshape(m, n),
    )
    array.create_demand_matrices()
    return len(array.get_ofmap_demand_mat())
