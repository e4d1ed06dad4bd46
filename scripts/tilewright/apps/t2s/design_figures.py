"""Figures of a design: depths of queues, predicted cycles, counters of its functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ..common.limits import counted
from ..common.options import named_parameters
from .mapping_given import MappingOptions

if TYPE_CHECKING:
    from ...hw.spec.t2s.config import T2sConfig
    from ...hw.spec.t2s.design import Design, End, Link
    from ...hw.spec.t2s.parts import ElementPart
    from ...hw.spec.t2s.program import Program
    from ...hw.t2s.language import Computation


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
    from ...hw.spec.t2s.timing import entry_interval_text

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


_MOST = 4_000_000
"""Iterations of an element: more would take minutes."""


def predicted(
    file: Path, options: MappingOptions, bounds: Mapping[str, int], iterations: int
) -> dict[str, Any]:
    """The counters of a job, of an array with the unit's parameters before a memory that answers
    after 20 cycles; or, as ``not_known``, why they are not known.

    ``iterations``: of an element
    """
    from ...sim.t2s.cycles.machine import counts_of

    if iterations > _MOST:
        return {"not_known": f"{iterations:,} iterations are more than {_MOST:,}"}
    try:
        config = hardware_config(file, options)
        return asdict(counts_of(config, bounds))
    except ValueError as error:
        return {"not_known": str(error)}


def predicted_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the prediction as rows of a report."""
    if "not_known" in found:
        return [("cycles", f"not known: {found['not_known']}")]
    share = found["busy_cycles"] / found["cycles"]
    return [
        ("cycles", f"{found['cycles']:,}, in {found['busy_cycles']:,} of them elements begin "
                   f"products: {share:.1%}"),
        ("bytes", f"{found['bytes_read']:,} read, {found['bytes_written']:,} written"),
    ]  # fmt: skip


def element_of(computation: Computation, program: Program) -> ElementPart | None:
    """Returns the hardware element, in the formats and the pipeline of the mapping. None if there
    is no hardware for it yet, or if it waits for entries of sparse tensors."""
    from ...hw.t2s.lowering.elements import arithmetic_of, element_part

    if program.sparse:
        return None
    try:
        return element_part(program, arithmetic_of(program, computation))
    except ValueError:
        return None


def counters_of(program: Program) -> dict[str, list[dict[str, Any]]]:
    """Lists the loop counters of each function that only moves words or computes. A counter without
    bits is a loop whose trip count a register has."""
    from ...hw.t2s.compiler.counting.flattening import counters, uses_memory

    return {
        function.name: [one._asdict() for one in counters(function)]
        for function in program.functions
        if not uses_memory(function)
    }


def counter_rows(program: Program) -> list[tuple[str, str]]:
    """Rows of a report: functions that count the same, and what that is."""
    found: dict[str, list[str]] = {}
    for name, its in counters_of(program).items():
        widths = ("a trip count" if one["bits"] is None else str(one["bits"]) for one in its)
        told = ", ".join(f"{one['name']} {bits}" for one, bits in zip(its, widths, strict=True))
        found.setdefault(told or "none", []).append(name)
    return [(", ".join(names), told) for told, names in found.items()]


def depths_found(
    computation: Computation, program: Program, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Depths, and why they hold for these bounds only, if they do.

    Of sparse tensors they depend on the entries. Raises UserError if the mapping makes a channel
    too short.
    """
    if program.sparse:
        return {"depths": {}, "depths_depend_on_bounds": "they depend on where entries are"}
    from ...sim.t2s.depths import DependsOnBounds, WaitForEver, depths_for_any_bounds

    try:
        return {"depths": depths_for_any_bounds(program), "depths_depend_on_bounds": None}
    except DependsOnBounds as error:
        return {
            "depths": _for_bounds(computation, program, sizes),
            "depths_depend_on_bounds": str(error),
        }
    except WaitForEver as error:
        name = next(one for one in error.channels if one in computation.depths)
        depth, place = computation.depths[name]
        raise UserError(
            f"{place}: {name}.fifo: with a depth of {depth} the design stops: {error}"
        ) from error


def _for_bounds(
    computation: Computation, program: Program, sizes: Mapping[str, int]
) -> dict[str, int]:
    from ...sim.t2s.depths import needed_depths
    from ...sim.t2s.interpreter import Deadlock

    try:
        return needed_depths(program, sizes)
    except Deadlock:
        channels = tuple(replace(one, depth=None) for one in program.channels)
        enough = needed_depths(replace(program, channels=channels), sizes)
        for name, (depth, place) in computation.depths.items():
            if enough[name] > depth:
                raise UserError(
                    f"{place}: {name}.fifo: with a depth of {depth} the design stops, for these "
                    f"bounds; without the directive it is {enough[name]}"
                ) from None
        raise
