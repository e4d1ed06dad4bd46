"""The project's own cell library, for the target ``cmos``."""

from __future__ import annotations

from .cmos import library_text

__all__ = ["library_text"]
