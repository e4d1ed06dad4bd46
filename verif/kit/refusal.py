"""Returns the message of a constructor that refuses its parameters."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import Elaboratable


@contextmanager
def unused_components() -> Iterator[None]:
    """Inside, that a component is created and never elaborated is no mistake."""
    with patch.object(Elaboratable, "_MustUse__silence", True):
        yield
        gc.collect()


@contextmanager
def refused(kind: type[Exception], text: str) -> Iterator[None]:
    """Inside, an exception of this kind is raised with this text, and no other."""
    with pytest.raises(kind) as caught:
        yield
    assert (type(caught.value), str(caught.value)) == (kind, text)


def refusal(build: Callable[[], Any]) -> str:
    """The text of the ValueError that ``build`` raises; fails if it raises none."""
    text = ""
    with unused_components():
        try:
            build()
        except ValueError as error:
            text = str(error)
    if not text:
        pytest.fail("nothing was refused")
    return text
