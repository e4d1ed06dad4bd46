"""Graph convolutions: ``A relu(A X V) W``, column by column, with any number of layers.

A layer multiplies with weights, and then with the matrix. The matrix is read once for two columns:
the operand of the second product is a vector from memory, which E1 gives whatever the first product
is. So may be what is given. Otherwise weights are scalars of jobs over vectors alone, a block of
them a job.

Source: Kipf and Welling, Semi-supervised classification with graph convolutional networks (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.elementwise.instructions import REGISTERS, SCALARS, VECTORS
from ..result.products import Rules
from .graphs import columns_of, vector_of
from .jobs import Found, Job, Machine, Setup, together

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
        """Number of words of its program."""
        sums = 1 if self.first else 2
        return self.inputs + sums * self.outputs + self.inputs * self.outputs + 2

    @property
    def moved(self) -> float:
        """Vectors that are read and written, for each weight; with the operand of no product."""
        return (1 + self.inputs + 2 * self.outputs) / (self.inputs * self.outputs)

    @property
    def fits(self) -> bool:
        """Tells whether scalars, addresses of vectors and registers suffice for it."""
        return (
            self.inputs * self.outputs <= SCALARS
            and self.inputs + self.outputs <= VECTORS
            and 2 + self.outputs <= REGISTERS
        )

    def parts(self, come: int, leave: int) -> Iterator[tuple[int, int, Block]]:
        """Cuts a layer's weights into blocks of up to this size, each with its first columns."""
        for output in range(0, leave, self.outputs):
            for given in range(0, come, self.inputs):
                inputs, outputs = min(self.inputs, come - given), min(self.outputs, leave - output)
                yield given, output, Block(inputs, outputs, not given)

    def text(self) -> str:
        """Returns its program: sums in r1, r2, ..., the operand in the register after them."""
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


__all__ = ["GIVEN", "GRAPH", "Convolutions", "convolutions", "output_names"]

Floats = npt.NDArray[np.float64]

GRAPH, GIVEN = "graph", "given"
"""Matrices: of all layers, and what is given, if that is one."""


def output_names(layer: int, columns: int) -> list[str]:
    """Names of the vectors of a layer's output; those of layer 0 are the input's."""
    return [f"layer {layer} {column}" for column in range(columns)]


@dataclass(frozen=True, kw_only=True)
class Convolutions:
    """A network.

    Parameters
    ----------
    setup: what is in memory before the first job
    block: the largest one
    weights: of each layer
    over_matrix: whether what is given is a matrix
    """

    setup: Setup
    block: Block
    weights: tuple[Floats, ...]
    over_matrix: bool

    def compute(self, machine: Machine) -> Found:
        """Computes all layers. An iteration is a product of a column with a matrix."""
        products = 0
        for layer, weights in enumerate(self.weights, 1):
            come, leave = weights.shape
            turned = _turned(leave)
            if layer == 1 and self.over_matrix:
                products += leave
                for job in _products(_operands(leave), turned, GIVEN, relu=False):
                    machine.run(job)
            else:
                names = output_names(layer - 1, come)
                for job, scalars in _weighing(self.block, names, turned, weights):
                    machine.give(scalars)
                    machine.run(job)
            products += leave
            outputs = output_names(layer, leave)
            for job in _products(turned, outputs, GRAPH, relu=layer < len(self.weights)):
                machine.run(job)
        return Found(
            result=outputs[0],
            iterations=products,
            settled=True,
            residuals=(),
        )


