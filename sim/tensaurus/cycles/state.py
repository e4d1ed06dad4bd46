"""Everything that changes in the cycle model but for the channels, as one record."""

from __future__ import annotations

import numpy as np

from .array_state import ARRAY
from .load_state import LOAD
from .store_state import STORE

__all__ = ["MACHINE"]

MACHINE = np.dtype([*ARRAY, *LOAD, *STORE])
"""With the configuration and the job in numbers. The array alone works on the same record: numba
would take one that only begins like it for the other."""
