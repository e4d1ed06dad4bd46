"""The accelerators that benches build."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_commands import OPERATIONS
from tilewright.hw.spec.unit import Unit
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.regions import Region
from tilewright.sim.rtl.accelerator import NativeAccelerator

PLAIN = replace(GTA, parts={"cluster": "tilewright.verif.gta.plain_cluster:PlainCluster"})


class PlainModel(GtaModel):
    """Model of :class:`PlainCluster`: how it executes an EXECUTE."""

    def _execute(self, region: Region, fields: dict[str, int]) -> None:
        lanes, ws = self.lanes, OPERATIONS[fields["operation"]] == "ws"
        source, base = (lanes.left, "left_base") if ws else (lanes.top, "top_base")
        simd = OPERATIONS[fields["operation"]] == "simd"
        skipped = sum(fields[name] for name in ("function", "amount", "chain")) if simd else 0
        words = source.shape[2] // 16
        results = lanes.result.shape[2] // 16
        for lane in region.lanes:
            for at in range(fields["time"]):
                here = 16 * ((fields[base] + skipped + at) % words)
                there = 16 * ((fields["result_base"] + at) % results)
                lanes.result[lane, :, there : there + 16] = source[lane, :, here : here + 16]


MEMORY_BYTES = 1 << 16
LARGE_MEMORY_BYTES = 1 << 20
"""Memory of the devices whose drivers place products and vectors of any size."""

NativeGta = NativeAccelerator[GtaConfig]


def native_gta(config: GtaConfig) -> NativeGta:
    """The RTL at native speed, with a large memory."""
    return NativeAccelerator(
        emit(GTA, config), config, memory_bytes=LARGE_MEMORY_BYTES, time_out=4_000_000
    )


class Built(NamedTuple):
    """A unit, its configuration, and the class of its model."""

    unit: Unit
    config: GtaConfig
    model: type[GtaModel]


def _plain(**changes: Any) -> Built:
    few: dict[str, Any] = {"lanes": 2, "vector_bytes": 2048, "outstanding": 4}
    return Built(PLAIN, GtaConfig(**{**few, **changes}), PlainModel)


def _real(**changes: Any) -> Built:
    built = _plain(**changes)
    return Built(GTA, built.config, GtaModel)


DEVICES: dict[str, Built] = {
    "tiny": _real(formats=("int8",), data_bits=64, managers=1, mask_bits=2, vector_bytes=8192),
    "plain": _plain(),
    "all": _real(),
    "regions": _real(formats=("int8", "int32"), lanes=8, data_bits=64, managers=1),
    "plain_narrow": _plain(data_bits=64, lanes=4, managers=1, addr_bits=64),
    "plain_wide": _plain(data_bits=512, lanes=8, mask_bits=2),
    "plain_one": _plain(
        data_bits=256, lanes=1, outstanding=2, formats=("int32", "fp64"), mask_bits=1
    ),
    "plain_sums": _plain(partial_bits=20, float_adders=0, mask_bits=8, vector_bytes=16384),
}


def settings(name: str) -> list[str]:
    """A configuration of ``DEVICES`` as words of a command."""
    chosen = DEVICES[name].config.resolved().items()
    texts = {k: ",".join(v) if isinstance(v, (list, tuple)) else str(v) for k, v in chosen}
    return [word for k, v in texts.items() for word in ("--set", f"{k}={v}")]


def _small(**changes: Any) -> GtaConfig:
    integers = ("int8", "int16", "int32", "int64")
    few: dict[str, Any] = {"lanes": 1, "vector_bytes": 2048, "outstanding": 4, "formats": integers}
    return GtaConfig(**{**few, **changes})


DRIVEN: dict[str, GtaConfig] = {
    "tiny": DEVICES["tiny"].config,
    "all": DEVICES["all"].config,
    "lanes": _small(lanes=4, formats=FORMATS_OF_GTA, vector_bytes=4096),
    "floats": _small(lanes=2, formats=("bf16", "fp32", "fp64"), float_adders=16, adder_stages=1),
    "wide": _small(lanes=2, data_bits=512, formats=("int16", "int64"), vector_bytes=16384),
    "few_sums": _small(lanes=2, partial_bits=22, formats=("int8", "int32"), data_bits=256),
}
"""Configurations whose drivers are tested on the RTL."""

SHARED = GtaConfig(
    lanes=2,
    formats=("int8", "int32", "bf16", "fp32"),
    float_adders=16,
    partial_bits=24,
    vector_bytes=32768,
)
"""Joined lanes that benches share in the default test, as to build some takes most of a minute."""
