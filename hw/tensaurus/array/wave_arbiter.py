"""Which rows read which banks: waves that pass the rows."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from .layouts import access_layout, answer_layout, requests_layout
from .wave_node import WaveNode

__all__ = ["WaveArbiter"]


class WaveArbiter(wiring.Component):
    """In every cycle a wave begins, empty, and passes all rows, a row a cycle; each adds a request
    of its own if it finds a bank. In every cycle a wave is full, and is what the scratchpads read.

    Wave n begins at row ``2 * n % rows``, so that in each cycle each row has a wave of its own, and
    none is always the first or the last. A granted request is at the output after 2 to
    ``rows + 1`` cycles. ``rows`` requests are served a cycle, but for conflicts.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    requests: in; by row, see :func:`requests_layout`
    granted: out; by row, the request that is served, and is to be taken back
    conflict: out; by row: there are requests, and none is served
    access: out; what the scratchpads read, see :func:`access_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        rows = config.rows
        super().__init__(
            {
                "requests": In(data.ArrayLayout(requests_layout(config), rows)),
                "granted": Out(data.ArrayLayout(answer_layout(config), rows)),
                "conflict": Out(rows),
                "access": Out(access_layout(config)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows, layout = self._config.rows, access_layout(self._config)
        waves = [Signal(layout, name=f"wave_{row}") for row in range(rows)]
        nodes = [WaveNode(self._config) for _ in range(rows)]
        # Where the wave begins: two rows on in every cycle.
        start = Signal(range(max(2, rows)))
        if rows > 2:
            following = start + 2
            m.d.sync += start.eq(Mux(following >= rows, following - rows, following))
        for row, node in enumerate(nodes):
            m.submodules[f"node_{row}"] = node
            before = Signal(layout, name=f"before_{row}")
            m.d.comb += [
                node.i.eq(before.banks),
                node.requests.eq(self.requests[row]),
                self.granted[row].eq(node.granted),
                self.conflict[row].eq(node.conflict),
            ]
            # Of two rows and of one the first begins every wave.
            if rows > 2:
                with m.If(start != row):
                    m.d.comb += before.eq(waves[row - 1])
            elif row:
                m.d.comb += before.eq(waves[row - 1])
            m.d.sync += waves[row].banks.eq(node.o)
            for number in range(rows):
                read = node.read if number == row else before.rows[number]
                m.d.sync += waves[row].rows[number].eq(read)
        ends = [waves[row - 1].as_value() for row in range(rows)]
        complete = Array(ends)[start] if rows > 2 else ends[0]
        m.d.sync += self.access.eq(complete)
        with m.If(self.clear):
            m.d.sync += [wave.eq(0) for wave in waves]
            m.d.sync += self.access.eq(0)
        return m
