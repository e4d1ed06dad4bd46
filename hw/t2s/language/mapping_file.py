"""A user's file: Python that defines one computation and its mapping."""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Mapping
from pathlib import Path

from .computation import Computation
from .places import MappingError
from .sizes import changed_sizes

__all__ = ["load_mapping"]


def load_mapping(
    file: Path, sizes: Mapping[str, int] | None = None, largest: int | None = None
) -> Computation:
    """Runs a file, and returns its computation.

    Parameters
    ----------
    sizes: in place of those that its ``sizes`` names
    largest: no factor of a tile is larger than this

    Raises MappingError for directives that cannot be followed, sizes that it does not name, a file
    that is no Python, stops with an error or does not have one computation; OSError if it cannot
    be read.
    """
    file.read_bytes()
    with changed_sizes(sizes or {}, largest):
        try:
            names = runpy.run_path(str(file))
        except (MappingError, KeyboardInterrupt):
            raise
        except SyntaxError as error:
            where = f"{file.name}:{error.lineno}" if error.lineno else file.name
            raise MappingError(f"{where}: {error.msg}") from error
        except BaseException as error:  # SystemExit, too
            place = next(
                (one for one in reversed(traceback.extract_tb(error.__traceback__))
                 if one.filename == str(file)),
                None,
            )  # fmt: skip
            where = f"{file.name}:{place.lineno}" if place else file.name
            told = str(error).partition("\n")[0]
            raise MappingError(f"{where}: {type(error).__name__}: {told}") from error
    found = {id(one): one for one in names.values() if isinstance(one, Computation)}
    if len(found) != 1:
        raise MappingError(f"{file.name}: must define 1 computation, not {len(found)}")
    return next(iter(found.values()))
