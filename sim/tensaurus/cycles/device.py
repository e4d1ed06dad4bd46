"""A Tensaurus as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.tensaurus import TensaurusConfig
from ....hw.spec.tensaurus_tiles import TILE_BYTES, TILE_WORDS
from ...timing.dram import FLAT, MemoryModel
from ..model import TensaurusModel, kernel_of
from .load_state import TILE
from .machine import TensorCycles, TileJob, run_job

__all__ = ["TensaurusCycles", "tiles_from"]

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


class TensaurusCycles(TensaurusModel):
    """The model of results, with all counters of the cycle model for jobs that end well. Each job
    finds the accelerator as it is behind a reset.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    memory: each channel's
    gigahertz: clock of the accelerator
    phase: see :func:`run_job`

    Members
    -------
    cycles: of each job that ended well
    """

    def __init__(
        self,
        config: TensaurusConfig,
        memory_bytes: int = 1 << 20,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float = 2.0,
        phase: int = 0,
    ) -> None:
        super().__init__(config, memory_bytes)
        self._channels, self._gigahertz, self.phase = memory, gigahertz, phase
        self.cycles: list[TensorCycles] = []

    def _job(self) -> tuple[str, int, dict[str, int]]:
        values = self._values
        kernel = kernel_of(values)
        # Before the result is written.
        tiles = tiles_from(
            self.read_memory(values["LIST"], values["TILES"] * TILE_BYTES), kernel.order
        )
        content = self.memory.copy()
        error, detail, counts = super()._job()
        if error != "none":
            return error, detail, counts
        job = TileJob(
            kernel=kernel,
            dense=bool(values["DENSE"]),
            direct=bool(values["DIRECT"]),
            regions={mode: values[f"REGION_{mode}"] for mode in (1, 2, 3)},
            list_address=values["LIST"],
            tiles=tiles,
            content=content,
        )
        found = run_job(
            self.config, job, memory=self._channels, gigahertz=self._gigahertz, phase=self.phase
        )
        self.cycles.append(found)
        return error, detail, found.counts
