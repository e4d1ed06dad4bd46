"""Arguments of another type than drivers take, told before anything looks into them."""

from __future__ import annotations

__all__ = ["check_type"]


def check_type(name: str, value: object, kind: type, allowed: str) -> None:
    """Raise TypeError, with what is ``allowed``, if a value is not of a kind."""
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` must be {allowed}, not {type(value).__name__}")
