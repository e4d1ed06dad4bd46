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
    ({"rows_limit": 8192}, "`rows_limit` must be 0 or at least `vector_words`, 16384, not 8192"),
    ({"rows_limit": 1 << 23},
     "`rows_limit` must be at most 4194304, 65536 steps of `subtensor` columns, not 8388608"),
    ({"rows_limit": 32768, "subtensor": 16},
     "`subtensor` must be at least 32 where `rows_limit` is not 0, elements of the vectors that "
     "are read at once, not 16"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    assert refusal(lambda: SidaConfig(**changes)) == message
