"""An element against what it says: a product and an addition in every cycle."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.gta.layouts import Base
from tilewright.hw.gta.mpra import LimbElement
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.gta import GtaConfig, limbs

_LIMBS = (-256, -255, -128, -1, 0, 1, 127, 128, 255)


def wrapped(value: int, bits: int) -> int:
    """A number modulo 2 ** bits, signed."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


class Registers:
    """An element's registers, after each cycle; what is not defined is None."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self.x: dict[str, int] = {}
        self.y: int | None = None
        self.held: int | None = None
        self.sum: int | None = None
        self.drain: int | None = None

    def step(self, x: dict[str, int], y: int, sum_above: int, drain_above: int) -> None:
        """A cycle, with the limbs that the element takes."""
        before, own = self.x, self.sum
        if before and self.held is not None:
            carry = None if own is None else own >> 8
            base = {
                Base.ZERO: 0,
                Base.OWN: own,
                Base.ABOVE: sum_above,
                Base.CARRY: carry,
            }[Base(before["base"])]
            product = before["limb"] * self.held
            self.sum = None if base is None else wrapped(base + product, self._bits)
        if before and before["base"] == Base.ZERO:
            self.drain = own
        elif before and before["base"] == Base.CARRY:
            if own is None or self.drain is None:
                self.drain = None
            else:
                kept = self.drain % (1 << self._bits) >> 8
                self.drain = wrapped((own & 255) << self._bits - 8 | kept, self._bits)
        elif before and before.get("shift_drain"):
            self.drain = drain_above
        if x["swap"]:
            self.held = self.y
        if x["y_shift"]:
            self.y = y
        self.x = x


@pytest.mark.parametrize("formats", [("int8",), ("int8", "fp16")])
@pytest.mark.parametrize("partial_bits", [20, 40])
def test_every_cycle(partial_bits: int, formats: tuple[str, ...]) -> None:
    """Drives any controls in any cycle, and limbs from the neighbours or the element itself, among
    them the ends of the range. With integers alone there is no second rank."""
    config = GtaConfig(formats=formats, partial_bits=partial_bits)
    element = LimbElement(config)
    assert hasattr(element, "drain") == config.second_rank == (len(formats) > 1)
    rng = random.Random(partial_bits)
    compared = dict.fromkeys(("y_down", "sum", "drain")[: 2 + config.second_rank], 0)

    async def bench(sim: Any) -> None:
        model = Registers(partial_bits)
        for _ in range(1500):
            x = {
                "limb": rng.choice([*_LIMBS, rng.randint(-256, 255)]),
                "base": rng.choice([Base.OWN, *Base]).value,
                "y_shift": rng.randint(0, 1),
                "swap": rng.randint(0, 1),
            }
            if config.second_rank:
                x |= {"shift_drain": rng.randint(0, 1), "last": rng.randint(0, 1)}
            y = rng.choice([*_LIMBS, rng.randint(-256, 255)])
            own = [rng.choice([*_LIMBS, rng.randint(-256, 255)]) for _ in range(2)]
            vector = rng.randint(0, 1)
            above = [wrapped(rng.getrandbits(64), partial_bits) for _ in range(2)]
            sim.set(element.x, x)
            sim.set(element.y, y)
            sim.set(element.vector, vector)
            sim.set(element.x_vector, own[0])
            sim.set(element.y_vector, own[1])
            if vector:
                x, y = {**x, "limb": own[0]}, own[1]
            sim.set(element.sum_above, above[0])
            if config.second_rank:
                sim.set(element.drain_above, above[1])
            await sim.tick()
            model.step(x, y, *above)
            right = sim.get(element.x_right)
            assert {name: right[name] for name in x} == x
            for name, want in (("y_down", model.y), ("sum", model.sum), ("drain", model.drain)):
                if want is not None and name in compared:
                    assert sim.get(getattr(element, name)) == want, name
                    compared[name] += 1

    simulator = Simulator(element)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert min(compared.values()) > 1400


@pytest.mark.parametrize("name", ["fp16", "fp32", "fp64"])
@pytest.mark.parametrize(("integers", "partial_bits"), [((), 40), (("int8",), 20), (("int8",), 40)])
def test_products_of_significands(name: str, integers: tuple[str, ...], partial_bits: int) -> None:
    """Multiplies by diagonals; the two ranks hold all bits of the product."""
    config = GtaConfig(formats=(*integers, name), partial_bits=partial_bits)
    element = LimbElement(config)
    count, bits = limbs(name), FLOAT_FORMATS[name].significand_bits
    diagonals = [
        [(i, n - i) for i in range(count) if 0 <= n - i < count] for n in range(2 * count - 1)
    ]
    steps = [
        (i, j, Base.OWN if k else Base.CARRY if n else Base.ZERO)
        for n, pairs in enumerate(diagonals)
        for k, (i, j) in enumerate(pairs)
    ]
    rng = random.Random(1)

    async def bench(sim: Any) -> None:
        for _ in range(20):
            x, y = (1 << bits - 1 | rng.getrandbits(bits - 1) for _ in range(2))
            at_top = [number << 8 * count - bits for number in (x, y)]
            xs, ys = ([number >> 8 * n & 255 for n in range(count)] for number in at_top)
            for before, here in zip([*steps, None], [None, *steps], strict=True):
                sim.set(element.y, ys[before[1]] if before else 0)
                base = here[2] if here else Base.OWN
                moves = {"y_shift": 1, "swap": 1, "shift_drain": int(base == Base.CARRY)}
                limb = xs[here[0]] if here else 0
                step = {"limb": limb, "base": base.value, "last": 0}
                sim.set(element.x, step | (moves if integers else {}))
                await sim.tick()
            sim.set(element.x, step | {"limb": 0, "base": Base.OWN.value})
            await sim.tick()
            low = 2 * bits - 16
            total, drain = (
                sim.get(value) % (1 << len(value)) for value in (element.sum, element.drain)
            )
            spare = config.spare_bits
            kept = drain << spare | total >> config.significand_sum_bits & (1 << spare) - 1
            found = (total % (1 << 16)) << low | kept >> len(element.drain) + spare - low
            assert found == x * y

    simulator = Simulator(element)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
