"""Errors that the flows raise when a tool is missing or fails."""

from __future__ import annotations

from tilewright.hw.spec.host.programs import ProgramError

__all__ = ["MissingExtra", "ToolError"]


class MissingExtra(ValueError):
    """A tool of an optional part of the installation is missing; the message says which."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what}, which is not installed: install `tilewright[{extra}]`")
        self.extra = extra


class ToolError(ProgramError):
    """A tool stopped with an error; the message has its last words."""
