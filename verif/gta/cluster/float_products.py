"""Products of floats, the placement of their operands and results, and their results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import (
    COLS,
    FORMATS_OF_GTA,
    ROWS,
    GtaConfig,
    element_bytes,
    limbs,
    result_bytes,
)
from tilewright.verif.gta.float.exact_sums import chain

from .products import Memories, Region

Patterns = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


@dataclass(kw_only=True)
class FloatProduct:
    """A command's product: A is M x K, B is K x N, patterns.

    Parameters
    ----------
    config: of the accelerator
    name: format
    c: what lies where the results will be; sums begin with it where ``use_c``
    bases: first words in the memories, left, top and result
    """

    region: Region
    config: GtaConfig
    name: str
    a: Patterns
    b: Patterns
    c: Patterns | None = None
    use_c: bool = False
    lateral: bool = False
    overlap: bool = True
    bases: tuple[int, int, int] = (0, 0, 0)

    mode = Operation.OS
    weights = False

    @property
    def size(self) -> int:
        """Bytes of a result."""
        return result_bytes(self.name)

    @property
    def interval(self) -> int:
        """Cycles of a product."""
        return self.config.interval(self.name)

    @property
    def cycles(self) -> int:
        """T'."""
        return len(self.b) * self.interval

    @property
    def latency(self) -> int:
        """Cycles from a fold's begin until its results are in memory."""
        last = (len(self.b) - 1) * self.interval + limbs(self.name) ** 2
        return last + self.region.height + self.region.width + 7 + self.config.adder_stages

    @property
    def row_folds(self) -> int:
        return -(-len(self.a) // self.region.height)

    @property
    def col_folds(self) -> int:
        return -(-self.b.shape[1] // self.region.width)

    @property
    def edge_stride(self) -> int:
        return -(-len(self.b) * element_bytes(self.name) // 16)

    @property
    def result_stride(self) -> int:
        return self.row_folds * ROWS * self.size // 32

    @property
    def words(self) -> tuple[int, int, int]:
        """Words of a bank of left, top and result."""
        return (
            self.row_folds * self.edge_stride,
            self.col_folds * self.edge_stride,
            self.col_folds * self.result_stride,
        )

    def command(self) -> dict[str, int]:
        """Fields of the command."""
        return {
            "operation": self.mode.value,
            "format": FORMATS_OF_GTA.index(self.name),
            "group": self.region.group,
            "row_folds": self.row_folds,
            "col_folds": self.col_folds,
            "time": len(self.b),
            "rows_last": len(self.a) - (self.row_folds - 1) * self.region.height,
            "use_c": int(self.use_c),
            "lateral": int(self.lateral),
            "overlap": int(self.overlap),
            "left_base": self.bases[0],
            "left_stride": self.edge_stride,
            "top_base": self.bases[1],
            "top_stride": self.edge_stride,
            "result_base": self.bases[2],
            "result_stride": self.result_stride,
            "result_size": self.size.bit_length() - 3,
        }

    def load(self, memories: Memories) -> None:
        """Stores the operands, and C, where the command reads them."""
        region = self.region
        for m, values in enumerate(self.a):
            fold, row = divmod(m, region.height)
            begin = 16 * (self.bases[0] + fold * self.edge_stride)
            string = self._bytes(values, element_bytes(self.name))
            bank = memories.left[region.lane(row // ROWS, 0), row % ROWS]
            bank[begin : begin + len(string)] = string
        for n, values in enumerate(self.b.T):
            fold, column = divmod(n, region.width)
            begin = 16 * (self.bases[1] + fold * self.edge_stride)
            string = self._bytes(values, element_bytes(self.name))
            bank = memories.top[region.lane(0, column // COLS), column % COLS]
            bank[begin : begin + len(string)] = string
        if self.c is not None:
            self.store(memories.result, self.c)

    def found(self, result: Bytes) -> Patterns:
        """Returns the results in a memory."""
        values = np.zeros((len(self.a), self.b.shape[1]), np.uint64)
        for m, n in np.ndindex(*values.shape):
            values[m, n] = int.from_bytes(self._place(result, m, n).tobytes(), "little")
        return values

    def computed(self, old: Patterns | None) -> Patterns:
        """The results."""
        return chain(self.a, self.b, old, self.name)

    def store(self, result: Bytes, values: Patterns) -> None:
        """Stores the results at their places."""
        for (m, n), value in np.ndenumerate(values):
            self._place(result, m, n)[:] = self._bytes(np.array([value]), self.size)

    def spare(self, result: Bytes) -> None:
        """Clears what the columns beyond N leave, which nobody asks for."""
        for n in range(self.b.shape[1], self.col_folds * self.region.width):
            for m in range(len(self.a)):
                self._place(result, m, n)[:] = 0

    @staticmethod
    def _bytes(values: Patterns, size: int) -> Bytes:
        return np.ascontiguousarray(values.astype(f"<u{size}")).view(np.uint8)

    def _place(self, result: Bytes, m: int, n: int) -> Bytes:
        row_fold, row = divmod(m, self.region.height)
        fold, column = divmod(n, self.region.width)
        lane = self.region.lane(row // ROWS, column // COLS)
        element = row_fold * ROWS + row % ROWS
        begin = 32 * (self.bases[2] + fold * self.result_stride) + element * self.size
        return result[lane, column % COLS, begin : begin + self.size]
