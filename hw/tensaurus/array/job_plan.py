"""What a job's registers mean to the rows."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import KERNELS, TensaurusConfig
from ..layouts import job_layout
from .layouts import levels, plan_layout

__all__ = ["JobPlan"]


class JobPlan(wiring.Component):
    """Works out what the rows have to know of a job, once for all of them.

    Latency two cycles.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: in; see :func:`job_layout`
    plan: out; see :func:`plan_layout`
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__({"job": In(job_layout(config)), "plan": Out(plan_layout(config))})

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, job, plan = self._config, self.job, self.plan
        ttmc = job.kernel == KERNELS.index("ttmc")
        m.d.sync += [
            plan.product_mode.eq(job.order - 2),
            plan.scalar_products.eq(job.kernel == KERNELS.index("mv")),
            plan.scalar_fibers.eq(ttmc),
            plan.last.eq(job.order == 2),
            plan.second.eq(job.order == 4),
        ]
        scalars = [job.scalars_1, job.scalars_2]
        for n in range(config.order - 1):
            scalar = scalars[n] if n < len(scalars) else job.vectors
            m.d.sync += [
                plan.count[n].eq(Mux(ttmc & (job.order != n + 2), scalar, job.vectors)),
                plan.region[n].eq(job[f"region_{n + 1}"]),
            ]
        self._groups(m, ttmc)
        return m

    def _groups(self, m: Module, ttmc: Value) -> None:
        """How many vectors the groups of each level have, and how often they are multiplied."""
        config, job, plan = self._config, self.job, self.plan
        temporary = levels(config) - 1
        sizes: list[Value] = [job.vectors] * (temporary + 1)
        if temporary:
            sizes[-1] = Mux(ttmc, job.vectors * job.scalars_1 * job.scalars_2, job.vectors)
        if temporary == 2:
            sizes[1] = Mux(ttmc, job.vectors * job.scalars_2, job.vectors)
        for level, size in enumerate(sizes):
            m.d.sync += plan.vectors[level].eq(size)
            # Known a cycle after the number of vectors.
            span, known = plan.span[level], plan.vectors[level]
            m.d.sync += span.eq(known)
            for vectors in range(1, config.sum_latency):
                with m.If(known == vectors):
                    m.d.sync += span.eq(vectors * config.partial_sums(vectors))
        # The first level is multiplied by the fibers of the last mode but one.
        for level in range(temporary):
            repeats: Value = job.scalars_1
            if level == 0 and temporary == 2:
                repeats = Mux(job.order == 4, job.scalars_2, job.scalars_1)
            m.d.sync += plan.repeats[level].eq(Mux(ttmc, repeats, 1))
