"""Refuses unknown words: lists the allowed ones, and suggests the known word that may be meant."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import SequenceMatcher

__all__ = ["UnknownName", "close_words", "did_you_mean", "not_one_of", "unknown"]

_ALIKE, _ALIKE_IN_LIST = 0.6, 0.8
"""Least likeness of a word that is suggested; and if all allowed words are shown beside it."""
_AS_ALIKE = 0.02
"""Largest difference between the likeness of a suggested word and the best one."""
_MOST = 5
"""Words that are suggested at once."""


class UnknownName(ValueError, KeyError):
    """No member has this name: a wrong value, and of a mapping a missing key."""

    def __str__(self) -> str:
        return Exception.__str__(self)


def close_words(word: str, known: Collection[str], alike: float = _ALIKE) -> list[str]:
    """The known words that ``word`` may stand for: the same but for upper and lower case, or those
    that begin with it, or the most similar ones. None if too many are equally likely."""
    typed = word.casefold()[:60]
    folded = {one: one.casefold() for one in known}
    same = [one for one in known if folded[one] == typed]
    begun = [one for one in known if len(typed) > 1 and folded[one].startswith(typed)]
    likeness = {one: SequenceMatcher(None, typed, folded[one]).ratio() for one in known}
    least = max(alike, max(likeness.values(), default=0) - _AS_ALIKE)
    found = same or begun or [one for one in known if likeness[one] >= least]
    return found if len(found) <= _MOST else []


def _suggestion(close: Collection[str]) -> str:
    *first, last = map(repr, close) if close else [""]
    return f"; did you mean {', '.join(first)}{' or ' if first else ''}{last}?" if last else ""


def did_you_mean(word: str, known: Collection[str]) -> str:
    """The end of a refusal of ``word`` that shows the list of known words: suggests those that are
    very similar, if any. Formats and layers that differ in their numbers are not."""
    typed = word.casefold()
    others = [
        one for one in known
        if one.casefold() == typed or re.sub(r"\d", "", one.casefold()) != re.sub(r"\d", "", typed)
    ]  # fmt: skip
    return _suggestion(close_words(word, others, _ALIKE_IN_LIST))


def not_one_of(name: str, known: Collection[str], word: object, when: str = "") -> str:
    """Makes a refusal of ``word`` for ``name``: it shows the short list of allowed words, followed
    by the condition ``when``, and suggests the known word that may be meant."""
    meant = did_you_mean(word, known) if isinstance(word, str) else ""
    allowed = f"one of {', '.join(known)}" if len(known) > 1 else "".join(known)
    return f"{name} must be {allowed}{when}, not {word!r}{meant}"


def unknown(kind: str, word: object, known: Collection[str], listed: str) -> str:
    """A refusal of ``word`` that suggests known words of this kind; if none is close, it names
    ``listed``, which shows all: a command line or a Python name."""
    close = close_words(word, known) if isinstance(word, str) else []
    return f"unknown {kind} {word!r}{_suggestion(close) or f'; `{listed}` lists them all'}"
