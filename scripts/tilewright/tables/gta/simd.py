"""GTA's lanes as a vector unit, on the RTL, beside a datapath of separate units; areas of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from ...hw.spec.gta import GtaConfig

__all__ = ["COLUMNS", "PAPER", "SEPARATE", "area", "gta_simd"]


COLUMNS = ["mul", "fma", "over separate units: mul", "fma", "cycles of 4,096: mul", "fma", "alone"]
_DIGITS = (2, 2, 2, 2, 1, 1, 0)

PAPER = {
    "int8": 8.0, "int16": 4.0, "int32": 2.0, "int64": 1.0,
    "bf16": 16.0, "fp16": 4.0, "fp32": 3.56, "fp64": 1.3,
}  # fmt: skip
"""Multiplications over those of separate units: its Table 3."""

SEPARATE = {
    "int8": 8, "int16": 4, "int32": 2, "int64": 1, "bf16": 4, "fp16": 4, "fp32": 2, "fp64": 1,
}  # fmt: skip
"""Results a cycle of a lane with separate units and a datapath of 64 bits."""

_VECTOR = 4096
_FEW, _MANY = 4, 12
"""Vectors of two jobs: what the longer one takes more is without begin and end."""

_ADDERS = (8, 64)

_DEFAULT = (("lanes", 1), ("vector_bytes", 1 << 17))


def gta_simd(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    settings: Sequence[str] = (),
) -> Table:
    """Results a lane and cycle of each format, of vectors of 4096 elements behind each other.

    Operands are in the lanes' memories, of which one lane has enough for them: ``lanes=1`` and
    ``vector_bytes=131072`` unless set otherwise. Each format is measured on an accelerator that has
    it alone, formats of floats with 8 fused adders a lane and with 64. Cycles are those from the
    first EXECUTE's begin to the last one's end; *alone* those of a single vector, mul. Every result
    is the golden model's.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: a format
    settings: parameters of the accelerator, NAME=VALUE

    Raises
    ------
    UserError for another target, a wrong parameter, lanes or memories that 4096 elements do not
    fit, a format that there is not, and if the RTL cannot be built.
    """
    if target != "cmos":
        raise UserError(f"gta-simd is simulated: no --target, not {target!r}")
    from ...hw.spec.gta import GTA, GtaConfig, is_float
    from ...settings import read_config

    set_ = {setting.partition("=")[0].strip() for setting in settings}
    given = [*(f"{name}={value}" for name, value in _DEFAULT if name not in set_), *settings]
    config = read_config(GTA, None, given)
    assert isinstance(config, GtaConfig)
    chosen = [name for name in config.formats if only in ("", name)]
    if not chosen:
        raise UserError(not_one_of("--only", config.formats, only))
    _check(config, chosen)
    rows = []
    for name in chosen:
        for adders in _ADDERS if is_float(name) else _ADDERS[:1]:
            own = replace(config, formats=(name,), float_adders=adders)
            progress(f"{name}, {adders} adders" if is_float(name) else name)
            rows.append(_measured(own, name))
    return Table("gta-simd, results a lane and cycle", "rtl", COLUMNS, rows)


def _octets(config: GtaConfig) -> int:
    """Number of octets in each bank."""
    from ...hw.spec.gta import COLS, ROWS

    return _VECTOR // (ROWS * COLS * config.lanes)


def _check(config: GtaConfig, formats: Sequence[str]) -> None:
    from ...hw.spec.gta import element_bytes
    from ...hw.spec.jobs.gta_vector import OCTET

    for name in formats:
        if _octets(config) * OCTET * element_bytes(name) > config.edge_bytes:
            raise UserError(
                f"`vector_bytes` must be enough for {_VECTOR} elements of {name}, not "
                f"{config.vector_bytes}"
            )


def _measured(config: GtaConfig, name: str) -> Row:
    """A format on an accelerator that has it alone."""
    from ...hw.emit.unit import emit
    from ...hw.spec.gta import GTA, is_float
    from ...sim.rtl.accelerator import NativeAccelerator
    from ...sim.rtl.streams import BuildError, ToolMissing
    from .repeated import RepeatedDriver

    try:
        device = NativeAccelerator(emit(GTA, config), config, memory_bytes=1 << 22)
    except (BuildError, ToolMissing) as error:
        raise UserError(f"gta could not be built for simulation: {error}") from None
    each = []
    with device:
        driver = RepeatedDriver(device)
        for function in ("mul", "fma"):
            few, many = (
                _span(driver.cycles(function, name, _octets(config), times))
                for times in (_FEW, _MANY)
            )
            each.append((many - few) / (_MANY - _FEW))
        alone = _span(driver.cycles("mul", name, _octets(config), 1))
    rates = [_VECTOR / (cycles * config.lanes) for cycles in each]
    gains = [rate / SEPARATE[name] for rate in rates]
    # The paper's are those of multipliers that nothing holds up.
    best = not is_float(name) or config.float_adders == _ADDERS[-1]
    paper = [None, None, PAPER[name] if best else None, None, None, None, None]
    label = f"{name}, {config.float_adders} adders" if is_float(name) else name
    return Row(label, paper, [*rates, *gains, *each, alone], _DIGITS)


def _span(counts: Mapping[str, int]) -> int:
    """Cycles from the begin of the first EXECUTE to the end of the last one."""
    return counts["busy_cycles"] + counts["stalls"]


def area(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    settings: Sequence[str] = (),
) -> Table:
    """See ``synth.tables.gta``.

    Parameters
    ----------
    target: "cmos" or "liberty:FILE"
    progress: is told what comes next
    settings: parameters of the accelerator, NAME=VALUE

    Raises UserError for a wrong parameter, ValueError for another target.
    """
    from ...hw.spec.gta import GTA
    from ...settings import read_config
    from ...synth.tables.gta import gta_area

    config = read_config(GTA, None, settings)
    given = {field.name: getattr(config, field.name) for field in fields(config)}
    return gta_area(target, progress=progress, **given)
