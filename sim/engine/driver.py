"""The programming model of the engine: matrices in its memory and operations on them.

The same program runs on the model (``sim.engine.model.EngineModel``), on the RTL in a simulator,
and on anything else that is a ``EngineDevice``.

Source: SIMD2, the programming model (matrix, fillmatrix, loadmatrix, mmo, storematrix).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.engine import SIZE_BITS, EngineConfig
from ...hw.spec.formats import FORMATS
from ...hw.spec.jobs.engine import COUNTERS, job_spec
from ...hw.spec.registers.register_map import Register
from ...hw.spec.semirings import SEMIRINGS
from ..device.driver import JobDriver, check_type
from ..device.protocol import AcceleratorDevice
from ..numbers.container_words import words_of
from .job import Job
from .matrices import Matrix, container_bits, formats_of, from_words, to_words


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Values of the engine's counters after a job."""

    cycles: int
    busy_cycles: int
    stalls: int
    operations: int
    bytes_read: int
    bytes_written: int

    @property
    def utilisation(self) -> float:
        """Share of the cycles from the first to the last operation in which the unit had one."""
        return self.busy_cycles / max(1, self.busy_cycles + self.stalls)


assert [item.name for item in fields(Counts)] == list(COUNTERS)


EngineDevice = AcceleratorDevice[EngineConfig]
"""An engine with its memory."""


def _check_matrix(name: str, matrix: object) -> None:
    check_type(name, matrix, Matrix, "a Matrix, as the driver's `matrix` gives it")


