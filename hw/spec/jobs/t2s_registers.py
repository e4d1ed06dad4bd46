"""The images of an array's jobs, and the names of the registers that say where they are."""

from __future__ import annotations

from ..t2s.config import T2sConfig
from ..t2s.parts import MemoryPart
from ..t2s.sparse_parts import EntriesPart

__all__ = [
    "base_register",
    "entries_parts",
    "image_parts",
    "memory_parts",
    "steps_register",
    "stride_register",
    "trips_register",
]


def memory_parts(config: T2sConfig) -> tuple[MemoryPart, ...]:
    """The loaders of dense operands, and the unloader, of a design."""
    return (*config.plan.loaders, config.plan.unloader)


def entries_parts(config: T2sConfig) -> tuple[EntriesPart, ...]:
    """The loaders of sparse operands of a design."""
    return config.plan.sparse.entries if config.plan.sparse else ()


def image_parts(config: T2sConfig) -> tuple[EntriesPart | MemoryPart, ...]:
    """What has an image in memory, in the order of their registers."""
    return (*entries_parts(config), *memory_parts(config))


def trips_register(index: str) -> str:
    """The register of the trip count of an index's outermost loop."""
    return f"TRIPS_{index.upper()}"


def base_register(part: EntriesPart | MemoryPart) -> str:
    """The register of an image's address."""
    return f"{part.tensor.upper()}_BASE"


def steps_register(part: EntriesPart) -> str:
    """The register of the number of vectors of a sparse operand's image."""
    return f"{part.tensor.upper()}_STEPS"


def stride_register(part: MemoryPart, loop: str) -> str:
    """The register of the distance between an image's places in two iterations of a loop."""
    return f"{part.tensor.upper()}_STRIDE_{loop.upper()}"
