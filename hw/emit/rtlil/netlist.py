"""Amaranth's netlist of one module, made in less time.

A netlist has an object for each bit of each value. These classes make and follow them in bulk, and
leave out what a netlist of one module does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, repeat
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Format, _ir, _nir
from amaranth.hdl._nir import Net, Value

__all__ = ["Emitter", "ModuleEmitter", "Place", "quick_netlist", "replaced"]

Place = tuple[str, int]
"""File and line."""

_ZERO, _ONE = Net(0), Net(1)
_BITS = {"0": _ZERO, "1": _ONE}


@contextmanager
def replaced(module: Any, **parts: Any) -> Iterator[None]:
    """Replaces attributes of a module or class of Amaranth, inherited ones too, while the context
    lasts."""
    own = {name: vars(module)[name] for name in parts if name in vars(module)}
    for name, part in parts.items():
        setattr(module, name, part)
    try:
        yield
    finally:
        for name in parts:
            if name in own:
                setattr(module, name, own[name])
            else:
                delattr(module, name)


def _value(cls: type[Any], nets: Any = ()) -> Any:
    """A value of nets, without a look at each whether it is one."""
    return tuple.__new__(cls, (nets,) if isinstance(nets, Net) else nets)


def _part(value: Value, index: Any) -> Any:
    part = tuple.__getitem__(value, index)
    return tuple.__new__(Value, part) if isinstance(index, slice) else part


def _constant(cls: type[Any], value: int, width: int) -> Any:
    if not width:
        return tuple.__new__(cls)
    bits = f"{value & ((1 << width) - 1):0{width}b}"
    return tuple.__new__(cls, map(_BITS.__getitem__, reversed(bits)))


def _net(cell: int, bit: int) -> Net:
    """A bit of a cell's output. Amaranth's own method checks both numbers first."""
    return Net(cell << 16 | bit)


class _Netlist(_nir.Netlist):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self._drivers: dict[Net, Net] = {}

    def add_value_cell(self, width: int, cell: _nir.Cell) -> Value:
        first = self.add_cell(cell) << 16
        return tuple.__new__(Value, map(Net, range(first, first + width)))

    def alloc_late_value(self, signal: Any) -> Value:
        width = len(signal)
        self.last_late_net -= width
        first = self.last_late_net
        value = tuple.__new__(Value, map(Net, range(first, first + width)))
        self.late_to_signal.update(
            zip(value, zip(repeat(signal), count(), strict=False), strict=False)
        )
        return value

    def resolve_net(self, net: Net) -> Net:
        return net if net >= 0 else self._drivers[net]

    def resolve_value(self, value: Value) -> Value:
        drivers = self._drivers
        return tuple.__new__(Value, [net if net >= 0 else drivers[net] for net in value])

    def _follow(self) -> bool:
        """Finds the final driver of each net, and whether each is driven by another net."""
        drivers, connections = self._drivers, self.connections
        for late, net in connections.items():
            passed = [late]
            while net < 0 and net not in drivers:
                if net in passed:
                    return False
                passed.append(net)
                net = connections[net]
            driver = net if net >= 0 else drivers[net]
            for one in passed:
                drivers[one] = driver
        return True

    def _sources(self, cell: _nir.Cell) -> set[int]:
        """The cells whose outputs a cell's outputs depend on in the same cycle."""
        if isinstance(cell, _nir.FlipFlop):
            nets: Iterable[Net] = (cell.clk, cell.arst)
        elif isinstance(cell, _nir.Instance | _nir.SyncReadPort | _nir.Memory | _nir.Top):
            nets = ()
        else:
            nets = cell.input_nets()
        drivers = self._drivers
        return {(net if net >= 0 else drivers[net]) >> 16 for net in nets}

    def check_comb_cycles(self) -> None:
        """Looks at bits only where cells depend on each other in a circle."""
        if not self._follow():
            super().check_comb_cycles()
            return
        sources = list(map(self._sources, self.cells))
        waiting = [len(found) for found in sources]
        uses: list[list[int]] = [[] for _ in sources]
        for index, found in enumerate(sources):
            for source in found:
                uses[source].append(index)
        ready = [index for index, left in enumerate(waiting) if not left]
        done = 0
        while ready:
            done += 1
            for index in uses[ready.pop()]:
                waiting[index] -= 1
                if not waiting[index]:
                    ready.append(index)
        if done < len(sources):
            super().check_comb_cycles()


