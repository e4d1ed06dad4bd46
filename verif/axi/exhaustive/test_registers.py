"""AXI4-Lite registers with addresses and data of writes in any order, at any distance.

In every cycle: a write takes effect, with its response, two cycles after the later one of its
address and its data, or in the cycle after the response before has gone; fields show what all
writes so far have made of them; reads answer with what the field held when the address was taken;
responses stay until READY and follow it not in the same cycle.
"""

from __future__ import annotations

import pytest
from tilewright.verif.axi.exhaustive.libraries import ALWAYS, Table, all_patterns
from tilewright.verif.axi.exhaustive.registers import cases, library
from tilewright.verif.axi.exhaustive.spoilt_registers import WAYS
from tilewright.verif.kit.sampling import by_size

SELDOM = [(1 << cycle, 8, 1) for cycle in range(8)]
"""READY in one of eight cycles: responses wait for long."""


def judged(what: str, table: Table) -> None:
    """Run cases, say how many, and fail with the first fault."""
    found = library().run(table)
    print(f"{what}: {found.runs} runs, {found.cycles} cycles, the longest {found.longest}, "
          f"{found.moved} accesses, data first in {found.overtakes}, at most "
          f"{found.idle_after} cycles apart")  # fmt: skip
    assert found.fault == ""
    assert found.runs == len(table)
    # Data came first, address came first, both came together.
    assert 0 < found.overtakes < found.runs
    assert found.idle_after > 2
    assert found.moved == 4 * found.runs


def test_address_and_data_in_any_order() -> None:
    """Beside reads, and whichever cycles the responses are taken in."""
    table = cases(
        delays=range(by_size(4, 4, 6)),
        reads=[(0, 0), (3, 0), (4, 1), (5, 3)],
        b=[*all_patterns(3, repeats=True), *SELDOM],
        r=[ALWAYS, (0b001, 3, 1), SELDOM[7]],
        set_at=by_size((-1,), (-1, 4), (-1, 3, 4, 5, 6)),
        patience=100,
    )
    judged("writes", table)


def test_reads_at_any_distance() -> None:
    table = cases(
        delays=(0, 1, 4),
        reads=[(first, second) for first in range(10) for second in range(4)],
        b=[ALWAYS, SELDOM[3]],
        r=[*all_patterns(3, repeats=True), *SELDOM],
        patience=100,
    )
    judged("reads", table)


def test_the_hardware_sets_bits_in_any_cycle() -> None:
    """Setting wins over clearing by a write of the same cycle."""
    table = cases(
        delays=(0, 1, 4), reads=[(0, 6)], b=[ALWAYS, SELDOM[3]], r=[ALWAYS],
        set_at=range(20), patience=100,
    )  # fmt: skip
    judged("bits set", table)


def test_the_hardware_clears_bits_in_any_cycle() -> None:
    """Setting wins over clearing, by the hardware in the same cycle as well."""
    table = cases(
        delays=(0, 1, 4), reads=[(0, 6)], b=[ALWAYS, SELDOM[3]], r=[ALWAYS],
        set_at=range(2, 9), clear_at=range(12), patience=100,
    )  # fmt: skip
    judged("bits cleared", table)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_found(way: str) -> None:
    spoilt = library(spoilt=True)
    table = cases(
        delays=(0, 1), reads=[(0, 0), (0, 6)], b=[ALWAYS, SELDOM[3]], r=[ALWAYS, SELDOM[3]],
        set_at=(-1, 4), clear_at=(-1, 7), patience=100,
    )  # fmt: skip
    spoilt.call("spoil", 0)
    assert spoilt.run(table).fault == ""
    spoilt.call("spoil", 1 + [*WAYS].index(way))
    assert WAYS[way] in spoilt.run(table).fault
