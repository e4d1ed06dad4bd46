"""A plugin of pytest, ``-p tilewright.verif.catalogue.toy.plugin``: the toy is registered.

A real system needs none: its registration is found.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from tilewright.registry import registered
from tilewright.verif.catalogue.toy.system import SYSTEM


def pytest_configure(config: pytest.Config) -> None:
    """Registers the system before any test is collected."""
    stack = ExitStack()
    stack.enter_context(registered(SYSTEM))
    config.add_cleanup(stack.close)
