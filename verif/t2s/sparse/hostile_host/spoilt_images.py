"""Images of tokens that no host lays out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .host import vector_bytes
from .jobs import HostileJob
from .mapping_files import DrawnFile

__all__ = ["KINDS", "spoilt"]

KINDS = ("fewer", "more", "random", "zeros", "bits", "no end")
"""Fewer vectors than the image has, more of them; random bytes in place of it, or zeros; some bits
inverted; without the last end."""


def spoilt(rng: np.random.Generator, drawn: DrawnFile, job: HostileJob, kind: str) -> HostileJob:
    """The same job with an image that is none."""
    name = str(rng.choice(drawn.sparse))
    base, steps, size = job.job.base[name], job.job.steps[name], vector_bytes(drawn)
    before, told = job.before.copy(), steps
    image = before[base : base + steps * size]
    match kind:
        case "fewer":
            told = max(1, steps - int(rng.integers(1, 5)))
        case "more":
            told = steps + int(rng.integers(1, 6))
        case "random":
            image[:] = rng.integers(0, 256, len(image))
        case "zeros":
            image[:] = 0
        case "bits":
            for _ in range(3):
                image[rng.integers(len(image))] ^= 1 << int(rng.integers(8))
        case "no end":
            image[-size:] = 0
    registers = replace(job.job, steps={**job.job.steps, name: told})
    return replace(job, job=registers, before=before)
