"""Elaborated components to RTLIL, one module for each different component.

Every component is converted by itself, with the ports of its signature, and appears in its
parent as an instance. (Amaranth's own conversion of a hierarchy makes a module of each
instance, with ports that depend on what it is wired to.) Two components share a module if their
class, attributes and signature are equal, in which case only one of them is elaborated, or
else if their text and the fields of their signals are equal.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from amaranth.hdl import (
    ClockSignal,
    Format,
    Fragment,
    Instance,
    Module,
    ResetInserter,
    ResetSignal,
    Shape,
    Signal,
    Value,
)
from amaranth.hdl._ir import Design, PortDirection
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from .blocks import (
    Block,
    ModuleSource,
    add_probes,
    comment_of,
    layout_names,
    name_at,
    parameters_of,
    signal_lines,
)
from .keywords import KEYWORDS
from .layouts import Fields, Struct, coded_parts, fields_of, struct_of
from .rtlil.convert import convert, prepare
from .rtlil.netlist import Place
from .rtlil.tidy import MODULE, tidy

__all__ = ["Hierarchy", "ports_of"]


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")


def ports_of(component: wiring.Component) -> Iterator[tuple[str, str, Signal]]:
    """The ports of a component: name, "i" or "o", signal. Constants (the valid of a stream that
    is always valid) are no ports."""
    for path, member, value in component.signature.flatten(component):
        signal = Value.cast(value)
        if isinstance(signal, Signal):
            yield "__".join(map(str, path)), "i" if member.flow == wiring.In else "o", signal


def _is_of_stream(port: str, ports: Set[str]) -> bool:
    """Returns whether a port is one of a stream's, all of which stand behind the others."""
    stem, _, part = port.rpartition("__")
    return part in ("payload", "valid", "ready") and f"{stem}__payload" in ports


class _NotPlain(Exception):
    """An attribute that cannot be compared by value."""


def _shape_key(shape: Any) -> Any:
    cast = Shape.cast(shape)
    return cast.width, cast.signed, repr(shape), shape if isinstance(shape, type) else None


def _signature_key(signature: wiring.Signature) -> Any:
    def member_key(member: wiring.Member) -> Any:
        if member.is_port:
            return _shape_key(member.shape), repr(member.init)
        return type(member.signature), _signature_key(member.signature)

    members = signature.members.items()
    return tuple((name, m.flow, m.dimensions, member_key(m)) for name, m in members)


def _value_key(value: Any) -> Any:
    """A hashable stand-in for a parameter; raises _NotPlain for anything but plain data."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, Enum, type)):
        return type(value), value
    if isinstance(value, (tuple, list)):
        return type(value), tuple(_value_key(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return type(value), frozenset(_value_key(item) for item in value)
    if isinstance(value, Mapping):
        return type(value), tuple((_value_key(k), _value_key(v)) for k, v in value.items())
    if is_dataclass(value):
        items = tuple((f.name, _value_key(getattr(value, f.name))) for f in fields(value))
        return type(value), items
    if isinstance(value, wiring.Signature):
        return type(value), _signature_key(value)
    if isinstance(value, Shape) or hasattr(value, "as_shape"):
        return type(value), _shape_key(value)
    raise _NotPlain


def _component_key(component: wiring.Component) -> Any:
    """Equal for components that elaborate alike; None if that is not known beforehand."""
    hidden = set(component.signature.members) | {"_Component__signature"}
    attributes = {
        name: value
        for name, value in vars(component).items()
        if name not in hidden and not name.startswith("_MustUse__")
    }
    try:
        return type(component), _signature_key(component.signature), _value_key(attributes)
    except _NotPlain:
        return None


def _values(signal: Signal) -> dict[int, str]:
    """The names of a signal's values: states of a state machine, members of an enumeration."""
    decoder = signal._decoder
    if isinstance(signal._format, Format.Enum):
        return dict(signal._format._variants)
    values: dict[int, str] = {}
    while callable(decoder):
        try:
            values[len(values)] = decoder(len(values)).rpartition("/")[0]
        except KeyError:
            break
    return values


def _codes(design: Design) -> dict[str, dict[int, str]]:
    """The signals of a module whose values have names."""
    named = {
        name: _values(signal)
        for info in design.fragments.values()
        for signal, name in info.signal_names.items()
    }
    return {name: values for name, values in named.items() if values}


def _part_codes(
    codes: Mapping[str, Mapping[int, str]], layouts: Mapping[str, Any], text: str
) -> dict[tuple[str, int, int], Mapping[int, str]]:
    """Parts of signals whose values have names: enumeration fields, and signals that equal one."""
    found: dict[tuple[str, int, int], Mapping[int, str]] = {}
    for name, whole, high, low in re.findall(
        r"^ *connect \\(\S+) \\(\S+) \[(\d+):(\d+)\]$", text, re.M
    ):
        if name in codes:
            found[whole, int(high), int(low)] = codes[name]
    for name, layout in layouts.items():
        for high, low, values in coded_parts(layout):
            found[name, high, low] = values
    return found


