"""Configuration of the lane that GTA is compared with: separate units for each number format."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config, IntRange, SubsetOf, parameter
from ..formats import FORMATS, Format
from ..gta import FORMATS_OF_GTA, element_bytes, is_float, result_bytes
from ..sidecar.operation import Compute, Operand, OperationEntry, ResultFlag, Size
from ..sidecar.placement import Bits, Setting, StreamPlacement, Tile
from ..unit import Unit

DATAPATH_BITS = 64
"""Width of a and of b."""

WORD_BITS = 32
"""Width of a word of c and d."""


def elements(name: str) -> int:
    """Elements of a format in an operand: so many are multiplied a cycle."""
    return DATAPATH_BITS // (8 * element_bytes(name))


def sum_format(name: str) -> Format:
    """Format of the words of an element of c and d."""
    return FORMATS[f"{'fp' if is_float(name) else 'int'}{8 * result_bytes(name)}"]


def sum_words(name: str) -> int:
    """Words of ``sum_format`` that an element of c and d takes, the low one first."""
    return 2 if name == "int64" else 1


def sum_bits(name: str) -> int:
    """Width of an element of c and d; every product of integers fits."""
    return sum_words(name) * sum_format(name).bits


_DOC = (
    "d = a b + c, element by element: integers exactly, modulo the width of c; floats rounded once"
)


@dataclass(frozen=True, kw_only=True)
class GtaSeparateConfig(Config):
    """A lane of a usual vector unit: a multiply-add unit for each element of each format.

    Source: GTA, sections 1, 4.2 and 6.1: the lane whose units the array replaces.
    """

    formats: tuple[str, ...] = parameter(
        FORMATS_OF_GTA,
        allowed=SubsetOf(FORMATS_OF_GTA),
        doc="formats of operands; an absent one costs no area",
    )
    pipeline: int = parameter(
        2, allowed=IntRange(1, 3), doc="register stages, the one that holds the result included"
    )

    @property
    def opcodes(self) -> dict[str, int]:
        """The value of ``format`` for each format."""
        return {name: FORMATS_OF_GTA.index(name) for name in self.formats}

    @property
    def format_bits(self) -> int:
        """Width of ``format``."""
        return (len(FORMATS_OF_GTA) - 1).bit_length()

    @property
    def result_words(self) -> int:
        """Words of c and d: those of the format whose sums take most."""
        return max(elements(name) * sum_bits(name) for name in self.formats) // WORD_BITS

    @property
    def initiation_interval(self) -> dict[str, int]:
        """Cycles between operations, by format."""
        return dict.fromkeys(self.formats, 1)

    @property
    def latency(self) -> dict[str, int]:
        """Clock edges from the input transfer to the result's valid, without stalls, by format."""
        return dict.fromkeys(self.formats, self.pipeline)

    @property
    def stream_operations(self) -> tuple[OperationEntry, ...]:
        """Operations of the streams, for the sidecar, with the places of their elements."""
        return tuple(map(self._entry, self.formats))

    @property
    def flags(self) -> tuple[ResultFlag, ...]:
        """Fields of a result that are no element of d, for the sidecar."""
        return (ResultFlag(stream="o", field="error", before_last=0, last=0, illegal=1),)

    def _entry(self, name: str) -> OperationEntry:
        sizes = [
            Size(name="N", doc="elements of a, b, c and d", value=elements(name)),
            Size(name="W", doc="words of an element of a and b", value=1),
        ]
        if sum_words(name) > 1:
            doc = "words of an element of c and d, the low one first"
            sizes.append(Size(name="H", doc=doc, value=sum_words(name)))
        return OperationEntry(
            name=name,
            select=(Setting(stream="i", field="format", value=self.opcodes[name]),),
            compute=Compute(kind="other", doc=_DOC),
            sizes=tuple(sizes),
            operands=tuple(self._operand(name, operand) for operand in "abcd"),
        )

    def _operand(self, name: str, operand: str) -> Operand:
        factor = operand in "ab"
        found = FORMATS[name] if factor else sum_format(name)
        words = 1 if factor else sum_words(name)
        return Operand(
            name=operand,
            direction="out" if operand == "d" else "in",
            rows="W" if words == 1 else "H",
            columns="N",
            format=found,
            placement=StreamPlacement(
                stream="o" if operand == "d" else "i",
                field=operand,
                tile=Tile(rows=words, columns=elements(name)),
                bits=Bits(row=found.bits, column=words * found.bits, word_bits=found.bits),
            ),
        )


GTA_SEPARATE = Unit(
    name="gta_separate",
    summary="the lane GTA is compared with: separate multiply-add units for eight number formats",
    source="GTA: sections 4.2 and 6.1, the lane of the vector unit before its units are replaced",
    config=GtaSeparateConfig,
    component="tilewright.hw.gta.separate.separate:GtaSeparate",
)
