"""Products on GTA: operands into its memory, a list of commands, a job, the result back.

The same program runs on the RTL in a simulator and on anything else that is a ``GtaDevice``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FORMATS
from ...hw.spec.gta import is_float, result_bytes
from ..numbers.given import words_of
from .command_driver import GtaDevice
from .golden.pgemm import RESULTS
from .regions import rectangles
from .tiles.choice import DATAFLOWS as FOLDS
from .tiles.choice import Choice, choose, regions_of
from .tiles.program import LaneJob, widened
from .tiles.segmented_product import SegmentedProduct
from .tiles.tiled_product import TiledProduct
from .vector.driver import VectorDriver
from .vector.products import VectorProduct
from .vector.tiling import VectorTiling

__all__ = ["DATAFLOWS", "GtaDevice", "GtaDriver"]

DATAFLOWS = (*FOLDS, "simd")
"""What stays in the array, see ``tiles/choice.py``, or each sum in an element of its own."""

Patterns = npt.NDArray[np.uint64]


class GtaDriver(VectorDriver):
    """Multiplies matrices on a device, and computes with vectors.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: where the memory that the driver may use begins

    Members
    -------
    counts: the counters of the last job; empty before the first
    choice: how the last product was laid over the array; None: by vectors

    Raises
    ------
    ValueError if the device's ID is not a GTA's.
    """

    choice: Choice | None

    def __init__(self, device: GtaDevice, first_address: int = 0) -> None:
        super().__init__(device, first_address)
        self.choice = None

    def pgemm(
        self,
        format: str,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        *,
        result: str = "wrap",
        dataflow: str = "auto",
        layout: tuple[int, int] | None = None,
        segments: int = 1,
        lateral: bool = True,
        overlap: bool = True,
    ) -> Patterns:
        """``D = A B (+ C)``, as ``sim/gta/golden/pgemm.py`` has it, bit for bit.

        Parameters
        ----------
        format: of A and B
        a, b, c: patterns of the format, (M, K) and (K, N), and of the result, (M, N), or
            (M, N, 2) words if that is "long"
        result: "wrap", "saturate" or "long"
        dataflow: one of ``DATAFLOWS``; of floats "os" or "simd"; "auto" is never "simd", whose
            lanes work each by itself, and whose segments follow each other
        layout: rows and columns of the lanes of a region; None: those that take fewest cycles
        segments: parts into which K is cut at least. Of integers as many as there are lanes or
            masks, a power of two, run at the same time in regions of their own, if the device has
            the format as which their sums are added up, int32 for those of 4 bytes and int64 for
            those of 8; others one after the other. In OS of integers there are as many more as the
            elements' sums need
        lateral: tiles and folds go along rows of D first, else along columns
        overlap: a fold begins while the one before is under way

        Raises
        ------
        TypeError for words that are no integers, and for options of another type; ValueError for
        those too wide, for shapes that do not match, for what the device has not, for int64 to be
        saturated whose sums may not fit 128 bits, and if its memory is too small. JobError if it
        reports an error.
        """
        self._check(format, result, dataflow, segments)
        for name, given in (("lateral", lateral), ("overlap", overlap)):
            if not isinstance(given, bool):
                raise TypeError(f"`{name}` must be True or False, not {given!r}")
        left, right = words_of(a, FORMATS[format].bits), words_of(b, FORMATS[format].bits)
        sizes = left.shape, right.shape
        if (
            (left.ndim, right.ndim) != (2, 2)
            or sizes[0][1] != sizes[1][0]
            or 0 in sizes[0] + sizes[1]
        ):
            raise ValueError(
                f"`a` and `b` must be M x K and K x N, from 1, not {sizes[0]}, {sizes[1]}"
            )
        m, n, k = left.shape[0], right.shape[1], left.shape[1]
        if layout is not None and dataflow == "simd":
            raise ValueError(f"`layout` must be None with dataflow simd, not {layout!r}")
        regions = regions_of(self.config, format, result, segments, k)
        self._check_layout(layout, self.config.lanes // regions)
        usual = result_bytes(format)
        addend = None
        if c is not None:
            addend = words_of(c, 8 * usual)
            shape = (m, n, 2) if result == "long" else (m, n)
            if addend.shape != shape:
                raise ValueError(f"`c` must have shape {shape}, not {addend.shape}")
        flags: dict[str, Any] = {"segments": segments, "lateral": lateral, "overlap": overlap}
        if dataflow == "simd":
            tiling = VectorTiling(
                config=self.config, format=format, sizes=(m, n, k), use_c=c is not None, **flags
            )
            self.choice = None
            contents = tiling.contents(left, right, addend)
            return tiling.result(self._run_commands(VectorProduct(tiling), contents))
        if result == "saturate" and format == "int64":
            _check_sums(left, right, addend)
        chosen = choose(
            self.config,
            format,
            (m, n, k),
            result=result,
            dataflow=dataflow,
            layout=layout,
            **flags,
        )
        if chosen is None:
            raise ValueError(
                "`partial_bits` or `vector_bytes` must be more for this dataflow and layout, not "
                f"{self.config.partial_bits} and {self.config.vector_bytes}"
            )
        self.choice = chosen
        narrow = "saturate" if result == "saturate" else "none"
        if addend is not None and result == "saturate":
            addend = widened(addend, chosen.tiling.problem.width)
        made: TiledProduct | SegmentedProduct
        if chosen.sums:
            made = SegmentedProduct(
                chosen.tiling, k, chosen.sums, narrow=narrow, use_c=c is not None
            )
        else:
            made = TiledProduct(chosen.tiling, narrow=narrow, use_c=c is not None)
        regions_used = chosen.sums.regions if chosen.sums else (chosen.tiling.region,)
        job = LaneJob(chosen.layout, rectangles(self.config, chosen.layout, regions_used))
        if chosen.dataflow == "is":
            turned = None if addend is None else np.swapaxes(addend, 0, 1)
            (found,) = self._run_programs(job, [(made, (right.T, left.T, turned))])
            return np.ascontiguousarray(np.swapaxes(found, 0, 1))
        (found,) = self._run_programs(job, [(made, (left, right, addend))])
        return found

    def _check(self, format: str, result: str, dataflow: str, segments: int) -> None:
        """Raise ValueError for what the device has not."""
        self._check_format(format)
        if result not in RESULTS:
            raise ValueError(f"`result` must be one of {', '.join(RESULTS)}, not {result!r}")
        if result != "wrap" and dataflow == "simd":
            raise ValueError(f"`result` must be wrap with dataflow simd, not {result!r}")
        if result != "wrap" and (
            is_float(format) or (result == "long" and result_bytes(format) != 8)
        ):
            allowed = "wrap" if is_float(format) else "wrap or saturate"
            raise ValueError(f"`result` of {format} must be {allowed}, not {result!r}")
        flows = ("auto", "os", "simd") if is_float(format) else DATAFLOWS
        if dataflow not in flows:
            raise ValueError(f"`dataflow` must be one of {', '.join(flows)}, not {dataflow!r}")
        if segments < 1:
            raise ValueError(f"`segments` must be at least 1, not {segments}")

    def _check_layout(self, layout: tuple[int, int] | None, lanes: int) -> None:
        """Raise TypeError and ValueError for what is not that of so many lanes."""
        if layout is None:
            return
        if not (
            isinstance(layout, tuple)
            and len(layout) == 2
            and all(isinstance(side, int) for side in layout)
        ):
            raise TypeError(
                f"`layout` must be a tuple of two integers, rows and columns, not {layout!r}"
            )
        if layout[0] < 1 or layout[1] < 1 or layout[0] * layout[1] != lanes:
            raise ValueError(
                f"`layout` must be rows x columns of {lanes} lanes, not {layout[0]}x{layout[1]}"
            )


def _check_sums(a: Patterns, b: Patterns, c: Patterns | None) -> None:
    """Raise ValueError if a sum of products of int64 may not fit 128 bits, which the array adds."""
    largest = [max(abs(int(x.view(np.int64).min())), int(x.view(np.int64).max())) for x in (a, b)]
    most = a.shape[1] * largest[0] * largest[1]
    if c is not None:
        most += max(abs(int(c.view(np.int64).min())), int(c.view(np.int64).max()))
    if most >> 127:
        raise ValueError(
            "sums of int64 must fit 128 bits to be saturated; K times the largest of `a` and of "
            f"`b` has {most.bit_length()} bits and a sign"
        )
