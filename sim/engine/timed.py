"""An engine as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from ...hw.spec.engine import EngineConfig
from ..timing.memories import FLAT, MemoryModel
from .model import EngineModel

__all__ = ["TimedEngine"]


class TimedEngine(EngineModel):
    """The model of results, with all counters of the cycle model for jobs that end well.

    Parameters
    ----------
    config: see :class:`EngineConfig`
    memory_bytes: size of the memory, which begins at address 0
    memory: each manager's
    gigahertz: clock of the engine
    """

    def __init__(
        self,
        config: EngineConfig,
        memory_bytes: int = 1 << 22,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float = 1.0,
    ) -> None:
        super().__init__(config, memory_bytes, channel=memory, gigahertz=gigahertz)
