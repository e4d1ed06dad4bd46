"""``examples/from_the_page/t2s``: runs without Tilewright; its bytes are the page's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.t2s.images import laid_out
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.running import laid_out_operands
from tilewright.verif.examples.strangers import Stranger, memory_lines, page_of_memory

pytestmark = pytest.mark.long

PAGE = page_of_memory("t2s.md")
SPARSE_PAGE = page_of_memory("t2s-sparse.md")


@pytest.mark.slow
def test_on_the_rtl(tmp_path: Path) -> None:
    example = Stranger("t2s", tmp_path)
    *generate, run = example.commands
    assert len(generate) == 3
    assert generate[0] in PAGE
    assert generate[2] in SPARSE_PAGE
    for command in generate:
        example.prints(command)
    printed = example.prints(run)
    assert printed.splitlines()[-1] == "PASS"
    dense, _, sparse = printed.partition("tokens of A")
    assert memory_lines(dense) == memory_lines(PAGE)
    assert memory_lines(sparse) == memory_lines(SPARSE_PAGE)
    # Loops are walked in another order.
    example.change("run.py", "in reversed(place", "in list(place")
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def test_the_page_has_what_the_host_lays_out() -> None:
    config, bounds = T2sConfig(largest=2, format="int32"), {"i": 3, "j": 3, "k": 4}
    a = np.array([[16 * i + k for k in range(4)] for i in range(3)], np.uint64)
    b = np.array([[16 * k + j for j in range(3)] for k in range(4)], np.uint64)
    memory = memory_lines(PAGE)
    for name, base, words in (("A", 0, a), ("B", 0x100, b), ("C", 0x200, a @ b)):
        found = b"".join(memory[base + offset] for offset in range(0, 64, 16))
        assert found == laid_out(config.plan, name, bounds, words, config.beat_bytes)


def test_the_page_has_the_tokens_that_the_host_lays_out() -> None:
    config = T2sConfig(design="sparse/spmm", largest=2, format="int32")
    places = np.array([[0, 1], [1, 0], [2, 0]])
    entries = Entries(shape=(3, 2), places=places, words=np.array([5, 6, 7], np.uint64))
    bounds = {"i": 3, "j": 4, "k": 2}
    found = laid_out_operands(config.plan, bounds, {"A": entries}, config.beat_bytes)
    assert found.steps == {"A": 3}
    content = b"".join(memory_lines(SPARSE_PAGE).values())
    assert found.images["A"].content[:30] == content
