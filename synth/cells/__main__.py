"""``python -m tilewright.synth.cells`` prints the library, for other tools."""

from __future__ import annotations

from .cmos import library_text

if __name__ == "__main__":
    print(library_text(), end="")
