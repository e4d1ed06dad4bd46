"""Accelerators as devices with memory: their RTL, their models; and what drives them."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..hw.spec.config import Config
from ..hw.spec.host.words import did_you_mean, not_one_of
from ..hw.spec.unit import Unit, named_object
from ..registry import Entry, entries
from ..sim.device.driver import JobRegisters
from ..sim.device.protocol import AcceleratorDevice, OpenDevice
from ..sim.timing.memories import MEMORIES, MemoryModel
from .units import configured, entry_named

if TYPE_CHECKING:
    from ..hw.emit.unit import Emitted

__all__ = ["device", "driver", "registers"]

_TIME_OUT = 1 << 40
"""Cycles of RTL that `wait` waits: it can be interrupted."""


def device(
    unit: str,
    config: Config | None = None,
    /,
    *,
    backend: str = "model",
    memory_bytes: int = 1 << 20,
    memory: str | MemoryModel = "flat",
    gigahertz: float | None = None,
    waves: str | Path | None = None,
    **parameters: Any,
) -> OpenDevice[Any]:
    """An accelerator of the catalogue with a memory, which begins at address 0.

    Use it in a ``with`` statement, or close it.

    Parameters
    ----------
    unit: its name
    config, parameters: as for :func:`tilewright.generate`
    backend: "model", what a job leaves, with the counters that do not depend on time; "cycles", the
        same with all counters, from the cycle model; "rtl", the Verilog itself under Verilator
    memory_bytes: size of the memory
    memory: what each memory channel does: "flat" answers each burst after 20 cycles and moves a
        beat a cycle; "hbm", "hbm32" and models of one's own are for the backend "cycles" alone. To
        "rtl" a flat model of one's own says the latency
    gigahertz: clock of the accelerator, to the backend "cycles"; None: the unit's own
    waves: file to write, of the backend "rtl", in FST if its name ends in .fst, else in VCD;
        complete when the device is closed

    Raises
    ------
    ValueError for a unit that is no accelerator, a backend that it has not, and what a backend does
    not take; ValueError and TypeError as :func:`tilewright.generate`. With the backend "rtl"
    ``ToolMissing`` without Verilator or a C++ compiler, ``BuildError`` if one of them fails; both
    are in ``tilewright.sim.rtl.build``.
    """
    entry = entry_named(unit)
    if entry.unit.jobs is None:
        known = ", ".join(name for name, one in entries().items() if one.unit.jobs)
        raise ValueError(f"`unit` must be an accelerator, one of {known}, not {unit!r}")
    if backend not in entry.backends:
        raise ValueError(not_one_of("`backend`", entry.backends, backend, f" for {unit}"))
    memory_bytes = _whole_number(memory_bytes)
    if memory_bytes < 1:
        raise ValueError(f"`memory_bytes` must be at least 1, not {memory_bytes}")
    channel = _memory_model(memory)
    if backend != "cycles":
        if not channel.flat:
            raise ValueError(f"`memory` must be flat with the {backend} backend, not {memory!r}")
        if gigahertz is not None:
            raise ValueError(
                f"`gigahertz` must be None with the {backend} backend, not {gigahertz}"
            )
    elif gigahertz is not None:
        _check_clock(gigahertz)
    if backend != "rtl" and waves is not None:
        raise ValueError(f"`waves` must be None with the {backend} backend, not {str(waves)!r}")
    if waves is not None and not isinstance(waves, str | os.PathLike):
        raise TypeError(f"`waves` must be a path, not {waves!r}")
    if backend != "rtl" and isinstance(config, entry.unit.config) and not parameters:
        chosen = config  # which may be one that is modelled and not built
    else:
        chosen = configured(entry, config, parameters)
    if backend == "rtl":
        return _rtl(entry, chosen, memory_bytes, channel.latency, waves)
    make: Callable[..., OpenDevice[Any]] = named_object(entry.models[backend])
    if backend == "model":
        return make(chosen, memory_bytes)
    clock = {} if gigahertz is None else {"gigahertz": gigahertz}
    return make(chosen, memory_bytes, memory=channel, **clock)


def _whole_number(memory_bytes: object) -> int:
    if isinstance(memory_bytes, bool) or not isinstance(memory_bytes, Integral):
        raise TypeError(f"`memory_bytes` must be an integer, not {memory_bytes!r}")
    return int(memory_bytes)


def _check_clock(gigahertz: object) -> None:
    if isinstance(gigahertz, bool) or not isinstance(gigahertz, Real):
        raise TypeError(f"`gigahertz` must be a number, not {gigahertz!r}")
    if not 0 < float(gigahertz) < float("inf"):
        raise ValueError(f"`gigahertz` must be above 0, not {gigahertz}")


def _memory_model(memory: str | MemoryModel) -> MemoryModel:
    if isinstance(memory, MemoryModel):
        return memory
    if not isinstance(memory, str) or memory not in MEMORIES:
        raise ValueError(not_one_of("`memory`", MEMORIES, memory))
    return MEMORIES[memory]


_last: list[tuple[Unit, Any, Emitted]] = []
"""The unit that was emitted last: a device that is made again with more memory is the same."""


def _emitted(unit: Unit, config: Any) -> Emitted:
    from ..hw.emit.unit import emit

    # Compared by identity: equal configurations may name a file that has changed.
    if not (_last and _last[0][0] is unit and _last[0][1] is config):
        _last[:] = [(unit, config, emit(unit, config))]
    return _last[0][2]


def _rtl(
    entry: Entry, config: Any, memory_bytes: int, latency: int, waves: str | Path | None
) -> OpenDevice[Any]:
    from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator

    return NativeAccelerator(
        _emitted(entry.unit, config),
        config,
        memory_bytes=memory_bytes,
        behaviour=AxiBehaviour(latency=(latency, latency)),
        time_out=_TIME_OUT,
        waves=None if waves is None else Path(waves),
    )


def _entry_of(device: AcceleratorDevice[Any]) -> Entry:
    """The accelerator that a device is one of, by the class of its configuration."""
    config = getattr(device, "config", None)
    for entry in entries().values():
        if entry.unit.jobs is not None and entry.unit.config is type(config):
            return entry
    raise TypeError(f"`device` must have the config of an accelerator, not {config!r}")


def driver(device: AcceleratorDevice[Any], **options: Any) -> Any:
    """The unit's driver on a device: of :func:`device`, or one's own; see the unit's page.

    Parameters
    ----------
    options: of the driver: all have ``first_address``, where the memory that it may use begins

    Raises
    ------
    TypeError if the configuration of the device is not that of an accelerator, or the driver has no
    such option; ValueError if the device's register ID is another's, or for an option's value.
    """
    entry = _entry_of(device)
    make: Callable[..., Any] = named_object(entry.driver)
    _, *known = signature(make).parameters
    for name in options:
        if name not in known:
            raise TypeError(
                f"the driver of {entry.unit.name} has the options {', '.join(known)}, not {name}"
                + did_you_mean(name, known)
            )
    return make(device, **options)


def registers(device: AcceleratorDevice[Any]) -> JobRegisters:
    """The registers of a device by name, and jobs that are written there. Raises as
    :func:`driver`."""
    return JobRegisters(device, _entry_of(device).unit.job_spec(device.config))
