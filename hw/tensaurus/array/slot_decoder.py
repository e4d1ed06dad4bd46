"""From a row's slots to values with their slices, and their operands in the scratchpads."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ..layouts import SlotKind, slot_layout, tile_token_layout
from .layouts import decoded_layout, levels, operand_layout, plan_layout, slice_range

__all__ = ["SlotDecoder"]


class SlotDecoder(wiring.Component):
    """Takes a tile's token, then the row's slots of that tile, up to its end.

    Headers are taken out: every value has its slice. Latency one cycle; a slot a cycle, and a
    header also while a value waits.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    plan: in; see :func:`plan_layout`
    tiles: stream of tiles' tokens
    i: stream of slots, see :func:`slot_layout`
    o: stream of values and ends, see :func:`decoded_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "plan": In(plan_layout(config)),
                "tiles": In(stream.Signature(tile_token_layout(config))),
                "i": In(stream.Signature(slot_layout(config))),
                "o": Out(stream.Signature(decoded_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot, out, plan = self.i.payload, self.o.payload, self.plan
        move = Signal()
        valid = Signal()
        header = Signal()
        slice_ = Signal(slice_range(self._config), name="slice_number")
        m.d.comb += [
            header.eq(slot.kind == SlotKind.HEADER),
            move.eq(self.i.valid & self.tiles.valid & ~header & (self.o.ready | ~valid)),
            self.i.ready.eq(move | (self.i.valid & self.tiles.valid & header)),
            self.tiles.ready.eq(move & (slot.kind == SlotKind.END)),
            self.o.valid.eq(valid),
        ]
        with m.If(self.i.valid & self.i.ready & header):
            m.d.sync += slice_.eq(slot.index[0])
        operands = self._operands(m)
        temporary = levels(self._config) - 1
        nothing = Const(0, operand_layout(self._config).size)
        with m.If(move):
            m.d.sync += [
                out.end.eq(slot.kind == SlotKind.END),
                out.value.eq(slot.value),
                out.slice.eq(slice_),
                out.product.eq(Array(operands)[plan.product_mode]),
            ]
            for level in range(temporary):
                # Level l is multiplied by mode order - 2 - l.
                choice = [*([nothing] * (level + 1)), *operands[: temporary - level]]
                m.d.sync += out.fibers[level].eq(Array(choice)[plan.product_mode])
        m.d.sync += valid.eq(~self.clear & (move | (valid & ~self.o.ready)))
        return m

    def _operands(self, m: Module) -> list[Value]:
        """Of every mode: the slot's row of its operand."""
        config, plan = self._config, self.plan
        found: list[Value] = []
        for n in range(config.order - 1):
            operand = Signal(operand_layout(config), name=f"operand_{n + 1}")
            index = self.i.payload.index[n][: config.spm_scalars.bit_length()]
            m.d.comb += [
                operand.address.eq(plan.region[n] + index * plan.count[n]),
                operand.side.eq(self.tiles.payload.sides[n]),
            ]
            found.append(data.View.as_value(operand))
        return found
