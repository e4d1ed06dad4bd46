"""Claims: hardware between sources, sinks and watchers, as a component for the prover."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


def opened(part: wiring.Component, *paths: str) -> Module:
    """A component as a module, so that a claim sees the submodules in it, and those of the
    submodules at the paths (names with dots between them), outer ones first."""
    module: Module = part.elaborate(None)
    part._MustUse__used = True
    for path in paths:
        within, *names = module, *path.split(".")
        for name in names[:-1]:
            within = getattr(within.submodules, name)
        inner, place = within._named_submodules[names[-1]]
        within._named_submodules[names[-1]] = (opened(inner), place)
    return module


_WIDE = 48


def _told(payload: Any) -> Value:
    """Returns the bits of a payload that claims compare: all bits, but only the lowest two and the
    highest two of a wide field, which no part interprets."""
    if isinstance(payload, data.View):
        shape = payload.shape()
        fields = [payload[key] for key, _ in shape]
        return Cat(*(_told(field) for field in fields))
    bits = Value.cast(payload)
    return bits if len(bits) <= _WIDE else Cat(bits[:2], bits[-2:])


class Claim(wiring.Component):
    """Claim about a part, for all surroundings that the claim allows.

    Parameters
    ----------
    describe: puts the part, its surroundings and the claims into a new claim
    only: the claims that are made, by name; the others are taken as proved. Default: all are made

    Members
    -------
    m: the module
    and a port for each name given to the methods
    """

    def __init__(
        self, describe: Callable[[Claim], None], *, only: Collection[str] | None = None
    ) -> None:
        self.m = Module()
        self._given: dict[str, Signal] = {}
        self._said: dict[str, Value] = {}
        self._allowed: list[Value] = []
        describe(self)
        if only is not None:
            if unknown := {f"broken_{name}" for name in only} - set(self._said):
                raise ValueError(f"`only` must name claims, not {', '.join(sorted(unknown))}")
            for name in [name for name in self._said if name.startswith("broken_")]:
                if name.removeprefix("broken_") not in only:
                    self._allowed.append(~self._said.pop(name))
        if self._allowed:
            self._said["allowed"] = Cat(self._allowed).all()
        super().__init__(
            {
                **{f"free_{name}": In(len(signal)) for name, signal in self._given.items()},
                **{name: Out(1) for name in self._said},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = self.m
        for name, signal in self._given.items():
            m.d.comb += signal.eq(getattr(self, f"free_{name}"))
        for name, value in self._said.items():
            m.d.comb += getattr(self, name).eq(value)
        return m

    def free(self, name: str, width: int = 1) -> Signal:
        """Bits that may be anything in each cycle."""
        if name in self._given:
            raise ValueError(f"two free signals are called `{name}`")
        self._given[name] = Signal(width, name=f"given_{name}")
        return self._given[name]

    def constant(self, name: str, width: int = 1) -> Signal:
        """Bits that may be anything, and stay so."""
        given, first, kept = self.free(name, width), Signal(init=1), Signal(width)
        value = Signal(width, name=f"constant_{name}")
        self.m.d.comb += value.eq(Mux(first, given, kept))
        self.m.d.sync += [first.eq(0), kept.eq(value)]
        return value

    def allow(self, value: ValueLike) -> None:
        """Assumes that the surroundings keep ``value`` true in each cycle."""
        self._allowed.append(Value.cast(value).bool())

    def broken(self, name: str, value: ValueLike) -> None:
        """Claims that ``value`` is never true."""
        self._say(f"broken_{name}", value)

    def reached(self, name: str, value: ValueLike) -> None:
        """Claims that ``value`` can become true."""
        self._say(f"reached_{name}", value)

    def _say(self, name: str, value: ValueLike) -> None:
        if name in self._said:
            raise ValueError(f"two claims are called `{name}`")
        self._said[name] = Signal(name=f"said_{name}")
        self.m.d.comb += self._said[name].eq(Value.cast(value).bool())

    def waits(self, name: str, value: ValueLike) -> None:
        """Claims that ``value`` stays true only for a bounded number of cycles in a row;
        :func:`explore` finds the number."""
        self._say(f"waits_{name}", value)

    def before(self, value: ValueLike, name: str, init: int = 0) -> Signal:
        """A value a cycle ago."""
        signal = Signal(len(Value.cast(value)), name=f"{name}_before", init=init)
        self.m.d.sync += signal.eq(value)
        return signal

    def source(
        self,
        name: str,
        port: Any,
        given: Value | None = None,
        *,
        drops: ValueLike = 0,
        quiet: ValueLike = 0,
    ) -> Value:
        """Lets a stream of the part offer any word at any time, by the rules of streams: an offer
        stays until its transfer. Returns whether there is a transfer.

        Parameters
        ----------
        given: the payload of a new offer; default: anything
        drops: what is offered in this cycle is forgotten at its end
        quiet: nothing is offered
        """
        payload = Value.cast(port.payload)
        waiting, kept = Signal(name=f"{name}_waiting"), Signal(len(payload), name=f"{name}_kept")
        fresh = self.free(f"{name}_payload", len(payload)) if given is None else given
        self.m.d.comb += [
            port.valid.eq((self.free(f"{name}_offer") | waiting) & ~Value.cast(quiet).bool()),
            payload.eq(Mux(waiting, kept, fresh)),
        ]
        stays = port.valid & ~port.ready & ~Value.cast(drops).bool()
        self.m.d.sync += [waiting.eq(stays), kept.eq(payload)]
        return port.valid & port.ready

    def sink(
        self,
        name: str,
        port: Any,
        *,
        excused: ValueLike = 0,
        only: tuple[str, ...] | None = None,
    ) -> Value:
        """Let the sink of a stream of the part be ready at any time. Returns whether it takes.

        Parameters
        ----------
        excused: what was offered before this cycle or in it need not be offered any more
        only: the fields that are claimed to stay; default: all
        """
        self.m.d.comb += port.ready.eq(self.free(f"{name}_ready"))
        self.stable(name, port, excused=excused, only=only)
        return port.valid & port.ready

    def stable(
        self,
        name: str,
        port: Any,
        *,
        excused: ValueLike = 0,
        only: tuple[str, ...] | None = None,
    ) -> None:
        """Claims that a stream's offer does not change until the transfer."""
        fields = [port.payload] if only is None else [port.payload[field] for field in only]
        payload = Cat(*(_told(field) for field in fields))
        offered = Signal(name=f"{name}_offered")
        last = self.before(payload, f"{name}_payload")
        self.m.d.sync += offered.eq(port.valid & ~port.ready & ~Value.cast(excused).bool())
        changed = ~port.valid | (payload != last)
        self.broken(f"{name}_stable", offered & changed & ~Value.cast(excused).bool())

    def counter(self, name: str, up: ValueLike, down: ValueLike, most: int) -> Signal:
        """Ups less downs so far; that it leaves 0 to ``most`` is broken."""
        count = Signal(range(most + 1), name=name)
        self.m.d.sync += count.eq(count + Value.cast(up).bool() - Value.cast(down).bool())
        up, down = Value.cast(up).bool(), Value.cast(down).bool()
        self.broken(f"{name}_range", ((count == most) & up & ~down) | ((count == 0) & down & ~up))
        return count

    def within(self, name: str, waits: ValueLike, most: int) -> None:
        """Claim that a condition is never so for more than ``most`` cycles on end."""
        count = Signal(range(most + 2), name=f"{name}_cycles")
        waits = Value.cast(waits).bool()
        self.m.d.sync += count.eq(Mux(waits, Mux(count == most, most, count + 1), 0))
        self.broken(name, waits & (count == most))
        self.reached(f"{name}_waits", waits)

    def promptly(self, name: str, waits: ValueLike, most: int) -> None:
        """The surroundings promise that a condition is never so for more than ``most`` cycles on
        end."""
        count = Signal(range(most + 2), name=f"{name}_patience")
        waits = Value.cast(waits).bool()
        self.m.d.sync += count.eq(Mux(waits, Mux(count == most, most, count + 1), 0))
        self.allow(~(waits & (count == most)))


@dataclass(frozen=True)
class Proof:
    """Something that is proved of a part.

    Parameters
    ----------
    part: what it is about, and its size
    says: what holds
    claim: makes the claim
    cycles: how many are looked at; None: all, of any number
    size: the smallest test that runs it, ``default`` or ``long``
    refuted: the part is a broken one, and the claim must be found wrong
    unreached: what the claim says can be reached, and cannot in this configuration
    within: cycles in which the rest of that is reached
    """

    part: str
    says: str
    claim: Callable[[], Claim] = field(repr=False)
    cycles: int | None = None
    size: str = "default"
    refuted: bool = False
    unreached: frozenset[str] = frozenset()
    within: int = 40

    @property
    def name(self) -> str:
        """Unique name of the test."""
        return f"{self.part}: {self.says}" + (" (refuted)" if self.refuted else "")
