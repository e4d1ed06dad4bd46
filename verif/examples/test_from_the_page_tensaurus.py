"""``examples/from_the_page/tensaurus``: runs without Tilewright; its bytes are the page's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.ciss import CissLayout
from tilewright.hw.spec.tensaurus_tiles import tile_words
from tilewright.sim.sparse.ciss import from_tensor
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.examples.strangers import Stranger, memory_lines, page_of_memory

pytestmark = pytest.mark.long

PAGE = page_of_memory("tensaurus.md")


@pytest.mark.slow
def test_on_the_rtl(tmp_path: Path) -> None:
    example = Stranger("tensaurus", tmp_path)
    generate, run = example.commands
    assert generate in PAGE
    example.prints(generate)
    printed = example.prints(run)
    assert printed.splitlines()[-1] == "PASS"
    assert memory_lines(printed) == memory_lines(PAGE)
    # The second operand takes the first one's place.
    example.change("run.py", "REGION_2=cut * vectors", "REGION_2=0")
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def test_the_page_has_what_the_encoders_write() -> None:
    memory = memory_lines(PAGE)
    places = np.array([[0, 1, 1], [2, 0, 1], [2, 1, 0]])
    tensor = Tensor(shape=(3, 2, 2), indices=places, values=np.array([1.0, 2.0, 3.0]))
    stream = from_tensor(tensor, CissLayout(rows=2)).slots.tobytes()
    fields = {"load": 3, "last": 1, "slices": 3, "entries": 4, "tensor": 0x200, "output": 0x800}
    sizes = {"size_1": 2, "size_2": 2, "operand_1": 0x400, "operand_2": 0x600}
    tile = tile_words({**fields, **sizes})
    assert b"".join(memory[address] for address in range(0x200, 0x260, 12)) == stream
    assert b"".join(memory[address] for address in range(0, 128, 16)) == tile
