"""Commands of a kind that wait until they may begin."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ...spec.jobs.gta_commands import COMMAND_BYTES
from ...stream.deep_queue import DeepQueue
from ..layouts import pgemm_layout
from .layouts import command_layout, counts_layout, load_layout, store_layout

__all__ = ["CommandQueue", "queued_layout"]

_DEPTH = 4


def queued_layout(config: GtaConfig, kind: str) -> data.StructLayout:
    """A command of a kind, as what carries it out takes it."""
    layouts = {"load": load_layout, "execute": pgemm_layout, "store": store_layout}
    return layouts[kind](config)


class CommandQueue(wiring.Component):
    """Offers commands in order, each once enough others are complete. Holds five.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    kind: of the commands

    Members
    -------
    i: commands that hold, as they are in memory
    o: see :func:`queued_layout`
    complete: in; how many of each kind are
    some: out; there is one
    wants: out; the first one waits for others: a bit for each kind
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: GtaConfig, kind: str) -> None:
        self._config, self._kind = config, kind
        super().__init__(
            {
                "i": In(stream.Signature(8 * COMMAND_BYTES)),
                "o": Out(stream.Signature(queued_layout(config, kind))),
                "complete": In(counts_layout()),
                "some": Out(1),
                "wants": Out(len(counts_layout().members)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inside = queued_layout(self._config, self._kind)
        layout = data.StructLayout({"needs": counts_layout(), "command": inside})
        m.submodules.queue = queue = DeepQueue(layout, _DEPTH)
        command = command_layout(self._kind)(self.i.payload)
        put, head = queue.i.payload, queue.o.payload
        halved = ("result_base", "result_stride") if self._kind == "execute" else ()
        for name, _ in inside:
            field: Value = command[name]
            # Words of results have 32 bytes.
            m.d.comb += put.command[name].eq(field[1:] if name in halved else field)
        kinds = [name for name, _ in counts_layout()]
        for name in kinds:
            m.d.comb += put.needs[name].eq(command[name])
        m.d.comb += [
            queue.clear.eq(self.clear),
            queue.i.valid.eq(self.i.valid),
            self.i.ready.eq(queue.i.ready),
            self.some.eq(queue.o.valid),
            self.wants.eq(Cat(self.complete[name] < head.needs[name] for name in kinds)),
            self.o.valid.eq(queue.o.valid & ~self.wants.any()),
            self.o.payload.eq(head.command),
            queue.o.ready.eq(self.o.ready & ~self.wants.any()),
        ]
        return m
