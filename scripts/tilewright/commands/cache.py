"""``tilewright cache``: what the cache holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UserError, user_errors
from ..numbers_given import whole
from ..reports import console_of_reports
from .options import JsonOption, check_output

if TYPE_CHECKING:
    from ..hw.spec.host.cache import Kept

__all__ = ["cache"]

_DAY = 24 * 3600


def cache(
    clean: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Remove entries: simulations, code, synthesis, tools or all."
        ),
    ] = None,
    unused_for: Annotated[
        int | None,
        typer.Option(
            parser=whole("--unused-for", 0, 36500),
            metavar="DAYS",
            help="With --clean: remove only entries unused for DAYS days.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Show what the cache holds, or remove it."""
    from ..hw.spec.host.cache import KINDS, CacheInUse, cache_directory, contents, remove

    if clean is not None and clean not in (*KINDS, "all"):
        raise UserError(f"--clean must be one of all, {', '.join(KINDS)}, not {clean!r}")
    if unused_for is not None and clean is None:
        raise UserError("--unused-for limits what --clean removes: give both")
    if json_file is not None:
        check_output(json_file, ".json")
    directory = cache_directory()
    gone: list[Kept] = []
    if clean is not None:
        before = time.time() - _DAY * (unused_for or 0)
        chosen = [
            kept for kept in contents(directory)
            if clean in (kept.kind, "all") and (unused_for is None or kept.used <= before)
        ]  # fmt: skip
        with user_errors(CacheInUse):
            gone = remove(directory, chosen)
    found = contents(directory)
    _print(str(directory), found)
    if clean is not None:
        print(f"removed: {len(gone)}, {_in_words(gone)}")
    if json_file is not None:
        from ..reports import write_json

        kinds = [
            {"kind": kind, "what": what, "entries": len(those), "bytes": _bytes(those),
             "last_used": max((kept.used for kept in those), default=None)}
            for kind, what in KINDS.items()
            for those in [[kept for kept in found if kept.kind == kind]]
        ]  # fmt: skip
        removed = {"entries": len(gone), "bytes": _bytes(gone)} if clean is not None else None
        write_json(json_file, {"directory": str(directory), "kinds": kinds, "removed": removed})


def _print(directory: str, found: list[Kept]) -> None:
    from rich.table import Table

    from ..hw.spec.host.cache import KINDS

    table = Table(title=directory, title_justify="left")
    for column in ("kind", "what", "entries", "size", "last used"):
        table.add_column(column, justify="right" if column in ("entries", "size") else "left")
    for kind, what in KINDS.items():
        those = [kept for kept in found if kept.kind == kind]
        days = int((time.time() - max(kept.used for kept in those)) // _DAY) if those else -1
        when = "" if days < 0 else "today" if days == 0 else f"{days} day{'s' * (days > 1)} ago"
        table.add_row(kind, what, f"{len(those):,}", _in_words(those), when)
    table.add_section()
    table.add_row("all", "", f"{len(found):,}", _in_words(found), "")
    console_of_reports().print(table)


def _bytes(those: list[Kept]) -> int:
    return sum(kept.bytes for kept in those)


def _in_words(those: list[Kept]) -> str:
    from ..apps.common.memory import in_words

    return in_words(_bytes(those))
