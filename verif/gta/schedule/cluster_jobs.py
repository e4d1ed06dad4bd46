"""Jobs of the schedules' models as commands for the RTL of joined lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.array_job import ArrayJob
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.float_products import FloatProduct
from tilewright.verif.gta.cluster.products import Product, Region
from tilewright.verif.gta.cluster.random_products import masks_of
from tilewright.verif.gta.cluster.vector_command import VectorCommand


def products(job: ArrayJob) -> list[Product]:
    """Returns a product for each segment of a job, in regions stacked one above the other."""
    m, n = (job.n, job.m) if job.dataflow == "is" else (job.m, job.n)
    return [
        Product(
            region=Region(job.rows, job.cols, number, number * job.rows * job.cols, job.cols),
            mode=Operation.OS if job.dataflow == "os" else Operation.WS,
            name=job.format,
            a=np.zeros((m, k), object),
            b=np.zeros((k, n), object),
            lateral=job.lateral,
            overlap=job.overlap,
        )
        for number, k in enumerate(job.segment_sizes)
    ]


def fits(config: GtaConfig, found: Sequence[Product | FloatProduct]) -> bool:
    limits = config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32
    return all(
        words < limit for one in found for words, limit in zip(one.words, limits, strict=True)
    )


def arrange(bench: ClusterBench, job: ArrayJob, found: Sequence[Product | FloatProduct]) -> None:
    masks = masks_of(bench.config, [one.region for one in found])
    used = job.lanes
    spare = [15] * (bench.config.lanes - used)
    bench.arrange(job.cols.bit_length() - 1, masks[:used] + spare)


def float_products(config: GtaConfig, job: ArrayJob) -> list[FloatProduct]:
    """Returns a product for each segment of a job, in succession on one region."""
    return [
        FloatProduct(
            region=Region(job.rows, job.cols, across=job.cols),
            config=config,
            name=job.format,
            a=np.zeros((job.m, k), np.uint64),
            b=np.zeros((k, job.n), np.uint64),
            use_c=bool(number),
            lateral=job.lateral,
            overlap=job.overlap,
        )
        for number, k in enumerate(job.segment_sizes)
    ]


def vector_command(
    config: GtaConfig, job: ArrayJob, results: np.random.Generator
) -> VectorCommand | None:
    """A job as a command; None if it does not fit the memories."""
    rows, cols = job.array
    found = VectorCommand(
        config=config,
        region=Region(job.rows, job.cols, across=job.cols),
        function="dot",
        name=job.format,
        time=-(-job.m // rows) * -(-job.n // cols),
        chain=job.k,
        bases=(0, 0, int(results.integers(2))),
    )
    limits = config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32 - 1
    fit = all(words <= limit for words, limit in zip(found.words, limits, strict=True))
    return found if fit else None
