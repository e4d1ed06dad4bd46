"""What a constructor says when it refuses its parameters."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import Elaboratable

__all__ = ["refusal"]


def refusal(build: Callable[[], Any]) -> str:
    """The text of the ValueError that ``build`` raises; fails if it raises none.

    A component that refuses its parameters was created and is never used, which is no mistake
    here.
    """
    with patch.object(Elaboratable, "_MustUse__silence", True):
        text = ""
        try:
            build()
        except ValueError as error:
            text = str(error)
        gc.collect()
    if not text:
        pytest.fail("nothing was refused")
    return text
