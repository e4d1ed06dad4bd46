"""The page of sparse operands: its examples run, and its reports are the commands' output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from tilewright.cli import main
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.verif.kit.pages import examples, page

PAGE = page("t2s-sparse.md")


def test_examples() -> None:
    """The second one asserts its result; the result of the first is compared with the design
    below."""
    blocks = examples(PAGE, "python")
    assert ["assert " in one for one in blocks] == [False, True]
    for number, block in enumerate(blocks):
        exec(compile(block, f"{PAGE.name}:{number}", "exec"), {})


def test_the_mapping_is_the_designs() -> None:
    """The page's five lines are compiled as the design is that ships."""
    names: dict[str, Any] = {}
    exec(examples(PAGE, "python")[0], names)
    config = T2sConfig(design="sparse/spmm", largest=0)
    assert lowered(names["C"], config).sparse == config.plan.sparse


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries, steps and bytes of the same matrix on the model are those of the page."""
    rng = np.random.default_rng(1)
    entries = scipy.sparse.random_array((256, 256), density=0.05, rng=rng, format="csr")
    scipy.sparse.save_npz(tmp_path / "a.npz", entries)
    np.save(tmp_path / "x.npy", rng.random(256))
    files = [str(tmp_path / name) for name in ("a.npz", "x.npy")]
    settings = ["--set", "design=sparse/spmv_ciss", "--set", "largest=0", "--backend", "model"]
    assert main(["run", "einsum", "ik,k->i", *files, *settings]) == 0
    said = capsys.readouterr().out
    for line in PAGE.read_text().splitlines():
        if line.startswith("    │ ") and line.split()[1] in ("bounds", "array", "formats", "A"):
            assert line.strip().split() in [one.split() for one in said.splitlines()], line
