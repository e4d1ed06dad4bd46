"""The lane that GTA is compared with: separate units for each number format."""

from .separate import GTA_SEPARATE

__all__ = ["UNITS"]

UNITS = (GTA_SEPARATE,)
