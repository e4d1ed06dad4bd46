"""Rows and columns of processing elements, their heads, scratchpads and arbiters."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import KERNELS, TensaurusConfig
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import (
    ROW_EVENTS,
    drain_layout,
    job_layout,
    scalar_write_layout,
    slot_layout,
    tile_token_layout,
    unit_write_layout,
)
from .layouts import access_layout, levels, plan_layout
from .processing_element import ProcessingElement
from .row import Row
from .scratchpad import Scratchpad, WaveArbiter


class JobPlan(wiring.Component):
    """Computes the plan of a job for all rows.

    Latency two cycles.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: in; see :func:`job_layout`
    plan: out; see :func:`plan_layout`
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__({"job": In(job_layout(config)), "plan": Out(plan_layout(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, job, plan = self.config, self.job, self.plan
        ttmc = job.kernel == KERNELS.index("ttmc")
        m.d.sync += [
            plan.product_mode.eq(job.order - 2),
            plan.scalar_products.eq(job.kernel == KERNELS.index("mv")),
            plan.scalar_fibers.eq(ttmc),
            plan.last.eq(job.order == 2),
            plan.second.eq(job.order == 4),
        ]
        scalars = [job.scalars_1, job.scalars_2]
        for n in range(config.order - 1):
            scalar = scalars[n] if n < len(scalars) else job.vectors
            m.d.sync += [
                plan.count[n].eq(Mux(ttmc & (job.order != n + 2), scalar, job.vectors)),
                plan.region[n].eq(job[f"region_{n + 1}"]),
            ]
        self._groups(m, ttmc)
        return m

    def _groups(self, m: Module, ttmc: Value) -> None:
        """Computes the number of vectors in a group of each level, and how often a group is
        multiplied."""
        config, job, plan = self.config, self.job, self.plan
        temporary = levels(config) - 1
        sizes: list[Value] = [job.vectors] * (temporary + 1)
        if temporary:
            sizes[-1] = Mux(ttmc, job.vectors * job.scalars_1 * job.scalars_2, job.vectors)
        if temporary == 2:
            sizes[1] = Mux(ttmc, job.vectors * job.scalars_2, job.vectors)
        for level, size in enumerate(sizes):
            m.d.sync += plan.vectors[level].eq(size)
            # Known a cycle after the number of vectors.
            span, known = plan.span[level], plan.vectors[level]
            m.d.sync += span.eq(known)
            for vectors in range(1, config.sum_latency):
                with m.If(known == vectors):
                    m.d.sync += span.eq(vectors * config.partial_sums(vectors))
        # The first level is multiplied by the fibers of the last mode but one.
        for level in range(temporary):
            repeats: Value = job.scalars_1
            if level == 0 and temporary == 2:
                repeats = Mux(job.order == 4, job.scalars_2, job.scalars_1)
            m.d.sync += plan.repeats[level].eq(Mux(ttmc, repeats, 1))


class DrainGrant(wiring.Component):
    """Grants one row in each cycle, round robin among the rows that offer a vector.

    Combinational. A row waits for at most one vector of each other row.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    offers: in; the rows that offer a vector
    hold: in; none is accepted
    taken: out; the row whose vector is accepted
    valid, row: out; whether there is one, and its number
    clear: in; the first row is next again
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "offers": In(config.rows),
                "hold": In(1),
                "taken": Out(config.rows),
                "valid": Out(1),
                "row": Out(range(max(2, config.rows))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self.config.rows
        # Rows above the one that was served last.
        above = Signal(rows)
        behind = Signal(rows)
        m.d.comb += [
            behind.eq(self.offers & above),
            self.valid.eq(self.offers.any() & ~self.hold),
        ]
        for offers in (self.offers, behind):
            for row in reversed(range(rows)):
                with m.If(offers[row]):
                    m.d.comb += self.row.eq(row)
        for row in range(rows):
            m.d.comb += self.taken[row].eq(self.valid & (self.row == row))
            with m.If(self.taken[row]):
                m.d.sync += above.eq((1 << rows) - (2 << row))
        with m.If(self.clear):
            m.d.sync += above.eq(0)
        return m


class ComputeArray(wiring.Component):
    """Multiplies the values in the slots by the operands in the scratchpads, and adds the products
    by slices.

    All elements of a row do the same thing, a cycle after each other. So the row's head decides it
    once, operands are requested once, and a control word travels along the row; what the
    scratchpads read travels along the columns, a column a cycle.

    The job must be constant from two cycles before the first slot on, until ``quiet``.

    Source: Tensaurus, sections on its microarchitecture (compute PEs, scratchpad memories).

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: in; see :func:`job_layout`
    slots: array of streams, one a row, see :func:`slot_layout`
    tiles: stream of tiles whose operands are in the scratchpads, see :func:`tile_token_layout`
    unit_write, scalar_write: in; always taken; can be read two cycles later
    open: in; pulse: one more tile may leave; at most ``OPEN_TILES`` ahead
    hold: in; no vector must leave
    leaves: out; one leaves its row, and is at ``drain`` two cycles later
    row_done: out; pulse a row: it needs no operand of its current tile any more
    drained: out; pulse a row: all slices of its current tile have left
    drain, drain_data: out; see :func:`drain_layout`; by column, c cycles later
    products, conflicts, wait_slots, wait_operands, wait_sums, wait_output: out; a bit a row: a
      product is carried out; operands are requested, and no bank is free; there is none to carry
      out for lack of slots, of operands, of sums or room for them, of room in the output register
    quiet: out; nothing is in flight
    clear: in; forgets everything at the end of the cycle but what is in the scratchpads
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        rows, vector = config.rows, config.vlen * config.sum_format.bits
        super().__init__(
            {
                "job": In(job_layout(config)),
                "slots": In(stream.Signature(slot_layout(config))).array(rows),
                "tiles": In(stream.Signature(tile_token_layout(config))),
                "unit_write": In(unit_write_layout(config)),
                "scalar_write": In(scalar_write_layout(config)),
                "open": In(1),
                "hold": In(1),
                "leaves": Out(1),
                "row_done": Out(rows),
                "drained": Out(rows),
                "drain": Out(drain_layout(config)),
                "drain_data": Out(data.ArrayLayout(vector, config.cols)),
                **{name: Out(rows) for name in ROW_EVENTS},
                "quiet": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.plan = plan = JobPlan(config)
        m.d.comb += plan.job.eq(self.job)
        rows = [Row(config) for _ in range(config.rows)]
        for r, row in enumerate(rows):
            m.submodules[f"row_{r}"] = row
            wiring.connect(m, wiring.flipped(self.slots[r]), row.slots)
            m.d.comb += [
                row.plan.eq(plan.plan),
                row.clear.eq(self.clear),
                row.open.eq(self.open),
                row.tiles.payload.eq(self.tiles.payload),
                row.tiles.valid.eq(self.tiles.valid & self.tiles.ready),
            ]
            for name in ROW_EVENTS:
                m.d.comb += getattr(self, name)[r].eq(getattr(row, name))
            # The last column's operands are read as many cycles later.
            m.submodules[f"done_{r}"] = done = ValidPipeline(config.cols)
            m.d.comb += [
                done.i.eq(row.ended),
                done.advance.eq(1),
                done.clear.eq(self.clear),
                self.row_done[r].eq(done.o),
            ]
        m.d.comb += self.tiles.ready.eq(Cat(row.tiles.ready for row in rows).all())
        units = self._operands(m, rows)
        drained = self._drain(m, rows)
        self._elements(m, rows, units, plan.plan.scalar_products, drained)
        m.d.comb += self.quiet.eq(Cat(row.idle for row in rows).all() & ~self.tiles.valid)
        return m

    def _operands(self, m: Module, rows: list[Row]) -> list[Scratchpad]:
        """Scratchpads and arbiters; the scratchpads of the columns."""
        config = self.config
        parts: dict[str, list[Scratchpad]] = {}
        for kind, count in (("unit", config.cols), ("scalar", 1)):
            m.submodules[f"{kind}_waves"] = waves = WaveArbiter(config)
            m.d.comb += waves.clear.eq(self.clear)
            for r, row in enumerate(rows):
                m.d.comb += [
                    waves.requests[r].eq(getattr(row, f"{kind}s")),
                    getattr(row, f"{kind}_granted").eq(waves.granted[r]),
                    getattr(row, f"{kind}_arrives").valid.eq(waves.access.rows[r].valid),
                    getattr(row, f"{kind}_arrives").index.eq(waves.access.rows[r].index),
                    getattr(row, f"{kind}_conflict").eq(waves.conflict[r]),
                ]
            write = getattr(self, f"{kind}_write")
            bits = config.vlen * config.format.bits
            access: Value = data.View.as_value(waves.access)
            parts[kind] = []
            for c in range(count):
                name = f"{kind}s_{c}" if count > 1 else f"{kind}s"
                m.submodules[name] = part = Scratchpad(config)
                m.d.comb += [
                    part.access.eq(access),
                    part.write.eq(write.enable),
                    part.write_side.eq(write.side),
                    part.write_address.eq(write.address),
                    part.write_data.eq(write.data[c * bits : (c + 1) * bits]),
                ]
                parts[kind].append(part)
                if c + 1 < count:
                    following = Signal(access_layout(config), name=f"access_{c + 1}")
                    m.d.sync += following.eq(access)
                    access = following.as_value()
        (scalars,) = parts["scalar"]
        for r, row in enumerate(rows):
            m.d.comb += [
                row.scalar_answer.eq(scalars.answers[r]),
                row.scalar_vector.eq(scalars.vectors[r]),
            ]
        return parts["unit"]

    def _drain(self, m: Module, rows: list[Row]) -> tuple[Value, Value]:
        """Grants one row to send a vector; returns its row and slot, for the first column."""
        config = self.config
        m.submodules.drain_grant = grant = DrainGrant(config)
        m.d.comb += [
            grant.offers.eq(Cat(row.offer for row in rows)),
            grant.hold.eq(self.hold),
            grant.clear.eq(self.clear),
            self.leaves.eq(grant.valid),
        ]
        m.d.comb += [row.taken.eq(grant.taken[r]) for r, row in enumerate(rows)]
        chosen = Signal.like(grant.row, name="drain_row")
        slot = Signal.like(rows[0].slot, name="drain_slot")
        leaves = Signal(drain_layout(config), name="drain_before")
        drained = Signal(config.rows, name="drained_before")
        m.d.sync += [
            chosen.eq(grant.row),
            slot.eq(Array(row.slot for row in rows)[grant.row]),
            leaves.valid.eq(grant.valid),
            leaves.slice.eq(Array(row.slice for row in rows)[grant.row]),
            leaves.vector.eq(Array(row.vector for row in rows)[grant.row]),
            drained.eq(Cat(row.drained for row in rows)),
            self.drain.eq(leaves),
            self.drained.eq(drained),
        ]
        with m.If(self.clear):
            m.d.sync += [leaves.valid.eq(0), self.drain.valid.eq(0), drained.eq(0)]
            m.d.sync += self.drained.eq(0)
        return chosen, slot

    def _elements(
        self,
        m: Module,
        rows: list[Row],
        units: list[Scratchpad],
        scalar_products: Value,
        drained: tuple[Value, Value],
    ) -> None:
        """The elements, column by column."""
        before: list[Row | ProcessingElement] = list(rows)
        row_of, slot = drained
        for c, scratchpad in enumerate(units):
            here = [ProcessingElement(self.config) for _ in rows]
            for r, element in enumerate(here):
                m.submodules[f"element_{r}_{c}"] = element
                for word in ("fetch", "multiply", "sum", "store"):
                    source = word if c == 0 else f"{word}_on"
                    m.d.comb += Value.cast(getattr(element, word)).eq(
                        Value.cast(getattr(before[r], source))
                    )
                m.d.comb += [
                    element.answer.eq(scratchpad.answers[r]),
                    element.vector.eq(scratchpad.vectors[r]),
                    element.drain.eq(slot),
                ]
                if c == 0:
                    with m.If(scalar_products):
                        m.d.comb += [
                            element.answer.eq(rows[r].scalar_answer),
                            element.vector.eq(rows[r].scalar),
                        ]
            shown = Array(element.shown for element in here)[row_of]
            m.d.sync += self.drain_data[c].eq(shown)
            if c + 1 < len(units):
                following = [
                    Signal.like(value, name=f"drain_{name}_{c + 1}")
                    for name, value in (("row", row_of), ("slot", slot))
                ]
                m.d.sync += [
                    new.eq(value) for new, value in zip(following, (row_of, slot), strict=True)
                ]
                row_of, slot = following
            before = list(here)