class Driver(JobDriver[EngineConfig]):
    """Places matrices in the memory of a tile engine and runs jobs on it.

    Besides its methods it has one function for each semiring of the engine, such as
    ``simd2_minplus(a, b, c)``, which takes and returns whole NumPy matrices.

    Parameters
    ----------
    device: the engine and its memory
    first_address: lowest address that the driver may use

    Members
    -------
    counts: counters of the last job

    Raises
    ------
    ValueError: the device's register ID is not that of an engine
    """

    counts: Counts

    def __init__(self, device: EngineDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.beat_bytes,
            addr_bits=config.addr_bits,
        )

    def __getattr__(self, name: str) -> Callable[..., npt.NDArray[Any]]:
        semiring = name.removeprefix("simd2_")
        known = semiring in SEMIRINGS and semiring in self.config.opcodes
        if name == semiring or not known:
            raise AttributeError(f"the engine's driver has no `{name}`")

        def compute(
            a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike | None = None
        ) -> npt.NDArray[Any]:
            return self.compute(semiring, a, b, c)

        compute.__name__, compute.__doc__ = name, f"D = C (+) A (x) B in {semiring}."
        return compute

    # Matrices

    def matrix(self, rows: int, cols: int, format: str, *, transposed: bool = False) -> Matrix:
        """Allocates a matrix in the device's memory. Each row starts at a whole beat; the memory is
        not cleared.

        Parameters
        ----------
        rows, cols: shape of the matrix
        format: number format of its elements
        transposed: True to store it by columns

        Raises
        ------
        ValueError: a size or a format that the engine does not have; a full memory
        """
        for name, size in (("rows", rows), ("cols", cols)):
            if not 0 < size < 1 << SIZE_BITS:
                raise ValueError(f"`{name}` must be in 1..{(1 << SIZE_BITS) - 1}, not {size}")
        if format != "fp32c" and format not in FORMATS:
            raise ValueError(f"`format` must be one of {', '.join(FORMATS)}, fp32c, not {format!r}")
        beat = self.config.beat_bytes
        lines, across = (cols, rows) if transposed else (rows, cols)
        stride = -(-across * container_bits(format) // self.config.data_bits) * beat
        address = self._memory.take(lines * stride, f"a {rows} x {cols} matrix of {format}")
        return Matrix(
            rows=rows,
            cols=cols,
            format=format,
            address=address,
            stride=stride,
            transposed=transposed,
        )

    def scratch(self) -> AbstractContextManager[None]:
        """Returns a context that frees, at its end, the matrices that were allocated inside."""
        return self._memory.scratch()

    def load_words(self, matrix: Matrix, words: npt.ArrayLike) -> None:
        """Writes a matrix from words, shape (rows, cols).

        Raises TypeError and ValueError for values that are no words of the format, ValueError for
        another shape.
        """
        _check_matrix("matrix", matrix)
        array = words_of(words, matrix.bits)
        if array.shape != (matrix.rows, matrix.cols):
            shape = (matrix.rows, matrix.cols)
            raise ValueError(f"`words` must have shape {shape}, not {array.shape}")
        stored = (array.T if matrix.transposed else array).astype(f"<u{matrix.bits // 8}")
        lines = np.ascontiguousarray(stored).view(np.uint8)
        for number, line in enumerate(lines):
            self._device.write_memory(matrix.address + number * matrix.stride, line.tobytes())

    def store_words(self, matrix: Matrix) -> npt.NDArray[np.uint64]:
        """Reads a matrix as words: uint64, (rows, cols)."""
        _check_matrix("matrix", matrix)
        lines, across = matrix.stored_shape
        content = self._device.read_memory(matrix.address, lines * matrix.stride)
        whole = np.frombuffer(content, np.uint8).reshape(lines, matrix.stride)
        used = np.ascontiguousarray(whole[:, : across * matrix.bits // 8])
        words = used.view(f"<u{matrix.bits // 8}").astype(np.uint64)
        return words.T if matrix.transposed else words

    def loadmatrix(self, matrix: Matrix, values: npt.ArrayLike) -> None:
        """Writes a matrix from numbers, shape (rows, cols), which are rounded to its format.

        Raises ValueError for another shape, and for imaginary parts or fractions that the format
        does not have.
        """
        _check_matrix("matrix", matrix)
        self.load_words(matrix, to_words(values, matrix.format))

    def fillmatrix(self, matrix: Matrix, value: complex) -> None:
        """Writes one number to all elements of a matrix."""
        _check_matrix("matrix", matrix)
        self.loadmatrix(matrix, np.full((matrix.rows, matrix.cols), value))

    def storematrix(self, matrix: Matrix) -> npt.NDArray[Any]:
        """Reads a matrix as numbers, (rows, cols)."""
        return from_words(self.store_words(matrix), matrix.format)

    # Jobs

    def mmo(self, operation: str, d: Matrix, a: Matrix, b: Matrix, c: Matrix | None = None) -> None:
        """Runs the job ``D = C (+) A (x) B``, or ``D = A (x) B`` without C. Only B may be
        transposed.

        Raises
        ------
        TypeError: an operand that is no :class:`Matrix`
        ValueError: shapes or formats that do not fit the operation
        JobError: the engine reports an error
        """
        self._check(operation, d, a, b, c)
        places = {"a": a, "b": b, "c": c or d, "d": d}
        self.submit(
            Job(
                op=self.config.opcodes[operation],
                m=d.rows,
                n=d.cols,
                k=a.cols,
                base={name: matrix.address for name, matrix in places.items()},
                stride={name: matrix.stride for name, matrix in places.items()},
                transposed_b=b.transposed,
                use_c=c is not None,
            )
        )

    def _check(self, operation: str, d: Matrix, a: Matrix, b: Matrix, c: Matrix | None) -> None:
        element, result = formats_of(self.config, operation)
        _check_matrix("d", d)
        _check_matrix("a", a)
        wanted = {
            "a": (a, (d.rows, a.cols), element),
            "b": (b, (a.cols, d.cols), element),
            "d": (d, (d.rows, d.cols), result),
        }
        if c is not None:
            wanted["c"] = (c, (d.rows, d.cols), result)
        for name, (matrix, shape, format) in wanted.items():
            _check_matrix(name, matrix)
            if (matrix.rows, matrix.cols) != shape:
                found = (matrix.rows, matrix.cols)
                raise ValueError(f"`{name}` must have shape {shape}, not {found}")
            if matrix.format != format:
                raise ValueError(
                    f"`{name}` must be of format {format} for {operation}, not {matrix.format}"
                )
            if matrix.transposed and name != "b":
                raise ValueError(f"`{name}` must not be transposed")

    def register(self, name: str) -> Register:
        """Returns a register's description, which packs and unpacks its fields."""
        return self._registers.register(name)

    def write(self, name: str, value: int) -> None:
        """Writes a register by name."""
        self._registers.write(name, value)

    def read(self, name: str) -> int:
        """Reads a register by name."""
        return self._registers.read(name)

    def write_job(self, job: Job) -> None:
        """Writes the registers of a job."""
        self._registers.write_all(job.registers)

    def submit(self, job: Job) -> None:
        """Writes the registers of a job and runs it. Raises as :meth:`run`."""
        self.write_job(job)
        self.run()

    def run(self) -> None:
        """Starts the job of the registers, waits for its end, and reads the counters.

        Raises JobError if the job failed.
        """
        status = self._registers.run()
        self.counts = Counts(**status.counts)
        status.check()

    # Whole matrices

    def compute(
        self,
        operation: str,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
    ) -> npt.NDArray[Any]:
        """Computes D of NumPy matrices, which are rounded to the operation's formats.

        Parameters
        ----------
        operation: name of an operation of the unit
        a, b, c: numbers, (M, K), (K, N) and (M, N); C is optional

        Returns
        -------
        The numbers of D, (M, N).

        Raises
        ------
        ValueError: shapes that do not match; imaginary parts or fractions that a format does not
            have; a memory that is too small
        JobError: the engine reports an error
        """
        element, result = formats_of(self.config, operation)
        left, right = np.asarray(a), np.asarray(b)
        for name, array in (("a", left), ("b", right)):
            if array.ndim != 2:
                raise ValueError(f"`{name}` must be a matrix, not of shape {array.shape}")
        with self.scratch():
            a_matrix = self.matrix(left.shape[0], left.shape[1], element)
            b_matrix = self.matrix(right.shape[0], right.shape[1], element)
            d_matrix = self.matrix(left.shape[0], right.shape[1], result)
            self.loadmatrix(a_matrix, left)
            self.loadmatrix(b_matrix, right)
            if c is not None:
                if np.shape(c) != (d_matrix.rows, d_matrix.cols):
                    shape = (d_matrix.rows, d_matrix.cols)
                    raise ValueError(f"`c` must have shape {shape}, not {np.shape(c)}")
                self.loadmatrix(d_matrix, c)
            # C is read before D is written there.
            self.mmo(operation, d_matrix, a_matrix, b_matrix, None if c is None else d_matrix)
            return self.storematrix(d_matrix)

    def gemm(
        self,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        *,
        mode: str | None = None,
    ) -> npt.NDArray[Any]:
        """Computes ``D = C + A B`` as :meth:`compute` does. ``mode`` chooses the format of a
        multi-mode unit, by default its first one."""
        product, *others = self.config.unit.products
        if not others:
            if mode is not None:
                raise ValueError(f"`mode` must be None for a semiring unit, not {mode!r}")
            return self.compute(product, a, b, c)
        return self.compute(mode or next(iter(self.config.opcodes)), a, b, c)