def _part_names(text: str) -> dict[tuple[str, int, int], str]:
    """The parts of signals that have names of their own, which are not those of pins."""
    found: dict[tuple[str, int, int], str] = {}
    for name, whole, high, low in re.findall(
        r"^connect \\(\w+) \\(\S+) \[(\d+)(?::(\d+))?\]$", text, re.M
    ):
        if "__" not in name:
            found.setdefault((whole, int(high), int(low or high)), name)
    return found


def _value_names(text: str, places: Mapping[str, Place]) -> dict[str, str]:
    """The names that the Python has for the values of wires without names."""
    wires = re.findall(r"^  wire width \d+ (\$\d+)$", text, re.M)
    named = {wire: name_at(*places[wire]) for wire in wires if wire in places}
    return {wire: name for wire, name in named.items() if name}


def _layouts(design: Design) -> dict[str, Any]:
    """Amaranth's descriptions of the signals of a module that consist of fields or elements."""
    return {
        name: signal._format
        for info in design.fragments.values()
        for signal, name in info.signal_names.items()
        if isinstance(signal._format, Format.Struct | Format.Array)
    }


def _structs(layouts: Mapping[str, Any], flat: Set[str]) -> dict[str, Struct]:
    """The signals that have fields, but for those that are to be flat."""
    structs = {name: struct_of(layout) for name, layout in layouts.items() if name not in flat}
    return {name: struct for name, struct in structs.items() if struct is not None}


def _with_reset(elaborated: Any) -> tuple[Any, Value]:
    """Elaborates a component, and returns the reset of all below it: the clock domain's, or with it
    the reset that a ``ResetInserter`` adds."""
    transforms = getattr(elaborated, "_transforms_", ())
    if not transforms:
        return elaborated, ResetSignal()
    module, reset = elaborated._elaboratable_, Signal(name="reset")
    if not isinstance(module, Module) or [type(one) for one in transforms] != [ResetInserter]:
        raise ValueError("a component must elaborate to a module, or to one with a reset more")
    module.d.comb += reset.eq(ResetSignal() | transforms[0].controls["sync"])
    return module, reset


def _clear(module: Module) -> None:
    """Clears a module and its submodules, which would otherwise keep their contents alive."""
    for submodule, _ in module._named_submodules.values():
        if isinstance(submodule, Module):
            _clear(submodule)
    vars(module).clear()


