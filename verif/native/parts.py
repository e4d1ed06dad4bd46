"""Components side by side in one Verilated top, for benches that drive ports cycle by cycle.

What runs is the emitted Verilog. A bench is written as for Amaranth's simulator; one build serves
all the benches of a module.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any

from amaranth.hdl import Const, Module, Value, ValueCastable
from amaranth.hdl._ast import Slice
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.hierarchy import ports_of
from tilewright.hw.emit.unit import emit_component
from tilewright.sim.rtl.build import build_library
from tilewright.sim.rtl.glue import Harness, glue_head, member


def pass_members(m: Module, inner: Any, outer: Any, names: Iterable[str] | None = None) -> None:
    """Connect members of a component inside with those of the same names outside: all of them, or
    some; each is a stream, a plain value, or an array of one dimension of either."""
    members = inner.signature.members
    for name in members if names is None else names:
        member = members[name]
        inside, outside = each_of(getattr(inner, name)), each_of(getattr(outer, name))
        for one, other in zip(inside, outside, strict=True):
            if member.is_signature:
                wiring.connect(m, one, wiring.flipped(other))
            else:
                m.d.comb += other.eq(one) if member.flow == Out else one.eq(other)


def with_ready(member: wiring.Member) -> wiring.Member:
    """A stream's member; one that is always ready has a port for it."""
    plain = stream.Signature(member.signature.members["payload"].shape)
    return member.flow(plain).array(*member.dimensions)


def each_of(member: Any) -> list[Any]:
    """The members of an array, or a single one."""
    return list(member) if isinstance(member, (list, tuple)) else [member]


Bench = Callable[[Any], Coroutine[Any, Any, None]]

_RESET_CYCLES = 2


class _Top(wiring.Component):
    """Components whose ports are the top's, and a register, so that there is always a clock."""

    def __init__(self, parts: Mapping[str, wiring.Component]) -> None:
        self._parts = dict(parts)
        members: dict[str, wiring.Member] = {"turn": Out(1)}
        for name, part in parts.items():
            for port, direction, signal in ports_of(part):
                flow = In if direction == "i" else Out
                members[f"{name}__{port}"] = flow(len(signal))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.turn.eq(~self.turn)
        for name, part in self._parts.items():
            m.submodules[name] = part
            for port, direction, inner in ports_of(part):
                outer = getattr(self, f"{name}__{port}")
                m.d.comb += inner.eq(outer) if direction == "i" else outer.eq(inner)
        return m


def _glue(sidecar: Mapping[str, Any]) -> str:
    """The accessors of ports.cpp."""
    names = [port["name"] for port in sidecar["ports_by_name"]]
    visits = "".join(f'    visit("{name}", {member(name)});\n' for name in names)
    head = "template <typename Visit> void visit_ports(Model& m, Visit visit) {\n"
    return glue_head(sidecar) + head + visits + "}\n"


PORTS = Harness(Path(__file__).with_name("cpp") / "ports.cpp", (), _glue, slow=True)
"""Any ports, which the caller drives."""


