"""The file that a simulation's waves go to, as Python sees it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...hw.spec.host.programs import ProgramError

__all__ = ["WAVE_SUFFIXES", "WaveError", "WaveFormat", "check_waves", "complete_waves",
           "wave_format"]  # fmt: skip

WAVE_SUFFIXES = (".vcd", ".fst")
_FST_HEADER = 329
"""Bytes of the first block of an FST file, behind its type."""


class WaveError(ProgramError):
    """Waves cannot be written; the text says where, and why."""


@dataclass(frozen=True)
class WaveFormat:
    """A format of waves, by what Verilator calls it: ``vcd`` or ``fst``."""

    name: str

    @property
    def option(self) -> str:
        """The option of Verilator."""
        return f"--trace-{self.name}"

    @property
    def runtime(self) -> str:
        """The part of Verilator's run-time library that writes it."""
        return f"verilated_{self.name}_c"


def wave_format(waves: Path | None) -> WaveFormat | None:
    """FST for a name that ends in .fst, which is complete only at a simulation's end; VCD for any
    other. None for no file."""
    if waves is None:
        return None
    return WaveFormat("fst" if waves.suffix.lower() == ".fst" else "vcd")


def check_waves(waves: Path | None, error: int | None) -> None:
    """Raise WaveError if ``error``, as the library tells it, is one of writing the waves, or they
    are not complete now that it has closed them; then what could be written is removed."""
    if waves is None:
        return
    error = error or complete_waves(waves)
    if not error:
        return
    with suppress(OSError):
        whole = Path(os.path.realpath(waves))
        if stat.S_ISREG(whole.stat().st_mode):
            whole.unlink()
    raise WaveError(f"{waves}: cannot be written: {os.strerror(error)}")


def complete_waves(waves: Path) -> int:
    """Returns the number of errno.h for the error that left a closed FST file incomplete; 0 for a
    complete file, and for waves of another format, whose writer reports errors."""
    form = wave_format(waves)
    if form is None or form.name != "fst":
        return 0
    try:
        with waves.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if _blocks_end(file) == size:
                return 0
            # The writer has dropped what did not fit: the system says why, asked once more.
            file.seek(size)
            file.write(bytes(1 << 20))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno or errno.EIO
    return errno.EIO


def _blocks_end(file: BinaryIO) -> int:
    """Returns the end of the last block of an FST file, by the lengths of its blocks; -1 if the
    first block, which is written last, is missing."""
    end = file.seek(0)
    while head := file.read(9):
        length = int.from_bytes(head[1:], "big")
        if len(head) < 9 or length < 8 or (end == 0 and (head[0], length) != (0, _FST_HEADER)):
            return -1
        end = file.seek(end + 1 + length)
    return end if end > _FST_HEADER + 1 else -1
