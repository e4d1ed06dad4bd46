"""Connects the vectors in memory, x, z and w, to the parts that produce and use them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring

from .layouts import count_bits
from .vectors.window_layouts import OPERAND, SUMS

__all__ = ["keep_vectors"]


def keep_vectors(m: Module, parts: Any, second: Value, into_z: Value) -> None:
    """Stores the results of E1 and E2, and the job's x, in memory; fetches missing elements.

    So nothing that the program stores changes an operand.

    With one product per pass, the result is the next operand: z and x change places.

    Parameters
    ----------
    parts: of the accelerator
    second: E2 runs
    into_z: what the program gives goes to what waits, too
    """
    passes, core = parts.passes, parts.core
    job, gather, held = parts.control.job, parts.gather, parts.held
    windows, writer, vectors = parts.windows, parts.writer, parts.vectors
    turned = passes.turned
    wiring.connect(m, gather.fetch, windows.operands)
    wiring.connect(m, windows.operand_rows, gather.fetched)
    loads_x = Signal()
    to_x = Signal(name="operand_to_x")
    operands = writer.operands
    m.d.comb += [
        gather.begins.eq(passes.first),
        gather.columns.eq(job.rows),
        gather.wants_z.eq(job.second_product & ~job.transposed),
        windows.columns.eq(job.rows),
        windows.x_base.eq(Mux(turned, job.z_spill, job.x_spill)),
        windows.z_base.eq(job.z_spill),
        windows.w_base.eq(job.w_spill),
        loads_x.eq(vectors.rows.valid & ~passes.loads_scalars),
        to_x.eq(loads_x | second | turned),
        writer.operand_base.eq(Mux(to_x, job.x_spill, job.z_spill)),
        writer.sums_base.eq(job.w_spill),
        operands.payload.eq(Mux(loads_x, vectors.rows.payload, core.o.payload)),
        operands.valid.eq(loads_x | (core.o.valid & (held.z.ready | ~into_z))),
        held.z.valid.eq(core.o.valid & into_z & operands.ready),
        core.o.ready.eq(operands.ready & (held.z.ready | ~into_z)),
    ]
    wiring.connect(m, held.fetch, windows.sums)
    wiring.connect(m, windows.sum_rows, held.fetched)
    m.d.comb += [
        writer.sums.valid.eq(held.spill.valid),
        writer.sums.payload.row.eq(held.spill.payload.place),
        writer.sums.payload["values"].eq(held.spill.payload["values"]),
        held.spill.ready.eq(writer.sums.ready),
        held.spilled.eq(writer.complete[SUMS]),
    ]
    _count_steps(m, parts)


def _count_steps(m: Module, parts: Any) -> None:
    """Steps whose z is in memory: E1's part of a pass writes nothing else to operands."""
    config = parts.control.config
    pieces = Signal(count_bits(config), name="pieces_of_z")
    elements = config.piece_bytes * 8 // config.format.bits
    m.d.comb += parts.gather.z_steps.eq(pieces >> (config.subtensor // elements).bit_length() - 1)
    with m.If(parts.passes.first):
        m.d.sync += pieces.eq(0)
    with m.Elif(parts.writer.complete[OPERAND]):
        m.d.sync += pieces.eq(pieces + 1)