def convolutions(
    rules: Rules,
    matrix: Any,
    given: Floats,
    weights: Sequence[Floats],
    *,
    words: int = 64,
    over_matrix: bool = False,
) -> Convolutions:
    """Layers, of which all but the last end with the greater one of a value and 0.

    Parameters
    ----------
    matrix: (vertices, vertices) SciPy matrix
    given: (vertices, columns)
    weights: of each layer, (columns that come, columns that leave)
    words: of a program at most
    over_matrix: what is given is a matrix, of which zeros are left out, in place of columns

    Raises ValueError if the sizes contradict each other, or a matrix that is given has more columns
    than rows.
    """
    fmt, (size, columns) = rules.fmt, given.shape
    for layer, (before, one) in enumerate(pairwise([given, *weights]), 1):
        if one.shape[0] != before.shape[1]:
            raise ValueError(
                f"`weights` of layer {layer} must have {before.shape[1]} rows, not {one.shape[0]}"
            )
    # A product is a vector's with columns.
    matrices = {GRAPH: columns_of(matrix.T, fmt)}
    if over_matrix:
        if columns > size:
            raise ValueError(f"`given` must have at most {size} columns, not {columns}")
        square = csr_array(given.T)
        square.resize((size, size))
        matrices[GIVEN] = columns_of(square, fmt)
        # Weights are operands.
        names, values = _operands(weights[0].shape[1]), np.zeros((size, weights[0].shape[1]))
        values[:columns] = weights[0]
    else:
        names, values = output_names(0, columns), given
    vectors = dict(zip(names, (vector_of(one, fmt) for one in values.T), strict=True))
    zeros = vector_of(np.zeros(size), fmt)
    block = block_in(words)
    texts: dict[str, str] = {}
    for layer, one in enumerate(weights, 1):
        come, leave = one.shape
        vectors |= dict.fromkeys([*output_names(layer, leave), *_turned(leave)], zeros)
        if layer == 1 and over_matrix:
            texts |= _product_texts(relu=False)
        else:
            texts |= {part.name: part.text() for _, _, part in block.parts(come, leave)}
        texts |= _product_texts(relu=layer < len(weights))
    setup = Setup(
        size=size,
        matrices=matrices,
        programs=together(WEIGHTS, texts),
        vectors=vectors,
        given={f"weight_{number}": 0.0 for number in range(SCALARS)},
    )
    return Convolutions(setup=setup, block=block, weights=tuple(weights), over_matrix=over_matrix)


def _turned(columns: int) -> list[str]:
    """The vectors that have what weights give, operands of the products."""
    return [f"turned {column}" for column in range(columns)]


def _operands(columns: int) -> list[str]:
    """The vectors that have the weights of a matrix that is given."""
    return [f"weights {column}" for column in range(columns)]


def _weighing(
    block: Block, given: Sequence[str], turned: Sequence[str], weights: Floats
) -> Iterator[tuple[Job, dict[str, float]]]:
    """Jobs, and the scalars of each."""
    for first, output, part in block.parts(len(given), len(turned)):
        stored = {f"in_{number}": given[first + number] for number in range(part.inputs)}
        stored |= {f"out_{number}": turned[output + number] for number in range(part.outputs)}
        some = weights[first : first + part.inputs, output : output + part.outputs]
        scalars = {f"weight_{number}": float(one) for number, one in enumerate(some.ravel())}
        yield Job(program=part.name, x=given[first], second=False, stored=stored), scalars


def _products(
    operands: Sequence[str], results: Sequence[str], matrix: str, *, relu: bool
) -> Iterator[Job]:
    """Yields jobs of two columns each; the last column is alone if their number is odd."""
    kind = "relu" if relu else "plain"
    for first in range(0, len(operands), 2):
        stored = {"first": results[first]}
        second = first + 1 < len(operands)
        if second:
            stored |= {"operand": operands[first + 1], "second": results[first + 1]}
        yield Job(
            program=f"{'two' if second else 'one'} {kind}",
            x=operands[first],
            matrix=matrix,
            second=second,
            stored=stored,
        )


def _product_texts(*, relu: bool) -> dict[str, str]:
    """Returns the programs for one product, and for two, by name."""
    kind, give = ("relu", "relu r1, y\n store {}, r1") if relu else ("plain", "store {}, y")
    first, second = (f" {give.format(name)}\n" for name in ("first", "second"))
    one = f"e1:\n{first} out y\n"
    two = f"e1:\n{first} load r2, operand\n out r2\ne2:\n{second} out y\n"
    return {
        f"one {kind}": f"vector first\n{one}",
        f"two {kind}": f"vector first\nvector operand\nvector second\n{two}",
    }
