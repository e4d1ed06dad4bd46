"""A lane's array with its fused adders, as a unit that takes its ports' values cycle by cycle."""

from __future__ import annotations

from amaranth.hdl import Module, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.gta.float.float_back import WORD_BITS, FloatBack, row_result
from tilewright.hw.gta.float.headers import column_header, row_header
from tilewright.hw.gta.layouts import x_layout
from tilewright.hw.gta.mpra import Mpra
from tilewright.hw.spec.gta import BANKS, COLS, LIMB_BITS, ROWS, GtaConfig

__all__ = ["FloatArrayUnit", "step_layout"]


def step_layout(config: GtaConfig) -> data.StructLayout:
    """What comes in a cycle."""
    return data.StructLayout(
        {
            "x": data.ArrayLayout(x_layout(config), ROWS),
            "y": data.ArrayLayout(signed(LIMB_BITS + 1), COLS),
            "rows": data.ArrayLayout(row_header(config), ROWS),
            "columns": data.ArrayLayout(column_header(config), config.row_adders),
            "words": data.ArrayLayout(WORD_BITS, BANKS),
        }
    )


class FloatArrayUnit(wiring.Component):
    """An ``Mpra`` and its ``FloatBack``.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    i: see :func:`step_layout`; a cycle each, without gaps
    o: by row the result of the same cycle, and the column it is of
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        bits = row_result(config)["value"].width
        results = data.StructLayout(
            {"value": data.ArrayLayout(bits, ROWS), "column": data.ArrayLayout(COLS, ROWS)}
        )
        super().__init__(
            {
                "i": In(stream.Signature(step_layout(config))),
                "o": Out(stream.Signature(results)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        m.submodules.mpra = mpra = Mpra(self._config)
        m.submodules.back = back = FloatBack(self._config)
        m.d.comb += [
            mpra.x.eq(given.x),
            mpra.y.eq(given.y),
            back.last_limbs.eq(mpra.last_limbs),
            back.products.eq(mpra.products),
            back.rows.eq(given.rows),
            back.columns.eq(given.columns),
            back.words.eq(given.words),
            self.o.valid.eq(self.i.valid),
            *(self.o.payload.value[r].eq(back.o[r].value) for r in range(ROWS)),
            *(self.o.payload.column[r].eq(back.o[r].column) for r in range(ROWS)),
            self.i.ready.eq(self.o.ready),
        ]
        return m
