"""Products of integers, the placement of their operands and results, and their exact results."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import BANKS, COLS, FORMATS_OF_GTA, ROWS, element_bytes, result_bytes

Objects = npt.NDArray[np.object_]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Region:
    """Lanes of one group: ``first``, the one at the upper left, of ``across`` in a row."""

    rows: int
    columns: int
    group: int = 0
    first: int = 0
    across: int = 1

    def lane(self, row: int, column: int) -> int:
        return self.first + row * self.across + column

    @property
    def lanes(self) -> list[int]:
        return [self.lane(r, c) for r in range(self.rows) for c in range(self.columns)]

    @property
    def height(self) -> int:
        return ROWS * self.rows

    @property
    def width(self) -> int:
        return COLS * self.columns


@dataclass
class Memories:
    """Bytes of each lane's banks."""

    left: Bytes
    top: Bytes
    result: Bytes


def random_matrix(
    rng: np.random.Generator, name: str, shape: tuple[int, int], *, ends: float = 0.2
) -> Objects:
    """Integers of a format; a share of them the ends of its range."""
    bits = 8 * element_bytes(name)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    plain = rng.integers(low, high, shape, endpoint=True).astype(object)
    special = rng.choice(np.array([low, low + 1, -1, 0, 1, high], object), shape)
    return np.where(rng.random(shape) < ends, special, plain)


def exact(a: Objects, b: Objects, c: Objects | None, size: int) -> Objects:
    """A B + C modulo 2 ** (8 size), without a sign."""
    total = a @ b if c is None else a @ b + c
    return np.asarray(total % (1 << (8 * size)), object)


