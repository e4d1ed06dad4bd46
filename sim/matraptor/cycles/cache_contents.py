"""What the caches of B in the cycle model keep from job to job, and the record of their state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.matraptor import CACHE_WAYS, MatRaptorConfig
from ...timing.parts import fields

__all__ = ["MISSES", "Contents", "cache_arrays", "contents", "drop_blocks", "forget"]

CACHE = np.dtype(
    fields(
        # Lookups: none before `ready_at`; at `drops_at` a block is dropped instead.
        *("ready_at", "drops_at", "reserved", "waiting", "hit_before"),
        # The crossbar's register before the cache; that before the memory, and whose turn it was.
        *("port_count", "port_full", "bus_count", "bus_turn"),
        # Queues: entries and misses that came and went on.
        *("entry_in", "entry_out", "miss_in", "miss_out"),
        # Fills: issued, done, beats of the first one that are taken; the request at the bus.
        *("issued", "head", "taken", "asks", "asked_block", "asked_slot"),
        # The window: reads in it, beats sent of the first one; the lines of the last two.
        *("window", "sent", "line_0", "line_1"),
        # The beat at the output, at the crossbar, and in its register.
        *("out", "out_tag", "offered", "offered_tag", "spare", "spare_tag", "stays", "passed"),
        # Counters.
        *("hits", "misses", "merged", "evictions"),
    )
)
MISSES = 4
"""Misses between the lookup and the reader of blocks."""


class Contents(NamedTuple):
    """What the caches of all channels keep.

    ``block`` [channel, set, age]: number in its channel, -1: none, and ``way``, the most recently
    used one first. ``phase``, ``done`` [channel, set, way]: of the last fill that was asked for,
    and of the last one that came.
    """

    block: Any
    way: Any
    phase: Any
    done: Any


def contents(config: MatRaptorConfig) -> Contents:
    """Returns empty caches."""
    size = (config.channels, max(1, config.cache_sets), CACHE_WAYS)
    found = Contents(*(np.zeros(size, np.int64) for _ in Contents._fields))
    forget(found)
    return found


def forget(found: Contents) -> None:
    """Empties caches."""
    found.block[:] = -1
    found.way[:] = np.arange(found.way.shape[2])
    found.phase[:] = 0
    found.done[:] = 0


def drop_blocks(config: MatRaptorConfig, found: Contents, address: int, size: int) -> None:
    """Drops the blocks that have any of so many bytes from a flat address on."""
    numbers = np.arange(
        address // config.interleave, -(-(address + size) // config.interleave), dtype=np.int64
    )
    for channel in range(config.channels):
        own = numbers[numbers % config.channels == channel] // config.channels
        found.block[channel][np.isin(found.block[channel], own)] = -1


def cache_arrays(config: MatRaptorConfig, slots: int, kept: Contents) -> dict[str, Any]:
    """Returns the state of the caches of all channels, by the names in ``State``.

    ``slots``: of a reader. ``cache_port`` -> (address, beats, tag, since, whether it is for the
    cache), ``cache_bus`` -> (address, beats, tag, since), ``cache_entries`` -> (since, line,
    whether it is a miss, phase, beats, tag), ``cache_misses`` -> (since, block), ``cache_arrived``
    and ``cache_times``: beats of the blocks in flight, ``cache_window`` -> (beats, tag).
    """
    sizes = {
        "port": (2, 5),
        "bus": (2, 4),
        "entries": (config.cache_waiting + 2, 6),
        "misses": (MISSES, 2),
        "arrived": (slots,),
        "times": (slots * config.burst_beats,),
        "window": (2, 2),
    }
    return {
        "caches": np.zeros(config.channels, CACHE),
        **{
            f"cache_{name}": np.zeros((config.channels, *size), np.int64)
            for name, size in sizes.items()
        },
        **{f"kept_{name}": array for name, array in kept._asdict().items()},
    }
