"""A small ``ReadManager``, ordered readers at a crossbar, and a reader of blocks: under all
patterns of READY and of responses, all modes of a memory, and all moments of a stop.

In every cycle of every run: ARVALID and its payload stay until ARREADY, and follow it not in the
same cycle; data stays until it is taken; bursts in their bounds, IDs, ``outstanding``; RREADY is
high but behind a crossbar, whose conflicts are counted; no ``idle`` with data inside, or while the
bus owes something. Data comes in order, and none during a stop.
"""

from __future__ import annotations

import pytest
from tilewright.verif.axi.exhaustive.libraries import ALWAYS, NEVER, Found, Table, all_patterns
from tilewright.verif.axi.exhaustive.readers import KINDS, cases, library
from tilewright.verif.axi.exhaustive.spoilt_reader import WAYS
from tilewright.verif.kit.sampling import by_size, slow_but

FEW = [ALWAYS, (0b10, 2, 1), (0b100, 3, 1), (0, 6, 0)]
LONG = 60
"""More cycles than the traffic takes on a memory that is always ready."""


every_kind = pytest.mark.parametrize("name", slow_but(["manager"], KINDS, []))


def judged(name: str, what: str, table: Table) -> Found:
    """Run cases, say how many, and fail with the first fault."""
    found = library(name).run(table)
    print(f"{name}, {what}: {found.runs} runs, {found.cycles} cycles, the longest {found.longest}, "
          f"idle {found.idle_after} cycles after a stop at most, {found.moved} bursts, "
          f"{found.overtakes} beats before older ones")  # fmt: skip
    assert found.fault == ""
    assert found.runs == len(table)
    return found


@every_kind
def test_any_repeated_pattern_of_addresses_and_beats(name: str) -> None:
    """Of AR and of R, of four and five cycles, so that all their phases meet."""
    table = cases(
        ar=all_patterns(4, repeats=True),
        r=all_patterns(5, repeats=True),
        latency=by_size((1,), (1, 2, 9), (1, 2, 3, 9, 40)),
        order=by_size((-1,), (-1, 0b0101, 0b0110), (-1, *range(16))),
        patience=25 * LONG,
    )
    judged(name, "patterns", table)


@every_kind
def test_any_repeated_pattern_of_data_that_is_taken(name: str) -> None:
    """Or none is, for so long that more comes than the buffer holds."""
    table = cases(
        ar=FEW, r=all_patterns(4, repeats=True), o=[*all_patterns(5, repeats=True), (0, 31, 0)],
        latency=(1, 3), patience=25 * LONG,
    )  # fmt: skip
    judged(name, "data taken", table)


@every_kind
def test_any_beginning_of_ready(name: str) -> None:
    """From the first ARVALID on; then always ready, and all is done soon."""
    count = by_size(4, 8, 12)
    table = cases(ar=all_patterns(count, repeats=False), patience=LONG + 2 * count)
    judged(name, "beginnings", table)


@every_kind
def test_beats_of_two_ids_in_any_order(name: str) -> None:
    table = cases(
        ar=FEW, r=FEW, order=range(16), latency=by_size((1, 12), (1, 3, 12), (1, 2, 3, 7, 12)),
        patience=25 * LONG,
    )  # fmt: skip
    assert judged(name, "orders", table).overtakes > 0


@every_kind
def test_a_stop_in_any_cycle(name: str) -> None:
    """A pulse, two cycles, or until idle; the next traffic at once, or when idle."""
    table = cases(
        ar=by_size(FEW[:2], FEW, all_patterns(3, repeats=True)),
        r=by_size(FEW[:2], FEW, all_patterns(4, repeats=True)),
        order=(-1, 5), latency=(1, 12),
        stops=[(cycle, *how) for cycle in range(LONG + 10)
               for how in ((1, 0), (1, 1), (2, 1), (0, 0))],
        patience=25 * LONG,
    )  # fmt: skip
    assert 0 < judged(name, "stops", table).idle_after < 3 * LONG


@every_kind
def test_any_beat_may_be_bad(name: str) -> None:
    """It is reported with its address, data before it comes, none behind it; after a stop, all is
    well."""
    stops = [(-1, *how) for how in ((1, 0), (1, 1), (0, 0))]
    table = cases(
        ar=FEW, r=FEW, latency=(1, 6), order=(-1, 5), bad=range(20), stops=stops,
        patience=25 * LONG,
    )  # fmt: skip
    judged(name, "bad beats", table)


@every_kind
def test_a_stop_around_a_bad_beat(name: str) -> None:
    stops = [(cycle, *how) for cycle in range(5, LONG, by_size(3, 1, 1))
             for how in ((1, 0), (1, 1), (0, 0))]  # fmt: skip
    table = cases(ar=FEW, bad=range(20), latency=(1, 6), stops=stops, patience=25 * LONG)
    judged(name, "bad beats and stops", table)


def test_the_patience_is_that_of_a_run_without_a_stop() -> None:
    found = library().run(cases(ar=[ALWAYS], stops=[NEVER], patience=LONG))
    assert (found.fault, found.longest < LONG) == ("", True)
    assert "not done" in library().run(cases(ar=[ALWAYS], patience=9)).fault


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_found(way: str) -> None:
    spoilt = library(spoilt=True)
    spoilt.call("spoil", 0)
    table = cases(ar=FEW, o=FEW, stops=[NEVER, (9, 1, 0), (9, 1, 1)], patience=300)
    bad = cases(ar=FEW, bad=range(2), patience=300)
    assert [spoilt.run(rows).fault for rows in (table, bad)] == ["", ""]
    spoilt.call("spoil", 1 + [*WAYS].index(way))
    assert WAYS[way] in spoilt.run(bad if "errors" in way else table).fault
