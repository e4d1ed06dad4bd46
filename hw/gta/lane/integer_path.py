"""What a lane has for integers beside its array and its memories."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, RESULT_WORD_BYTES, GtaConfig
from ..path_members import path_members
from .left_feeder import LeftFeeder
from .multi_precision_accumulator import MultiPrecisionAccumulator
from .result_path import ResultPath
from .result_sequencer import ResultSequencer
from .top_feeder import TopFeeder

__all__ = ["IntegerPath"]


class IntegerPath(wiring.Component):
    """Feeders, accumulators under the columns, and the way to the memory of results.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    weights, limbs_log: in; WS, and the format's limbs; constant while anything is under way
    size: in; a result has 4 << size bytes; likewise
    sums, drains: in; of the array, by column
    part, halves, quarters, write_half: see :class:`ResultPath`
    others: see :func:`path_members`
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        sums = data.ArrayLayout(signed(config.partial_bits), COLS)
        own = {
            "weights": In(1),
            "limbs_log": In(2),
            "size": In(2),
            "sums": In(sums),
            "drains": In(sums),
            "part": Out(data.ArrayLayout(2, BANKS)),
            "halves": In(data.ArrayLayout(4 * RESULT_WORD_BYTES, BANKS)),
            "quarters": In(data.ArrayLayout(2 * RESULT_WORD_BYTES, BANKS)),
            "write_half": Out(data.ArrayLayout(4 * RESULT_WORD_BYTES, BANKS)),
        }
        super().__init__(own | path_members(config))

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.left_feeder = left = LeftFeeder(config)
        m.submodules.top_feeder = top = TopFeeder(config)
        for name, feeder in (("left", left), ("top", top)):
            m.d.comb += [
                feeder.weights.eq(self.weights),
                feeder.limbs_log.eq(self.limbs_log),
                feeder.place.eq(self.place),
                feeder.valid.eq(self.valid),
                feeder.fold.eq(self.fold),
                feeder.words.eq(getattr(self, f"{name}_words")),
                getattr(self, f"{name}_read").eq(feeder.read),
                getattr(self, f"{name}_address").eq(feeder.address),
            ]
        m.d.comb += [
            left.go.eq(self.go),
            left.waiting.eq(self.waiting),
            self.x.eq(left.x),
            self.y.eq(top.y),
        ]
        self._results(m, left)
        return m

    def _results(self, m: Module, left: LeftFeeder) -> None:
        """The way of sums to the memory of results."""
        config = self._config
        m.submodules.accumulator = accumulator = MultiPrecisionAccumulator(config)
        m.submodules.result_sequencer = results = ResultSequencer(config)
        m.submodules.result_path = path = ResultPath(config)
        m.d.comb += [
            accumulator.limbs_log.eq(self.limbs_log),
            accumulator.sums.eq(Mux(self.weights, self.sums.as_value(), self.drains.as_value())),
            accumulator.first.eq(path.first),
            results.weights.eq(self.weights),
            results.limbs_log.eq(self.limbs_log),
            results.size.eq(self.size),
            results.place.eq(self.place),
            results.valid.eq(self.valid),
            results.fold.eq(self.fold),
            results.row.eq(left.last_row),
            path.weights.eq(self.weights),
            path.limbs_log.eq(self.limbs_log),
            path.size.eq(self.size),
            path.step.eq(results.step),
            path.sums.eq(accumulator.o),
            path.halves.eq(self.halves),
            path.quarters.eq(self.quarters),
            self.part.eq(path.part),
            self.read.eq(path.read),
            self.read_address.eq(path.read_address),
            self.write.eq(path.write),
            self.write_address.eq(path.write_address),
            self.write_half.eq(path.write_half),
            self.done.eq(path.done),
        ]
