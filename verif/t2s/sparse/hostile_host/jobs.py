"""Jobs of drawn mappings, somewhere in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.jobs.t2s import memory_parts
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.t2s.images import image_of, laid_out, placement
from tilewright.sim.t2s.job import Job, job_at
from tilewright.sim.t2s.sizes import shape_of

from .host import Host
from .mapping_files import DrawnFile

__all__ = ["HostileJob", "hostile_job"]


@dataclass(frozen=True, kw_only=True)
class HostileJob:
    """A job, memory before it, what must be in memory behind it, and the bytes of the result's
    image."""

    config: T2sConfig
    job: Job
    before: npt.NDArray[np.uint8]
    behind: npt.NDArray[np.uint8]
    written: slice


def hostile_job(
    rng: np.random.Generator,
    config: T2sConfig,
    drawn: DrawnFile,
    memory_bytes: int,
    most: int = 2,
    density: float | None = None,
) -> HostileJob:
    """A job somewhere in a memory full of random bytes."""
    host = Host(
        rng, drawn, most, float(rng.choice([0, 0.05, 0.3, 1])) if density is None else density
    )
    design, beat = config.plan, config.beat_bytes
    content, steps = {}, {}
    for name in drawn.sparse:
        content[name], steps[name] = host.image(name)
    for name in drawn.dense:
        shape = shape_of(design.program.tensor(name).dimensions, host.bounds)
        words = np.array([host.word() for _ in range(int(np.prod(shape)))], np.uint64)
        host.words[name] = words.reshape(shape)
        content[name] = laid_out(design, name, host.bounds, host.words[name], beat)
    sizes = {name: -(-len(one) // beat) * beat for name, one in content.items()}
    for part in memory_parts(config):
        sizes[part.tensor] = placement(design, part.tensor, host.bounds, beat).size
    before = rng.integers(0, 256, memory_bytes, dtype=np.uint8)
    places, address = {}, 0
    free = (memory_bytes - sum(sizes.values())) // beat // (len(sizes) + 1)
    assert free > 0
    for name in rng.permutation(list(sizes)):
        address += int(rng.integers(free + 1)) * beat
        places[str(name)] = address
        address += sizes[str(name)]
    for name, image in content.items():
        before[places[name] : places[name] + len(image)] = np.frombuffer(image, np.uint8)
    behind = before.copy()
    result = image_of(design, "C", host.bounds)
    rows = result.rows(host.result())
    size = result.part.run_beats(beat) * beat
    for number, run in enumerate(rows.reshape(-1, rows.shape[-1])):
        first = places["C"] + number * size
        behind[first : first + len(run)] = run
    job = job_at(config, host.bounds, places, steps)
    written = slice(places["C"], places["C"] + sizes["C"])
    return HostileJob(config=config, job=job, before=before, behind=behind, written=written)
