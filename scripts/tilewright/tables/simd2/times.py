"""What products take on an engine, each timed once, with its unit and with a vector unit."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...apps.common.units.engine_products import timed_products
from ...apps.common.units.matrix_unit import EngineChoice
from ...apps.common.units.matrix_unit_products import EngineTally

__all__ = ["Times", "vector_interval"]

Shape = tuple[int, int, int]


def vector_interval(setting: EngineChoice, operation: str) -> int:
    """Cycles in which a vector unit of the same width does an operation of the matrix unit.

    It has a lane for each element of a tile of D, as many as the matrix unit is given elements of A
    in a cycle. For each k a lane does (x), then (+), an instruction a cycle; multiplying and adding
    is one.
    """
    depth = setting.config.unit.depth
    return depth if operation == "mma" else 2 * depth


@dataclass
class Times:
    """Of products on one engine.

    Of an operation count its latency and the widths of its operands and results alone, which all
    semirings of a unit may share.
    """

    setting: EngineChoice
    known: dict[tuple[object, ...], EngineTally] = field(default_factory=dict)

    def of(self, operation: str, shape: Shape, *, use_c: bool, vector: bool) -> EngineTally:
        """Of one product."""
        setting, unit = self.setting, self.setting.config.unit
        interval = unit.initiation_interval[operation]
        if vector:
            interval = vector_interval(setting, operation)
        one = unit.operations[operation]
        widths = one.operand_bits, one.result_bits
        key = (unit.latency[operation], interval, *widths, shape, use_c)
        if key not in self.known:
            self.known[key] = timed_products(
                setting, operation, shape, use_c=use_c, interval=interval
            )
        return self.known[key]
