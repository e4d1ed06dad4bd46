"""Configurations of the tile engine around a matrix unit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .config import Config, IntRange, like, parameter
from .m3xu import M3xuConfig
from .matrix_unit import MatrixUnitConfig
from .sidecar.traffic import Traffic, one_id_each
from .simd2 import Simd2Config
from .unit import Unit

__all__ = [
    "ENGINE_M3XU",
    "ENGINE_SIMD2",
    "ID_BITS",
    "OPERANDS",
    "SIZE_BITS",
    "UNITS",
    "EngineConfig",
    "M3xuEngineConfig",
    "Simd2EngineConfig",
]

SIZE_BITS = 16
"""Width of M, N and K: the largest matrix is one less than 2 ** SIZE_BITS each way."""

ID_BITS = 2
"""Width of an AXI ID: which operand is read."""

OPERANDS = ("a", "b", "c", "d")

_MANAGERS = {1: (0, 0, 0), 2: (0, 0, 1), 3: (0, 1, 2)}
"""Managers by their number: the one that reads A, the one that reads B, the one for C and D."""

_LARGEST_AUTOMATIC_BLOCK = 32
_LONGEST_BURST = 64


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Config):
    """Parameters of an engine around its matrix unit.

    D is computed in blocks of ``block_rows x block_cols`` tiles of the unit, ``block_depth`` k
    tiles being in the scratchpads at a time.
    """

    data_bits: int = parameter(
        64, allowed=IntRange(64, 512, power_of_two=True), doc="width of a memory channel, in bits"
    )
    addr_bits: int = parameter(40, allowed=IntRange(32, 64), doc="width of an address, in bits")
    managers: int = parameter(
        1,
        allowed=IntRange(1, 3),
        doc="memory channels; 1: for all; 2: A and B, C and D; 3: A, B, C and D",
    )
    outstanding: int = parameter(
        8, allowed=IntRange(1, 32), doc="bursts of an operand that may be in flight"
    )
    block_rows: int = parameter(
        0,
        allowed=IntRange(0, 64, power_of_two=True),
        doc="tiles of a block, downwards; 0: chosen so that loads of B take half of the time",
    )
    block_cols: int = parameter(
        0,
        allowed=IntRange(0, 64, power_of_two=True),
        doc="tiles of a block, across; 0: chosen so that loads of A take half of the time",
    )
    block_depth: int = parameter(
        0,
        allowed=IntRange(0, 64, power_of_two=True),
        doc="k tiles that are loaded at a time; 0: rows of eight beats",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in self.least_blocks().items():
            value = getattr(self, name)
            if 0 < value < least:
                raise ValueError(
                    f"`{name}` must be 0 or at least {least} for whole beats of {self.data_bits} "
                    f"bits, not {value}"
                )

    @property
    @abstractmethod
    def unit(self) -> MatrixUnitConfig:
        """The matrix unit's configuration."""

    @property
    def opcodes(self) -> dict[str, int]:
        """The value of register OP for each operation."""
        return self.unit.opcodes

    @property
    def tile_shape(self) -> tuple[int, int, int]:
        """Rows, columns and depth (in lanes) of the unit."""
        return self.unit.rows, self.unit.cols, self.unit.depth

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat; bases and strides are multiples of it."""
        return self.data_bits // 8

    @property
    def beat_lanes(self) -> int:
        """Operand lanes of a beat."""
        return self.data_bits // self.unit.lane_bits

    @cached_property
    def result_widths(self) -> tuple[int, ...]:
        """Widths in memory of an element of C and D, ascending."""
        return tuple(sorted({op.result_bits for op in self.unit.operations.values()}))

    @cached_property
    def element_lanes(self) -> tuple[int, ...]:
        """Lanes that an element of A and B takes, ascending."""
        lane = self.unit.lane_bits
        return tuple(sorted({op.operand_bits // lane for op in self.unit.operations.values()}))

    def least_blocks(self) -> dict[str, int]:
        """Smallest block whose rows are all whole beats."""
        _, cols, depth = self.tile_shape
        narrowest = min(self.unit.lane_bits, self.result_widths[0])
        return {
            "block_cols": max(1, self.data_bits // narrowest // cols),
            "block_depth": max(1, self.beat_lanes // depth),
        }

    def _automatic(self, name: str, wish: int) -> int:
        least = self.least_blocks().get(name, 1)
        return getattr(self, name) or max(least, min(wish, _LARGEST_AUTOMATIC_BLOCK))

    @cached_property
    def block(self) -> tuple[int, int, int]:
        """Block in tiles: rows, columns and depth; 0 is replaced by the value it stands for.

        An A tile is used ``block_cols`` times, and ``rows * depth / beat_lanes`` beats long. A
        block that is chosen here has tiles enough to hide the unit's latency.
        """
        rows, cols, depth = self.tile_shape
        across = self._automatic("block_cols", max(2, 2 * rows * depth // self.beat_lanes))
        down = self._automatic("block_rows", max(2, 2 * cols * depth // self.beat_lanes))
        while not self.block_rows and across * down < self.sum_cycles:
            down *= 2
        deep = self._automatic("block_depth", max(2, 8 * self.beat_lanes // depth))
        return down, across, deep

    @property
    def sum_cycles(self) -> int:
        """Cycles from an operation to the next one that can take its result as the addend."""
        return max(self.unit.latency.values()) + 3

    @property
    def channels(self) -> tuple[int, int, int]:
        """The managers that read A, read B, and read C and write D."""
        return _MANAGERS[self.managers]

    @property
    def longest_row(self) -> int:
        """Beats of the longest row of a block of A, B or C."""
        _, cols, depth = self.tile_shape
        _, block_cols, block_depth = self.block
        across = block_cols * cols
        lanes = max(block_depth * depth, across * self.element_lanes[-1])
        return max(lanes // self.beat_lanes, across * self.result_widths[-1] // self.data_bits)

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst."""
        return min(_LONGEST_BURST, max(2, 1 << (self.longest_row - 1).bit_length()))

    def readers(self, manager: int) -> tuple[str, ...]:
        """The operands that a manager reads, in the order of their IDs."""
        return tuple(x for x, n in zip("abc", self.channels, strict=True) if n == manager)

    def writers(self, manager: int) -> tuple[str, ...]:
        """D, where C is read."""
        return ("d",) if manager == self.channels[-1] else ()

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        sizes = {"longest_beats": self.burst_beats, "outstanding": self.outstanding}
        return tuple(
            Traffic(
                reads=one_id_each("operand", self.readers(n), **sizes, id_bits=ID_BITS),
                writes=one_id_each("operand", self.writers(n), **sizes, id_bits=ID_BITS),
            )
            for n in range(self.managers)
        )

    def resolved(self) -> dict[str, object]:
        """Every parameter with the value in force: 0 is replaced by the value it stands for."""
        names = ("block_rows", "block_cols", "block_depth")
        block = dict(zip(names, self.block, strict=True))
        return super().resolved() | self._unit_resolved() | block

    def _unit_resolved(self) -> dict[str, object]:
        """The unit's parameters that are the engine's, too, with the values in force."""
        unit: Any = self.unit
        own = {item.name for item in self.parameters()}
        return {name: value for name, value in unit.resolved().items() if name in own}


