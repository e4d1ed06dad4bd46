"""What MatRaptor's jobs compute, and how their operands lie in memory."""

from __future__ import annotations

from ..matraptor import MatRaptorConfig
from ..sidecar.operation import Compute, Factor, Limit, Operand, OperationEntry, Size
from ..sidecar.placement import C2srPlacement, Room, Setting

__all__ = ["operations"]

_SHAPES = {"a": ("M", "K"), "b": ("K", "N"), "c": ("M", "N")}


def operations(config: MatRaptorConfig) -> tuple[OperationEntry, ...]:
    """The product by rows, and, where there is the mode, by outer products."""
    found = [_by_rows(config)]
    if config.outer_product:
        found.append(_outer(config))
    return tuple(found)


def _sizes(config: MatRaptorConfig, columns: str | None) -> tuple[Size, ...]:
    most = None if columns else 1 << config.index_bits
    return (
        Size(name="M", doc="rows of a and c", register="ROWS"),
        Size(name="N", doc="columns of b and c", register=columns, most=most),
        Size(name="K", doc="columns of a, rows of b", register="B_ROWS"),
    )


def _operands(config: MatRaptorConfig, lanes: int | None) -> tuple[Operand, ...]:
    """``lanes``: a is stored by columns for so many."""
    layout = config.layout
    room = Room(register="CAPACITY", times=config.channel_lanes, multiple_of=layout.block_entries)
    places: dict[str, C2srPlacement] = {
        "a": layout.placement("A", lanes=lanes),
        "b": layout.placement("B"),
        "c": layout.placement("C", read=False, room=room),
    }
    return tuple(
        Operand(
            name=name,
            direction="out" if name == "c" else "in",
            rows=_SHAPES[name][0],
            columns=_SHAPES[name][1],
            format=layout.format,
            placement=place,
        )
        for name, place in places.items()
    )


def _compute(config: MatRaptorConfig, how: str) -> Compute:
    doc = (
        f"c = a (x) b with (+) {config.operators.plus} and (x) {config.operators.times}, {how}; "
        "absent elements take no part, each product and each sum is rounded once"
    )
    return Compute(
        kind="product", plus=config.operators.plus, times=config.operators.times, doc=doc
    )


def _mode(config: MatRaptorConfig, value: int) -> tuple[Setting, ...]:
    return (Setting(register="MODE", value=value),) if config.outer_product else ()


def _by_rows(config: MatRaptorConfig) -> OperationEntry:
    limit = Limit(
        product_of=(Factor(size="N"),),
        at_most=config.queue_depth,
        error="overflow",
        doc="a row of c that fits a queue never overflows; a longer one may",
    )
    return OperationEntry(
        name="rows",
        select=_mode(config, 0),
        compute=_compute(config, "row by row"),
        sizes=_sizes(config, None),
        operands=_operands(config, None),
        limits=(limit,),
    )


def _outer(config: MatRaptorConfig) -> OperationEntry:
    limit = Limit(
        product_of=(
            Factor(size="M", divided_by=config.lanes),
            Factor(size="N", divided_by=config.accumulator_banks),
        ),
        at_most=config.queue_depth,
        error="overflow",
        doc="the sums of a lane, each line of which is so many banks wide, fit the queues",
    )
    return OperationEntry(
        name="outer",
        select=_mode(config, 1),
        compute=_compute(config, "by outer products"),
        sizes=_sizes(config, "COLUMNS"),
        operands=_operands(config, config.lanes),
        limits=(limit,),
    )
