"""Several streams into one, a transfer of each together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Module, ShapeLike, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Join"]


class Join(wiring.Component):
    """Joins streams: it accepts a transfer from each input that the next one is composed of, in the
    same cycle. No latency.

    Parameters
    ----------
    payloads: shapes of the inputs' transfers, by name; at least 2

    Members
    -------
    i_<name>: the streams
    needs_<name>: in; the next transfer takes one from this input; so it does if it is left alone.
        At least one is needed. It may depend on the payload of an input that is needed
    o: the stream; of an input that is not needed the payload means nothing
    """

    def __init__(self, payloads: Mapping[str, ShapeLike]) -> None:
        if len(payloads) < 2:
            raise ValueError(f"`payloads` must be of at least 2 inputs, not {len(payloads)}")
        self._names = tuple(payloads)
        members: dict[str, wiring.Member] = {}
        for name, payload in payloads.items():
            members[f"i_{name}"] = In(stream.Signature(payload))
            members[f"needs_{name}"] = In(1, init=1)
        joined = data.StructLayout(dict(payloads))
        super().__init__({**members, "o": Out(stream.Signature(joined))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs: dict[str, Any] = {name: getattr(self, f"i_{name}") for name in self._names}
        needs: dict[str, Value] = {name: getattr(self, f"needs_{name}") for name in self._names}
        # An input is no reason to wait: it offers something, or nothing is wanted of it.
        there = {name: i.valid | ~needs[name] for name, i in inputs.items()}
        m.d.comb += self.o.valid.eq(reduce(and_, there.values()))
        for name, i in inputs.items():
            others = reduce(and_, (there[other] for other in self._names if other != name))
            m.d.comb += [
                self.o.payload[name].eq(i.payload),
                i.ready.eq(self.o.ready & needs[name] & others),
            ]
        return m
