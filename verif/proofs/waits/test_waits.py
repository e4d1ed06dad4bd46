"""No wait lasts longer than the table says; in every broken part one lasts for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.proofs.waits.explorer import explore
from tilewright.verif.proofs.waits.table import WAITS, Wait

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
