"""Tilewright: a generator of tensor accelerators.

What is public is listed in ``__all__`` and described in ``docs/python.md``. Importing this package
imports nothing else: each name is looked up when it is first used.
"""

# Not `from typing import`, which takes longer than all the rest; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import tilewright.formats as formats
    import tilewright.payloads as payloads

    from .api.computations import run as run
    from .api.devices import board as board
    from .api.devices import device as device
    from .api.devices import driver as driver
    from .api.devices import registers as registers
    from .api.generated import Generated as Generated
    from .api.generated import generate as generate
    from .api.reports import simulate as simulate
    from .api.reports import synth as synth
    from .api.reports import table as table
    from .api.results import Result as Result
    from .api.units import UnitInfo as UnitInfo
    from .api.units import units as units
    from .sim.device.protocol import AcceleratorDevice as Device
    from .sim.device.protocol import JobError as JobError
    from .sim.device.protocol import OpenDevice as OpenDevice

__all__ = [
    "Device",
    "Generated",
    "JobError",
    "OpenDevice",
    "Result",
    "UnitInfo",
    "__version__",
    "board",
    "device",
    "driver",
    "formats",
    "generate",
    "payloads",
    "registers",
    "run",
    "simulate",
    "synth",
    "table",
    "units",
]

__version__ = "0.1.0"

_FOUND_IN = {
    "Device": "sim.device.protocol:AcceleratorDevice",
    "Generated": "api.generated:Generated",
    "JobError": "sim.device.protocol:JobError",
    "OpenDevice": "sim.device.protocol:OpenDevice",
    "Result": "api.results:Result",
    "UnitInfo": "api.units:UnitInfo",
    "board": "api.devices:board",
    "device": "api.devices:device",
    "driver": "api.devices:driver",
    "generate": "api.generated:generate",
    "registers": "api.devices:registers",
    "run": "api.computations:run",
    "simulate": "api.reports:simulate",
    "table": "api.reports:table",
    "units": "api.units:units",
}
"""Module and attribute of each public name. The other public names are modules of this package;
calling ``synth`` calls ``api.reports.synth``."""
_MODULES = ("formats", "payloads", "synth")


if not TYPE_CHECKING:  # for which every name would be there

    def __getattr__(name: str) -> object:
        if name not in _MODULES and name not in _FOUND_IN:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _FOUND_IN.get(name, name).partition(":")
        found: object = import_module(f"{__name__}.{module}")
        if attribute:
            found = getattr(found, attribute)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
