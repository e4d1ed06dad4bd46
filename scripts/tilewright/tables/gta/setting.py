"""Parses the settings of the tables of GTA's schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UserError

if TYPE_CHECKING:
    from ...hw.spec.gta import GtaConfig

__all__ = ["modelled"]


def modelled(table: str, target: str, settings: Sequence[str]) -> GtaConfig:
    """The configuration of a table that nothing is synthesised for.

    Raises UserError for a target other than "cmos", the default, or a wrong parameter.
    """
    if target != "cmos":
        raise UserError(f"{table} is computed by a model: no --target, not {target!r}")
    from ...hw.spec.gta import GTA, GtaConfig
    from ...settings import read_config

    config = read_config(GTA, None, settings)
    assert isinstance(config, GtaConfig)
    return config