class Emitter(_ir.NetlistEmitter):  # type: ignore[misc]
    """Makes the netlist of a design."""

    def emit_signal(self, signal: Any) -> Value:
        signals = self.netlist.signals
        if signal in signals:
            return signals[signal]
        value = signals[signal] = self.netlist.alloc_late_value(signal)
        self.late_net_to_signal.update(
            zip(value, zip(repeat(signal), count(), strict=False), strict=False)
        )
        return value

    def extend(self, value: Value, signed: bool, width: int) -> Value:
        missing = width - len(value)
        if missing <= 0:
            return value
        return tuple.__new__(Value, (*value, *[value[-1] if signed else _ZERO] * missing))

    def connect(self, lhs: Value, rhs: Value, *, src_loc: Any) -> None:
        connections = self.netlist.connections
        if len(set(lhs)) < len(lhs) or not connections.keys().isdisjoint(lhs):
            super().connect(lhs, rhs, src_loc=src_loc)
            return
        connections.update(zip(lhs, rhs, strict=True))
        self.connect_src_loc.update(dict.fromkeys(lhs, src_loc))

    def emit_signal_fields(self) -> None:
        """Signals have no wires for their fields, which nothing would read."""
        for signal in self.design.signal_lca:
            enum = signal._format if isinstance(signal._format, Format.Enum) else None
            whole = _nir.SignalField(
                self.emit_signal(signal),
                signed=signal.shape().signed,
                enum_name=enum and enum._name,
                enum_variants=enum and enum._variants,
            )
            self.netlist.signal_fields[signal] = {(): whole}

    def emit_undriven(self) -> None:
        connections = self.netlist.connections
        for signal, value in self.netlist.signals.items():
            if not connections.keys() >= set(value):
                for bit, net in enumerate(value):
                    if net < 0 and net not in connections:
                        connections[net] = _ONE if signal.init >> bit & 1 else _ZERO


class ModuleEmitter(rtlil.ModuleEmitter):  # type: ignore[misc]
    """Writes a module of the netlist.

    Parameters
    ----------
    places: filled with the file and line of each wire without a name: where its value is computed
    """

    def __init__(self, *arguments: Any, places: dict[str, Place], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._places = places

    def emit(self) -> None:
        super().emit()
        self.__dict__.clear()  # It refers to itself, and to the netlist.

    def emit_driven_wire(self, value: Value) -> Any:
        name = self.value_names.get(value)
        if name is None:
            wire = self.builder.wire(len(value), attrs=self.value_attrs.get(value, {}))
            place = self.netlist.cells[value[0] >> 16].src_loc if value else None
            if place is not None:
                self._places[wire.name] = place
        else:
            wire, _ = self.sigport_wires[name]
            self.driven_sigports.add(name)
        self.nets.update(zip(value, zip(repeat(wire), count(), strict=False), strict=False))
        return wire

    def sigspec(self, *parts: Any) -> str:
        value: list[Net] = []
        for part in parts:
            if isinstance(part, Net):
                value.append(part)
            else:
                value += part
        chunks: list[str] = []
        nets, position, size = self.nets, 0, len(value)
        while position < size:
            first = position
            net = value[first]
            if 0 <= net <= 1:
                while position < size and 0 <= value[position] <= 1:
                    position += 1
                bits = "".join(map(str, map(int, reversed(value[first:position]))))
                chunks.append(f"{position - first}'{bits}")
                continue
            wire, low = nets[net]
            bit = low
            while position < size:
                found = nets.get(value[position])
                if found is None or found[0] is not wire or found[1] != bit:
                    break
                position += 1
                bit += 1
            chunks.append(
                f"{wire.name} [{low}]" if bit == low + 1 else f"{wire.name} [{bit - 1}:{low}]"
            )
        return chunks[0] if len(chunks) == 1 else "{ " + " ".join(reversed(chunks)) + " }"


def _flows(netlist: _nir.Netlist) -> None:
    """Amaranth's flows of nets between modules; within a single one there are none."""
    if len(netlist.modules) > 1:
        _FLOWS(netlist)


_FLOWS = _ir._compute_net_flows


@contextmanager
def quick_netlist(
    emitter: type[Emitter], module: type[_nir.Module], writer: Callable[..., ModuleEmitter]
) -> Iterator[None]:
    """While this lasts, Amaranth converts designs with these classes."""
    with ExitStack() as stack:
        for place, parts in (
            (Value, {"__new__": staticmethod(_value), "__getitem__": _part}),
            (Value, {"from_const": classmethod(_constant)}),
            (Net, {"from_cell": staticmethod(_net)}),
            (_nir, {"Netlist": _Netlist, "Module": module}),
            (_ir, {"NetlistEmitter": emitter, "_compute_net_flows": _flows}),
            (rtlil, {"ModuleEmitter": writer}),
        ):
            stack.enter_context(replaced(place, **parts))
        yield