class Hierarchy:
    """The modules of a design.

    Parameters
    ----------
    top: name of the top module, and prefix of all others
    component: the top component; it and everything below is elaborated here
    source: where the idea of the top component comes from, if its docstring does not say

    Members
    -------
    blocks: the modules by name, children before parents
    probes: modules that the design does not have, which try the formulas of its parameters
    """

    def __init__(self, top: str, component: wiring.Component, source: str = "") -> None:
        self._top = top
        self._source = source
        self._by_key: dict[Any, Block] = {}
        self._by_text: dict[tuple[str, Fields], Block] = {}
        self._owners: dict[int, tuple[Signal, str]] = {}
        self._declared: list[tuple[wiring.Component, Block]] = []
        self.blocks: dict[str, Block] = {}
        self.probes: dict[str, Block] = {}
        self._convert(component, top)
        self._add_probes()

    def rtlil(self) -> str:
        """The text of all modules, parents before children."""
        return "\n".join(block.rtlil for block in reversed(self.blocks.values()))

    def _add_probes(self) -> None:
        own = set(self.blocks)
        groups = add_probes(self._declared[:], self._convert)
        for group in groups:
            blocks = [self.blocks[module] for module in group.modules]
            same = set.intersection(*(set(block.structs.items()) for block in blocks))
            for block in blocks:
                structs = {name: s for name, s in block.structs.items() if (name, s) in same}
                self.blocks[block.module] = replace(
                    block, structs=structs, exhausted=group.exhausted
                )
        for module in [module for module in self.blocks if module not in own]:
            self.probes[module] = replace(self.blocks.pop(module), probe=True)

    def _convert(self, component: wiring.Component, name: str | None = None) -> Block:
        key = _component_key(component)
        if key is not None and key in self._by_key:
            component._MustUse__used = True
            return self._by_key[key]
        elaborated = component.elaborate(None)
        component._MustUse__used = True
        module, reset = _with_reset(elaborated)
        if isinstance(module, Module):
            self._replace_submodules(module, reset)
        ports: dict[str, tuple[Signal, PortDirection]] = {}
        for port, direction, signal in ports_of(component):
            signal.name = port
            flow = PortDirection.Input if direction == "i" else PortDirection.Output
            ports[port] = (signal, flow)
        reserved = KEYWORDS & set(ports)
        if reserved:
            raise ValueError(f"a port must not be called `{min(reserved)}`, a word of Verilog")
        design = prepare(Fragment.get(elaborated, None), ports, MODULE)
        foreign = {n for n, _, _ in design.ports} - set(ports) - {"clk", "rst"}
        if foreign:
            raise ValueError(f"a unit has one clock domain; also needed: {', '.join(foreign)}")
        (text, places), layouts = convert(design, MODULE), _layouts(design)
        alike = text, fields_of(layouts)
        block = self._by_text.get(alike)
        if block is None:
            block = self._add(text, component, name, design, layouts, places)
            self._by_text[alike] = block
        self._claim(design, block.module)
        if isinstance(module, Module):
            _clear(module)
        del design, elaborated
        gc.collect(0)
        if key is not None:
            self._by_key[key] = block
        return block

    def _add(
        self,
        text: str,
        component: wiring.Component,
        name: str | None,
        design: Design,
        layouts: Mapping[str, Any],
        places: Mapping[str, Place],
    ) -> Block:
        codes = _codes(design)
        part_codes, part_names = _part_codes(codes, layouts, text), _part_names(text)
        text = tidy(text, keep_clock=name is not None)
        module = name or self._free_name(_snake_case(type(component).__name__))
        clocks = re.findall(r"^  wire width 1 input \d+\s+\\(clk|rst)$", text, re.M)
        ports = dict.fromkeys(sorted(clocks), "i")
        own = [(port, direction) for port, direction, _ in ports_of(component)]
        ports.update(sorted(own, key=lambda port: _is_of_stream(port[0], {p for p, _ in own})))
        text = text.replace(f"module \\{MODULE}\n", f"module \\{module}\n")
        text = text.replace(f"\\{MODULE}.", f"\\{module}.")
        if name is None:
            text = text.replace("attribute \\top 1\n", "")
        comment = tuple(comment_of(component, self._source if name is not None else ""))
        self.blocks[module] = Block(
            module=module,
            ports=ports,
            rtlil=text,
            source=ModuleSource(type(component), signal_lines(design)),
            comment=comment,
            codes=codes,
            part_codes=part_codes,
            part_names=part_names,
            value_names=_value_names(text, places),
            structs=_structs(layouts, set(ports) if name is not None else set()),
            carried=layout_names(design, type(component)),
            layouts=layouts,
            parameters=parameters_of(component),
        )
        if self.blocks[module].parameters:
            self._declared.append((component, self.blocks[module]))
        return self.blocks[module]

    def _free_name(self, name: str) -> str:
        base = name if name.startswith(f"{self._top}_") else f"{self._top}_{name}"
        count, candidate = 1, base
        while candidate in self.blocks:
            count += 1
            candidate = f"{base}_{count}"
        return candidate

    def _replace_submodules(self, module: Module, reset: Value) -> None:
        """Puts an instance in the place of every component below ``module``."""
        named = module._named_submodules
        for index, (submodule, location) in enumerate(module._anon_submodules):
            named[f"{_snake_case(type(submodule).__name__)}_{index}"] = (submodule, location)
        module._anon_submodules.clear()
        for name, (submodule, location) in named.items():
            if isinstance(submodule, Module):
                self._replace_submodules(submodule, reset)
            elif isinstance(submodule, wiring.Component) and not isinstance(submodule, Memory):
                named[name] = (self._instance(name, submodule, reset), location)

    def _instance(self, name: str, component: wiring.Component, reset: Value) -> Instance:
        block = self._convert(component)
        wires: list[tuple[str, str, Any]] = []
        if "clk" in block.ports:
            wires.append(("i", "clk", ClockSignal()))
        if "rst" in block.ports:
            wires.append(("i", "rst", reset))
        for port, direction, signal in ports_of(component):
            signal.name = f"{name}__{port}"
            wires.append((direction, port, signal))
        return Instance(block.module, *wires)

    def _claim(self, design: Design, module: str) -> None:
        """Checks that no inner signal of a module is used in another one."""
        ports = {id(signal) for _, signal, _ in design.ports}
        for info in design.fragments.values():
            for signal in info.used_signals:
                if id(signal) in ports:
                    continue
                _, owner = self._owners.setdefault(id(signal), (signal, module))
                if owner != module:
                    raise ValueError(
                        f"signal `{signal.name}` is used in {owner} and in {module} but is a port "
                        f"of neither"
                    )
