"""What a job moves, by its list alone."""

from __future__ import annotations

from ....hw.spec.gta import GtaConfig
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, MEMORIES
from .commands import EXECUTE, LOAD, STORE, Job

__all__ = ["traffic"]


def traffic(config: GtaConfig, job: Job) -> dict[str, int]:
    """The counters of a job that ends well that do not tell of time, by name."""
    commands, beat = job.commands, beat_bytes(config)
    loads, stores = (commands[commands["kind"] == kind] for kind in (LOAD, STORE))
    beats = loads["rows"] * loads["beats"]
    listed = len(commands) * COMMAND_BYTES
    found = {
        f"bytes_{name}": int(beats[loads["memory"] == number].sum()) * beat
        for number, name in enumerate(MEMORIES)
    }
    written = stores["rows"] * (stores["row_bytes"] >> stores["narrow"])
    return {
        "operations": int((commands["kind"] == EXECUTE).sum()),
        "bytes_read": sum(found.values()) + listed,
        "bytes_written": int(written.sum()),
        "bytes_list": listed,
        **found,
    }
