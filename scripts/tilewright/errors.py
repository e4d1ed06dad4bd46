"""Errors that are the user's to mend."""

from __future__ import annotations

__all__ = ["UserError"]


class UserError(Exception):
    """Bad input or a missing tool: one line that names it, its value and what is allowed."""
