"""The units a user can generate: one table, which the command line, the benches and the
synthesis flows read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .spec.c2sr_converter import C2srConverterConfig
from .spec.config import Config
from .spec.engine import M3xuEngineConfig, Simd2EngineConfig
from .spec.m3xu import BaselineConfig, M3xuConfig, WideConfig
from .spec.matraptor import MatRaptorConfig
from .spec.sequencer import SequencerConfig
from .spec.simd2 import Simd2Config

if TYPE_CHECKING:
    from amaranth.lib.wiring import Component

__all__ = ["UNITS", "Unit"]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of the catalogue.

    Parameters
    ----------
    name: its name on the command line and of its top module
    summary: one line
    source: where the idea comes from
    config: its configuration class
    component: ``module:class`` below ``tilewright.hw``, imported when first built
    parts: components that this one is made around, named likewise, by the parameter that takes them
    """

    name: str
    summary: str
    source: str
    config: type[Config]
    component: str
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)

    def build(self, config: Any) -> Component:
        """The component of a configuration of this unit's config class."""
        parts = {name: _component(part) for name, part in self.parts.items()}
        built: Component = _component(self.component)(config, **parts)
        return built


def _component(name: str) -> Any:
    """What ``module:class`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"tilewright.hw.{module}"), attribute)


_M3XU = "M3XU: multi-mode matrix unit, microarchitecture section"

_ROWS = (
    Unit(
        name="m3xu",
        summary="multi-mode matrix unit: fp16, bf16, tf32, fp32 and complex fp32, 12-bit products",
        source=_M3XU,
        config=M3xuConfig,
        component="m3xu.m3xu:M3xu",
    ),
    Unit(
        name="m3xu_baseline",
        summary="the 16-bit unit M3XU extends: fp16, bf16 and tf32 on 11-bit multipliers",
        source=_M3XU,
        config=BaselineConfig,
        component="m3xu.baseline:BaselineUnit",
    ),
    Unit(
        name="m3xu_wide",
        summary="the brute-force alternative: fp32 at full rate on 24-bit multipliers",
        source=_M3XU,
        config=WideConfig,
        component="m3xu.wide:WideUnit",
    ),
    Unit(
        name="m3xu_sequencer",
        summary="warp-level HMMA instructions over the multi-mode matrix unit",
        source="M3XU: instruction set architecture, table of MMA instructions",
        config=SequencerConfig,
        component="m3xu.sequencer:MmaSequencer",
    ),
    Unit(
        name="simd2",
        summary="semiring matrix unit: mma, min-plus, max-min, or-and and five more, any format",
        source="SIMD2: hardware architecture",
        config=Simd2Config,
        component="simd2.simd2:Simd2",
    ),
    Unit(
        name="engine_simd2",
        summary="tile engine around simd2: semiring products of any size from memory, over AXI4",
        source="SIMD2: programming model, tiled algorithm",
        config=Simd2EngineConfig,
        component="engine.engine:Engine",
        parts={"unit": "simd2.simd2:Simd2"},
    ),
    Unit(
        name="engine_m3xu",
        summary="tile engine around m3xu: matrix products of any size from memory, over AXI4",
        source="SIMD2: programming model, tiled algorithm, around M3XU's unit",
        config=M3xuEngineConfig,
        component="engine.engine:Engine",
        parts={"unit": "m3xu.m3xu:M3xu"},
    ),
    Unit(
        name="matraptor",
        summary="sparse times sparse, row by row through sorting queues, any semiring, over AXI4",
        source="MatRaptor: row-wise product, C2SR, architecture",
        config=MatRaptorConfig,
        component="matraptor.matraptor:MatRaptor",
    ),
    Unit(
        name="c2sr_converter",
        summary="sparse matrices in memory from CSR to C2SR and back, an entry a cycle, over AXI4",
        source="MatRaptor: sparse matrix format",
        config=C2srConverterConfig,
        component="c2sr_converter.converter:Converter",
    ),
)

UNITS: dict[str, Unit] = {row.name: row for row in _ROWS}
