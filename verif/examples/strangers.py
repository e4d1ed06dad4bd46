"""Programs of ``examples/from_the_page``, run where Tilewright is not installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from tilewright.verif.examples.readme import Example
from tilewright.verif.kit.pages import page

_LINE = re.compile(r"^ *(0x[0-9a-f]+): ((?:[0-9a-f]{2} )*[0-9a-f]{2})\b(?! [0-9a-f]{2}\b)", re.M)


class Stranger(Example):
    """An example whose ``python`` finds the standard library and NumPy, and nothing else.

    ``tilewright`` and ``verilator`` are commands, as in any example.

    Parameters
    ----------
    name: its folder below ``examples/from_the_page``
    directory: an empty one
    """

    def __init__(self, name: str, directory: Path) -> None:
        super().__init__("from_the_page", directory)
        self.directory /= name
        packages = directory / "packages"
        packages.mkdir()
        installed = Path(np.__file__).parents[1]
        for package in ("numpy", "numpy.libs"):  # the libraries of the wheel, where there are any
            if (installed / package).exists():
                (packages / package).symlink_to(installed / package)
        # -S: no directory of packages is on the path.
        self._program("python", f'env PYTHONPATH="{packages}" "{sys.executable}" -S')
        self.with_verilator()
        self._has_numpy_only()

    def _has_numpy_only(self) -> None:
        """Fail unless Tilewright cannot be imported and NumPy can."""
        done = self.run('python -c "import numpy, tilewright"')
        assert "No module named 'tilewright'" in done.stderr, done.stderr


def memory_lines(text: str) -> dict[int, bytes]:
    """The bytes of memory that a page or a program shows, by address.

    A line is ``ADDRESS: BYTES``, in hexadecimal; what a page says of it comes three blanks later.
    """
    found = {int(address, 16): bytes.fromhex(content) for address, content in _LINE.findall(text)}
    assert found
    return found


def page_of_memory(name: str) -> str:
    """The section of a page of ``docs`` that shows the memory of a job."""
    section = page(name).read_text().partition("## Memory of a job, byte by byte\n")[2]
    return section.partition("\n## ")[0]
