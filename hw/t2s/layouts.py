"""What travels between the functions of a design, and what a job is."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, ShapeLike, Value
from amaranth.lib import data

from ..spec.jobs.t2s import (
    entries_parts,
    job_spec,
    memory_parts,
    steps_register,
    trips_register,
)
from ..spec.t2s.config import T2sConfig
from ..spec.t2s.parts import ElementPart
from ..spec.t2s.tokens import STEPS_BITS

__all__ = ["in_containers", "job_layout", "run_count_bits", "word_layout"]


def word_layout(word_bits: int, *, flagged: bool = False) -> data.StructLayout:
    """A word, all its lanes, lane 0 in the low bits. With flags, ``first``: sums begin with it, and
    ``last``: they are complete with it."""
    flags: dict[str, ShapeLike] = {"first": 1, "last": 1} if flagged else {}
    return data.StructLayout({"data": word_bits, **flags})


def in_containers(part: ElementPart, sums: Value) -> Value:
    """Sums that stand side by side in an element, each in its container."""
    fmt = part.arithmetic.result
    below = Const(0, fmt.container_bits - fmt.bits)
    words = (sums.word_select(n, fmt.bits) for n in range(part.vector))
    return Cat(Cat(below, word) for word in words)


def job_layout(config: T2sConfig) -> data.StructLayout:
    """A job: its registers by their members' names, as wide as their checks allow."""
    widths = {trips_register(index): config.trip_bits for index in config.plan.indices}
    widths |= {steps_register(part): STEPS_BITS for part in entries_parts(config)}
    known = {name.lower(): bits for name, bits in widths.items()}
    members = job_spec(config).members
    return data.StructLayout({name: known.get(name, config.addr_bits) for name in members})


def run_count_bits(config: T2sConfig) -> int:
    """Width of a request's number of beats: that of the longest run, or of a burst, in which
    tokens are requested."""
    runs = [part.run_beats(config.beat_bytes) for part in memory_parts(config)]
    bursts = [config.burst_beats] if config.plan.sparse else []
    return max(*runs, *bursts).bit_length()
