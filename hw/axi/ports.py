"""AXI ports of an accelerator: flat members with the names that other tools recognise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.registers.register_map import WORD_BITS
from .burst_reader import PAGE_BYTES
from .registers import AxiLiteRegisters

__all__ = ["LitePort", "ManagerPort"]

_INCR = 1
_MODIFIABLE = 0b0011
"""AxCACHE of ordinary memory, not cached."""

_FLAT = {"address": "addr", "length": "len", "response": "resp", "strobe": "strb"}
"""AXI's words for fields of streams, where they differ."""

_Channels = tuple[tuple[str, bool, dict[str, int]], ...]
"""Letters, direction (whether the component sends it) and signal widths of each channel."""


def _channel(
    top: wiring.Component, prefix: str, letters: str, names: tuple[str, ...]
) -> dict[str, Value]:
    """The signals of a channel by the stream's names for them, valid and ready included."""
    names = (*names, "valid", "ready")
    return {name: getattr(top, f"{prefix}_{letters}{_FLAT.get(name, name)}") for name in names}


def _send(m: Module, stream: Any, to: dict[str, Value]) -> None:
    """Connects an output stream to a channel; a field the stream lacks is zero."""
    m.d.comb += [to["valid"].eq(stream.valid), stream.ready.eq(to["ready"])]
    for name, _ in stream.payload.shape():
        m.d.comb += to[name].eq(stream.payload[name])


def _receive(m: Module, stream: Any, source: dict[str, Value]) -> None:
    """Connects a channel to an input stream."""
    m.d.comb += [stream.valid.eq(source["valid"]), source["ready"].eq(stream.ready)]
    for name, _ in stream.payload.shape():
        m.d.comb += stream.payload[name].eq(source[name])


def _members(prefix: str, channels: _Channels) -> dict[str, wiring.Member]:
    """The members of a port's channels, valid and ready included."""
    members = {}
    for letters, sent, widths in channels:
        ahead, back = (Out, In) if sent else (In, Out)
        for name, width in (widths | {"valid": 1}).items():
            members[f"{prefix}_{letters}{name}"] = ahead(width)
        members[f"{prefix}_{letters}ready"] = back(1)
    return members


