"""The rules of streams at every output of hw/stream, hw/axi and hw/channels.

Of a field of more than 48 bits, which no part looks at, the claims compare the lowest two bits and
the highest two.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from amaranth.lib import wiring
from tilewright.hw.stream.fork import Fork
from tilewright.verif.proofs.claim import Claim
from tilewright.verif.proofs.parts import PARTS
from tilewright.verif.proofs.proof import Proof
from tilewright.verif.proofs.streams import clear_claim, stream_claim

__all__ = ["STREAM_PROOFS"]

SURROUNDINGS: dict[str, dict[str, Any]] = {
    "join": {"fixed": {"needs_a": 1, "needs_b": 1}},
    "fork_eager": {"steady": {"to": "i"}},
    "flat_blocks": {"steady": {"want": "spans"}, "fixed": {"start": 0}},
    "c2sr_row_writer": {
        "constants": ("pairs_base", "entries_base", "capacity", "lane"),
        "first": ("start",),
    },
}
"""What parts ask of their inputs; see ``stream_claim``."""

WITHOUT_OUTPUTS = {"held_block"}

ASSUMED = {"fork_lazy"}
"""Parts that keep the rules only with certain sinks."""


def _streams(name: str) -> Claim:
    return stream_claim(PARTS[name](), **SURROUNDINGS.get(name, {}))


def _cleared(name: str, *, kept: bool = False) -> Claim:
    constants = SURROUNDINGS.get(name, {}).get("constants", ())
    return clear_claim(PARTS[name](), constants=constants, kept=kept)


def _has_clear(name: str) -> bool:
    part: wiring.Component = PARTS[name]()
    part._MustUse__silence = True
    return "clear" in part.signature.members


def _proofs() -> Iterator[Proof]:
    stays = "what an output offers stays until it is taken"
    for name in PARTS:
        if name not in WITHOUT_OUTPUTS | ASSUMED:
            yield Proof(name, stays, partial(_streams, name))
    for name in PARTS:
        if _has_clear(name) and name not in WITHOUT_OUTPUTS:
            yield Proof(name, "a clear leaves it empty", partial(_cleared, name))
    lazy = partial(stream_claim, steady={"to": "i"})
    yield Proof("fork_lazy", stays, lambda: lazy(Fork(2, 2)), refuted=True)
    over = partial(stream_claim, over_clear=True)
    yield Proof("word_placer with clear", stays, lambda: over(PARTS["word_placer"]()), refuted=True)
    yield Proof(
        "deep_queue without clear",
        "a clear leaves it empty",
        partial(_cleared, "deep_queue", kept=True),
        refuted=True,
    )


STREAM_PROOFS = tuple(_proofs())
