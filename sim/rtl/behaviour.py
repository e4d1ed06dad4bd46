"""Behaviour of the memory behind a natively simulated accelerator, and the traffic of its ports."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...hw.spec.host.words import not_one_of

__all__ = ["CHANNELS", "AxiBehaviour", "BehaviourStruct", "ManagerTraffic", "Traffic"]

CHANNELS = ("ar", "aw", "w", "r", "b")
_RESPONSES = (1, 2, 3)
_MODES = ("mixed", "aw_after_w", "w_after_aw", "ready_after_valid", "one_read")
_ORDERS = ("together", "address", "data")
_LONGEST = (1 << 32) - 1


@dataclass(frozen=True, kw_only=True)
class AxiBehaviour:
    """The behaviour of a memory and of the register bus: latencies, pauses, order, errors.

    Parameters
    ----------
    seed: of everything random; the same seed gives the same cycles
    latency: least and greatest number of cycles from an address (for writes: from the last beat)
        to its response, 1 being the next cycle; drawn for each burst
    stall: share of the cycles, 0 to below 1, in which a channel pauses, each by itself; one for
        all channels, or by channel (a key of ``CHANNELS``)
    mixed: bursts of different IDs overtake each other, and their read beats interleave; else all
        of a manager's reads are answered in order, and all of its writes
    aw_after_w: AWREADY is high only in a cycle in which WVALID is high, or while data are there
        whose address has not come
    w_after_aw: WREADY is high only in a cycle in which AWVALID is high, or while an address is
        there whose data have not all come
    ready_after_valid: READY of every channel rises only after its VALID, the register bus's B and
        R included
    one_read: ARREADY is high only while no read of the manager is in flight
    write_latency: of B, where it is not ``latency``
    beat_cycles: cycles that a beat takes at least, reads and writes of a manager taking turns; need
        not be whole. 0: a beat in every cycle each way
    read_errors: response (1 to 3) by the address of a beat, whose data are then random
    write_errors: response by the address at which a burst starts, nothing of which is written
    register_stall: share of the cycles in which a channel of the register bus pauses
    register_order: "together": address and data of a write to a register are offered in the same
        cycle, but for pauses; "address" or "data": that one first, the other once it was accepted
    """

    seed: int = 0
    latency: tuple[int, int] = (1, 1)
    stall: float | Mapping[str, float] = 0.0
    mixed: bool = False
    aw_after_w: bool = False
    w_after_aw: bool = False
    ready_after_valid: bool = False
    one_read: bool = False
    write_latency: tuple[int, int] | None = None
    beat_cycles: float = 0.0
    read_errors: Mapping[int, int] = field(default_factory=dict)
    write_errors: Mapping[int, int] = field(default_factory=dict)
    register_stall: float = 0.0
    register_order: str = "together"

    def __post_init__(self) -> None:
        for name in ("latency", "write_latency"):
            low, high = getattr(self, name) or self.latency
            if not 1 <= low <= high <= _LONGEST:
                raise ValueError(
                    f"`{name}` must be two numbers in 1..{_LONGEST}, ascending, not ({low}, {high})"
                )
        if self.register_order not in _ORDERS:
            raise ValueError(not_one_of("`register_order`", _ORDERS, self.register_order))
        if unknown := set(self.stalls) - set(CHANNELS):
            raise ValueError(
                f"`stall` must be of the channels {', '.join(CHANNELS)}, not {min(unknown)}"
            )
        for name, share in (*self.stalls.items(), ("registers", self.register_stall)):
            if not 0.0 <= share < 1.0:
                raise ValueError(f"stall of {name} must be at least 0 and below 1, not {share}")
        if self.beat_cycles != 0 and not 1 <= self.beat_cycles <= 1 << 16:
            raise ValueError(f"`beat_cycles` must be 0 or in 1..65536, not {self.beat_cycles}")
        for name in ("read_errors", "write_errors"):
            for address, response in getattr(self, name).items():
                if response not in _RESPONSES or not 0 <= address < 1 << 64:
                    raise ValueError(
                        f"`{name}` must give responses 1 to 3 by address, not {response} at "
                        f"{address:#x}"
                    )

    @property
    def stalls(self) -> dict[str, float]:
        """The share of each channel; one that is not named never pauses."""
        if isinstance(self.stall, Mapping):
            return dict(self.stall)
        return dict.fromkeys(CHANNELS, float(self.stall))


class BehaviourStruct(ctypes.Structure):
    """``Behaviour`` of axi_memory.h."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("seed", "least_latency", "most_latency")),
        *((name, ctypes.c_uint64) for name in ("least_write_latency", "most_write_latency")),
        *((f"stall_{name}", ctypes.c_uint64) for name in (*CHANNELS, "registers")),
        *((name, ctypes.c_uint64) for name in (*_MODES, "register_order")),
        *((n, ctypes.c_uint64) for n in ("beat_cost", "read_errors", "write_errors")),
        *((f"read_{name}", ctypes.c_void_p) for name in ("addresses", "responses")),
        *((f"write_{name}", ctypes.c_void_p) for name in ("addresses", "responses")),
    ]

    @classmethod
    def of(cls, behaviour: AxiBehaviour) -> BehaviourStruct:
        """The same for C++; it holds the arrays that it points into."""
        writes = behaviour.write_latency or behaviour.latency
        found = cls(behaviour.seed & (1 << 64) - 1, *behaviour.latency, *writes)
        shares: dict[str, Any] = {**behaviour.stalls, "registers": behaviour.register_stall}
        for name, share in shares.items():
            setattr(found, f"stall_{name}", int(share * 2**32))
        for mode in _MODES:
            setattr(found, mode, getattr(behaviour, mode))
        found.register_order = _ORDERS.index(behaviour.register_order)
        found.beat_cost = round(behaviour.beat_cycles * 2**16)
        found.kept = []
        for side in ("read", "write"):
            errors = getattr(behaviour, f"{side}_errors")
            addresses = np.array(list(errors), np.uint64)
            responses = np.array(list(errors.values()), np.uint8)
            found.kept += [addresses, responses]
            setattr(found, f"{side}_errors", len(errors))
            setattr(found, f"{side}_addresses", addresses.ctypes.data)
            setattr(found, f"{side}_responses", responses.ctypes.data)
        return found


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """The traffic in one direction of a manager since the last reset.

    Parameters
    ----------
    bursts, beats: that were taken
    bytes: of the beats read; those written that a strobe named
    busy_cycles: in which at least one burst was under way
    wait_cycles: in which a beat waited: one written for the memory, one read for the unit
    under_way: bursts that wait for their last response now
    most_under_way: the most at a time
    """

    bursts: int
    beats: int
    bytes: int
    busy_cycles: int
    wait_cycles: int
    under_way: int
    most_under_way: int


@dataclass(frozen=True)
class ManagerTraffic:
    """The traffic of a manager, reads and writes."""

    read: Traffic
    write: Traffic
