"""A list of commands under construction."""

from __future__ import annotations

from collections.abc import Mapping

from ....hw.spec.jobs.gta_commands import KINDS, command_bytes

__all__ = ["CommandList"]


class CommandList:
    """Commands, one behind the other.

    Parameters
    ----------
    keeps: whether it keeps them; else it only counts

    Members
    -------
    count: how many of each of ``KINDS`` there are
    """

    def __init__(self, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._content: list[bytes] = []
        self.count = dict.fromkeys(KINDS, 0)

    def __len__(self) -> int:
        return sum(self.count.values())

    def add(
        self, kind: str, fields: Mapping[str, int], *, behind: Mapping[str, int] | None = None
    ) -> int:
        """Add a command that begins when so many of other kinds are complete; returns how many of
        its kind have to be for it to be complete."""
        if self._keeps:
            needs = {f"{name}s": count for name, count in (behind or {}).items()}
            self._content.append(command_bytes(kind, {**fields, **needs}))
        self.count[kind] += 1
        return self.count[kind]

    def to_bytes(self) -> bytes:
        """As it lies in memory; nothing if it keeps none."""
        return b"".join(self._content)
