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
    """A product on some lanes.

    Parameters
    ----------
    format, a, b, c, result, dataflow: see ``GtaDriver.pgemm``; not "simd"
    lanes: the numbers of its lanes, which are a rectangle of the layout; None: the driver's choice
    """

    format: str
    a: npt.ArrayLike
    b: npt.ArrayLike
    c: npt.ArrayLike | None = None
    result: str = "wrap"
    dataflow: str = "auto"
    lanes: tuple[int, ...] | None = None

    def checked(self, config: GtaConfig) -> GivenProduct:
        """The operands. Raises TypeError and ValueError."""
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
    """Raise ValueError unless two products can have these lanes, in this layout or in any."""
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
    """Multiplies matrices on a device, and computes with vectors.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: where the memory that the driver may use begins

    Members
    -------
    counts: the counters of the last job, of two of a product their sums; empty before the first
    choice: how the last product was laid over the array; None: by vectors
    schedule: the last product's, as the space of schedules has it; None before the first
    left_over: how what was left over of it was done, by itself; None: there was no such part
    choices: how the last two were that ran at the same time

    Raises
    ------
    ValueError if the device's ID is not a GTA's.
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
        """``D = A B (+ C)``, as ``sim/gta/golden/pgemm.py`` has it, bit for bit.

        Parameters
        ----------
        format: of A and B
        a, b, c: patterns of the format, (M, K) and (K, N), and of the result, (M, N), or
            (M, N, 2) words if that is "long"
        result: "wrap", "saturate" or "long"
        dataflow: one of ``DATAFLOWS``; of floats "os" or "simd"; "auto" is never "simd", whose
            elements work each by itself, and whose segments follow each other
        layout: rows and columns of the lanes of a region; None: those that take fewest cycles
        segments: parts into which K is cut at least. Of integers as many as there are lanes or
            masks, a power of two, run at the same time in regions of their own, if the device has
            the format as which their sums are added up, int32 for those of 4 bytes and int64 for
            those of 8; others one after the other. In OS of integers there are as many more as the
            elements' sums need. None: one, or as many at the same time as take fewest cycles
        lateral: tiles and folds go along rows of D first, else along columns
        overlap: a fold begins while the one before is under way
        along: of "simd": True: the array's elements lie along rows of D, or columns if not
            ``lateral``; False: as they stand in the layout; None: what takes fewest cycles by an
            estimate, along rows and columns, too, if no layout is given
        filled: what the last folds in the direction leave of the array idle is not left so: what is
            over of all rows, or columns, is done behind the others, together, a job of its own
            on the layout and in the dataflow that suit it. Not with segments, nor of "simd"

        Raises
        ------
        TypeError for words that are no integers, and for options of another type; ValueError for
        those too wide, for shapes that do not match, for what the device has not, for int64 to be
        saturated whose sums may not fit 128 bits, and if its memory is too small. JobError if it
        reports an error.
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
        """The result of a job."""
        self.choice, self.schedule = chosen, chosen.schedule
        job = LaneJob(chosen.layout, rectangles(self.config, chosen.layout, chosen.regions))
        (found,) = self._run_programs(job, [made.laid_out(chosen)])
        return made.result_of(found, chosen)

    def _filled(self, made: GivenProduct, chosen: FilledChoice) -> Patterns:
        """The results of two jobs; of K the second one's sums begin with the first one's."""
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
        """Two products at the same time, each on a region of lanes with a mask of its own; each
        result is that of ``pgemm``.

        Parameters
        ----------
        first, second: both with lanes, or both without: then they are cut in two as it takes fewest
            cycles by the driver's estimate
        layout: rows and columns of all lanes; None: those that take fewest cycles
        only: 0 or 1: that product alone is run, and had, on the lanes that it would have beside the
            other one; None: both

        Raises as ``pgemm``, and ValueError for lanes that there are not, that are no rectangle, or
        that both products have.
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
