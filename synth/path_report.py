"""A path in the source's terms: instance by instance, with the lines of the Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby

from .mapping.hierarchy import Design
from .report import PathReport, PathSegment, PathStep
from .timing.analysis import Path, Step, Timing

__all__ = ["Source", "path_report"]

Source = Callable[[str, str], str]
"""From the name of a module, and of a signal in there, to their file and line."""


def _source_of(name: str, design: Design, source: Source) -> str:
    """File and line of a signal, which is named from the top."""
    instance, _, signal = name.rpartition(".")
    plain = signal.partition("[")[0]
    # A memory is written in the module that has it.
    return source(design.parent(name), plain) or source(design.parent(instance), plain)


def _segments(steps: Sequence[Step], design: Design, source: Source) -> Iterator[PathSegment]:
    """The steps of a path, together while they are in one instance."""
    begun = 0.0
    for (instance, module), together in groupby(steps, lambda step: (step.instance, step.module)):
        cells = list(together)
        signal = next((step.signal for step in reversed(cells) if step.signal), "")
        plain = signal.partition("[")[0]
        # A memory is written in the module that has it.
        where = source(module, plain) or source(design.parent(instance), plain)
        yield PathSegment(
            instance=instance,
            module=module,
            signal=signal,
            source=where,
            cells=len(cells),
            fanout=max(step.fanout for step in cells),
            arrival=cells[-1].arrival,
            increment=cells[-1].arrival - begun,
        )
        begun = cells[-1].arrival


def _memory_times(path: Path, design: Design) -> dict[str, float]:
    """Access time of the memory where a path begins, and setup time of that where it ends."""
    first = path.steps[0].module if path.steps else ""
    last = design.parent(path.end)
    times = {}
    if first and design.modules[first].memory:
        times["access_ns"] = path.steps[0].arrival
    if path.kind.endswith("register") and last and design.modules[last].memory:
        times["memory_setup_ns"] = path.setup
    return times


def path_report(
    timing: Timing, design: Design, source: Source, opensta_ns: float | None
) -> PathReport | None:
    """The report of the slowest path; None without any. ``opensta_ns``: its length by OpenSTA."""
    path = timing.path
    if path is None:
        return None
    steps = [
        PathStep(**{item.name: getattr(step, item.name) for item in fields(PathStep)})
        for step in path.steps
    ]
    return PathReport(
        kind=path.kind,
        start=path.start,
        end=path.end,
        ns=path.total,
        fo4=path.total / timing.fo4,
        fmax_mhz=1000 / path.total if path.total > 0 else 0.0,
        cells=len(path.steps),
        opensta_ns=opensta_ns,
        opensta_percent=None if opensta_ns is None else 100 * (opensta_ns / path.total - 1),
        setup_ns=path.setup,
        start_source=_source_of(path.start, design, source),
        end_source=_source_of(path.end, design, source),
        segments=tuple(_segments(path.steps, design, source)),
        steps=tuple(steps),
        **_memory_times(path, design),
    )
