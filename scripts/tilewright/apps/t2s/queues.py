"""Queues of a mapping's hardware, by channel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.limits import counted
from ..common.options import named_parameters
from .mapping_given import MappingOptions

if TYPE_CHECKING:
    from ...hw.spec.t2s.config import T2sConfig
    from ...hw.spec.t2s.design import Design
    from ...hw.spec.t2s.network import End, Link

__all__ = ["entry_rate", "hardware_config", "queue_rows", "queues"]


def sparse_queues(design: Design) -> dict[str, dict[str, Any]]:
    """Lists the queues between loaders and the unloader, in the order in which words pass: the
    number of each kind, the depth, 0 where the ends are joined directly, and the widths in bits."""
    from ...hw.t2s.sparse.fed_element import ELEMENT_TOKENS, FEEDER_TOKENS

    plan = design.sparse
    assert plan
    count, name = plan.rows.element_extent, design.element.name
    found: dict[str, dict[str, Any]] = {}

    def add(label: str, queues: int, depth: int, bits: int) -> None:
        if queues:
            found[label] = {"queues": queues, "depth": depth, "bits": [bits]}

    for one in plan.entries:
        add(one.name, count, 0, one.layout.bits)
    token = plan.element.layout.bits
    if plan.merge:
        add("_".join((*(one.tensor for one in plan.entries), plan.merge)), 1, 1, token)
    add(f"{name}_tokens", count, ELEMENT_TOKENS, token)
    loaders = {one.tensor: one for one in design.loaders}
    for feeder in plan.gathers:
        bits = feeder.word_bits
        add(loaders[feeder.tensor].name, 1, 0, bits)
        add(f"{feeder.name}_{plan.rows.elements}_forward", count - 1, 1, bits)
        add(f"{feeder.name}_tokens", count, FEEDER_TOKENS, token)
        add(feeder.name, count, 0, bits)
    add(name, count, 0, design.element.result_bits)
    return found


def hardware_config(file: Path, options: MappingOptions) -> T2sConfig:
    """The unit of a file, its other parameters as they are. Raises ValueError if it has no
    hardware."""
    from ...hw.spec.t2s.config import T2sConfig

    sizes = named_parameters(None, options.settings or ())
    return T2sConfig(
        design=str(file),
        sizes=",".join(f"{name}={size}" for name, size in sizes.items()),
        largest=options.largest or 0,
    )


def queues(file: Path, options: MappingOptions) -> dict[str, Any]:
    """Returns as ``queues`` the queues by channel: how many there are, the ``depth`` of each in
    words, 0 where its ends are joined directly, and their widths in ``bits``, flags included. There
    are several widths where vectors grow along a row. Returns as ``refused`` why there is no
    hardware."""
    try:
        config = hardware_config(file, options)
    except ValueError as error:
        return {"refused": str(error)}
    if config.plan.sparse:
        return {"queues": sparse_queues(config.plan)}
    channels: dict[str, list[Link]] = {}
    for link in config.plan.links:
        channels.setdefault(link.channel, []).append(link)
    bits = _Bits(config)
    found = {
        name: {
            "queues": len(links),
            "depth": links[0].depth,
            "bits": sorted({bits.of(one) for one in links}),
        }
        for name, links in channels.items()
    }
    return {"queues": found}


def entry_rate(file: Path, options: MappingOptions) -> str:
    """Describes how often elements with sparse entries start operations; empty if there is no
    hardware, or no sparse operand."""
    from ...hw.spec.t2s.sparse_timing import entry_interval_text

    try:
        plan = hardware_config(file, options).plan.sparse
    except ValueError:
        return ""
    return entry_interval_text(plan.element) if plan else ""


def queue_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the queues as rows of a report."""
    if "refused" in found:
        return [("queues", f"no hardware: {found['refused']}")]
    return [(f"queues, {name}", _told(**one)) for name, one in found["queues"].items()]


def _told(queues: int, depth: int, bits: list[int]) -> str:
    width = str(bits[0]) if len(bits) == 1 else f"{bits[0]} to {bits[-1]}"
    held = f"{counted(depth, 'word')} of {width} bits" if depth else f"{width} bits, joined"
    return f"{queues:,} of {held}"


class _Bits:
    """Widths of queues: of the ports at their ends."""

    def __init__(self, config: T2sConfig) -> None:
        from ...hw.t2s.copies import component_of

        self._copies = {(one.function, one.place): one for one in config.plan.copies}
        self._made: dict[tuple[str, int], Any] = {}
        self._component = lambda copy: component_of(config.plan, copy, config.trip_bits)

    def of(self, link: Link) -> int:
        """Returns the width of a link, equal at both ends, but memory's side, which has no copy."""
        found = self._port(link.source) or self._port(link.sink)
        assert found
        return found

    def _port(self, end: End) -> int:
        """0 if it is at the memory's side."""
        from amaranth.hdl import Shape

        copy = self._copies[end.function, end.place]
        kind = copy.function, copy.ahead
        if kind not in self._made:
            self._made[kind] = self._component(copy)
            if self._made[kind] is not None:
                self._made[kind]._MustUse__silence = True  # its ports are all that is wanted
        if self._made[kind] is None:
            return 0
        port = getattr(self._made[kind], end.port)
        if end.branch is not None:
            port = port[end.branch]
        return Shape.cast(port.payload.shape()).width
