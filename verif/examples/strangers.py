"""Programs of ``examples/from_the_page``, run where Tilewright is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from tilewright.verif.examples.readme import Example

__all__ = ["Stranger"]


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
