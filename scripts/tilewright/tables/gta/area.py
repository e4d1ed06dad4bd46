"""The table of the area of GTA's lane, of a configuration that a user names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...synth.tables.table import Table

__all__ = ["area"]


def area(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    settings: Sequence[str] = (),
) -> Table:
    """See ``synth.tables.gta``.

    Parameters
    ----------
    target: "cmos" or "liberty:FILE"
    progress: is told what comes next
    settings: parameters of the accelerator, NAME=VALUE

    Raises UserError for a wrong parameter, ValueError for another target.
    """
    from ...hw.spec.gta import GTA
    from ...settings import read_config
    from ...synth.tables.gta import gta_area

    config = read_config(GTA, None, settings)
    given = {field.name: getattr(config, field.name) for field in fields(config)}
    return gta_area(target, progress=progress, **given)
