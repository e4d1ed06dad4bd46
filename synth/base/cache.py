"""Results on disk, found again by everything that decides them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tilewright.hw.spec.host.cache import cache_directory, used
from tilewright.hw.spec.host.outputs import write_whole

__all__ = ["cached", "found"]


def _place(parts: tuple[str, ...]) -> Path:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return cache_directory() / "synth" / f"{digest.hexdigest()[:40]}.json"


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    used(path)
    return text


def found(parts: tuple[str, ...]) -> str | None:
    """The text that `cached` has kept for these inputs; None if it was not made yet."""
    return _read(_place(parts))


def cached(parts: tuple[str, ...], make: Callable[[], str]) -> str:
    """The text that ``make`` returns for these inputs, made at most once on this machine.

    An entry appears whole or not at all. Without a place to write, everything is made anew.
    """
    path = _place(parts)
    text = _read(path)
    if text is not None:
        return text
    text = make()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(text.encode()))
    return text