class _Port:
    """A port's value in the memory of the model."""

    def __init__(self, place: int, width: int, *, signed: bool = False) -> None:
        self._mask, self.signed = (1 << width) - 1, signed
        self._bytes = next((n for n in (1, 2, 4, 8) if width <= 8 * n), -(-width // 32) * 4)
        kind: Any = ctypes.c_char * self._bytes
        self._place = kind.from_address(place)

    def set(self, value: int) -> None:
        self._place.raw = (value & self._mask).to_bytes(self._bytes, "little")

    def get(self) -> int:
        return int.from_bytes(self._place.raw, "little")


class NativeSimulator:
    """Simulates a component natively: a bench sets and reads ports, and `tick` waits for the next
    clock edge.

    Only ports of the component can be read. A view of a layout is read as such.
    """

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p, ports: dict[int, _Port]):
        self._library, self._handle, self._ports = library, handle, ports
        self._stale = True

    def set(self, port: Any, value: Any) -> None:
        """Drive an input, or a part of one."""
        direct = self._ports.get(id(port))
        if direct is not None and isinstance(value, int):
            direct.set(value)
            self._stale = True
            return
        if isinstance(port, ValueCastable):
            shape: Any = port.shape()
            value = value if isinstance(value, int | data.Const) else shape.const(value)
            value = value if isinstance(value, int) else value.as_bits()
        signal, bits = Value.cast(port), int(value)
        if isinstance(signal, Slice):
            mask = (1 << len(signal)) - 1 << signal.start
            bits = self._bits(signal.value) & ~mask | bits << signal.start & mask
            signal = signal.value
        self._ports[id(signal)].set(bits)
        self._stale = True

    def get(self, port: Any) -> Any:
        """The value of a port in this cycle."""
        if self._stale:
            self._library.native_settle(self._handle)
            self._stale = False
        direct = self._ports.get(id(port))
        if direct is not None and not direct.signed:
            return direct.get()
        if isinstance(port, ValueCastable):
            shape: Any = port.shape()
            return shape.from_bits(self._bits(port.as_value()))
        bits, shape = self._bits(port), port.shape()
        return bits - (1 << shape.width) if shape.signed and bits >> shape.width - 1 else bits

    def _bits(self, value: Value) -> int:
        """Returns the bits of a port, of a part of one, or of a constant: a stream may be always
        ready."""
        if isinstance(value, Const):
            return value.value
        if isinstance(value, Slice):
            return self._bits(value.value) >> value.start & (1 << len(value)) - 1
        return self._ports[id(value)].get()

    async def delay(self, seconds: float) -> None:
        """Time passes, without a clock edge."""

    async def tick(self) -> None:
        """Advances to the next cycle."""
        if self._stale:
            self._library.native_settle(self._handle)
        self._library.native_tick(self._handle)
        self._stale = False


class NativeParts:
    """Components by name; all are built together when the first one is requested.

    Parameters
    ----------
    name: of the generated top
    parts: what makes each
    """

    def __init__(self, name: str, parts: Mapping[str, Callable[[], Any]]) -> None:
        self._name, self._makers = name, dict(parts)
        self._parts: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """A component, whose ports a bench uses."""
        if not self._parts:
            self._build()
        return self._parts[name]

    def _build(self) -> None:
        parts = {name: make() for name, make in self._makers.items()}
        top = _Top(parts)
        listed = [{"name": "rst"}, *({"name": name} for name, _, _ in ports_of(top))]
        emitted = emit_component(top, name=self._name, sidecar_extras={"ports_by_name": listed})
        path = build_library(emitted.verilog, emitted.sidecar, harness=PORTS)
        self._library = library = ctypes.CDLL(str(path))
        library.native_create.restype = ctypes.c_void_p
        library.native_port.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(library.native_create())
        weakref.finalize(self, library.native_destroy, self._handle)
        self._ports: dict[str, dict[int, _Port]] = {}
        self._inputs: dict[str, list[tuple[_Port, int]]] = {}
        for name, part in parts.items():
            ports, inputs = self._ports.setdefault(name, {}), self._inputs.setdefault(name, [])
            for path_of, direction, signal in ports_of(part):
                at, signed = self._place(f"{name}__{path_of}"), signal.shape().signed
                place = _Port(at, len(signal), signed=signed)
                ports[id(signal)] = place
                if direction == "i":
                    inputs.append((place, signal.init))
        self._reset = _Port(self._place("rst"), 1)
        self._parts = parts

    def _place(self, port: str) -> int:
        found = self._library.native_port(self._handle, port.encode())
        assert found, f"no port {port}"
        return int(found)

    def simulate(self, name: str, bench: Bench) -> None:
        """Reset, then run a bench on a component. Inputs that it does not set have their initial
        values."""
        self[name]
        for port, value in self._inputs[name]:
            port.set(value)
        sim = NativeSimulator(self._library, self._handle, self._ports[name])
        self._reset.set(1)
        for _ in range(_RESET_CYCLES):
            self._library.native_settle(self._handle)
            self._library.native_tick(self._handle)
        self._reset.set(0)
        coroutine = bench(sim)
        try:
            coroutine.send(None)
        except StopIteration:
            return
        raise AssertionError("a bench waits for something else than a clock edge")
