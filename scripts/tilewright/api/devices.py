"""Makes devices: accelerators with memory, as RTL or model, and their drivers."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..hw.spec.bridge import BAUD
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
    from ..sim.device.wire import WireDevice

__all__ = ["board", "device", "driver", "registers"]

_TIME_OUT = 1 << 40
"""Cycles that ``wait`` of the RTL runs at most; Ctrl-C interrupts it before."""


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
    wave_depth: int | None = None,
    **parameters: Any,
) -> OpenDevice[Any]:
    """Makes an accelerator of the catalogue with a memory that begins at address 0.

    Use the device in a ``with`` statement, or call ``close``.

    Parameters
    ----------
    unit: name of the accelerator
    config, parameters: as for :func:`tilewright.generate`
    backend: "model" computes what a job leaves in memory, bit for bit, and the counters that do not
        depend on time. "cycles" adds the other counters, from the cycle model. "rtl" runs the
        Verilog under Verilator
    memory_bytes: size of the memory in bytes
    memory: timing of each memory channel. "flat" answers each burst after 20 cycles and moves one
        beat per cycle. The backend "cycles" also accepts "hbm", "hbm32" and other memory models;
        "rtl" also accepts a flat model with another latency
    gigahertz: clock of the accelerator in GHz, for the backend "cycles"; None for the unit's
        default
    waves: waveform file that the backend "rtl" writes: FST if the name ends in ``.fst``, else VCD.
        It is complete when the device is closed
    wave_depth: levels of modules in it, 1 for the top module alone; None: 2. ``tilewright power``
        needs all

    Returns
    -------
    The device, with its registers and memory.

    Raises
    ------
    ValueError: a unit that is no accelerator; a backend that it does not have; an argument that the
        backend does not accept
    ValueError, TypeError: as :func:`tilewright.generate`
    ToolMissing: with "rtl", if Verilator or a C++ compiler is missing
    BuildError: with "rtl", if one of them fails; both are in ``tilewright.sim.rtl.build``

    Example
    -------
        import numpy as np
        import tilewright

        roads = np.array([[0, 3, 9], [9, 0, 2], [5, 9, 0]])
        with tilewright.device("engine_simd2", tile=2, ops="minplus") as device:
            driver = tilewright.driver(device)
            assert driver.simd2_minplus(roads, roads, roads).tolist() == [
                [0, 3, 5], [7, 0, 2], [5, 8, 0]
            ]
    """
    entry = _accelerator(unit)
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
    waved = _waves(backend, waves, wave_depth)
    if backend != "rtl" and isinstance(config, entry.unit.config) and not parameters:
        chosen = config  # which may be one that is modelled and not built
    else:
        chosen = configured(entry, config, parameters)
    if backend == "rtl":
        return _rtl(entry, chosen, memory_bytes, channel.latency, waved)
    make: Callable[..., OpenDevice[Any]] = named_object(entry.models[backend])
    if backend == "model":
        return make(chosen, memory_bytes)
    clock = {} if gigahertz is None else {"gigahertz": gigahertz}
    return make(chosen, memory_bytes, memory=channel, **clock)


def _accelerator(unit: str) -> Entry:
    entry = entry_named(unit)
    if entry.unit.jobs is None:
        known = ", ".join(name for name, one in entries().items() if one.unit.jobs)
        raise ValueError(f"`unit` must be an accelerator, one of {known}, not {unit!r}")
    return entry


def board(
    unit: str,
    config: Config | None = None,
    /,
    *,
    port: str,
    baud: int = BAUD,
    **parameters: Any,
) -> WireDevice[Any]:
    """Opens an accelerator on a board, behind a serial port.

    It has the members of ``tilewright.Device``, ``irq`` and ``close``, and is a context manager.
    Its memory is as large as the board's.

    Parameters
    ----------
    unit: name of the accelerator
    config, parameters: as for :func:`tilewright.generate`, those that the board was built with
    port: serial port, such as ``/dev/ttyUSB0``
    baud: bits per second, the board's clock over its divisor

    Raises
    ------
    ValueError, TypeError: as :func:`device`
    WireError: no board answers, or it holds another unit or configuration; also later, when the
        line breaks or the board is reset; in ``tilewright.sim.device.wire``
    """
    from ..sim.device.wire import WireDevice, open_line

    entry = _accelerator(unit)
    return WireDevice(entry.unit, configured(entry, config, parameters), open_line(port, baud))


def _waves(backend: str, waves: object, depth: object) -> dict[str, Any]:
    """What :func:`device` says of waves, as :class:`NativeAccelerator` takes it."""
    if backend != "rtl" and waves is not None:
        raise ValueError(f"`waves` must be None with the {backend} backend, not {str(waves)!r}")
    if waves is not None and not isinstance(waves, str | os.PathLike):
        raise TypeError(f"`waves` must be a path, not {waves!r}")
    if depth is not None:
        if waves is None:
            raise ValueError(f"`wave_depth` must be None without waves, not {depth!r}")
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
            raise ValueError(f"`wave_depth` must be an integer of at least 1, not {depth!r}")
    if waves is None:
        return {}
    return {"waves": Path(waves), **({} if depth is None else {"wave_depth": depth})}


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
"""The unit that was emitted last. A device that is made again with more memory reuses it."""


def _emitted(unit: Unit, config: Any) -> Emitted:
    from ..hw.emit.unit import emit

    # Compared by identity: equal configurations may name a file that has changed.
    if not (_last and _last[0][0] is unit and _last[0][1] is config):
        _last[:] = [(unit, config, emit(unit, config))]
    return _last[0][2]


def _rtl(
    entry: Entry, config: Any, memory_bytes: int, latency: int, waves: dict[str, Any]
) -> OpenDevice[Any]:
    from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator

    return NativeAccelerator(
        _emitted(entry.unit, config),
        config,
        memory_bytes=memory_bytes,
        behaviour=AxiBehaviour(latency=(latency, latency)),
        time_out=_TIME_OUT,
        **waves,
    )


def _entry_of(device: AcceleratorDevice[Any]) -> Entry:
    """Returns the accelerator of a device, by the class of the device's configuration."""
    config = getattr(device, "config", None)
    for entry in entries().values():
        if entry.unit.jobs is not None and entry.unit.config is type(config):
            return entry
    raise TypeError(f"`device` must have the config of an accelerator, not {config!r}")


