"""Where everything that is made once and kept lies: builds, machine code, results of synthesis."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_directory"]


def cache_directory() -> Path:
    """``$TILEWRIGHT_CACHE``, else ``$XDG_CACHE_HOME/tilewright``, else ``~/.cache/tilewright``.

    The directory need not exist.
    """
    if chosen := os.environ.get("TILEWRIGHT_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"
