"""The file that a command's waves go to."""

from __future__ import annotations

from pathlib import Path

from .errors import UserError
from .hw.spec.host import outputs
from .sim.rtl.waves import WAVE_SUFFIXES, wave_format

__all__ = ["check_wave_file"]


def check_wave_file(path: Path) -> None:
    """Raise UserError unless waves can be written there: VCD, also into a device or a pipe of any
    other name, or FST, whose beginning is written last."""
    form = wave_format(path)
    stream = outputs.is_stream(path)
    if path.suffix.lower() not in WAVE_SUFFIXES and not stream:
        raise UserError(f"{path}: must end in {' or '.join(WAVE_SUFFIXES)}, not {path.suffix!r}")
    if why := outputs.obstacle(path):
        raise UserError(f"{path}: cannot be written: {why}")
    if form is not None and form.name == "fst" and stream:
        raise UserError(f"{path}: must be a regular file for FST waves, no device or pipe")
