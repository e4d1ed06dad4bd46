"""Cycle model: the requests that reach memory, one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...timing.compiled import inlined
from ...timing.requests import Requests
from .state import Shape, State

__all__ = ["log_request", "logged", "with_log"]

Ints = npt.NDArray[np.int64]


@inlined
def log_request(s: State, now: int, channel: int, address: int, size: int, write: int) -> None:
    """A request to read or write ``size`` bytes from ``address`` in its channel on."""
    number = s.requests_made[0]
    s.requests_made[0] = number + 1
    if number < s.request_log.shape[0]:
        s.request_log[number, 0] = now
        s.request_log[number, 1] = channel
        s.request_log[number, 2] = address
        s.request_log[number, 3] = size
        s.request_log[number, 4] = write


def with_log(machine: State, most: int) -> State:
    """Returns the machine with room for so many requests."""
    return machine._replace(request_log=np.zeros((most, 5), np.int64))


def logged(machine: State, c: Shape) -> Requests:
    """Returns the requests of a job, in the order in which memory got them, at flat addresses: the
    arrays of A, B and C lie one behind the other, and regions of lanes that share a channel 16 MiB
    apart."""
    made = int(machine.requests_made[0])
    if made > len(machine.request_log):
        raise AssertionError(
            f"{made} requests are more than the {len(machine.request_log)} expected"
        )
    cycle, channel, address, size, write = machine.request_log[:made].T
    block, within = np.divmod(address, c.interleave)
    flat = (block * c.channels + channel) * c.interleave + within
    return Requests(cycle=cycle, address=flat, size=size, write=write != 0)
