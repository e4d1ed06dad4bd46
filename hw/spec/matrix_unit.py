"""Common interface of all matrix units' configurations, so that one engine and one bench can drive
any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from .formats import AnyFormat, ComplexFormat, FloatFormat, Format
from .sidecar.operation import Compute, Operand, OperationEntry, ResultFlag, Size
from .sidecar.placement import (
    Bits,
    Placement,
    Setting,
    StreamPlacement,
    Structure,
    Tile,
    Transfers,
)

RESULT_FLAGS = (ResultFlag(stream="o", field="error", before_last=0, last=0, illegal=1),)
"""Fields of a result that are no element of d."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation ``d = c (+) a (x) b`` of a matrix unit.

    Parameters
    ----------
    name, opcode: as users type it, and the value of ``op`` that selects it
    element: format of an element of a and b, or of its two parts
    result: format of an element of c and d, or of its two parts
    complex: whether elements have two parts, the real one in the low half
    operand_bits: width of an element of a and b in memory; a multiple of the unit's lanes
    result_bits: width of an element of c and d in memory
    padding: patterns of ``operand_bits`` that fill up a and b at the edges of a matrix without
        changing results; None if the format has no such values
    addend: pattern of ``result_bits`` that changes nothing as c
    compute: what it computes, in words and operators
    """

    name: str
    opcode: int
    element: Format
    result: Format
    complex: bool = False
    operand_bits: int
    result_bits: int
    padding: tuple[int, int] | None
    addend: int | None
    compute: Compute

    def _whole(self, part: Format) -> AnyFormat:
        return ComplexFormat(part=part) if self.complex and isinstance(part, FloatFormat) else part

    @property
    def operand_format(self) -> AnyFormat:
        """Format of an element of a and b, both of its parts together."""
        return self._whole(self.element)

    @property
    def result_format(self) -> AnyFormat:
        """Format of an element of c and d, both of its parts together."""
        return self._whole(self.result)


class MatrixUnitConfig(Protocol):
    """The configuration of a matrix unit: a tile of ``rows x depth`` times ``depth x cols``.

    ``depth`` counts operand lanes; an element of ``operand_bits`` takes ``operand_bits //
    lane_bits`` neighbouring ones.

    Members
    -------
    golden_model: ``module:function`` that computes operations, see
        :func:`tilewright.sim.units.any_unit.mixed_operations`
    known_operations: all that a unit of this kind may be built with
    products: those of them that are sums of products
    default_product: the one to take if nobody says which
    """

    golden_model: ClassVar[str]
    known_operations: ClassVar[tuple[str, ...]]
    products: ClassVar[tuple[str, ...]]
    default_product: ClassVar[str]

    @property
    def rows(self) -> int: ...
    @property
    def cols(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def lane_bits(self) -> int: ...
    @property
    def accumulator_bits(self) -> int: ...
    @property
    def op_bits(self) -> int: ...
    @property
    def operations(self) -> Mapping[str, Operation]: ...
    @property
    def opcodes(self) -> dict[str, int]: ...
    @property
    def initiation_interval(self) -> dict[str, int]: ...
    @property
    def latency(self) -> dict[str, int]: ...
    @property
    def stream_operations(self) -> tuple[OperationEntry, ...]: ...
    @property
    def flags(self) -> tuple[ResultFlag, ...]: ...
    def resolved(self) -> dict[str, Any]: ...
    def __hash__(self) -> int: ...


_GROUP, _KEPT = 4, 2
"""Structured sparsity of a: two of every four elements are stored."""

_ONE = Transfers()
"""The whole operand in one transfer."""

_SHAPES = {"a": ("M", "K"), "b": ("K", "N"), "c": ("M", "N"), "d": ("M", "N")}


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """Placement of a tile of ``rows x depth`` times ``depth x cols`` lanes in payloads, for
    elements of one width.

    Parameters
    ----------
    rows, cols, depth: of the tile; depth in lanes
    lane_bits, accumulator_bits: width of a lane of a and b, and of c and d
    element_bits, result_bits: width of an element of a and b, and of c and d
    """

    rows: int
    cols: int
    depth: int
    lane_bits: int
    accumulator_bits: int
    element_bits: int
    result_bits: int

    @property
    def per_element(self) -> int:
        """Lanes that an element of a and b takes."""
        return max(1, self.element_bits // self.lane_bits)

    @property
    def elements(self) -> int:
        """Depth in elements."""
        return self.depth // self.per_element

    def place(
        self,
        name: str,
        stream: str,
        transfers: Transfers = _ONE,
        structure: Structure | None = None,
    ) -> StreamPlacement:
        """Operand ``name`` in the field of its name."""
        tile, bits = {"a": self._a, "b": self._b}.get(name, self._c)()
        return StreamPlacement(
            stream=stream,
            field=name,
            tile=tile,
            transfers=transfers,
            bits=bits,
            structure=structure,
        )

    def _words(self, row: int, column: int, word: int) -> Bits:
        return Bits(
            row=row,
            column=column,
            word=word if self.per_element > 1 else 0,
            words=self.per_element,
            word_bits=min(self.element_bits, self.lane_bits),
        )

    def _a(self) -> tuple[Tile, Bits]:
        """Words of an element beside each other."""
        lane = self.lane_bits
        bits = self._words(self.depth * lane, self.per_element * lane, lane)
        return Tile(rows=self.rows, columns=self.elements), bits

    def _b(self) -> tuple[Tile, Bits]:
        """Words of an element below each other."""
        row = self.cols * self.lane_bits
        bits = self._words(self.per_element * row, self.lane_bits, row)
        return Tile(rows=self.elements, columns=self.cols), bits

    def _c(self) -> tuple[Tile, Bits]:
        lane = self.accumulator_bits
        bits = Bits(row=self.cols * lane, column=lane, word_bits=self.result_bits)
        return Tile(rows=self.rows, columns=self.cols), bits


def product_sizes(rows: int, cols: int, depth: int) -> tuple[Size, ...]:
    """M, N and K, where they are constant."""
    docs = {"M": "rows of a, c and d", "N": "columns of b, c and d", "K": "columns of a, rows of b"}
    values = zip(docs, (rows, cols, depth), strict=True)
    return tuple(Size(name=name, doc=docs[name], value=value) for name, value in values)


def matrix_operand(name: str, operation: Operation, placement: Placement) -> Operand:
    """a, b, c or d of an operation, of sizes M, N and K."""
    factor = name in "ab"
    padding = None
    if factor and operation.padding is not None:
        padding = operation.padding["ab".index(name)]
    if name == "c":
        padding = operation.addend
    rows, columns = _SHAPES[name]
    return Operand(
        name=name,
        direction="out" if name == "d" else "in",
        rows=rows,
        columns=columns,
        format=operation.operand_format if factor else operation.result_format,
        padding=padding,
        placement=placement,
    )


def matrix_operations(config: MatrixUnitConfig) -> tuple[OperationEntry, ...]:
    """The operations of a matrix unit, in its streams ``i`` and ``o``."""
    return tuple(_entry(config, operation) for operation in config.operations.values())


def _entry(config: MatrixUnitConfig, operation: Operation) -> OperationEntry:
    depth: int = getattr(config, "b_depth", config.depth)
    lanes = Lanes(
        rows=config.rows,
        cols=config.cols,
        depth=config.depth,
        lane_bits=config.lane_bits,
        accumulator_bits=config.accumulator_bits,
        element_bits=operation.operand_format.container_bits,
        result_bits=operation.result_bits,
    )
    sparse = depth != config.depth
    k = depth if sparse else lanes.elements
    structure = None
    if sparse:
        structure = Structure(
            kept=_KEPT,
            group=_GROUP,
            field="metadata",
            row=2 * config.depth,
            column=2,
            bits=2,
        )
    places = {
        "a": lanes.place("a", "i", structure=structure),
        "b": replace(lanes, depth=depth).place("b", "i"),
        "c": lanes.place("c", "i"),
        "d": lanes.place("d", "o"),
    }
    return OperationEntry(
        name=operation.name,
        select=(Setting(stream="i", field="op", value=operation.opcode),),
        compute=operation.compute,
        sizes=product_sizes(config.rows, config.cols, k),
        operands=tuple(matrix_operand(name, operation, place) for name, place in places.items()),
    )
