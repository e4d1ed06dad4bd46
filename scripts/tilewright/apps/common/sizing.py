"""Parameters of an accelerator that data sets where the user does not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from ...hw.spec.config import Config, IntRange

__all__ = ["Sized", "cure", "least_value", "sized"]

AConfig = TypeVar("AConfig", bound=Config)


@dataclass(frozen=True, kw_only=True)
class Sized:
    """A parameter that data has set.

    Parameters
    ----------
    name, value: of the parameter
    why: the data that needs it, in words
    """

    name: str
    value: int
    why: str

    @property
    def row(self) -> tuple[str, str]:
        """The parameter's row in a report."""
        return self.name, f"{self.value} (chosen for {self.why})"


def least_value(config: Config, name: str, needed: int) -> int | None:
    """The least value of a parameter that is ``needed`` or more and that the configuration takes;
    None if there is none."""
    [item] = [one for one in config.parameters() if one.name == name]
    allowed = item.metadata["allowed"]
    assert isinstance(allowed, IntRange)
    value = max(needed, allowed.low)
    if allowed.power_of_two:
        value = 1 << (value - 1).bit_length()
    value = -(-value // allowed.multiple_of) * allowed.multiple_of
    try:
        replace(config, **{name: value})
    except ValueError:
        return None
    return value


def sized(
    config: AConfig, name: str, needed: int, why: str, named: Collection[str]
) -> tuple[AConfig, tuple[Sized, ...]]:
    """A configuration whose parameter is ``needed`` or more, and what was chosen for that.

    ``named``: the parameters that the user sets, which stay as they are. So does one that is large
    enough, or cannot be.
    """
    value = least_value(config, name, needed)
    if name in named or value is None or value <= getattr(config, name):
        return config, ()
    return replace(config, **{name: value}), (Sized(name=name, value=value, why=why),)


def cure(config: Config, name: str, needed: int) -> str:
    """The option that lets a configuration take data, for the end of a refusal; empty if there is
    none."""
    value = least_value(config, name, needed)
    return "" if value is None else f"; --set {name}={value} holds them"
