"""Whether an EXECUTE holds."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import ROWS, GtaConfig
from ...spec.jobs.gta import FAULTS
from ...spec.jobs.gta_commands import COMMAND_BYTES, OPERATIONS
from ..layouts import csr_layout
from .fold_extents import FoldExtents
from .format_table import FormatTable
from .layouts import command_layout
from .region_scan import RegionScan
from .row_walk import log2
from .vector_check import VectorCheck

__all__ = ["ExecuteCheck"]


class ExecuteCheck(wiring.Component):
    """Looks at all that an EXECUTE says by itself, and at the lanes of its group.

    Takes a cycle for each lane, one for each fold downwards or across, and four; in SIMD there are
    no folds.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    csr: in; see ``csr_layout``
    command: in; constant from ``start`` to ``done``
    start: in, a pulse
    done: out; with it ``faults``, a bit for each of ``FAULTS``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "command": In(8 * COMMAND_BYTES),
                "start": In(1),
                "done": Out(1),
                "faults": Out(len(FAULTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        command = command_layout("execute")(self.command)
        m.submodules.scan = scan = RegionScan(config)
        m.submodules.table = table = FormatTable(config)
        m.submodules.extents = extents = FoldExtents(config)
        m.submodules.vector = vector = VectorCheck(config)
        simd = command.operation == OPERATIONS.index("simd")
        scanning = Signal()
        rows = Signal(range(ROWS * config.lanes + 1))
        m.d.comb += [
            scan.csr.eq(self.csr),
            scan.start.eq(self.start),
            scan.mask.eq(command.group),
            table.number.eq(command.format),
            rows.eq(scan.rows.shift_left(log2(ROWS))),
            extents.command.eq(self.command),
            extents.floats.eq(table.floats),
            extents.element.eq(table.element),
            extents.limbs.eq(table.limbs),
            extents.rows.eq(rows),
            extents.start.eq(scanning & scan.done & ~simd),
            vector.command.eq(self.command),
            *(
                getattr(vector, name).eq(getattr(table, name))
                for name in ("there", "floats", "element", "limbs", "sizes")
            ),
            self.done.eq(~scanning & extents.done),
        ]
        with m.If(self.start):
            m.d.sync += scanning.eq(1)
        with m.Elif(scan.done):
            m.d.sync += scanning.eq(0)
        both = {
            "command": command.operation >= len(OPERATIONS),
            "command_lanes": command.group[config.mask_bits :].any() | ~scan.some,
        }
        folds = self._folds(rows, table) | {"command_memory": extents.over}
        of_both, of_folds = (
            Cat(found.get(name, Const(0)) for name in FAULTS) for found in (both, folds)
        )
        m.d.comb += self.faults.eq(of_both | Mux(simd, vector.faults, of_folds))
        return m

    def _folds(self, rows: Value, table: FormatTable) -> dict[str, Value]:
        """What is wrong with a product of matrices, but for the memories."""
        config = self._config
        command = command_layout("execute")(self.command)
        ws = command.operation == OPERATIONS.index("ws")
        last = command.rows_last
        # Of OS rows are limbs, and go in whole groups.
        cut = Mux(
            table.limbs[1], last[:2].any() | (table.limbs[0] & last[2]), table.limbs[0] & last[0]
        )
        sizes = (command.row_folds, command.col_folds, command.time, last)
        width_there = Mux(
            command.result_size < 3, table.sizes.bit_select(command.result_size[:2], 1), 0
        )
        products = Mux(ws, rows, command.time)
        return {
            "command": command.result_base[0] | command.result_stride[0],
            "command_format": ~table.there | (table.floats & ws) | ~width_there,
            "command_size": ~Cat(size.any() for size in sizes).all() | (last > rows) | (~ws & cut),
            "command_sum": ~table.floats & (products > config.most_products),
        }
