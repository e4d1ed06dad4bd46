"""All functions of a design with sparse operands between its loaders and its unloader."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, ResetInserter
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.design import Design
from ...spec.t2s.functions import pad_pattern
from ...stream.output_register import OutputRegister
from ..layouts import word_layout
from .fed_element import FedElement
from .layouts import key_fields, token_layout
from .merger import Merger
from .result_collector import ResultCollector

__all__ = ["SparseArray"]


class SparseArray(wiring.Component):
    """Processing elements to which entries come, with what feeds them and takes their results.

    Each element's tokens go to it and to its own feeder of every dense operand, each at its own
    time. Words of dense operands come to the feeders of the first element; each passes all on to
    that of the next one, through a register.

    It never stops while memory goes on. Tokens come in vectors, a token an element, and a vector
    has the ends of tiles for all elements or for none: so once a single element has the token that
    ends a tile, all others have it, or can take it without the first one. Let there be an element
    that waits. For a word: its feeder has its token, or gets it, as nobody else takes longer than
    the entries before; and the block comes, since all feeders empty the one before, whose end they
    have, or can take. For its results to leave: the collector waits for an element that is behind,
    which has the tokens to the end of its tile, or can take them. So the slowest one always goes
    on. Queues of tokens save cycles, not more.

    Source: T2S-Tensor, section 6.2.1: sparse tensors.

    Parameters
    ----------
    design: its parts; ``design.sparse`` has those of entries

    Members
    -------
    i_<tensor>: of a sparse operand, an array of streams of tokens, one for each element; of a dense
        one, words, from its loader
    o: words of the result
    clear: in; forgets all words at the end of the cycle
    busy: out; the last element begins an operation
    """

    def __init__(self, design: Design) -> None:
        assert design.sparse
        self._design, self._plan = design, design.sparse
        tokens = {
            f"i_{one.tensor}": In(stream.Signature(token_layout(one.layout))).array(one.elements)
            for one in self._plan.entries
        }
        words = {f"i_{one.tensor}": In(_words(one.word_bits)) for one in design.loaders}
        result = Out(_words(design.unloader.word_bits))
        super().__init__({**tokens, **words, "o": result, "clear": In(1), "busy": Out(1)})

    @property
    def design(self) -> Design:
        return self._design

    def elaborate(self, platform: object) -> Elaboratable:
        m = Module()
        plan, name = self._plan, self._design.element.name
        m.submodules.collector = collector = ResultCollector(plan.collect, plan.rows.element_extent)
        words = {one.tensor: wiring.flipped(self._operand(one.tensor)) for one in plan.gathers}
        for number, tokens in enumerate(self._tokens(m)):
            m.submodules[f"{name}_{number}"] = element = FedElement(plan)
            wiring.connect(m, tokens, element.t)
            results = collector.i[number]
            m.d.comb += [
                results.payload.data.eq(element.o.payload),
                results.valid.eq(element.o.valid),
                element.o.ready.eq(results.ready),
            ]
            for tensor in words:
                wiring.connect(m, words[tensor], getattr(element, f"i_{tensor}"))
                words[tensor] = self._onward(m, number, tensor, element)
            if number == plan.rows.element_extent - 1:
                m.d.comb += self.busy.eq(element.busy)
        wiring.connect(m, collector.o, wiring.flipped(self.o))
        return ResetInserter(self.clear)(m)

    def _operand(self, tensor: str) -> Any:
        return getattr(self, f"i_{tensor}")

    def _onward(self, m: Module, number: int, tensor: str, element: FedElement) -> Any:
        """Words of an operand that an element's feeder passes on; behind the last one, nowhere."""
        source = getattr(element, f"o_{tensor}")
        if number == self._plan.rows.element_extent - 1:
            m.d.comb += source.ready.eq(1)
            return None
        m.submodules[f"{tensor}_{number}_onward"] = register = OutputRegister(
            source.payload.shape()
        )
        wiring.connect(m, source, register.i)
        return register.o

    def _tokens(self, m: Module) -> list[Any]:
        """The tokens of each element, those of two tensors merged."""
        plan = self._plan
        streams = [
            [wiring.flipped(one) for one in self._operand(part.tensor)] for part in plan.entries
        ]
        if not plan.merge:
            return streams[0]
        ((a,), (b,)) = streams
        tensor, layout = plan.entries[0].tensor, plan.entries[0].layout
        fmt = self._design.word_format(tensor)
        pad = pad_pattern((), self._design.program.tensor(tensor).pad, fmt)
        m.submodules.merger = merger = Merger(
            layout,
            plan.merge,
            key_fields(plan),
            pad=pad << (fmt.container_bits - fmt.bits),
        )
        wiring.connect(m, a, merger.i_a)
        wiring.connect(m, b, merger.i_b)
        return [merger.o]


def _words(bits: int) -> stream.Signature:
    return stream.Signature(word_layout(bits))
