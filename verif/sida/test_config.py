"""Configurations that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.refusal import refusal

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"subtensor": 8}, "`subtensor` must be at least `pes`, 16, not 8"),
    ({"subtensor": 256, "vector_words": 128},
     "`subtensor` must be at most `vector_words`, 128, not 256"),
    ({"pes": 32, "buffer_words": 64},
     "`buffer_words` must be at least 128, four for each of `pes`, not 64"),
    ({"pes": 64, "vector_words": 64},
     "`vector_words` must be at least 128, two for each of `pes`, not 64"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    assert refusal(lambda: SidaConfig(**changes)) == message
