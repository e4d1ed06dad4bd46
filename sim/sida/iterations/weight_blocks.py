"""Columns times weights that are scalars of a program, a block of them a job over vectors alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.spec.elementwise.instructions import REGISTERS, SCALARS, VECTORS

__all__ = ["WEIGHTS", "Block", "block_in"]

WEIGHTS = "\n".join(f"scalar weight_{number}" for number in range(SCALARS))
"""Declarations of all programs: a block's weights, by what comes and then by what leaves."""


@dataclass(frozen=True, order=True)
class Block:
    """Weights of a job: of so many columns that come, to so many that leave.

    ``first``: sums begin with them, else with what is there.
    """

    inputs: int
    outputs: int
    first: bool = False

    @property
    def name(self) -> str:
        return f"block {self.inputs} {self.outputs} {'first' if self.first else 'more'}"

    @property
    def words(self) -> int:
        """Of its program."""
        sums = 1 if self.first else 2
        return self.inputs + sums * self.outputs + self.inputs * self.outputs + 2

    @property
    def moved(self) -> float:
        """Vectors that are read and written, for each weight; with the operand of no product."""
        return (1 + self.inputs + 2 * self.outputs) / (self.inputs * self.outputs)

    @property
    def fits(self) -> bool:
        """Whether there are scalars, addresses of vectors and registers for it."""
        return (
            self.inputs * self.outputs <= SCALARS
            and self.inputs + self.outputs <= VECTORS
            and 2 + self.outputs <= REGISTERS
        )

    def parts(self, come: int, leave: int) -> Iterator[tuple[int, int, Block]]:
        """Blocks up to this one for a layer's weights, each with the columns it begins with."""
        for output in range(0, leave, self.outputs):
            for given in range(0, come, self.inputs):
                inputs, outputs = min(self.inputs, come - given), min(self.outputs, leave - output)
                yield given, output, Block(inputs, outputs, not given)

    def text(self) -> str:
        """Its program: sums in r1, r2, ..., what comes in the register behind them."""
        lines = [f"vector in_{number}" for number in range(self.inputs)]
        lines += [f"vector out_{number}" for number in range(self.outputs)]
        lines.append("e1:")
        if not self.first:
            lines += [f"load r{1 + number}, out_{number}" for number in range(self.outputs)]
        come = f"r{1 + self.outputs}"
        for given in range(self.inputs):
            lines.append(f"load {come}, in_{given}")
            for number in range(self.outputs):
                sums = f"r{1 + number}"
                weight = f"weight_{given * self.outputs + number}"
                if self.first and not given:
                    lines.append(f"mul {sums}, {come}, {weight}")
                else:
                    lines.append(f"fma {sums}, {come}, {weight}, {sums}")
        lines += [f"store out_{number}, r{1 + number}" for number in range(self.outputs)]
        return "\n".join([*lines, "out r1"])


def block_in(words: int) -> Block:
    """The block with least traffic whose program has at most so many words."""
    sizes = range(1, VECTORS)
    blocks = [Block(inputs, outputs) for inputs in sizes for outputs in sizes]
    return min(
        (block for block in blocks if block.fits and block.words <= words),
        key=lambda block: (block.moved, block),
    )
