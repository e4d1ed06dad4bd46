"""A design of one's own around simd2: distances in a graph, a step a tile of edges.

``python relaxer.py -o relaxer.sv`` writes its Verilog.
"""

import argparse
from pathlib import Path

import tilewright
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Relaxer"]


class Relaxer(wiring.Component):
    """Keeps a tile of distances, and shortens them: each becomes the least sum of a distance and an
    edge, if that is less. fp32 throughout; where there is no edge it is infinite. Steps are taken
    one by one, as each needs the distances of the one before.

    Parameters
    ----------
    size: rows and columns of a tile

    Members
    -------
    i: a tile, [source][vertex] or [vertex][vertex], and whether it is to be ``load``ed as distances
        or is of edges
    o: the distances behind each step
    """

    def __init__(self, size: int = 4) -> None:
        self._simd2 = tilewright.units["simd2"]
        self._config = self._simd2.config(
            tile=size, format="fp32", accumulator="fp32", ops=("minplus",)
        )
        self._tile = data.ArrayLayout(data.ArrayLayout(32, size), size)
        step = data.StructLayout({"load": 1, "tile": self._tile})
        super().__init__({"i": In(stream.Signature(step)), "o": Out(stream.Signature(self._tile))})

    @property
    def size(self) -> int:
        return self._config.tile

    @property
    def latency(self) -> int:
        """Cycles from a tile of edges to the distances behind its step, which are kept in the next
        one."""
        return self._config.latency["minplus"]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self._simd2.component(self._config)
        distances = Signal(self._tile, reset_less=True)
        operation = unit.i.payload
        m.d.comb += [
            operation.op.eq(self._config.opcodes["minplus"]),
            operation.a.eq(distances),
            operation.b.eq(self.i.payload.tile),
            operation.c.eq(distances),
            self.o.payload.eq(unit.o.payload.d),
        ]
        with m.FSM(name="state"):
            with m.State("idle"):
                m.d.comb += [
                    unit.i.valid.eq(self.i.valid & ~self.i.payload.load),
                    self.i.ready.eq(self.i.payload.load | unit.i.ready),
                ]
                with m.If(self.i.valid & self.i.payload.load):
                    m.d.sync += distances.eq(self.i.payload.tile)
                with m.Elif(self.i.valid & unit.i.ready):
                    m.next = "step"
            with m.State("step"):
                m.d.comb += [self.o.valid.eq(unit.o.valid), unit.o.ready.eq(self.o.ready)]
                with m.If(unit.o.valid & self.o.ready):
                    m.d.sync += distances.eq(unit.o.payload.d)
                    m.next = "idle"
        return m


def main() -> None:
    """Write the Verilog, with its sidecar beside it."""
    from tilewright.hw.emit.unit import emit_component, write

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("relaxer.sv"))
    parser.add_argument("--size", type=int, default=4)
    given = parser.parse_args()
    emitted = emit_component(Relaxer(given.size), name="relaxer")
    print(f"{given.output} and {write(emitted, given.output)}")


if __name__ == "__main__":
    main()
