"""Products on GTA: operands into its memory, a list of commands, a job, the result back.

The same program runs on the RTL in a simulator and on anything else that is a ``GtaDevice``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import GtaConfig
from .array_job import Schedule
from .command_driver import GtaDevice
from .given_product import DATAFLOWS, GivenProduct, check_layout, given_product
from .regions import rectangles
from .schedule.evaluate import FilledChoice, choose_filled
from .tiles.choice import Choice, Wanted, choose, choose_side_by_side, region_of_lanes, regions_of
from .tiles.program import LaneJob
from .vector.driver import VectorDriver
from .vector.products import VectorProduct
from .vector.tiling import choose_vectors


@dataclass(frozen=True, kw_only=True)
class ProductCall:
    """A product on some of the lanes.

    Parameters
    ----------
    format, a, b, c, result, dataflow: as for ``GtaDriver.pgemm``, without "simd"
    lanes: numbers of its lanes, which form a rectangle of the layout; None for the driver's choice
    """

    format: str
    a: npt.ArrayLike
    b: npt.ArrayLike
    c: npt.ArrayLike | None = None
    result: str = "wrap"
    dataflow: str = "auto"
    lanes: tuple[int, ...] | None = None

    def checked(self, config: GtaConfig) -> GivenProduct:
        """Returns the checked operands. Raises TypeError and ValueError."""
        if self.dataflow == "simd":
            raise ValueError("`dataflow` must be ws, is, os or auto for a product on separate "
                             "lanes, not "
                             "'simd'")  # fmt: skip
        return given_product(
            config,
            self.format,
            self.a,
            self.b,
            self.c,
            result=self.result,
            dataflow=self.dataflow,
        )


def check_lanes(
    config: GtaConfig,
    first: tuple[int, ...] | None,
    second: tuple[int, ...] | None,
    layout: tuple[int, int] | None,
) -> None:
    """Raises ValueError unless two products can have these lanes, in this layout or in any."""
    if config.lanes == 1:
        raise ValueError("`lanes` must be at least 2 for two products at the same time, not 1")
    if (first is None) != (second is None):
        raise ValueError("`lanes` must be given of both products, or of neither")
    if first is None or second is None:
        return
    for lanes in (first, second):
        wrong = [lane for lane in lanes if not 0 <= lane < config.lanes]
        if wrong:
            raise ValueError(f"`lanes` must be in 0..{config.lanes - 1}, not {wrong[0]}")
        if not lanes:
            raise ValueError("`lanes` must be at least one, not none")
    both = sorted(set(first) & set(second))
    if both:
        raise ValueError(f"`lanes` must be of one product each, not {_named(both)} of both")
    allowed = [number for number in range(config.lanes.bit_length())
               if layout in (None, (config.lanes >> number, 1 << number))]  # fmt: skip
    where = "any layout" if layout is None else f"the layout {layout[0]}x{layout[1]}"
    for lanes in (first, second):
        if not any(region_of_lanes(config, number, lanes) for number in allowed):
            raise ValueError(f"`lanes` must be a rectangle of {where}, not {_named(lanes)}")
    if not any(
        region_of_lanes(config, number, first) and region_of_lanes(config, number, second)
        for number in allowed
    ):
        raise ValueError(
            f"`lanes` must be rectangles of one layout, not {_named(first)} and {_named(second)}"
        )


def _named(lanes: tuple[int, ...] | list[int]) -> str:
    return "+".join(map(str, lanes))


__all__ = ["DATAFLOWS", "GtaDevice", "GtaDriver", "ProductCall"]

Patterns = npt.NDArray[np.uint64]


class GtaDriver(VectorDriver):
    """Multiplies matrices and computes with vectors on a GTA.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: lowest address that the driver may use

    Members
    -------
    counts: counters of the last job; their sums if a product took two jobs; empty before the first
        one
    choice: layout of the last product on the array; None if it ran on the vector path
    schedule: schedule of the last product, as the space of schedules describes it; None before the
        first one
    left_over: how the remaining rows or columns of the last product ran as a job; None without such
        a job
    choices: layouts of the last two products that ran at the same time

    Raises
    ------
    ValueError: the device's register ID is not that of a GTA
    """

    choice: Choice | None
    schedule: Schedule | None
    left_over: Choice | None
    choices: tuple[Choice, Choice] | None

    def __init__(self, device: GtaDevice, first_address: int = 0) -> None:
        super().__init__(device, first_address)
        self.choice, self.schedule, self.choices = None, None, None
        self.left_over = None

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
        segments: int | None = 1,
        lateral: bool = True,
        overlap: bool = True,
        along: bool | None = None,
        filled: bool = False,
    ) -> Patterns:
        """Computes ``D = A B (+ C)``, bit for bit as ``sim/gta/golden/pgemm.py``.

        Parameters
        ----------
        format: format of A and B
        a, b: words of the format, (M, K) and (K, N)
        c: words of the format of the result, (M, N); (M, N, 2) if that is "long"
        result: "wrap", "saturate" or "long"
        dataflow: one of ``DATAFLOWS``; for floats "os" or "simd". "auto" never chooses "simd", in
            which each element computes alone and segments run one after the other
        layout: rows and columns of the lanes of a region; None for the fastest
        segments: least number of parts of K. For integers a power of two of them, up to the lanes
            and the masks, runs at the same time in separate regions, if the device has the format
            that adds their sums: int32 for sums of 4 bytes, int64 for sums of 8. Other parts run
            one after the other. OS of integers has as many more parts as an element's sums need.
            None chooses one part, or the fastest number at the same time
        lateral: True to order tiles and folds along rows of D first, False along columns
        overlap: True to start a fold before the one before has ended
        along: for "simd": True to place the array's elements along rows of D, or along columns if
            not ``lateral``; False to place them as in the layout; None for the faster one by an
            estimate, which tries rows and columns if no layout is given
        filled: True to run the rows or columns that would leave a part of the array idle in a job
            after the others, with the layout and the dataflow that suit it. Not with segments or
            "simd"

        Raises
        ------
        TypeError: words that are no integers; an option of another type
        ValueError: words that are too wide; shapes that do not match; features that the device does
            not have; saturated int64 whose sums may not fit 128 bits; a memory that is too small
        JobError: the device reports an error
        """
        for name, given in (("lateral", lateral), ("overlap", overlap), ("filled", filled)):
            if not isinstance(given, bool):
                raise TypeError(f"`{name}` must be True or False, not {given!r}")
        if along is not None and not isinstance(along, bool):
            raise TypeError(f"`along` must be True, False or None, not {along!r}")
        if along and layout is not None:
            raise ValueError(f"`layout` must be None along rows or columns, not {layout!r}")
        made = given_product(self.config, format, a, b, c, result=result, dataflow=dataflow)
        if segments is not None and segments < 1:
            raise ValueError(f"`segments` must be at least 1, not {segments}")
        self.left_over = None
        if filled and (dataflow == "simd" or segments not in (None, 1)):
            known = "dataflow simd" if dataflow == "simd" else f"{segments} segments"
            raise ValueError(f"`filled` must be False with {known}, not True")
        flags: dict[str, Any] = {"segments": segments, "lateral": lateral, "overlap": overlap}
        if dataflow == "simd":
            check_layout(layout, self.config.lanes)
            more = {"layout": layout, "along": along, "segments": segments or 1}
            return self._by_vectors(made, flags | more)
        if along is not None:
            raise ValueError(f"`along` must be None but with dataflow simd, not {along!r}")
        regions = regions_of(self.config, format, result, segments or 1, made.sizes[2])
        check_layout(layout, self.config.lanes // regions)
        flags |= {"result": result, "dataflow": dataflow, "layout": layout}
        if filled:
            del flags["segments"]
            return self._filled(made, choose_filled(self.config, format, made.sizes, **flags))
        chosen = choose(self.config, format, made.sizes, **flags)
        if chosen is None:
            raise self._does_not_fit()
        return self._laid_out(made, chosen)

    def _laid_out(self, made: GivenProduct, chosen: Choice) -> Patterns:
        """Returns the result of one job."""
        self.choice, self.schedule = chosen, chosen.schedule
        job = LaneJob(chosen.layout, rectangles(self.config, chosen.layout, chosen.regions))
        (found,) = self._run_programs(job, [made.laid_out(chosen)])
        return made.result_of(found, chosen)

    def _filled(self, made: GivenProduct, chosen: FilledChoice) -> Patterns:
        """Returns the results of two jobs. If K is divided, the second job adds to the sums of the
        first."""
        full, rest = made.parts(chosen.axis, chosen.at)
        found = self._laid_out(full, chosen.full)
        counts = self.counts
        if chosen.axis == 2:
            found = self._laid_out(replace(rest, c=found), chosen.rest)
        else:
            found = np.concatenate([found, self._laid_out(rest, chosen.rest)], axis=chosen.axis)
        self.counts = {name: count + self.counts[name] for name, count in counts.items()}
        self.choice, self.schedule, self.left_over = chosen.full, chosen.schedule, chosen.rest
        return found

    def pair(
        self,
        first: ProductCall,
        second: ProductCall,
        layout: tuple[int, int] | None = None,
        *,
        only: int | None = None,
    ) -> list[Patterns]:
        """Computes two products at the same time, each on a region of lanes with a separate mask.

        Each result is that of ``pgemm``.

        Parameters
        ----------
        first, second: the products, both with lanes, or both without; the driver then chooses the
            fastest division by its estimate
        layout: rows and columns of all lanes; None for the fastest
        only: 0 or 1 to run and return that product alone, on the lanes that it would have beside
            the other one; None for both

        Raises
        ------
        ValueError: unknown lanes, lanes that form no rectangle, or a lane in both products
        ValueError, TypeError, JobError: as ``pgemm``
        """
        calls = first, second
        given = [call.checked(self.config) for call in calls]
        check_layout(layout, self.config.lanes)
        check_lanes(self.config, first.lanes, second.lanes, layout)
        wanted = tuple(
            Wanted(
                format=call.format,
                sizes=one.sizes,
                result=call.result,
                dataflow=call.dataflow,
                lanes=call.lanes,
            )
            for call, one in zip(calls, given, strict=True)
        )
        chosen = choose_side_by_side(self.config, (wanted[0], wanted[1]), layout)
        if chosen is None:
            raise self._does_not_fit()
        self.choices = chosen
        regions = [choice.tiling.region for choice in chosen]
        layout_number = chosen[0].layout
        job = LaneJob(layout_number, rectangles(self.config, layout_number, regions))
        numbers = (0, 1) if only is None else (only,)
        work = [given[number].laid_out(chosen[number], number) for number in numbers]
        found = self._run_programs(job, work)
        return [
            given[number].result_of(words, chosen[number])
            for number, words in zip(numbers, found, strict=True)
        ]

    def _by_vectors(self, made: GivenProduct, flags: dict[str, Any]) -> Patterns:
        use_c = made.c is not None
        chosen = choose_vectors(self.config, made.format, made.sizes, use_c=use_c, **flags)
        self.choice, self.schedule = None, chosen.schedule
        tiling = chosen.tiling
        contents = tiling.contents(*made.operands(turned=chosen.turned))
        words = self._run_commands(VectorProduct(tiling), contents, tiling.cols.bit_length() - 1)
        found = tiling.result(words)
        return np.ascontiguousarray(found.T) if chosen.turned else found

    def _does_not_fit(self) -> ValueError:
        return ValueError(
            "`partial_bits` or `vector_bytes` must be more for this dataflow and layout, not "
            f"{self.config.partial_bits} and {self.config.vector_bytes}"
        )
