"""Counters that the compiler's last pass leaves to functions are those that their hardware has."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from amaranth.back import rtlil
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.parts import FeederPart, MoverPart
from tilewright.hw.t2s.compiler.counting.counters import counters
from tilewright.hw.t2s.compiler.passes import PASSES, compiled
from tilewright.hw.t2s.feeder import Feeder
from tilewright.hw.t2s.language import Computation, MappingError
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.hw.t2s.mover import Packer, mover
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import DESIGNS, FOLDER
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

TRIP_BITS = 11
LAST = next(reversed(PASSES))


def built(component: object) -> Counter[tuple[str, int]]:
    """Registers of a component's nests, by the loops' names and their width."""
    found: Counter[tuple[str, int]] = Counter()
    for module in re.split(r"^module ", rtlil.convert(component), flags=re.MULTILINE)[1:]:
        if re.match(r"\\\S*(nest|fill|read|around)\n", module):
            for bits, name in re.findall(r"wire (?:width (\d+) )?.*\\count_(\w+)\n", module):
                found[name, int(bits or 1)] += 1
    return found


def checked(computation: Computation) -> int:
    """Of all functions on their own (not: with what visits queues in turn) hold counters against
    the hardware's. Returns how many functions there were."""
    design = lowered(computation, T2sConfig(trip_bits=TRIP_BITS))
    program = compiled(computation, LAST)
    left = [one.name for one in counters(program.function(program.name))]
    if computation.overlap[0]:
        assert left == []
    else:
        # Hardware has one counter for both: of sums that are complete and have not left.
        assert left[: len(left) // 2] == left[len(left) // 2 :]
    names = {one.name for one in design.routes}
    links = [one for one in design.links if one.channel in names]
    routed = {end.function for one in links for end in (one.source, one.sink)}
    count = 0
    parts: list[FeederPart | MoverPart] = [*design.feeders, *design.movers]
    for part in parts:
        if part.name in routed:
            continue
        wanted = Counter(
            (name, TRIP_BITS if bits is None else bits)
            for name, bits in counters(program.function(part.name))
        )
        assert built(component(part)) == wanted, part.name
        count += 1
    return count


def component(part: FeederPart | MoverPart) -> object:
    if isinstance(part, MoverPart):
        # What packs vectors has no nest.
        return Packer(part, 1) if part.packs else mover(part, TRIP_BITS)
    return Feeder(part, TRIP_BITS)


@pytest.mark.parametrize("name", DESIGNS)
def test_designs(name: str) -> None:
    assert checked(load_mapping(FOLDER / f"{name}.py", largest=3)) >= 3


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_random_mappings(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.hw.t2s.lowering.design.with_depths", lambda found, said: found)
    wanted, ran = by_size(2, 10, 100), 0
    for seed in range(100 * wanted):
        rng = np.random.default_rng([seed, *map(ord, kernel)])
        try:
            ran += checked(random_mapping(kernel, rng)) > 0
        except (MappingError, ValueError):
            continue
        if ran == wanted:
            break
    assert ran == wanted
