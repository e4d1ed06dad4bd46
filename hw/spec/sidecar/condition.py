"""Conditions on the fields of job registers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Condition"]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """That a field of a job register has a value.

    Parameters
    ----------
    register, field: which
    value: what it has to be
    also: another condition that must hold, too
    """

    register: str
    field: str = "value"
    value: int = 1
    also: Condition | None = None

    @property
    def parts(self) -> tuple[Condition, ...]:
        """It and those that must hold, too."""
        return (self, *(self.also.parts if self.also else ()))
