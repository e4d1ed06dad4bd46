"""The relaxer in Amaranth's own simulator, against plain Python; waves in relaxer.vcd."""

from math import inf

from amaranth.sim import Simulator, SimulatorContext
from relaxer import Relaxer
from tilewright.formats import from_words, to_words

SIZE = 4
ROADS = [[0, 3, inf, 7], [8, 0, 2, inf], [5, inf, 0, 1], [2, inf, inf, 0]]


def shortest(edges: list[list[float]]) -> list[list[float]]:
    """All distances, by Floyd and Warshall."""
    found = [list(row) for row in edges]
    for k in range(SIZE):
        for row in found:
            row[:] = [min(old, row[k] + new) for old, new in zip(row, found[k], strict=True)]
    return found


def main() -> None:
    """Run it: one tile is loaded, then as many steps as a path may have edges."""
    design = Relaxer(SIZE)
    tile = to_words(ROADS, "fp32").tolist()
    steps = [{"load": 1, "tile": tile}, *[{"load": 0, "tile": tile}] * (SIZE - 2)]
    found: list[list[list[float]]] = []

    async def send(ctx: SimulatorContext) -> None:
        for number, step in enumerate(steps):
            await ctx.tick().repeat(1 + number % 2)
            ctx.set(design.i.payload, step)
            ctx.set(design.i.valid, 1)
            await ctx.tick().until(design.i.ready)
            ctx.set(design.i.valid, 0)

    async def receive(ctx: SimulatorContext) -> None:
        for number in range(1, len(steps)):
            ctx.set(design.o.ready, 0)
            await ctx.tick().until(design.o.valid)
            await ctx.tick().repeat(number)  # it waits
            ctx.set(design.o.ready, 1)
            *_, payload = await ctx.tick().sample(design.o.payload)
            words = [[payload[row][column] for column in range(SIZE)] for row in range(SIZE)]
            found.append(from_words(words, "fp32").tolist())

    simulator = Simulator(design)
    simulator.add_clock(1e-8)
    simulator.add_testbench(send)
    simulator.add_testbench(receive)
    with simulator.write_vcd("relaxer.vcd"):
        simulator.run()
    assert len(found) == SIZE - 2
    assert found[-1] == shortest(ROADS), found[-1]
    print(f"PASS: distances after {len(found)} steps are {found[-1]}")


if __name__ == "__main__":
    main()
