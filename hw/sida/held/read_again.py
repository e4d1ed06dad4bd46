"""Elements that are read again."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring

from ...stream.deep_queue import DeepQueue
from .layouts import late_layout, reload_layout, row_bits
from .panel_control import PanelControl
from .scatter import Scatter

__all__ = ["read_again"]

_ROWS = 4
"""Parts of rows that may wait in a bank: their columns are of different banks mostly."""

_PARTS = 32
"""Parts of rows that may wait for their panel, without those of which nothing is wanted."""


def read_again(m: Module, held: Any, control: PanelControl) -> list[stream.Interface]:
    """What comes at ``held.reload``, of :class:`HeldElements`, by bank of w; what is behind a
    panel's end waits until ``control`` has reloaded it."""
    config = held.config
    lanes = (config.pes - 1).bit_length()
    m.submodules.again = again = Scatter(late_layout(config), config.pes, _ROWS)
    m.submodules.parts = parts = DeepQueue(reload_layout(config), _PARTS)
    wiring.connect(m, wiring.flipped(held.reload), parts.i)
    given, found = parts.o.payload, again.i.payload
    m.d.comb += [
        parts.clear.eq(held.clear),
        again.clear.eq(held.clear),
        again.i.valid.eq(parts.o.valid),
        parts.o.ready.eq(again.i.ready),
        found.mark.eq(given.last),
    ]
    for element, leaf in zip(given.elements, found.leaves, strict=True):
        m.d.comb += [
            leaf.valid.eq(element.valid),
            leaf.bank.eq(element.column[:lanes]),
            leaf.payload.row.eq((given.row + element.offset)[: row_bits(config)]),
            leaf.payload.place.eq(element.column[lanes:]),
            leaf.payload.value.eq(element.value),
        ]
    # What is behind a mark is of the next panel, and waits for it.
    ended = Signal(config.pes)
    m.d.comb += control.reloaded.eq(ended.all())
    sources = []
    for n, given in enumerate(again.o):
        source = given.signature.create(path=(f"again_{n}",))
        goes = Signal(name=f"goes_{n}")
        m.d.comb += [
            goes.eq(control.reloads & ~ended[n]),
            source.valid.eq(given.valid & goes),
            source.payload.eq(given.payload),
            given.ready.eq(source.ready & goes),
        ]
        with m.If(source.valid & source.ready & source.payload.mark):
            m.d.sync += ended[n].eq(1)
        sources.append(source)
    with m.If(control.reloaded | held.clear):
        m.d.sync += ended.eq(0)
    return sources
