"""Configurations: frozen keyword-only dataclasses whose fields know their allowed values.

A parameter is declared once, with its default, its range and one line of text; validation,
``tilewright show``, ``--set`` and TOML files all read that declaration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Protocol

from .host.words import did_you_mean, not_one_of, unknown

_INTEGER = re.compile(
    r"[+-]?(0x[0-9a-f]{1,16}|0o[0-7]{1,22}|0b[01]{1,64}|0|[1-9][0-9]{0,19})", re.IGNORECASE
)
"""Integer in the notations that users may write."""


class Allowed(Protocol):
    """Allowed values of a parameter."""

    def check(self, name: str, value: Any) -> None:
        """Raises TypeError or ValueError with the parameter, the allowed values and the value."""

    def describe(self) -> str:
        """Describes the allowed values, in words that fit after "must be"."""

    def parse(self, text: str) -> Any:
        """The value a command-line text stands for; a text that fits nothing is returned."""


@dataclass(frozen=True)
class IntRange:
    """An integer in ``low..high``, optionally a power of two or a multiple."""

    low: int
    high: int
    power_of_two: bool = False
    multiple_of: int = 1

    def describe(self) -> str:
        if self.power_of_two:
            kind = "a power of two"
        elif self.multiple_of != 1:
            kind = f"a multiple of {self.multiple_of}"
        else:
            kind = "an integer"
        return f"{kind} in {self.low}..{self.high}"

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        fits = self.low <= value <= self.high and value % self.multiple_of == 0
        if not fits or (self.power_of_two and value & (value - 1)):
            raise ValueError(f"`{name}` must be {self.describe()}, not {value}")

    def parse(self, text: str) -> Any:
        return int(text, 0) if _INTEGER.fullmatch(text) else text


@dataclass(frozen=True)
class OneOf:
    """One of a list of words."""

    words: tuple[str, ...]

    def describe(self) -> str:
        return "one of " + ", ".join(self.words)

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        if value not in self.words:
            raise ValueError(not_one_of(f"`{name}`", self.words, value))

    def parse(self, text: str) -> Any:
        return text


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def describe(self) -> str:
        return "true or false"

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")

    def parse(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text.lower(), text)


@dataclass(frozen=True)
class SubsetOf:
    """A non-empty tuple of different words of a list (or table); kept in the list's order."""

    words: Collection[str]

    def describe(self) -> str:
        return "a non-empty subset of " + ", ".join(self.words)

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, tuple) or not all(isinstance(word, str) for word in value):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        strange = [word for word in value if word not in self.words]
        if strange or not value or len(set(value)) != len(value):
            meant = did_you_mean(strange[0], self.words) if strange else ""
            raise ValueError(f"`{name}` must be {self.describe()}, not {','.join(value)!r}{meant}")

    def parse(self, text: str) -> Any:
        return tuple(word.strip() for word in text.split(",") if word.strip())


def unknown_parameter(name: str, known: Collection[str], unit: str) -> str:
    """A refusal of a parameter that is none of those known of a unit."""
    return unknown("parameter", name, known, f"tilewright show {unit}")


def parameter(default: Any, *, allowed: Allowed, doc: str) -> Any:
    """A dataclass field with its range and its description (unit included)."""
    return field(default=default, metadata={"allowed": allowed, "doc": doc})


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of all configurations: checks every parameter against its declaration."""

    def __post_init__(self) -> None:
        for item in self.parameters():
            value = getattr(self, item.name)
            if isinstance(value, list) and isinstance(item.metadata["allowed"], SubsetOf):
                value = tuple(value)
            item.metadata["allowed"].check(item.name, value)
            if isinstance(item.metadata["allowed"], SubsetOf):
                value = tuple(w for w in item.metadata["allowed"].words if w in value)
            object.__setattr__(self, item.name, value)

    @classmethod
    def parameters(cls) -> tuple[Field[Any], ...]:
        """The parameters in order; ``metadata`` holds ``allowed`` and ``doc``."""
        return tuple(item for item in fields(cls) if "allowed" in item.metadata)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], unit: str = "UNIT") -> Config:
        """Builds a configuration from a mapping as TOML or ``--set`` provides it; texts are parsed.
        Refusals name ``unit``.

        Raises ValueError or TypeError on an unknown name or a value that is not allowed.
        """
        known = {item.name: item for item in cls.parameters()}
        values: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in known:
                raise ValueError(unknown_parameter(name, known, unit))
            allowed = known[name].metadata["allowed"]
            values[name] = allowed.parse(value) if isinstance(value, str) else value
        return cls(**values)

    def resolved(self) -> dict[str, Any]:
        """Every parameter with the value in force, ready for JSON."""
        return {
            item.name: list(value) if isinstance(value, tuple) else value
            for item in self.parameters()
            for value in [getattr(self, item.name)]
        }

    @classmethod
    def default_of(cls, item: Field[Any]) -> Any:
        """The declared default, for help texts."""
        return None if item.default is MISSING else item.default


def like(config: type[Config], name: str, **changes: Any) -> Any:
    """The declaration of another configuration's parameter, with ``changes`` of its ``default``,
    ``allowed`` or ``doc``."""
    item = next(item for item in config.parameters() if item.name == name)
    said = {"default": item.default, **item.metadata, **changes}
    return parameter(said["default"], allowed=said["allowed"], doc=said["doc"])


@dataclass(frozen=True, kw_only=True)
class OperatorStages(Config):
    """Latencies of the operators of values; each begins an operation a cycle."""

    adder_stages: int = parameter(3, allowed=IntRange(1, 3), doc="latency of an adder, in cycles")
    multiplier_stages: int = parameter(
        3, allowed=IntRange(1, 3), doc="latency of a multiplier, in cycles"
    )
