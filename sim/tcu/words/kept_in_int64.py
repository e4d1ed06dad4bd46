"""Shared base of words in arrays of int64: exact ones that subtract."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

__all__ = ["KeptInInt64"]


class KeptInInt64:
    """The part of :class:`Words` that words kept in int64 share."""

    subtracts: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    @property
    def zero(self) -> Any:
        return np.int64(0)

    @property
    def one(self) -> Any:
        return np.int64(1)
