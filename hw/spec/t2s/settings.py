"""Parameters of the mapped arrays that are texts: which design, and its sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["DesignName", "Sizes", "parsed_sizes"]

_NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?")
_SIZE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[1-9][0-9]{0,6}")


@dataclass(frozen=True)
class DesignName:
    """The name of a design that ships, or a file of the mapping language."""

    def describe(self) -> str:
        return "the name of a design, or a file that ends in .py"

    def check(self, name: str, value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        if not value.endswith(".py") and not _NAME.fullmatch(value):
            raise ValueError(f"`{name}` must be {self.describe()}, not {value!r}")

    def parse(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Sizes:
    """Sizes by name, joined by commas; or none."""

    def describe(self) -> str:
        return "sizes as II=2,JJ=2"

    def check(self, name: str, value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        given = value.split(",") if value else []
        names = [one.partition("=")[0] for one in given]
        wrong = any(not _SIZE.fullmatch(one) for one in given) or len(set(names)) < len(names)
        if wrong:
            raise ValueError(f"`{name}` must be {self.describe()}, not {value!r}")

    def parse(self, text: str) -> str:
        return text.replace(" ", "")


def parsed_sizes(text: str) -> dict[str, int]:
    """Parses the text that :class:`Sizes` allows into numbers by name."""
    pairs = (one.partition("=") for one in text.split(",") if one)
    return {name: int(number) for name, _, number in pairs}
