"""Groups of columns that hold the limbs of one element."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from amaranth.hdl import Mux, Value, ValueLike

from ...spec.gta import COLS, FORMATS_OF_GTA, GtaConfig, limbs

__all__ = ["by_format", "by_limbs", "group_sizes", "sum_bits", "unit_delay", "unit_sizes"]

_NARROW = 64
_WIDE = 128


def group_sizes(config: GtaConfig) -> tuple[int, ...]:
    """Limbs of the configuration's integers, ascending."""
    return tuple(limbs(name) for name in config.integers)


def unit_sizes(config: GtaConfig, column: int) -> tuple[int, ...]:
    """The sizes of groups whose last column this is."""
    return tuple(size for size in group_sizes(config) if (column + 1) % size == 0)


def unit_delay(config: GtaConfig, column: int) -> int:
    """Registers in which the limbs of groups whose last column this is are added."""
    return (unit_sizes(config, column) or (1,))[-1].bit_length() - 1


def sum_bits(config: GtaConfig, column: int) -> int:
    """Width of the sums of groups whose last column this is; 0: there are none.

    Sums of int8 and int16 are exact in 64 bits; those of int32 and int64 have 128.
    """
    sizes = unit_sizes(config, column)
    if not sizes:
        return 0
    return _WIDE if sizes[-1] >= limbs("int32") else _NARROW


def by_limbs(limbs_log: ValueLike, values: Mapping[int, ValueLike]) -> Value:
    """The value of the format that has ``1 << limbs_log`` limbs, of those that there are."""
    sizes = sorted(values)
    found = Value.cast(values[sizes[-1]])
    for size in sizes[-2::-1]:
        is_this = Value.cast(limbs_log) == size.bit_length() - 1
        found = Value.cast(Mux(is_this, values[size], found))
    return found


def by_format(
    config: GtaConfig, index: ValueLike, value: Callable[[str], int], names: tuple[str, ...]
) -> Value:
    """A number of the format that a command names by its place; of others that of the last one."""
    found: Value = Value.cast(value(names[-1]))
    for name in names[-2::-1]:
        found = Value.cast(Mux(Value.cast(index) == FORMATS_OF_GTA.index(name), value(name), found))
    return found


assert COLS % max(limbs(name) for name in FORMATS_OF_GTA[:4]) == 0
