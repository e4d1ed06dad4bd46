"""Everything that changes in the cycle model but for what is in arrays, as one record."""

from __future__ import annotations

import numpy as np

from .elementwise_state import ELEMENTWISE
from .gather import VECTORS
from .held_state import HELD
from .load_state import LOAD
from .shared import SHARED
from .sums_state import SUMS

__all__ = ["MACHINE"]

MACHINE = np.dtype([*SHARED, *LOAD, *VECTORS, *SUMS, *ELEMENTWISE, *HELD])
"""One for all parts, also for a part alone: numba would take another for a type of its own."""
