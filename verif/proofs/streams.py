"""Claims on the streams of any part: an offer stays until its transfer, and a clear leaves the part
empty."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import stream, wiring
from tilewright.verif.proofs.claim import Claim

_CLEARS = ("clear", "stop")


def _streams(part: wiring.Component) -> Iterator[tuple[str, wiring.Member, Any]]:
    """The streams of a part, those of arrays one by one."""
    for name, member in part.signature.members.items():
        if not isinstance(member.signature if member.is_signature else None, stream.Signature):
            continue
        ports = [getattr(part, name)]
        for _ in member.dimensions:
            ports = [one for port in ports for one in port]
        for number, port in enumerate(ports):
            yield (f"{name}_{number}" if member.dimensions else name), member, port


def _put(
    claim: Claim,
    part: wiring.Component,
    *,
    constants: Collection[str],
    steady: Mapping[str, str],
    fixed: Mapping[str, int],
    first: Collection[str] = (),
) -> tuple[list[Any], list[tuple[str, Any]]]:
    """Put a part with free inputs into a claim. Returns its streams in and out."""
    m = claim.m
    m.submodules.part = part
    ports = {name: port for name, _, port in _streams(part)}
    inputs, outputs = [], []
    for name, member, port in _streams(part):
        if member.flow == wiring.In:
            claim.source(name, port)
            inputs.append(port)
        else:
            # A sink that is always ready holds nothing up.
            if not isinstance(port.ready, Const):
                m.d.comb += port.ready.eq(claim.free(f"{name}_ready"))
            outputs.append((name, port))
    for name, member in part.signature.members.items():
        if not member.is_port or member.flow != wiring.In or name in _CLEARS:
            continue
        value = Value.cast(getattr(part, name))
        if name in fixed:
            given: Value = Const(fixed[name], len(value))
        elif name in first:
            given = Signal(len(value), init=-1)
            m.d.sync += given.eq(0)
        elif name in constants:
            given = claim.constant(name, len(value))
        elif name in steady:
            # It stays as it is while the transfer waits.
            port = ports[steady[name]]
            waits = claim.before(port.valid & ~port.ready, f"{name}_waits")
            kept = claim.before(value, name)
            given = Mux(waits, kept, claim.free(name, len(value)))
        else:
            given = claim.free(name, len(value))
        m.d.comb += value.eq(given)
    return inputs, outputs


def stream_claim(
    part: wiring.Component,
    *,
    constants: Collection[str] = (),
    steady: Mapping[str, str] | None = None,
    fixed: Mapping[str, int] | None = None,
    first: Collection[str] = (),
    over_clear: bool = False,
) -> Claim:
    """Claims that each output stream of a part holds its offer until the transfer, for all inputs
    that keep the rules of streams.

    Parameters
    ----------
    constants: inputs that do not change
    steady: inputs that stay while the transfer at a stream waits
    fixed: inputs with a value
    first: inputs that are set in the first cycle, and never again
    over_clear: while ``clear`` and ``stop`` come, too, which no part promises
    """

    def describe(claim: Claim) -> None:
        steady_, fixed_ = steady or {}, fixed or {}
        _, outputs = _put(
            claim, part, constants=constants, steady=steady_, fixed=fixed_, first=first
        )
        for name in _CLEARS:
            if hasattr(part, name):
                value = claim.free(name) if over_clear else Const(0)
                claim.m.d.comb += getattr(part, name).eq(value)
        for name, port in outputs:
            if isinstance(port.ready, Const):
                continue
            claim.stable(name, port)
            waits = claim.before(port.valid & ~port.ready, f"{name}_waited")
            claim.reached(f"{name}_waits", waits & port.valid & port.ready)

    return Claim(describe)


def clear_claim(
    part: wiring.Component, *, constants: Collection[str] = (), kept: bool = False
) -> Claim:
    """After a ``clear`` no output offers anything until an input does.

    Parameters
    ----------
    kept: the part is not cleared, which is wrong
    """

    def describe(claim: Claim) -> None:
        m = claim.m
        inputs, outputs = _put(claim, part, constants=constants, steady={}, fixed={})
        clear, cleared = claim.free("clear"), Signal()
        m.d.comb += part.clear.eq(0 if kept else clear)
        offers = Cat(port.valid for port in inputs).any()
        with m.If(clear):
            m.d.sync += cleared.eq(1)
        with m.Elif(offers):
            m.d.sync += cleared.eq(0)
        found = Cat(port.valid for _, port in outputs).any()
        claim.broken("left", cleared & ~offers & found)
        claim.reached("cleared", claim.before(clear & found, "found") & ~found)

    return Claim(describe)
