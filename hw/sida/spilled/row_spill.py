"""Rows of w to memory."""

from __future__ import annotations

from amaranth.hdl import Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.output_register import OutputRegister
from .cached_sums import entry_layout, row_values_layout

__all__ = ["RowSpill", "victim_layout"]

_UNDER_WAY = 32
"""Most rows not in memory yet: about what a memory accepts while an answer is outstanding."""


def victim_layout(config: SidaConfig) -> data.StructLayout:
    """A ``row`` that leaves the chip, and the number of its exchange, ``entry``."""
    return data.StructLayout(
        {"row": row_values_layout(config), "entry": entry_layout()["entry"].shape}
    )


class RowSpill(wiring.Component):
    """Sends first rows, and rows that leave the chip, to memory, and tracks which are there.

    Rows that leave go first. One row per cycle; latency one cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    first: stream, see :func:`row_values_layout`
    victims: stream, see :func:`victim_layout`
    o: stream, see :func:`row_values_layout`
    written: in, a pulse: the oldest row that has left at ``o``, and for which there was none yet,
        is in memory
    first_written: out; it is a first row
    victim_written: out, see :func:`entry_layout`; the exchange that it is of, if there is one
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        row = row_values_layout(config)
        super().__init__(
            {
                "first": In(stream.Signature(row)),
                "victims": In(stream.Signature(victim_layout(config))),
                "o": Out(stream.Signature(row)),
                "written": In(1),
                "first_written": Out(1),
                "victim_written": Out(entry_layout()),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.left = left = OutputRegister(self.o.payload.shape(), clearable=True)
        # The exchanges of the rows that left.
        m.submodules.owners = owners = DeepQueue(entry_layout(), _UNDER_WAY)
        wiring.connect(m, left.o, wiring.flipped(self.o))
        victim = self.victims.payload
        free = left.i.ready & owners.i.ready
        m.d.comb += [
            left.i.valid.eq((self.first.valid | self.victims.valid) & owners.i.ready),
            left.i.payload.eq(Mux(self.victims.valid, victim.row, self.first.payload)),
            self.victims.ready.eq(free),
            self.first.ready.eq(free & ~self.victims.valid),
            owners.i.valid.eq(left.i.valid & left.i.ready),
            owners.i.payload.valid.eq(self.victims.valid),
            owners.i.payload.entry.eq(victim.entry),
            # There is one for each row.
            owners.o.ready.eq(self.written),
            self.first_written.eq(self.written & ~owners.o.payload.valid),
            self.victim_written.valid.eq(self.written & owners.o.payload.valid),
            self.victim_written.entry.eq(owners.o.payload.entry),
            left.clear.eq(self.clear),
            owners.clear.eq(self.clear),
        ]
        return m
