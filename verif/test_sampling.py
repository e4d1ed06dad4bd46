"""The sizes of the test: what each takes, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tilewright.verif.kit import sampling
from tilewright.verif.kit.data import data_file
from tilewright.verif.kit.sampling import (
    BARS,
    BUDGET,
    REST,
    TYPES,
    budget_rows,
    by_size,
    cases,
    leaves_out,
    over_budget,
    slow_but,
)

pytestmark = pytest.mark.quick


def _marks(parameters: list[Any]) -> list[tuple[Any, str]]:
    """Parameters and their marks, "" for none."""
    return [(p.values[0], p.marks[0].name) if hasattr(p, "marks") else (p, "") for p in parameters]


def test_parameters_by_size() -> None:
    assert _marks(slow_but(["a"], "abc")) == [("a", ""), ("b", "slow"), ("c", "slow")]
    found = _marks(slow_but(["a"], ["a", "b", "c"], ["c"]))
    assert found == [("a", ""), ("b", "long"), ("c", "slow")]
    assert _marks(slow_but([], [1, 2], [])) == [(1, "long"), (2, "long")]


def test_a_parameter_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"^\['d'\] must be among \['a', 'b'\]$"):
        slow_but(["a"], "ab", ["d"])


@pytest.mark.parametrize(
    ("size", "few", "many"), [("quick", 10, 500), ("default", 20, 625), ("long", 100, 10_000)]
)
def test_counts_by_size(monkeypatch: pytest.MonkeyPatch, size: str, few: int, many: int) -> None:
    monkeypatch.setattr(sampling, "SIZE", size)
    assert (cases(100), cases(10_000)) == (few, many)
    assert by_size("quick", "default", "long") == size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "out"),
    [("quick", [True, False, True, True, False]), ("default", [False] * 3 + [True, False])],
)
def test_modules_by_size(monkeypatch: pytest.MonkeyPatch, size: str, out: list[bool]) -> None:
    monkeypatch.setattr(sampling, "SIZE", size)
    texts = [
        "@pytest.mark.quick\ndef test(): ...",
        "pytestmark = pytest.mark.quick",
        "pytestmark = needs_data",
        "pytestmark = pytest.mark.long\n@pytest.mark.quick",
        "pytestmark = [\n    needs_data,\n    pytest.mark.quick,\n]\n",
    ]
    assert [leaves_out(text) for text in texts] == out


def test_data_is_for_tests_that_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEWRIGHT_DATA", raising=False)
    with pytest.raises(pytest.fail.Exception, match=r"^a test that needs x must be marked `needs"):
        data_file("x")


def test_budgets_are_within_the_bars() -> None:
    assert all(
        sum(row) <= bar for row, bar in zip(zip(*BUDGET.values(), strict=True), BARS, strict=True)
    )
    here = Path(__file__).parent
    folders = {f"verif/{path.relative_to(here).parts[0]}" for path in here.glob("*/**/test_*.py")}
    assert set(BUDGET) == folders | {"verif", REST, TYPES}


def test_a_folder_over_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SIZE", "default")
    monkeypatch.setattr(sampling, "BUDGET", {"verif/a": (1, 100), "verif/b": (1, 300)})
    spent = {"verif/a": 281.0, "verif/b": 100.0}
    assert over_budget(spent) == ["verif/a took 281 s of processor time, not about 100"]
    assert [*budget_rows(spent)] == ["   281.0 s of  100  verif/a", "   100.0 s of  300  verif/b"]
    assert over_budget(spent | {"verif/a": 279.0}) == []
    slow = {"verif/a": 281.0, "verif/b": 519.0}
    assert over_budget(slow) == []
    assert over_budget(slow | {"verif/a": 1000.0}) == [
        "verif/a took 1000 s of processor time, not about 380"
    ]
    assert over_budget({"verif/a": 1500.0, "verif/b": 4500.0}) != []
    monkeypatch.setattr(sampling, "SIZE", "long")
    assert over_budget(spent) == []