def driver(device: AcceleratorDevice[Any], **options: Any) -> Any:
    """Makes the driver of a device, which places operands in its memory and runs jobs.

    The unit's page describes the driver's methods.

    Parameters
    ----------
    device: from :func:`tilewright.device`, or any object with the members of ``tilewright.Device``
    options: options of the driver. Every driver has ``first_address``, the lowest address of the
        memory that it may use

    Raises
    ------
    TypeError: the device's configuration is not that of an accelerator; an unknown option
    ValueError: the register ID is that of another accelerator; a wrong value of an option

    Example
    -------
        import scipy.sparse as sp
        import tilewright
        from tilewright import formats

        matrix = sp.csr_array([[0, 2], [3, 0]])
        with tilewright.device("matraptor", lanes=2, channels=2) as device:
            a = formats.to_c2sr(matrix, device.config.layout)
            product = formats.from_c2sr(tilewright.driver(device).multiply(a, a))
        assert product.toarray().tolist() == [[6, 0], [0, 6]]
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
    """Returns the registers of a device by name; they also submit jobs. Raises as :func:`driver`.

    Example
    -------
        import tilewright

        with tilewright.device("matraptor", lanes=2, channels=2) as device:
            registers = tilewright.registers(device)
            registers.write("ROWS", 12)
            assert registers.read("ROWS") == 12
    """
    return JobRegisters(device, _entry_of(device).unit.job_spec(device.config))
