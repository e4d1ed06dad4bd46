"""Checks the explorer of waits: numbers counted by hand, and the table of the longest waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Const, Mux, Signal
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.proofs.claim import Claim
from tilewright.verif.proofs.waits.explorer import explore
from tilewright.verif.proofs.waits.table import WAITS, Wait


def counts(claim: Claim) -> None:
    """Counts to 5 when it is started, and pauses for a cycle at a time."""
    count = Signal(3)
    starts, pauses = claim.free("start"), claim.free("pause")
    paused = claim.before(pauses, "pauses")
    with claim.m.If(count == 0):
        claim.m.d.sync += count.eq(starts)
    with claim.m.Elif(~pauses):
        claim.m.d.sync += count.eq(Mux(count == 5, 0, count + 1))
    claim.allow(~(pauses & paused))
    claim.waits("busy", count != 0)
    claim.waits("at_two", count == 2)
    claim.reached("five", count == 5)
    claim.broken("six", count == 6)


def wanders(claim: Claim) -> None:
    """Does the same as ``counts``, but may pause forever at a count of 2."""
    counts(claim)
    claim.waits("for_ever", ~claim.free("ends"))


def promises_too_much(claim: Claim) -> None:
    """Allows nothing after the start."""
    counts(claim)
    started = Signal()
    claim.m.d.sync += started.eq(1)
    claim.allow(~started)


def explored(describe: Callable[[Claim], None], directory: Path) -> tuple[object, ...]:
    found = explore(Claim(describe), directory)
    assert found.broken == {"six": None}
    return found.longest, found.reached, found.stuck


@pytest.mark.slow
def test_waits_have_their_length(tmp_path: Path) -> None:
    # 5 counts, each after a pause. The states: 6 counts, 2 of what was before; 5 after a pause.
    expected = {"busy": 10, "at_two": 2}
    assert explored(counts, tmp_path) == (expected, {"five": 5}, 0)
    assert explore(Claim(counts), tmp_path).states == 12


@pytest.mark.slow
def test_a_wait_that_may_last_for_ever_is_found(tmp_path: Path) -> None:
    longest, _, _ = explored(wanders, tmp_path)
    assert longest == {"busy": 10, "at_two": 2, "for_ever": None}


@pytest.mark.slow
def test_states_without_a_way_on_are_counted(tmp_path: Path) -> None:
    _, reached, stuck = explored(promises_too_much, tmp_path)
    assert reached == {"five": None}
    # One that has started and one that has not; pauses no longer matter.
    assert stuck == 2


@pytest.mark.slow
def test_the_number_of_states_is_limited(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"^more than 3 states$"):
        explore(Claim(counts), tmp_path, states=3)


@pytest.mark.slow
def test_data_is_left_out(tmp_path: Path) -> None:
    """A register that no output depends on makes no states."""

    def describe(claim: Claim) -> None:
        counts(claim)
        data = Signal(32)
        claim.m.d.sync += data.eq(claim.free("data", 32) + Const(1))

    assert explore(Claim(describe), tmp_path).states == 12


SAMPLE = [one for one in WAITS if one.size == "default"][::3]
"""Claims on waits of the default test."""


@pytest.mark.parametrize("wait", slow_but([], WAITS, SAMPLE), ids=lambda wait: wait.name)
def test_no_wait_is_longer(wait: Wait, tmp_path: Path) -> None:
    found = explore(wait.claim(patience=wait.patience), tmp_path)
    assert found.longest == wait.longest
    if None not in wait.longest.values():
        assert {name for name, cycle in found.broken.items() if cycle is not None} == set()
        assert {name for name, cycle in found.reached.items() if cycle is None} == set()
        assert found.stuck == 0


def test_every_wait_has_a_name_of_its_own() -> None:
    assert len({wait.name for wait in WAITS}) == len(WAITS)