@dataclass(frozen=True, kw_only=True)
class ManagerPort:
    """An AXI4 manager.

    Parameters
    ----------
    prefix: of all its signals, without the underscore behind it
    addr_bits, data_bits, id_bits: widths; ``id_bits`` at least 1
    """

    prefix: str
    addr_bits: int
    data_bits: int
    id_bits: int = 1

    def members(self) -> dict[str, wiring.Member]:
        """The flat members for the accelerator's signature."""
        identity, data = {"id": self.id_bits}, {"data": self.data_bits}
        request = identity | {"addr": self.addr_bits, "len": 8, "size": 3, "burst": 2}
        request |= {"lock": 1, "cache": 4, "prot": 3, "qos": 4}
        channels: _Channels = (
            ("aw", True, request),
            ("w", True, data | {"strb": self.data_bits // 8, "last": 1}),
            ("b", False, identity | {"resp": 2}),
            ("ar", True, request),
            ("r", False, identity | data | {"resp": 2, "last": 1}),
        )
        return _members(self.prefix, channels)

    def describe(self) -> dict[str, Any]:
        """The port's entry in the sidecar."""
        names = {"prefix": self.prefix, "role": "manager", "protocol": "axi4"}
        widths = {"addr_bits": self.addr_bits, "data_bits": self.data_bits}
        bursts = {"burst": "INCR", "beat_bytes": self.data_bits // 8, "boundary_bytes": PAGE_BYTES}
        rules = {"cache": _MODIFIABLE, "responses": "any order between IDs, in order within one"}
        return names | widths | {"id_bits": self.id_bits} | bursts | rules

    def connect(
        self, m: Module, top: wiring.Component, *, read: Any = None, write: Any = None
    ) -> None:
        """Connects the streams of readers (``ar``, ``r``) and of writers (``aw``, ``w``, ``b``).

        A direction that nobody uses never requests anything. A stream without ``id`` has ID 0.
        """
        if read is not None:
            self._request(m, top, "ar", read.ar)
            _receive(m, read.r, _channel(top, self.prefix, "r", ("data", "response", "last", "id")))
        if write is not None:
            self._request(m, top, "aw", write.aw)
            _send(m, write.w, _channel(top, self.prefix, "w", ("data", "strobe", "last")))
            _receive(m, write.b, _channel(top, self.prefix, "b", ("response", "id")))

    def serve(self, m: Module, unit: wiring.Component, memory: Mapping[str, Any]) -> None:
        """Connects the streams ``ar``, ``r``, ``aw``, ``w``, ``b`` of a memory to the port of a
        unit inside the component. What else a burst says of itself is ignored."""
        for letters, names in (
            ("ar", ("address", "length", "id")),
            ("aw", ("address", "length", "id")),
            ("w", ("data", "strobe", "last")),
        ):
            _receive(m, memory[letters], _channel(unit, self.prefix, letters, names))
        _send(m, memory["r"], _channel(unit, self.prefix, "r", ("data", "response", "last", "id")))
        _send(m, memory["b"], _channel(unit, self.prefix, "b", ("response", "id")))

    def _request(self, m: Module, top: wiring.Component, letters: str, stream: Any) -> None:
        """Connects AR or AW: the fields of a burst, and the constants of every burst."""
        _send(m, stream, _channel(top, self.prefix, letters, ("address", "length", "id")))
        size = (self.data_bits // 8).bit_length() - 1
        for name, value in {"size": size, "burst": _INCR, "cache": _MODIFIABLE}.items():
            m.d.comb += getattr(top, f"{self.prefix}_{letters}{name}").eq(value)


@dataclass(frozen=True, kw_only=True)
class LitePort:
    """An AXI4-Lite subordinate with words of 32 bits.

    Parameters
    ----------
    prefix: of all its signals, without the underscore behind it
    addr_bits: width of an address
    """

    prefix: str = "s_axil"
    addr_bits: int

    def members(self) -> dict[str, wiring.Member]:
        """The flat members for the accelerator's signature."""
        request = {"addr": self.addr_bits, "prot": 3}
        channels: _Channels = (
            ("aw", False, request),
            ("w", False, {"data": WORD_BITS, "strb": WORD_BITS // 8}),
            ("b", True, {"resp": 2}),
            ("ar", False, request),
            ("r", True, {"data": WORD_BITS, "resp": 2}),
        )
        return _members(self.prefix, channels)

    def describe(self) -> dict[str, Any]:
        """The port's entry in the sidecar."""
        names = {"prefix": self.prefix, "role": "subordinate", "protocol": "axi4-lite"}
        return names | {"addr_bits": self.addr_bits, "data_bits": WORD_BITS, "id_bits": 0}

    def connect(self, m: Module, top: wiring.Component, registers: AxiLiteRegisters) -> None:
        """Connects the registers."""
        for letters, stream in (("aw", registers.aw), ("ar", registers.ar)):
            _receive(m, stream, _channel(top, self.prefix, letters, ("address",)))
        _receive(m, registers.w, _channel(top, self.prefix, "w", ("data", "strobe")))
        _send(m, registers.b, _channel(top, self.prefix, "b", ("response",)))
        _send(m, registers.r, _channel(top, self.prefix, "r", ("data", "response")))

    def drive(self, m: Module, unit: wiring.Component, manager: Mapping[str, Any]) -> None:
        """Connects the streams ``ar``, ``r``, ``aw``, ``w``, ``b`` of a manager to the port of a
        unit inside the component."""
        for letters in ("aw", "ar"):
            _send(m, manager[letters], _channel(unit, self.prefix, letters, ("address",)))
        _send(m, manager["w"], _channel(unit, self.prefix, "w", ("data", "strobe")))
        _receive(m, manager["b"], _channel(unit, self.prefix, "b", ("response",)))
        _receive(m, manager["r"], _channel(unit, self.prefix, "r", ("data", "response")))