@dataclass(kw_only=True)
class Product:
    """A command's product: A is M x K, B is K x N.

    Parameters
    ----------
    mode: operation
    name: format
    c: what lies where the results will be; it is added where ``use_c``
    bases: first words in the memories, left, top and result
    size: bytes of a result
    """

    region: Region
    mode: Operation
    name: str
    a: Objects
    b: Objects
    c: Objects | None = None
    use_c: bool = False
    lateral: bool = False
    overlap: bool = True
    bases: tuple[int, int, int] = (0, 0, 0)
    size: int = 0
    limbs: int = field(init=False)

    def __post_init__(self) -> None:
        self.limbs = element_bytes(self.name)
        self.size = self.size or result_bytes(self.name)

    @property
    def weights(self) -> bool:
        return self.mode == Operation.WS

    @property
    def depth(self) -> int:
        """Columns of A, or rows of it, of a row fold."""
        return self.region.height if self.weights else self.region.height // self.limbs

    @property
    def breadth(self) -> int:
        """Columns of B of a column fold."""
        return self.region.width // self.limbs

    @property
    def row_folds(self) -> int:
        return -(-(len(self.b) if self.weights else len(self.a)) // self.depth)

    @property
    def col_folds(self) -> int:
        return -(-self.b.shape[1] // self.breadth)

    @property
    def cycles(self) -> int:
        """T'."""
        return len(self.a) * self.limbs if self.weights else len(self.b)

    @property
    def left_stride(self) -> int:
        return -(-self.cycles // 16)

    @property
    def top_bytes(self) -> int:
        return self.row_folds * self.region.height if self.weights else self.cycles

    @property
    def top_stride(self) -> int:
        return -(-self.top_bytes // 16)

    @property
    def results(self) -> int:
        """Length of a group's string of results."""
        return len(self.a) if self.weights else self.row_folds * self.depth

    @property
    def result_stride(self) -> int:
        return -(-(-(-self.results // self.limbs) * self.size) // 32)

    @property
    def words(self) -> tuple[int, int, int]:
        """Words of a bank of left, top and result."""
        return (
            self.row_folds * self.left_stride,
            self.col_folds * self.top_stride,
            self.col_folds * self.result_stride,
        )

    def command(self) -> dict[str, int]:
        """Fields of the command."""
        inner = len(self.b) if self.weights else len(self.a)
        last = inner - (self.row_folds - 1) * self.depth
        return {
            "operation": self.mode.value,
            "format": FORMATS_OF_GTA.index(self.name),
            "group": self.region.group,
            "row_folds": self.row_folds,
            "col_folds": self.col_folds,
            "time": len(self.a) if self.weights else len(self.b),
            "rows_last": last if self.weights else last * self.limbs,
            "use_c": int(self.use_c),
            "lateral": int(self.lateral),
            "overlap": int(self.overlap),
            "left_base": self.bases[0],
            "left_stride": self.left_stride if self.row_folds > 1 else 0,
            "top_base": self.bases[1],
            "top_stride": self.top_stride if self.col_folds > 1 else 0,
            "result_base": self.bases[2],
            "result_stride": self.result_stride if self.col_folds > 1 else 0,
            "result_size": self.size.bit_length() - 3,
        }

    def load(self, memories: Memories) -> None:
        """Stores the operands, and C, where the command reads them."""
        size = self.limbs
        a, b = _limbs(self.a, size), _limbs(self.b, size)
        for n in range(len(self.b) if self.weights else len(self.a) * size):
            fold, row = divmod(n, self.region.height)
            stream = a[:, n].reshape(-1) if self.weights else a[n // size, :, n % size]
            lane, begin = self.region.lane(row // ROWS, 0), self.bases[0] + fold * self.left_stride
            memories.left[lane, row % ROWS, 16 * begin : 16 * begin + len(stream)] = stream
        for n in range(self.b.shape[1] * size):
            fold, column = divmod(n, self.breadth * size)
            string = b[:, n // size, n % size]
            lane, begin = (
                self.region.lane(0, column // COLS),
                self.bases[1] + fold * self.top_stride,
            )
            memories.top[lane, column % COLS, 16 * begin : 16 * begin + len(string)] = string
        if self.c is not None:
            old = _limbs(self.c, self.size)
            for m, n in np.ndindex(*self.c.shape):
                self._place(memories.result, m, n)[:] = old[m, n]

    def found(self, result: Bytes) -> Objects:
        """Returns the results in a memory."""
        shape = len(self.a), self.b.shape[1]
        values = np.zeros(shape, object)
        for m, n in np.ndindex(*shape):
            values[m, n] = int.from_bytes(self._place(result, m, n).tobytes(), "little")
        return values

    def computed(self, old: Objects | None) -> Objects:
        """The results, where there was something to add them to before."""
        return exact(self.a, self.b, old, self.size)

    def store(self, result: Bytes, values: Objects) -> None:
        """Stores the results at their places."""
        for (m, n), value in np.ndenumerate(values):
            data = np.frombuffer(int(value).to_bytes(self.size, "little"), np.uint8)
            self._place(result, m, n)[:] = data

    def spare(self, result: Bytes) -> None:
        """Clears what the columns beyond N leave, which nobody asks for."""
        for n in range(self.b.shape[1], self.col_folds * self.breadth):
            for m in range(len(self.a)):
                self._place(result, m, n)[:] = 0

    def _place(self, result: Bytes, m: int, n: int) -> Bytes:
        fold, group = divmod(n, self.breadth)
        column = group * self.limbs
        lane = self.region.lane(self.region.rows - 1, column // COLS)
        bank = (column + m % self.limbs) % BANKS
        begin = 32 * (self.bases[2] + fold * self.result_stride) + m // self.limbs * self.size
        return result[lane, bank, begin : begin + self.size]


def _limbs(values: Objects, size: int) -> Bytes:
    """Splits integers into bytes, the lowest first, along a new last axis."""
    mask = (1 << (8 * size)) - 1
    raw = b"".join((int(v) & mask).to_bytes(size, "little") for v in values.reshape(-1))
    return np.frombuffer(raw, np.uint8).reshape(*values.shape, size)
