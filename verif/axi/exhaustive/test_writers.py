"""Small writers under all patterns of READY, all modes of a memory, and all moments of a stop.

In every cycle of every run: VALID and payloads stay until READY, and follow no READY in the same
cycle; no WVALID of a burst before its AWVALID, none taken back within a burst; bursts in their
bounds, WLAST, IDs, ``outstanding``; no ``idle`` while the bus owes something; and at every response
its burst's address is at the end of its queue, which is so because a response comes four cycles
after its burst was issued at the earliest.
"""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.verif.axi.exhaustive.libraries import (
    ALWAYS,
    NEVER,
    WAYS,
    Found,
    Library,
    Table,
    all_patterns,
    table_of,
)
from tilewright.verif.axi.exhaustive.writers import KINDS, cases, library_of
from tilewright.verif.kit.sampling import by_size, slow_but

EVERY = slow_but(["writer"], KINDS, ["manager"])
every_kind = pytest.mark.parametrize("name", EVERY)

FEW = [ALWAYS, (0b10, 2, 1), (0b100, 3, 1), (0, 6, 0)]
"""Patterns of READY: never low, low in some cycles, low in the first."""


def judged(name: str, what: str, library: Library, table: Table) -> Found:
    """Run cases, say how many, and fail with the first fault."""
    found = library.run(table)
    print(f"{name}, {what}: {found.runs} runs, {found.cycles} cycles, the longest {found.longest}, "
          f"idle {found.idle_after} cycles after a stop at most, {found.moved} bursts, "
          f"{found.overtakes} overtaken")  # fmt: skip
    assert found.fault == ""
    assert found.runs == len(table)
    return found


def unhindered(name: str) -> int:
    """Cycles of the first traffic on a memory that is always ready."""
    return library_of(name).run(cases(aw=[ALWAYS], w=[ALWAYS], patience=200)).longest


@every_kind
def test_any_repeated_pattern_of_ready(name: str) -> None:
    """Repeats AW patterns of four cycles and W patterns of five, so that all their phases meet."""
    table = cases(
        aw=all_patterns(4, repeats=True),
        w=all_patterns(5, repeats=True),
        latency=by_size((1,), (1, 40), (1, 2, 3, 7, 40)),
        # Data without pauses, and bursts each of which is alone.
        spread=by_size((1, 12), (1, 12), (1, 4, 12)),
        patience=25 * unhindered(name),
    )
    judged(name, "patterns", library_of(name), table)


@every_kind
def test_any_beginning_of_ready(name: str) -> None:
    """Tries every READY pattern from the first AWVALID; READY then stays high and all ends soon."""
    count = by_size(3, 5, 7)
    beginnings = all_patterns(count, repeats=False)
    table = cases(aw=beginnings, w=beginnings, patience=unhindered(name) + 2 * count + 6)
    judged(name, "beginnings", library_of(name), table)


@every_kind
def test_any_order_of_responses(name: str) -> None:
    """Tries every order of responses among the outstanding bursts of writers that share a bus."""
    table = cases(
        aw=FEW, w=FEW, every=by_size((9,), (5, 9), (3, 5, 9, 17)), order=range(16),
        patience=25 * unhindered(name),
    )  # fmt: skip
    found = judged(name, "orders", library_of(name), table)
    assert (found.overtakes > 0) == name.startswith("manager")


@every_kind
def test_a_stop_in_any_cycle(name: str) -> None:
    """Stops for one cycle, for two, or until idle; the next traffic starts at once or when idle.
    Then no response is outstanding, and memory has all bytes of the next traffic and no byte that
    was not requested."""
    hows = by_size([(1, 0)], [(1, 0), (1, 1), (0, 0)], [(1, 0), (1, 1), (2, 1), (0, 0)])
    cycles = range(unhindered(name) + 30)
    table = cases(
        aw=by_size(FEW[:2], FEW, all_patterns(3, repeats=True)),
        w=by_size(FEW[:2], FEW, all_patterns(4, repeats=True)),
        latency=by_size((1,), (1, 12), (1, 3, 12)),
        stops=[(cycle, *how) for cycle in cycles for how in hows],
        patience=20 * unhindered(name),
    )
    found = judged(name, "stops", library_of(name), table)
    assert 0 < found.idle_after <= 5 * unhindered(name)


@every_kind
def test_any_response_may_be_bad(name: str) -> None:
    """A bad response is reported with its address, and the writer works again after a stop."""
    bursts = KINDS[name].bursts
    table = cases(
        aw=FEW, w=FEW, latency=(1, 6), bad=range(bursts + 1),
        stops=[(-1, *how) for how in ((1, 0), (1, 1), (0, 0))], patience=20 * unhindered(name),
    )  # fmt: skip
    judged(name, "bad responses", library_of(name), table)


@every_kind
def test_a_stop_around_a_bad_response(name: str) -> None:
    cycles = range(5, unhindered(name) + 5, by_size(6, 2, 1))
    table = cases(
        aw=FEW, w=[ALWAYS], latency=(1, 6), bad=range(KINDS[name].bursts),
        stops=[(cycle, *how) for cycle in cycles for how in ((1, 0), (1, 1), (0, 0))],
        patience=20 * unhindered(name),
    )  # fmt: skip
    judged(name, "bad responses and stops", library_of(name), table)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_found(way: str) -> None:
    library = library_of("spoilt")
    library.call("spoil", 0)
    stops = [NEVER, (9, 1, 0), (9, 1, 1)]
    table: Any = cases(aw=FEW, w=FEW, stops=stops, patience=300)
    bad = cases(aw=FEW, w=FEW, bad=range(2), patience=300)
    assert [library.run(cases).fault for cases in (table, bad)] == ["", ""]
    library.call("spoil", 1 + [*WAYS].index(way))
    found = library.run(bad if "errors" in way else table).fault
    assert any(fault in found for fault in WAYS[way]), found


def test_a_table_has_all_combinations() -> None:
    assert table_of([(1, 2), (3, 4)], [5, 6]).tolist() == [
        [1, 2, 5],
        [1, 2, 6],
        [3, 4, 5],
        [3, 4, 6],
    ]
    assert all_patterns(2, repeats=True) == [(1, 2, 1), (2, 2, 1), (3, 2, 1)]
    assert all_patterns(1, repeats=False) == [(0, 1, 0), (1, 1, 0)]
