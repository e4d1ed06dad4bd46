"""Reads the settings of the tables of the TCU model, and writes their CSV files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import UserError
from ...hw.spec.host.words import not_one_of

__all__ = ["asked"]


def asked(
    table: str, target: str, settings: Sequence[str], known: Mapping[str, Callable[[str], Any]]
) -> dict[str, Any]:
    """Settings of a table that nothing is synthesised for, by their readers.

    Raises UserError for a target other than "cmos", the default, another setting, and what a reader
    refuses.
    """
    if target != "cmos":
        raise UserError(f"{table} is computed by a model: no --target, not {target!r}")
    from ...apps.common.options import named_parameters

    texts = named_parameters(None, settings)
    for name in texts:
        if name not in known:
            raise UserError(not_one_of(f"--set of {table}", known, name))
    return {name: known[name](text) for name, text in texts.items()}
