"""An accelerator around lanes that only copy, and its model."""

from __future__ import annotations

from dataclasses import replace

from tilewright.hw.spec.gta import GTA
from tilewright.hw.spec.jobs.gta_commands import OPERATIONS
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.regions import Region

__all__ = ["PLAIN", "PlainModel"]

PLAIN = replace(GTA, parts={"cluster": "tilewright.verif.gta.plain_cluster:PlainCluster"})


class PlainModel(GtaModel):
    """What :class:`PlainCluster` does with an EXECUTE."""

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
