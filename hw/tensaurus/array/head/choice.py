"""Signals between the parts of a row's head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal
from amaranth.lib import data

from .fiber_products import FiberProducts
from .sum_level import SumLevel

__all__ = ["Choice"]


@dataclass
class Choice:
    """Choice among the sources of operations: those that offer one, have space, and are granted;
    and the operation issued.

    Members
    -------
    plan: of the job, see :func:`plan_layout`
    operation: that is issued in this cycle, see :func:`operation_layout`
    sums: the levels of sums, the output register last
    fibers: the products of each level's sums but the last one's
    fiber_room, fiber_goes; product, product_room, product_goes: of each of those, and of a value:
      there is room for what it is added to; it goes. ``product``: there is one
    pause_goes: an operation that is none goes
    ready: an operation may be issued
    issued: one is
    closing: groups end, of sums of fibers
    """

    plan: Any
    operation: data.View[data.StructLayout]
    sums: list[SumLevel]
    fibers: list[FiberProducts]
    fiber_room: list[Signal]
    fiber_goes: list[Signal]
    product: Signal
    product_room: Signal
    product_goes: Signal
    pause_goes: Signal
    ready: Signal
    issued: Signal
    closing: list[Signal]
