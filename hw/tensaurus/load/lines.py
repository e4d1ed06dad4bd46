"""Common parts of all readers of a Tensaurus: the bus of every channel, and lines of one size."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import Supervision, address_layout, beat_layout
from ...channels.striped_reader import StripedReader
from ...spec.tensaurus import KERNELS, TensaurusConfig


def is_scalar(job: Any, mode: int) -> Value:
    """Returns whether the operand of a mode has scalars. TTMc has them in all modes but the last
    one, SpMV has them in its vector."""
    mv = (job.kernel == KERNELS.index("mv")) & (mode == 1)
    ttmc = (job.kernel == KERNELS.index("ttmc")) & (job.order != mode + 1)
    return mv | ttmc


def row_parts(job: Any, mode: int) -> Value:
    """Units of a row of the operand, or its scalars."""
    scalars: Value = getattr(job, f"scalars_{mode}") if mode < 3 else Const(1)
    return Mux(is_scalar(job, mode), scalars, job.vectors)


def reader_id_bits(config: TensaurusConfig) -> int:
    """Width of a reader's IDs, the same of all."""
    return (config.outstanding - 1).bit_length()


def line_reader(
    config: TensaurusConfig, outstanding: int | None = None, *, requests: int = 64
) -> StripedReader:
    """A reader of lines; ``outstanding``: slots of a channel, if not the configuration's."""
    return StripedReader(
        config.geometry,
        line_blocks=config.line_blocks,
        outstanding=outstanding or config.outstanding,
        requests=requests,
        id_bits=reader_id_bits(config),
    )


def reader_members(config: TensaurusConfig) -> dict[str, wiring.Member]:
    """Members that a reader adds to the component that contains it: ``ar`` and ``r``, arrays by
    channel, and :class:`Supervision`."""
    request = address_layout(config.addr_bits, reader_id_bits(config))
    beat = beat_layout(config.data_bits, reader_id_bits(config))
    return {
        "ar": Out(stream.Signature(request)).array(config.channels),
        "r": In(stream.Signature(beat, always_ready=True)).array(config.channels),
        **Supervision(config.addr_bits).members,
    }


def connect_bus(m: Module, loader: Any, reader: StripedReader) -> None:
    """Connects the members ``ar`` and ``r``."""
    for ar, r, its_ar, its_r in zip(loader.ar, loader.r, reader.ar, reader.r, strict=True):
        wiring.connect(m, its_ar, wiring.flipped(ar))
        wiring.connect(m, wiring.flipped(r), its_r)
