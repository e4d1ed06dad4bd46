"""A unit that a user can generate: a row of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .config import Config

if TYPE_CHECKING:
    from amaranth.lib.wiring import Component

    from .registers.job_spec import JobSpec

__all__ = ["Unit", "named_object"]


def named_object(name: str) -> Any:
    """Returns the object that ``module:attribute`` names; the module is imported if it has not
    been."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of the catalogue.

    Parameters
    ----------
    name: its name on the command line and of its top module
    summary: one line
    source: where the idea comes from
    config: its configuration class; of a unit of streams with ``stream_operations`` and ``flags``
        for the sidecar, see :mod:`tilewright.hw.spec.sidecar.operation`
    component: ``module:class``, imported when first built
    parts: components that this one is made around, named likewise, by the parameter that takes them
    jobs: of an accelerator, the function from its configuration to its ``JobSpec``, named likewise
    """

    name: str
    summary: str
    source: str
    config: type[Config]
    component: str
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)
    jobs: str | None = None

    def build(self, config: Any) -> Component:
        """The component of a configuration of this unit's config class."""
        parts = {name: named_object(part) for name, part in self.parts.items()}
        built: Component = named_object(self.component)(config, **parts)
        return built

    def job_spec(self, config: Any) -> JobSpec:
        """The jobs of a configuration. Raises ValueError if the unit takes none."""
        if self.jobs is None:
            raise ValueError(f"{self.name} takes no jobs")
        spec: JobSpec = named_object(self.jobs)(config)
        return spec
