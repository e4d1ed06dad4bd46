"""Area and speed of units; called, the module is :func:`tilewright.api.reports.synth`."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package under the name of the function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        # Named, not imported: no room imports what the package makes public.
        reports: Any = import_module("tilewright.api.reports")
        return reports.synth(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
