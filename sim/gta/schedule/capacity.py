"""Which blocks of a p-GEMM fit the memories of a region of lanes."""

from __future__ import annotations

from dataclasses import dataclass

from ....hw.spec.gta import (
    LEFT_WORD_BYTES,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
    is_float,
    limbs,
)
from .pgemm import PGemm

__all__ = ["Block", "Needed", "needed"]

Block = tuple[int, int, int]
"""M, N and K of what a command computes."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Words of the fullest bank, of A, B and D; of inputs stationary, of B, A and D."""

    left: int
    top: int
    result: int

    def fits(self, config: GtaConfig, share: int) -> bool:
        """Whether it takes no more than a ``share``-th of any bank."""
        edge = config.edge_bytes // LEFT_WORD_BYTES // share
        result = config.bank_bytes // RESULT_WORD_BYTES // share
        return max(self.left, self.top) <= edge and self.result <= result


def _words(size: int, word: int = LEFT_WORD_BYTES) -> int:
    return -(-size // word)


def needed(problem: PGemm, dataflow: str, array: tuple[int, int], size: Block) -> Needed:
    """Of a block of ``size`` M x N x K on an array of rows and columns.

    What a row, or a column of folds, begins with is a word; weights of row folds follow each
    other, and so do results.
    """
    rows, cols = array
    m, n, k = size
    length, each, result = limbs(problem.format), problem.element_bytes, problem.result_bytes
    if dataflow == "ws":
        down, across = -(-k // rows), -(-n * length // cols)
        return Needed(
            left=down * _words(m * each),
            top=across * _words(down * rows),
            result=across * _words(-(-m // length) * result, RESULT_WORD_BYTES),
        )
    if is_float(problem.format):
        down, across = -(-m // rows), -(-n // cols)
        string, stream = down * ROWS * result, _words(k * each)
    else:
        down, across = -(-m * length // rows), -(-n * length // cols)
        # A group of L columns has L banks for its R / L results a fold.
        string, stream = -(-down * rows // length**2) * result, _words(k)
    return Needed(
        left=down * stream, top=across * stream, result=across * _words(string, RESULT_WORD_BYTES)
    )
