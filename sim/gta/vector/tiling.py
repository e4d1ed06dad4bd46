"""Chooses the layout of a product by vectors over the array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....hw.spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
    result_bytes,
)
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, lane_words
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    octet_cycles,
    operand_memories,
    vector_result_bytes,
)
from ...numbers.values import Patterns
from ..array_job import Schedule, layouts
from ..regions import region_of
from ..tiles.segment_sums import StreamImage
from .octets import from_planes, to_planes


def most_chain(config: GtaConfig, format: str) -> int:
    """Octets of a chain of products of integers whose sums of limbs fit an element."""
    return config.most_products // limbs(format)


def vector_faults(
    config: GtaConfig, masks: Sequence[int], layout: int, fields: Mapping[str, int]
) -> list[str]:
    """Returns the errors of an EXECUTE in SIMD, in the order in which they are reported."""
    if fields["result_base"] % 2:
        return ["command"]
    usable = (*config.integers, *config.floats)
    format = FORMATS_OF_GTA[fields["format"]] if fields["format"] < len(FORMATS_OF_GTA) else ""
    functions, number = tuple(VECTOR_FUNCTIONS), fields["function"]
    if format not in usable or number >= len(functions):
        return ["command_format"]
    function, chain = functions[number], fields["chain"]
    if function not in functions_of(format):
        return ["command_format"]
    if region_of(masks, layout, fields["group"]) is None:
        return ["command_lanes"]
    chains = function in ("dot", "sum")
    if not (fields["time"] and chain) or (chain > 1 and not chains) or fields["amount"] >= OCTET:
        return ["command_size"]
    found = []
    if not _fits(config, fields, function, format):
        found.append("command_memory")
    if function == "dot" and not is_float(format) and chain > most_chain(config, format):
        found.append("command_sum")
    return found


def _fits(config: GtaConfig, fields: Mapping[str, int], function: str, format: str) -> bool:
    """Returns whether operands and results lie within the banks."""
    time, size = fields["time"], element_bytes(format)
    ends = {"result": time * OCTET * vector_result_bytes(function, format)}
    # Operands in the memory of results lie where these do.
    for memory in operand_memories(function, format):
        ends.setdefault(memory, time * fields["chain"] * OCTET * size)
    return all(
        fields[f"{memory}_base"] + -(-end // LEFT_WORD_BYTES) <= lane_words(config, memory)
        for memory, end in ends.items()
    )


PLANE_BYTES = OCTET
"""Bytes of a plane of an octet, the element of images."""


_TILE_CYCLES = 40
"""Approximate cycles to read and check the commands of a tile: LOADs, EXECUTE and STORE."""


@dataclass(frozen=True, kw_only=True)
class VectorTiling:
    """Each element of the array computes an element of D, or, of short sums, some one after the
    other. A tile of it is as the elements stand, eight columns a lane and some octets of rows, or a
    part of a column; sums go in parts of ``k``.

    Parameters
    ----------
    config: of the accelerator
    format: of A and B
    sizes: M, N and K
    rows, cols: lanes, down and across
    along: all elements lie along a column of D
    segments: parts into which K is cut at least
    lateral: tiles go along rows of D first
    overlap: a tile begins while the one before is under way
    use_c: sums begin with C

    Raises ValueError for sums of integers that no element holds.
    """

    config: GtaConfig
    format: str
    sizes: tuple[int, int, int]
    rows: int
    cols: int
    along: bool = False
    segments: int = 1
    lateral: bool = True
    overlap: bool = True
    use_c: bool = False

    def __post_init__(self) -> None:
        if not is_float(self.format) and not most_chain(self.config, self.format):
            raise ValueError(
                f"`partial_bits` must be more for sums of products of {self.format}, not "
                f"{self.config.partial_bits}"
            )

    @property
    def octets(self) -> int:
        """Octets of rows of D."""
        return -(-self.sizes[0] // OCTET)

    @property
    def spots(self) -> int:
        """Groups of octets of rows in a tile, one for each bank or for each row of lanes."""
        return BANKS * self.config.lanes if self.along else self.rows

    @cached_property
    def together(self) -> int:
        """Octets of rows of a group. They lie behind each other in a bank, with as many copies of
        the column's part of B, and are one command's: of those that fit, so many that the array
        waits least for commands. Where sums have several parts it is one."""
        width = result_bytes(self.format)
        if self.slots == 1 or self.k < self.sizes[2]:
            return 1
        results = lane_words(self.config, "result") // self.slots * LEFT_WORD_BYTES
        room = min(self._edge(self.slots) // self.k, results // (OCTET * width))
        each = octet_cycles(self.config, "dot", self.format, self.k)
        longest = -(-self.octets // self.spots)

        def cycles(count: int) -> int:
            return -(-longest // count) * max(count * each, _TILE_CYCLES)

        return min(range(1, max(1, min(room, longest)) + 1), key=cycles)

    @property
    def groups(self) -> int:
        """Number of groups of octets of rows of D; the last one may be filled up with zeros."""
        return -(-self.octets // self.together)

    @property
    def wide(self) -> int:
        """Columns of a tile."""
        return 1 if self.along else COLS * self.cols

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tiles along M and N, and parts along K."""
        _, n, k = self.sizes
        return -(-self.groups // self.spots), -(-n // self.wide), -(-k // self.k)

    @property
    def refilled(self) -> tuple[bool, bool]:
        """Flags of A and of B: their operands are loaded again for each tile that uses them. Only
        as many parts as there are slots stay resident."""
        down, across, deep = self.counts
        own, other = (across, down) if self.lateral else (down, across)
        outer, inner = own > 1 and deep > self.slots, other > 1 and own * deep > self.slots
        return (outer, inner) if self.lateral else (inner, outer)

    @property
    def slots(self) -> int:
        """Parts of each memory: of two one is filled, or emptied, while the other works."""
        return 2 if self._edge(2) else 1

    @property
    def k(self) -> int:
        """Products of a part of a sum."""
        most = min(self._edge(self.slots), -(-self.sizes[2] // self.segments))
        return most if is_float(self.format) else min(most, most_chain(self.config, self.format))

    def _edge(self, slots: int) -> int:
        """Octets that a part of a memory holds."""
        octet = OCTET * element_bytes(self.format)
        return lane_words(self.config, "left") // slots * LEFT_WORD_BYTES // octet

    @property
    def moved(self) -> tuple[int, int, int]:
        """Elements of A and of B that are loaded, and of D, whole groups of octets: a number of A
        goes to all columns of a tile, one of B eight times to each octet of rows."""
        _, n, k = self.sizes
        again_a, again_b = self.refilled
        rows = self.groups * self.together * OCTET
        a = rows * k * (n if again_a else min(self.wide, n))
        copies = self.together * (self.groups if again_b else min(self.spots, self.groups))
        b = n * k * OCTET * copies
        return a, b, rows * n

    @cached_property
    def images(self) -> dict[str, StreamImage]:
        """The images of a (by groups of octets of rows), b (by columns, each number eight times for
        each octet of a group), d and, if present, c (by columns), all in planes."""
        _, n, k = self.sizes
        together, groups = self.together, self.groups
        size, width = element_bytes(self.format), together * result_bytes(self.format)
        chain = {"count": together * k * size, "piece": together * self.k * size}
        plane = {"element": PLANE_BYTES, "beat": beat_bytes(self.config)}
        found = {
            "a": StreamImage(streams=groups, **chain, **plane),
            "b": StreamImage(streams=n, **chain, **plane),
            "d": StreamImage(streams=n, count=groups * width, piece=width, **plane),
        }
        return found | ({"c": found["d"]} if self.use_c else {})

    def contents(self, a: Patterns, b: Patterns, c: Patterns | None) -> dict[str, Patterns]:
        """Returns the contents of the images from operands of (M, K), (K, N) and (M, N)."""
        m, n, k = self.sizes
        together = self.together
        rows = np.zeros((self.groups * together * OCTET, k), np.uint64)
        rows[:m] = a
        left = rows.reshape(-1, together, OCTET, k).swapaxes(2, 3).reshape(self.groups, -1, OCTET)
        top = np.broadcast_to(b.T[:, None, :, None], (n, together, k, OCTET)).reshape(n, -1, OCTET)
        size, width = element_bytes(self.format), result_bytes(self.format)
        found = {"a": to_planes(left, size).view("<u8"), "b": to_planes(top, size).view("<u8")}
        if c is not None:
            addend = np.zeros((n, len(rows)), np.uint64)
            addend[:, :m] = c.T
            found["c"] = to_planes(addend.reshape(n, -1, OCTET), width).view("<u8")
        return found

    def result(self, planes: Patterns) -> Patterns:
        """D of what its image has."""
        m, n, _ = self.sizes
        content = np.ascontiguousarray(planes, np.dtype("<u8")).view(np.uint8)
        found = from_planes(content, result_bytes(self.format)).reshape(n, -1)
        return np.ascontiguousarray(found[:, :m].T)


_CHECK_CYCLES = 6
"""Approximate cycles of the check of a command, beside one for each lane."""


@dataclass(frozen=True)
class VectorChoice:
    """A way.

    Parameters
    ----------
    schedule: as the space of schedules has it
    tiling: where elements lie along rows of D that of the transposed product
    """

    schedule: Schedule
    tiling: VectorTiling

    @property
    def turned(self) -> bool:
        """True if the product is transposed."""
        return self.schedule.along and self.schedule.lateral

    @property
    def cycles(self) -> int:
        """About how many a whole job takes: of the array, of the port, which has the list, too, and
        of the check of commands the most."""
        tiling, config = self.tiling, self.tiling.config
        beat = beat_bytes(config)
        a, b, d = tiling.moved
        down, across, deep = tiling.counts
        tiles, rows = down * across, 1 if tiling.along else tiling.rows
        commands = tiles * (deep * (2 * rows + 1) + rows)
        loaded = (a + b) * element_bytes(tiling.format) + commands * COMMAND_BYTES
        stored = d * result_bytes(tiling.format)
        ports = (loaded, stored) if config.managers == 2 else (loaded + stored,)
        each = octet_cycles(config, "dot", tiling.format, tiling.k)
        array = tiles * deep * max(tiling.together * each, COLS)
        return max(
            array, commands * (_CHECK_CYCLES + config.lanes), *(-(-p // beat) for p in ports)
        )

    @property
    def cost(self) -> tuple[int, int]:
        """The cost that the best choice minimises: cycles, then elements loaded."""
        return self.cycles, sum(self.tiling.moved[:2])


def laid_out(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    schedule: Schedule,
    **flags: Any,
) -> VectorChoice:
    """Lays a product out by a schedule. Raises ValueError for sums of integers that no element
    holds.

    Parameters
    ----------
    sizes: M, N and K
    flags: ``overlap`` and ``use_c`` of :class:`VectorTiling`
    """
    m, n, k = sizes
    turned = schedule.along and schedule.lateral
    tiling = VectorTiling(
        config=config,
        format=format,
        sizes=(n, m, k) if turned else sizes,
        rows=schedule.rows,
        cols=schedule.cols,
        along=schedule.along,
        segments=schedule.segments,
        # A part of a column stays while rows of what it is multiplied by go past.
        lateral=schedule.along or schedule.lateral,
        **flags,
    )
    return VectorChoice(schedule, tiling)


def vector_schedules(lanes: int, **more: Any) -> Iterator[Schedule]:
    """All of so many lanes, of both directions; ``more``: what they have alike."""
    for lateral in (True, False):
        for rows, cols in layouts(lanes):
            yield Schedule(dataflow="simd", rows=rows, cols=cols, lateral=lateral, **more)
        yield Schedule(dataflow="simd", rows=lanes, cols=1, lateral=lateral, along=True, **more)


def choose_vectors(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    layout: tuple[int, int] | None = None,
    along: bool | None = None,
    lateral: bool = True,
    segments: int = 1,
    **flags: Any,
) -> VectorChoice:
    """The best of those that are left, see ``GtaDriver.pgemm``."""
    found = [
        laid_out(config, format, sizes, one, **flags)
        for one in vector_schedules(config.lanes, segments=segments)
        if (layout is None or (layout == (one.rows, one.cols) and not one.along))
        and along in (None, one.along)
        # Rows are the default, unless nothing is said: then columns are open, too.
        and (one.lateral == lateral or (one.along and lateral and along is None))
    ]
    return min(found, key=lambda one: one.cost)
