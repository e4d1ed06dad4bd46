"""A model in the place of the RTL, and cycles of no model."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.apps.common import session
from tilewright.sim.gta import timed
from tilewright.sim.gta.cycles.machine import TIMED
from tilewright.sim.gta.model import GtaModel
from tilewright.verif.kit.sampling import SIZE


@pytest.fixture(autouse=True)
def no_cycle_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick test does not compile it: all jobs take a cycle."""
    if SIZE == "quick":
        monkeypatch.setattr(timed, "run_job", lambda *_, **__: dict.fromkeys(TIMED, 1))


@pytest.fixture
def on_model(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The model of the whole accelerator stands for the RTL; sizes of memories that were made."""
    sizes: list[int] = []

    def made(unit: Any, config: Any, size: int) -> GtaModel:
        del unit
        sizes.append(size)
        return GtaModel(config, size)

    monkeypatch.setattr(session, "rtl_device", made)
    return sizes