def _power_of_two(high: int) -> IntRange:
    return IntRange(2, high, power_of_two=True)


@dataclass(frozen=True, kw_only=True)
class M3xuEngineConfig(EngineConfig):
    """The engine around the multi-mode matrix unit."""

    rows: int = like(M3xuConfig, "rows", allowed=_power_of_two(64))
    cols: int = like(M3xuConfig, "cols", allowed=_power_of_two(64))
    depth: int = like(M3xuConfig, "depth", allowed=_power_of_two(64))
    modes: tuple[str, ...] = like(M3xuConfig, "modes")
    alignment_bits: int = like(M3xuConfig, "alignment_bits")
    pipeline: int = like(M3xuConfig, "pipeline")
    data_assignment: str = like(M3xuConfig, "data_assignment")

    @cached_property
    def unit(self) -> M3xuConfig:
        return M3xuConfig(**_values_of(self, M3xuConfig))


@dataclass(frozen=True, kw_only=True)
class Simd2EngineConfig(EngineConfig):
    """The engine around the semiring matrix unit."""

    tile: int = like(Simd2Config, "tile", allowed=_power_of_two(16))
    format: str = like(Simd2Config, "format")
    accumulator: str = like(Simd2Config, "accumulator")
    ops: tuple[str, ...] = like(Simd2Config, "ops")
    alignment_bits: int = like(Simd2Config, "alignment_bits")
    shared: bool = like(Simd2Config, "shared")
    pipeline: int = like(Simd2Config, "pipeline")
    multiplier_bits: int = like(Simd2Config, "multiplier_bits")

    @cached_property
    def unit(self) -> Simd2Config:
        return Simd2Config(**_values_of(self, Simd2Config))


def _values_of(config: Config, unit: type[Config]) -> dict[str, Any]:
    """The values of the parameters that an engine and its unit share."""
    own = {item.name for item in config.parameters()}
    return {p.name: getattr(config, p.name) for p in unit.parameters() if p.name in own}


ENGINE_SIMD2 = Unit(
    name="engine_simd2",
    summary="tile engine around simd2: semiring products of any size from memory, over AXI4",
    source="SIMD2: programming model, tiled algorithm",
    config=Simd2EngineConfig,
    component="tilewright.hw.engine.engine:Engine",
    jobs="tilewright.hw.spec.jobs.engine:job_spec",
    parts={"unit": "tilewright.hw.simd2.simd2:Simd2"},
)

ENGINE_M3XU = Unit(
    name="engine_m3xu",
    summary="tile engine around m3xu: matrix products of any size from memory, over AXI4",
    source="SIMD2: programming model, tiled algorithm, around M3XU's unit",
    config=M3xuEngineConfig,
    component="tilewright.hw.engine.engine:Engine",
    jobs="tilewright.hw.spec.jobs.engine:job_spec",
    parts={"unit": "tilewright.hw.m3xu.m3xu:M3xu"},
)

UNITS = (ENGINE_SIMD2, ENGINE_M3XU)
