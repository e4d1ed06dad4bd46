"""Refusals of words that are not known: what is allowed, and which known word may be meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher

__all__ = ["UnknownName", "close_words", "did_you_mean", "not_one_of", "unknown"]

_ALIKE, _ALIKE_IN_LIST = 0.6, 0.8
"""Least likeness of a word that is suggested; and if all allowed words are shown beside it."""
_AS_ALIKE = 0.02
"""How far the likeness of a suggested word may be below the best."""
_MOST = 5
"""Words that are suggested at once."""


class UnknownName(ValueError, KeyError):
    """No member has this name: a wrong value, and of a mapping a missing key."""

    def __str__(self) -> str:
        return Exception.__str__(self)


def close_words(word: object, known: Collection[str], alike: float = _ALIKE) -> list[str]:
    """The known words that ``word`` may stand for: the same but for upper and lower case, or those
    that begin with it, or the most similar ones. None if too many are equally likely, or ``word``
    is not a string."""
    if not isinstance(word, str):
        return []
    typed = word.casefold()[:60]
    folded = {one: one.casefold() for one in known}
    same = [one for one in known if folded[one] == typed]
    begun = [one for one in known if len(typed) > 1 and folded[one].startswith(typed)]
    likeness = {one: SequenceMatcher(None, typed, folded[one]).ratio() for one in known}
    least = max(alike, max(likeness.values(), default=0) - _AS_ALIKE)
    found = same or begun or [one for one in known if likeness[one] >= least]
    return found if len(found) <= _MOST else []


def did_you_mean(word: object, known: Collection[str], alike: float = _ALIKE_IN_LIST) -> str:
    """The end of a refusal that suggests known words; empty if none is close."""
    close = [repr(one) for one in close_words(word, known, alike)]
    if not close:
        return ""
    first = f"{', '.join(close[:-1])} or " if close[1:] else ""
    return f"; did you mean {first}{close[-1]}?"


def not_one_of(name: str, known: Collection[str], word: object, when: str = "") -> str:
    """A refusal of ``word`` for ``name`` that shows the short list of what is allowed, with the
    condition ``when`` behind it, and suggests the known word that may be meant."""
    allowed = f"one of {', '.join(known)}{when}"
    return f"{name} must be {allowed}, not {word!r}{did_you_mean(word, known)}"


def unknown(kind: str, word: object, known: Collection[str], listed: str) -> str:
    """A refusal of ``word`` that suggests known words of this kind; if none is close, it names
    ``listed``, which shows all: a command line or a Python name."""
    others = did_you_mean(word, known, _ALIKE) or f"; `{listed}` lists them all"
    return f"unknown {kind} {word!r}{others}"
