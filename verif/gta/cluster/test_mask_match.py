"""Checks each lane's position in its region by plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator
from tilewright.hw.gta.lane_cluster import MaskMatch
from tilewright.hw.spec.gta import GtaConfig
from tilewright.verif.gta.cluster.random_commands import cut, masks_of
from tilewright.verif.kit.sampling import by_size


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_places(lanes: int) -> None:
    """Every arrangement, cut into rectangles; nothing is said to be settled that is not."""
    config = GtaConfig(lanes=lanes)
    part = MaskMatch(config)
    rng = np.random.default_rng(lanes)

    async def bench(sim: Any) -> None:
        for run in range(by_size(6, 30, 200)):
            layout = run % config.lanes.bit_length()
            regions = cut(rng, config, layout, int(rng.integers(0, 5)))
            masks = masks_of(config, regions)
            sim.set(part.csr, {"layout": layout, "masks": masks})
            for _ in range(1000):
                if sim.get(part.settled):
                    break
                await sim.tick()
            for region in regions:
                for row in range(region.rows):
                    for column in range(region.columns):
                        found = sim.get(part.places[region.lane(row, column)])
                        want = {
                            "row": row,
                            "column": column,
                            "rows": region.rows,
                            "columns": region.columns,
                            "left": column == 0,
                            "top": row == 0,
                            "bottom": row == region.rows - 1,
                            "right": column == region.columns - 1,
                        }
                        assert {name: found[name] for name in want} == want

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
