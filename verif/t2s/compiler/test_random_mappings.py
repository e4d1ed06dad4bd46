"""Random mappings of six kernels: after every pass of the compiler the program computes what its
definition says, or a directive is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.t2s.compiler.passes import programs
from tilewright.hw.t2s.language import Computation, MappingError
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

MAPPINGS = by_size(5, 15, 90)
"""Legal ones of each kernel."""


@pytest.mark.parametrize("kernel", KERNELS)
def test_passes(kernel: str) -> None:
    for seed, computation, found, rng in legal(kernel, MAPPINGS):
        bounds = {
            name: int(rng.integers(1, 5)) for name in (*computation.result, *computation.sum_over)
        }
        operands = random_operands(found[0][1], bounds, seed)
        wanted = definition_result(found[0][1], bounds, operands)
        for name, program in found:
            assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)


def test_feeders_that_forward() -> None:
    """Copies of a feeder in a row along loops that do not choose the word."""
    forwarding = 0
    for kernel in KERNELS:
        for seed, computation, found, rng in legal(kernel, by_size(8, 15, 150), copies=True):
            if not any(one.forwarded for chain in computation.chains.values() for one in chain):
                continue
            forwarding += 1
            bounds = {
                name: int(rng.integers(1, 5))
                for name in (*computation.result, *computation.sum_over)
            }
            operands = random_operands(found[0][1], bounds, seed)
            wanted = definition_result(found[0][1], bounds, operands)
            for name, program in found:
                assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)
    assert forwarding >= by_size(3, 6, 60)


def test_mappings_have_everything() -> None:
    """Every directive is in at least five of ninety mappings, and few mappings are refused."""
    seen: Counter[str] = Counter()
    for kernel in KERNELS:
        for _, computation, found, _ in legal(kernel, 15):
            seen.update(features(computation, found[-1][1]))
    assert len(seen) == 11
    assert min(seen.values()) >= 5, seen


def legal(
    kernel: str, count: int, *, copies: bool = False
) -> Iterator[tuple[int, Computation, list[tuple[str, Program]], np.random.Generator]]:
    """Mappings that are not refused, with their seeds; half of those drawn at least.

    ``copies``: copies of feeders forward, too
    """
    drawn = 0
    for done in range(count):
        while True:
            drawn += 1
            rng = np.random.default_rng([drawn, *map(ord, kernel)])
            try:
                passing = rng.spawn(1)[0] if copies else None
                computation = random_mapping(kernel, rng, copies=passing)
                found = list(programs(computation))
            except MappingError:
                continue
            break
        yield drawn, computation, found, rng
        assert drawn <= 2 * (done + 1) + 10


def features(computation: Computation, program: Program) -> set[str]:
    """Returns the features of a mapping besides its loops."""
    isolated = [one for chain in computation.chains.values() for one in chain]
    has = {
        "unrolled": bool(computation.unrolled),
        "vectorised": bool(computation.vectorised),
        "forwarded": bool(computation.forwarded),
        "factored": bool(computation.factored),
        "host": any(one.host for one in program.functions),
        "removed": any(one.removed for one in isolated),
        "buffered": any(one.buffered for one in isolated),
        "scattered": any(one.scattered for one in isolated),
        "gathered at a level": any(one.level for one in isolated),
        "drained": not computation.overlap[0],
        "gathered": any(one.gathered for one in isolated),
    }
    return {name for name, there in has.items() if there}
