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
    """The counters after a job."""

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
    """Programs an engine.

    Besides its methods it has a function for each semiring of the engine, such as
    ``simd2_minplus(a, b, c)``: D of whole NumPy matrices.

    Parameters
    ----------
    device: the engine and its memory
    first_address: where the memory that the driver may use begins

    Members
    -------
    counts: the counters of the last job

    Raises
    ------
    ValueError if the device's ID is not an engine's.
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
        """A new matrix, its rows at whole beats; its memory is as it was.

        Raises
        ------
        ValueError if a size or the format cannot be, or the memory is full.
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
        """Matrices made inside are gone afterwards."""
        return self._memory.scratch()

    def load_words(self, matrix: Matrix, words: npt.ArrayLike) -> None:
        """Fill a matrix with container words, (rows, cols).

        Raises TypeError and ValueError for what are none, ValueError for another shape.
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
        """The container words of a matrix, (rows, cols)."""
        _check_matrix("matrix", matrix)
        lines, across = matrix.stored_shape
        content = self._device.read_memory(matrix.address, lines * matrix.stride)
        whole = np.frombuffer(content, np.uint8).reshape(lines, matrix.stride)
        used = np.ascontiguousarray(whole[:, : across * matrix.bits // 8])
        words = used.view(f"<u{matrix.bits // 8}").astype(np.uint64)
        return words.T if matrix.transposed else words

    def loadmatrix(self, matrix: Matrix, values: npt.ArrayLike) -> None:
        """Fill a matrix with numbers, (rows, cols), rounded to its format.

        Raises ValueError for another shape, and for imaginary parts or fractions that the format
        does not have.
        """
        _check_matrix("matrix", matrix)
        self.load_words(matrix, to_words(values, matrix.format))

    def fillmatrix(self, matrix: Matrix, value: complex) -> None:
        """Fill a matrix with one number."""
        _check_matrix("matrix", matrix)
        self.loadmatrix(matrix, np.full((matrix.rows, matrix.cols), value))

    def storematrix(self, matrix: Matrix) -> npt.NDArray[Any]:
        """The numbers of a matrix."""
        return from_words(self.store_words(matrix), matrix.format)

    # Jobs

    def mmo(self, operation: str, d: Matrix, a: Matrix, b: Matrix, c: Matrix | None = None) -> None:
        """``D = C (+) A (x) B``, or without C ``D = A (x) B``; only B may be transposed.

        Raises
        ------
        TypeError if one is no :class:`Matrix`, ValueError if shapes or formats do not fit, JobError
        if the engine reports an error.
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
        """A register's description, which packs and unpacks its fields."""
        return self._registers.register(name)

    def write(self, name: str, value: int) -> None:
        """Write a register by name."""
        self._registers.write(name, value)

    def read(self, name: str) -> int:
        """Read a register by name."""
        return self._registers.read(name)

    def write_job(self, job: Job) -> None:
        """Write the job registers."""
        self._registers.write_all(job.registers)

    def submit(self, job: Job) -> None:
        """Write the job registers and run. Raises as :meth:`run`."""
        self.write_job(job)
        self.run()

    def run(self) -> None:
        """Start the job of the registers, wait for its end, and take its counters.

        Raises JobError if it failed.
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
        """D of NumPy matrices, which are rounded to the operation's formats.

        Raises
        ------
        ValueError if shapes do not fit, numbers are complex in a real format or have fractions in
        one of integers, or the memory is too small, JobError if the engine reports
        an error.
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
        """``D = C + A B``; ``mode``: of a multi-mode unit, by default its first."""
        product, *others = self.config.unit.products
        if not others:
            if mode is not None:
                raise ValueError(f"`mode` must be None for a semiring unit, not {mode!r}")
            return self.compute(product, a, b, c)
        return self.compute(mode or next(iter(self.config.opcodes)), a, b, c)
