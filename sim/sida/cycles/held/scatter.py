"""Cycle model of ``Scatter``: elements of sets to queues of banks."""

from __future__ import annotations

from ....timing.compiled import inlined
from .state import Queues

__all__ = ["scatter_element", "scatter_shares", "scatter_step"]


@inlined
def scatter_step(q: Queues, bank: int, ready: bool) -> int:
    """A cycle of a bank that has something inside; ``ready``: what is at its output may go.
    Returns by how much the number of full banks changes."""
    s = q.banks[bank]
    window = q.shares.shape[1]
    free = ready or not s.o_valid
    ends = s.left <= 1
    if free:
        s.o_valid = s.valid
        if s.valid:
            s.o_present = s.left
            s.o_mark = s.mark and ends
            if s.left:
                s.o_panel = q.elements[bank, s.element_out, 0]
                s.o_place = q.elements[bank, s.element_out, 1]
                following = s.element_out + 1
                s.element_out = following if following < q.elements.shape[1] else 0
                s.left -= 1
    goes = free and ends
    reads = s.level != 0 and (goes or not s.valid)
    s.valid = reads or (s.valid and not goes)
    if not reads:
        return 0
    s.left = q.shares[bank, s.read_at, 0]
    s.mark = q.shares[bank, s.read_at, 1]
    s.read_at = s.read_at + 1 if s.read_at + 1 < window else 0
    s.level -= 1
    return -1 if s.level == window - 1 else 0


@inlined
def scatter_element(q: Queues, bank: int, panel: int, place: int) -> None:
    """An element of the set that comes, to the queue of a bank, which has room."""
    s = q.banks[bank]
    q.elements[bank, s.element_in, 0] = panel
    q.elements[bank, s.element_in, 1] = place
    following = s.element_in + 1
    s.element_in = following if following < q.elements.shape[1] else 0
    q.fresh[bank] += 1


@inlined
def scatter_shares(q: Queues, mark: bool) -> int:
    """Behind the elements of a set their banks' shares, and behind a mark those of all. Returns how
    many banks have become full."""
    window = q.shares.shape[1]
    full = 0
    for bank in range(len(q.fresh)):
        if mark or q.fresh[bank]:
            s = q.banks[bank]
            q.shares[bank, s.put_at, 0] = q.fresh[bank]
            q.shares[bank, s.put_at, 1] = mark
            q.fresh[bank] = 0
            s.put_at = s.put_at + 1 if s.put_at + 1 < window else 0
            s.level += 1
            full += s.level == window
    return full
