"""A Tensaurus as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.jobs.tensaurus_operations import TILE_BYTES, TILE_WORDS
from ....hw.spec.tensaurus import TensaurusConfig
from ...timing.jobs import TimedDevice
from ..model import TensaurusModel, kernel_of
from .machine import TensorCycles, TileJob, run_job
from .state import TILE

_LIST = np.dtype(
    {
        "names": list(TILE_WORDS),
        "formats": [f"<u{bits // 8}" for _, bits in TILE_WORDS.values()],
        "offsets": [low // 8 for low, _ in TILE_WORDS.values()],
        "itemsize": TILE_BYTES,
    }
)


def tiles_from(content: bytes, order: int) -> npt.NDArray[np.void]:
    """Tiles of type ``TILE`` of a list in memory, their streams at their addresses."""
    words = np.frombuffer(content, _LIST)
    tiles = np.zeros(len(words), TILE)
    for name in TILE_WORDS:
        tiles[name] = words[name]
    tiles["stream"] = tiles["tensor"]
    tiles["elements"] = 1
    for mode in range(1, order):
        tiles["elements"] *= tiles[f"size_{mode}"]
    return tiles


class TensaurusCycles(TimedDevice, TensaurusModel):
    """The model of results, with all counters of the cycle model for jobs that end well. Each job
    finds the accelerator as it is behind a reset.

    Parameters
    ----------
    phase: see :func:`run_job`
    others: see :class:`TimedDevice`

    Members
    -------
    cycles: of each job that ended well
    """

    own_gigahertz = 2.0

    def __init__(
        self,
        config: TensaurusConfig,
        memory_bytes: int | None = None,
        *,
        phase: int = 0,
        **others: Any,
    ) -> None:
        super().__init__(config, memory_bytes, **others)
        self.phase = phase
        self.cycles: list[TensorCycles] = []

    def _before(self) -> TileJob:
        values = self._values
        kernel = kernel_of(values)
        listed = self.read_memory(values["LIST"], values["TILES"] * TILE_BYTES)
        return TileJob(
            kernel=kernel,
            dense=bool(values["DENSE"]),
            direct=bool(values["DIRECT"]),
            regions={mode: values[f"REGION_{mode}"] for mode in (1, 2, 3)},
            list_address=values["LIST"],
            tiles=tiles_from(listed, kernel.order),
            content=self.memory.copy(),
        )

    def _timed(self, before: TileJob, counts: dict[str, int]) -> tuple[str, int, dict[str, int]]:
        found = run_job(self.config, before, phase=self.phase, **self._timing)
        self.cycles.append(found)
        return "none", 0, found.counts
