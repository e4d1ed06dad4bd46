"""What the tables of GTA's schedules are asked for."""

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
    from ...hw.spec.gta import GtaConfig
    from ...hw.spec.unit import Unit
    from ...settings import read_config

    # Parameters alone: these tables build nothing.
    unit = Unit(
        name="gta",
        summary="one array for every precision",
        source="GTA",
        config=GtaConfig,
        component="tilewright.hw.gta.gta:Gta",
    )
    config = read_config(unit, None, settings)
    assert isinstance(config, GtaConfig)
    return config
