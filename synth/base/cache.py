"""Results on disk, found again by everything that decides them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress

from tilewright.hw.spec.host.cache import cache_directory, used
from tilewright.hw.spec.host.outputs import write_whole

__all__ = ["cached"]


def cached(parts: tuple[str, ...], make: Callable[[], str]) -> str:
    """The text that ``make`` returns for these inputs, made at most once on this machine.

    An entry appears whole or not at all. Without a place to write, everything is made anew.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    folder = cache_directory() / "synth"
    path = folder / f"{digest.hexdigest()[:40]}.json"
    try:
        text = path.read_text(encoding="utf-8")
        used(path)
        return text
    except OSError:
        pass
    text = make()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(text.encode()))
    return text
