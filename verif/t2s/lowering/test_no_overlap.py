"""Depths where results leave from where sums are, before the next block begins: nothing waits
beside them, so elements stop taking operands for as long."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.hw.t2s.lowering.periods import job
from tilewright.hw.t2s.lowering.queues import Queues
from tilewright.hw.t2s.lowering.words_through import Stopped, run
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import FOLDER
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

from .counted_jobs import FEW, goes_on, longer, registers, rooms_of, words_of

pytestmark = pytest.mark.quick

TRIED = by_size(6, 12, 60)
"""Random mappings of each kernel, those that are refused among them."""

_LONG = 8
"""Iterations of a loop that a register counts."""


def drawn_without_overlap(kernel: str) -> list[Design]:
    config = T2sConfig(design="gemm", largest=1, format="int8")
    found = []
    for seed in range(TRIED):
        rng = np.random.default_rng([seed, 9, *kernel.encode()])
        try:
            mapping = random_mapping(kernel, rng, rng if seed % 2 else None)
            if mapping.overlap[0]:
                mapping.drain_overlap(False)
            found.append(lowered(mapping, config))
        except (MappingError, ValueError):
            continue  # Not all that is drawn is legal, or has hardware, or depths that are enough.
    return [one for one in found if not one.element.overlaps]


def _go_on(design: Design, trips: Mapping[str, int], rng: np.random.Generator) -> None:
    queues = Queues(design)
    one = job(design, queues, trips)
    run(one, queues, rooms_of(design, queues))
    if words_of(one) < FEW:
        assert goes_on(one, rooms_of(design, queues), rng)


def test_longer_jobs() -> None:
    """Depths are enough for jobs of any sizes, in any order."""
    rng = np.random.default_rng(1)
    designs = [one for kernel in KERNELS for one in drawn_without_overlap(kernel)]
    assert len(designs) >= TRIED
    assert any(one.element.sums > 1 for one in designs)
    for design in designs:
        every = registers(design)
        for name in every:
            _go_on(design, {**dict.fromkeys(every, 2), name: _LONG}, rng)


@pytest.mark.parametrize("name", ["conv2d", "stencil3d"])
def test_one_word_less(name: str) -> None:
    """Queues that are longer than others in our designs: jobs stop without a word of them."""
    computation = load_mapping(FOLDER / f"{name}.py", largest=3).drain_overlap(False)
    design = lowered(computation, T2sConfig(design="gemm", largest=3))
    assert not design.element.overlaps
    _go_on(design, dict.fromkeys(registers(design), 3), np.random.default_rng(1))
    queues = Queues(design)
    some = job(design, queues, dict.fromkeys(registers(design), 2))
    assert longer(design)
    for channel in longer(design):
        with pytest.raises(Stopped, match="waits"):
            run(some, queues, rooms_of(design, queues, channel))
