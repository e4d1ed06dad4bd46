"""A MatRaptor as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from ...hw.spec.matraptor import MatRaptorConfig
from ..timing.memories import FLAT, MemoryModel
from .model import MatRaptorModel

__all__ = ["TimedMatRaptor"]


class TimedMatRaptor(MatRaptorModel):
    """The model of results, with all counters of the cycle model for jobs that end well.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    memory: each channel's
    gigahertz: clock of the accelerator
    """

    def __init__(
        self,
        config: MatRaptorConfig,
        memory_bytes: int = 1 << 22,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float = 2.0,
    ) -> None:
        super().__init__(config, memory_bytes, channel=memory, gigahertz=gigahertz)
