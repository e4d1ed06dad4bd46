"""The file that a simulation's waves go to, as Python sees it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from ...hw.spec.host.programs import ProgramError

__all__ = ["WaveError", "check_waves"]


class WaveError(ProgramError):
    """Waves cannot be written; the text says where, and why."""


def check_waves(waves: Path | None, error: int | None) -> None:
    """Raise WaveError if ``error``, as the library tells it, is one of writing the waves; then
    what could be written is removed."""
    if waves is None or not error:
        return
    with suppress(OSError):
        whole = Path(os.path.realpath(waves))
        if stat.S_ISREG(whole.stat().st_mode):
            whole.unlink()
    raise WaveError(f"{waves}: cannot be written: {os.strerror(error)}")
