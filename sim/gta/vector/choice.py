"""Chooses the layout of a product by vectors over the array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....hw.spec.gta import COLS, GtaConfig, element_bytes, result_bytes
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES
from ....hw.spec.jobs.gta_vector import octet_cycles
from ..array_schedule import Schedule
from ..layouts import layouts
from .tiling import VectorTiling

__all__ = ["VectorChoice", "choose_vectors", "laid_out", "vector_schedules"]


_CHECK_CYCLES = 6
"""Approximate cycles of the check of a command, beside one for each lane."""


@dataclass(frozen=True)
class VectorChoice:
    """A way.

    Parameters
    ----------
    schedule: as the space of schedules has it
    tiling: where elements lie along rows of D that of the transposed product
    """

    schedule: Schedule
    tiling: VectorTiling

    @property
    def turned(self) -> bool:
        """True if the product is transposed."""
        return self.schedule.along and self.schedule.lateral

    @property
    def cycles(self) -> int:
        """About how many a whole job takes: of the array, of the port, which has the list, too, and
        of the check of commands the most."""
        tiling, config = self.tiling, self.tiling.config
        beat = beat_bytes(config)
        a, b, d = tiling.moved
        down, across, deep = tiling.counts
        tiles, rows = down * across, 1 if tiling.along else tiling.rows
        commands = tiles * (deep * (2 * rows + 1) + rows)
        loaded = (a + b) * element_bytes(tiling.format) + commands * COMMAND_BYTES
        stored = d * result_bytes(tiling.format)
        ports = (loaded, stored) if config.managers == 2 else (loaded + stored,)
        each = octet_cycles(config, "dot", tiling.format, tiling.k)
        array = tiles * deep * max(tiling.together * each, COLS)
        return max(
            array, commands * (_CHECK_CYCLES + config.lanes), *(-(-p // beat) for p in ports)
        )

    @property
    def cost(self) -> tuple[int, int]:
        """The cost that the best choice minimises: cycles, then elements loaded."""
        return self.cycles, sum(self.tiling.moved[:2])


def laid_out(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    schedule: Schedule,
    **flags: Any,
) -> VectorChoice:
    """Lays a product out by a schedule. Raises ValueError for sums of integers that no element
    holds.

    Parameters
    ----------
    sizes: M, N and K
    flags: ``overlap`` and ``use_c`` of :class:`VectorTiling`
    """
    m, n, k = sizes
    turned = schedule.along and schedule.lateral
    tiling = VectorTiling(
        config=config,
        format=format,
        sizes=(n, m, k) if turned else sizes,
        rows=schedule.rows,
        cols=schedule.cols,
        along=schedule.along,
        segments=schedule.segments,
        # A part of a column stays while rows of what it is multiplied by go past.
        lateral=schedule.along or schedule.lateral,
        **flags,
    )
    return VectorChoice(schedule, tiling)


def vector_schedules(lanes: int, **more: Any) -> Iterator[Schedule]:
    """All of so many lanes, of both directions; ``more``: what they have alike."""
    for lateral in (True, False):
        for rows, cols in layouts(lanes):
            yield Schedule(dataflow="simd", rows=rows, cols=cols, lateral=lateral, **more)
        yield Schedule(dataflow="simd", rows=lanes, cols=1, lateral=lateral, along=True, **more)


def choose_vectors(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    layout: tuple[int, int] | None = None,
    along: bool | None = None,
    lateral: bool = True,
    segments: int = 1,
    **flags: Any,
) -> VectorChoice:
    """The best of those that are left, see ``GtaDriver.pgemm``."""
    found = [
        laid_out(config, format, sizes, one, **flags)
        for one in vector_schedules(config.lanes, segments=segments)
        if (layout is None or (layout == (one.rows, one.cols) and not one.along))
        and along in (None, one.along)
        # Rows are the default, unless nothing is said: then columns are open, too.
        and (one.lateral == lateral or (one.along and lateral and along is None))
    ]
    return min(found, key=lambda one: one.cost)
