"""What a lane does, on matrices and on vectors."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.gta import FORMATS_OF_GTA, GtaConfig
from ...spec.jobs.gta_vector import VECTOR_FUNCTIONS
from ..float.headers import vector_mode
from ..fold_layouts import fold_layout, place_layout
from ..layouts import Operation, pgemm_layout
from ..vector.function_table import properties_layout
from ..vector.vector_sequencer import VectorSequencer
from ..vector_layouts import vector_step_layout
from .fold_sequencer import FoldSequencer
from .waiting_fold import WaitingFold

__all__ = ["LaneSequencer"]


class LaneSequencer(wiring.Component):
    """Takes commands: those on vectors, and on matrices, each begin when all others are over.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    command, start: in; a command, taken in the cycle of ``start``
    place: in; of the lane in its region; constant while not ``quiet``
    ready: out; ``command`` may be taken; depends on it
    current: out; the command taken last
    quiet: out; everything is over, the last result is written
    limbs_log, floats, valid, fold: out; see :class:`FoldSequencer`
    go, waiting: out; see :class:`WaitingFold`
    vector: out; the command is one on vectors
    by_planes: out; and its results come by planes, from the elements
    properties, step: out; see :class:`VectorSequencer`
    mode: out; see ``vector_mode``; of a configuration with floats
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        fold = fold_layout(config)
        members: dict[str, Member] = {
            "command": In(pgemm_layout(config)),
            "start": In(1),
            "place": In(place_layout(config)),
            "ready": Out(1),
            "current": Out(pgemm_layout(config)),
            "quiet": Out(1),
            "limbs_log": Out(2),
            "floats": Out(1),
            "valid": Out(1),
            "fold": Out(fold),
            "go": Out(1),
            "waiting": Out(fold),
            "vector": Out(1),
            "by_planes": Out(1),
            "properties": Out(properties_layout(config)),
            "step": Out(vector_step_layout(config)),
        }
        super().__init__(members | ({"mode": Out(vector_mode())} if config.floats else {}))

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.folds = folds = FoldSequencer(self._config)
        m.submodules.vectors = vectors = VectorSequencer(self._config)
        m.submodules.waiting = waiting = WaitingFold(self._config)
        simd = Signal()
        m.d.comb += [
            simd.eq(self.command.operation == Operation.SIMD),
            folds.command.eq(self.command),
            folds.start.eq(self.start),
            folds.place.eq(self.place),
            vectors.command.eq(self.command),
            vectors.start.eq(self.start & simd),
            vectors.current.eq(folds.current),
            waiting.weights.eq(folds.current.operation == Operation.WS),
            waiting.place.eq(self.place),
            waiting.valid.eq(folds.valid),
            waiting.fold.eq(folds.fold),
            self.ready.eq(Mux(simd, vectors.ready & folds.quiet, folds.ready & vectors.quiet)),
            self.current.eq(folds.current),
            self.quiet.eq(folds.quiet & vectors.quiet),
            *(getattr(self, x).eq(getattr(folds, x)) for x in ("limbs_log", "floats", "valid")),
            self.fold.eq(folds.fold),
            self.go.eq(waiting.go),
            self.waiting.eq(waiting.o),
            self.vector.eq(folds.current.operation == Operation.SIMD),
            self.by_planes.eq(self.vector & ~vectors.properties.floats),
            self.properties.eq(vectors.properties),
            self.step.eq(vectors.step),
        ]
        if self._config.floats:
            self._mode(m)
        return m

    def _mode(self, m: Module) -> None:
        """Of products of floats: limbs as of other vectors, adders as of matrices."""
        current, known = self.current, self.properties
        functions = list(VECTOR_FUNCTIONS)
        mode = {
            "active": C(1),
            "fp16": current.format == FORMATS_OF_GTA.index("fp16"),
            "fp64": current.format == FORMATS_OF_GTA.index("fp64"),
            "own": ~known.sums & (known.element == 2),
            "plain": current.function == functions.index("mul"),
            "subtract": current.function == functions.index("sub"),
            "one": ~known.square,
        }
        active = self.vector & ~self.by_planes
        m.d.comb += [self.mode[name].eq(mode[name] & active) for name, _ in self.mode.shape()]
