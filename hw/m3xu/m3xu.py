"""The multi-mode matrix unit."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.m3xu import M3xuConfig
from .grid import GridUnit
from .operand_decoder import decode_lanes, entry_layout, select_layout


class DataAssignment(wiring.Component):
    """Feeds one row of a, or one column of b, to the multipliers, for all steps of an operation.

    An fp32 element occupies two neighbouring entries, high half and low half; a complex one
    four. Between two steps the entries of b change places, those of a stay:

    ====  =====================================  ==================================
    step  entries of b                           products of a pair
    ====  =====================================  ==================================
    0     as loaded                              high*high, low*low
    1     halves swapped                         high*low, low*high
    2     words (re, im) and halves swapped      imaginary part, as step 0
    3     halves swapped                         imaginary part, as step 1
    ====  =====================================  ==================================

    In the real steps of fp32c the signs of a's imaginary parts are inverted. The entries live
    in one set of registers whose inputs are the multiplexers, so that a multiplier sees a
    register. With ``data_assignment = "pipelined"`` another register stands between the
    decoders and the multiplexers.

    Latency: one register, two if pipelined. Registers move only while ``advance`` is set.

    Source: M3XU, microarchitecture: the data-assignment stage for FP32 and FP32C.

    Parameters
    ----------
    config: the unit's configuration
    operand: "a" or "b"

    Members
    -------
    lanes: ``depth`` lanes, lane 0 in the low bits
    select: the mode of the lanes
    load: a new operation enters the entries
    advance: enables all registers
    entries: the entries of the current step
    take: (pipelined) the decoded lanes enter the first register
    swap_halves: (operand b) the next step swaps halves
    swap_words: (fp32c) the next step is the first of the imaginary part
    complex: (fp32c, operand a) the operation that enters the entries is fp32c
    """

    def __init__(self, config: M3xuConfig, operand: str) -> None:
        self.config: Final = config
        self._operand = operand
        self._layout = data.ArrayLayout(
            entry_layout(config.modes, config.significand_bits), config.depth
        )
        members = {
            "lanes": In(16 * config.depth),
            "select": In(select_layout(config.modes)),
            "load": In(1),
            "advance": In(1),
            "entries": Out(self._layout),
        }
        if config.data_assignment == "pipelined":
            members["take"] = In(1)
        if config.multi_step and operand == "b":
            members["swap_halves"] = In(1)
        if "fp32c" in config.modes:
            members["swap_words"] = In(1)
            if operand == "a":
                members["complex"] = In(1)
        super().__init__(members)

    @property
    def operand(self) -> str:
        return self._operand

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoded = self._decode(m)
        entries = Signal(self._layout, reset_less=True)
        m.d.comb += self.entries.eq(entries)
        with m.If(self.advance):
            with m.If(self.load):
                m.d.sync += entries.eq(decoded)
                if self._operand == "a" and "fp32c" in self.config.modes:
                    for i in range(self.config.depth):
                        if i & 2:
                            m.d.sync += entries[i].sign.eq(decoded[i].sign ^ self.complex)
            if "fp32c" in self.config.modes:
                with m.Elif(self.swap_words):
                    self._swap_words(m, entries)
            if self.config.multi_step and self._operand == "b":
                with m.Elif(self.swap_halves):
                    for i in range(self.config.depth):
                        m.d.sync += entries[i].eq(entries[i ^ 1])
        return m

    def _decode(self, m: Module) -> data.View[data.ArrayLayout]:
        """Decodes the lanes to entries, with a register if the stage is pipelined."""
        config = self.config
        decoded = decode_lanes(
            m,
            self.lanes,
            self.select,
            modes=config.modes,
            lane_bits=config.lane_bits,
            depth=config.depth,
            significand_bits=config.significand_bits,
            operand=self._operand,
        )
        if config.data_assignment == "combinational":
            return decoded
        taken = Signal(self._layout, reset_less=True)
        with m.If(self.advance & self.take):
            m.d.sync += taken.eq(decoded)
        return taken

    def _swap_words(self, m: Module, entries: data.View[data.ArrayLayout]) -> None:
        """Swaps the words of complex entries from the real to the imaginary part."""
        for i in range(self.config.depth):
            if self._operand == "b":
                m.d.sync += entries[i].eq(entries[i ^ 3])
            elif i & 2:
                m.d.sync += entries[i].sign.eq(~entries[i].sign)


class M3xu(GridUnit):
    """``d = a * b + c`` in fp16, bf16, tf32, fp32 or complex fp32 on narrow multipliers.

    Every element of d is one fused dot product, rounded once. Initiation interval 1 (fp16,
    bf16, tf32), 2 (fp32) or 4 cycles (fp32c), whatever the mix of modes; latencies as the
    configuration says.

    Source: M3XU, microarchitecture (data assignment for FP32 and FP32C).

    Parameters
    ----------
    config: see :class:`M3xuConfig`
    """

    def __init__(self, config: M3xuConfig) -> None:
        self._m3xu = config
        super().__init__(
            config,
            significand_bits=config.significand_bits,
            pipelined=config.data_assignment == "pipelined",
        )

    def operand_stage(self, operand: str) -> DataAssignment:
        return DataAssignment(self._m3xu, operand)
