"""Conversion of an elaborated component to RTLIL by Amaranth, without its repeated work.

Amaranth's passes treat a value that is used in several places as that many values: it is copied,
searched, computed and written down once for each. Here each value is treated once. What would be
dropped at once is not made: wires for the fields of signals, which nothing reads, and the zeros of
a memory at power-up. The text is what Amaranth's own conversion gives, less those repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from amaranth.back import rtlil
from amaranth.hdl import Fragment, Signal, _ir, _nir, _xfrm
from amaranth.hdl._ast import (
    AnyValue,
    Assign,
    ClockSignal,
    Concat,
    Const,
    Initial,
    Operator,
    Part,
    ResetSignal,
    Slice,
    SwitchValue,
    Value,
)
from amaranth.hdl._ir import Design, PortDirection
from amaranth.hdl._mem import MemoryInstance

from .netlist import Emitter, ModuleEmitter, Place, quick_netlist, replaced

__all__ = ["convert", "prepare"]


def _operands(value: Value) -> Iterator[Value]:
    """The values that a value is directly computed from."""
    kind = type(value)  # Amaranth's classes are final, and `isinstance` of an abstract one is slow.
    if kind is Operator:
        yield from value.operands
    elif kind is Slice:
        yield value.value
    elif kind is Part:
        yield value.value
        yield value.offset
    elif kind is Concat:
        yield from value.parts
    elif kind is SwitchValue:
        yield value.test
        yield from (case for _, case in value.cases)


def _is_choice_of_two(value: SwitchValue) -> bool:
    """Returns whether Amaranth writes a value as a multiplexer."""
    patterns = [pattern for pattern, _ in value.cases]
    return patterns == [("0" * len(value.test),), None]


def _names(value: Value) -> tuple[int, int]:
    """Returns the number of wires and the number of cells without names of their own that a value
    becomes."""
    kind = type(value)
    if kind is Operator:
        if value.operator in ("u", "s"):
            return 0, 0
        return 1, 5 if value.operator in ("//", "%") else 1
    if kind is SwitchValue:
        return (1, 1) if len(value.test) == 1 else (2, 2)
    return 0, 0


class _Use(NamedTuple):
    """Use of a value in the design.

    Parameters
    ----------
    value: itself; so its ``id`` stays its own
    domain: it depends on the clock or the reset of a domain that is given by name
    once: all its uses may have one result; a choice of several cases is a process for each use
    wires, cells: that it is written as, with those that it is computed from, each use anew
    """

    value: Value
    domain: bool
    once: bool
    wires: int
    cells: int


class _Uses:
    """Looks at each value of a design once."""

    def __init__(self) -> None:
        self._found: dict[int, _Use] = {}

    def __getitem__(self, value: Value) -> _Use:
        known = self._found.get(id(value))
        if known is None:
            below = [self[operand] for operand in _operands(value)]
            wires, cells = _names(value)
            kind = type(value)
            known = self._found[id(value)] = _Use(
                value,
                domain=kind in (ClockSignal, ResetSignal) or any(u.domain for u in below),
                once=kind not in (Part, AnyValue, Initial)
                and not (kind is SwitchValue and not _is_choice_of_two(value))
                and all(use.once for use in below),
                wires=wires + sum(use.wires for use in below),
                cells=cells + sum(use.cells for use in below),
            )
        return known

    def find(self, value: Value) -> _Use | None:
        return self._found.get(id(value))


def _assigned(target: Value, low: int = 0) -> Iterator[tuple[int, int]]:
    """Parts of an assignment's target that become whole signals: lowest bit and width."""
    if isinstance(target, Concat):
        for part in target.parts:
            yield from _assigned(part, low)
            low += len(part)
    elif isinstance(target, Operator):
        yield from _assigned(target.operands[0], low)
    elif isinstance(target, Signal):
        yield low, len(target)


class _Collector(_xfrm.DomainCollector):  # type: ignore[misc]
    """Looks for clock domains in values that name one."""

    def __init__(self, uses: _Uses) -> None:
        super().__init__()
        self._uses = uses

    def on_value(self, value: Value) -> None:
        if self._uses[value].domain:
            super().on_value(value)


class _Lowerer(_xfrm.DomainLowerer):  # type: ignore[misc]
    """Puts signals in the place of clock domains, and leaves values alone that name none."""

    def __init__(self, uses: _Uses) -> None:
        super().__init__()
        self._uses = uses
        self._copies = False

    def on_value(self, value: Value) -> Value:
        use = self._uses[value]
        shares = use.once and not use.domain and not self._copies
        return value if shares else super().on_value(value)

    def on_Assign(self, stmt: Any) -> Any:
        width = len(stmt.lhs)
        rhs = stmt.rhs if len(stmt.rhs) <= width else Slice(stmt.rhs, 0, width)
        rhs = self._own(rhs, list(_assigned(stmt.lhs)))
        self._copies = True
        lhs = self.on_value(stmt.lhs)
        self._copies = False
        return Assign(lhs, rhs)

    def _own(self, value: Value, parts: list[tuple[int, int]]) -> Value:
        """A value whose parts, where they are computed as a whole, are its own: the result has
        the name of the signal that it is assigned to."""
        if not parts or isinstance(value, Const | Signal):
            return self.on_value(value)
        if isinstance(value, Operator) and value.operator in ("u", "s"):
            return Operator(value.operator, [self._own(value.operands[0], parts)])
        if isinstance(value, Slice):
            inside = [(value.start + low, size) for low, size in parts if low + size <= len(value)]
            return Slice(self._own(value.value, inside), value.start, value.stop)
        if isinstance(value, Concat):
            own, first = [], 0
            for part in value.parts:
                end = first + len(part)
                inside = [(low - first, n) for low, n in parts if first <= low < low + n <= end]
                own.append(self._own(part, inside))
                first = end
            return Concat(own)
        whole = (0, len(value)) in parts
        return super().on_value(value) if whole else self.on_value(value)


class _Design(Design):  # type: ignore[misc]
    """A design that looks for signals in each value of a fragment once."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._seen: set[tuple[int, int]] = set()
        super().__init__(*arguments, **settings)

    def _collect_used_signals_value(self, fragment: Fragment, value: Value) -> None:
        key = id(fragment), id(value)
        if key not in self._seen:
            self._seen.add(key)
            super()._collect_used_signals_value(fragment, value)


class _Emitter(Emitter):
    """Makes the netlist, and notes where Amaranth's would have a value once more."""

    def emit_rhs(self, module_idx: int, value: Value) -> tuple[_nir.Value, bool]:
        known = self.rhs_cache.get(id(value))
        if known is not None:
            self._repeat(module_idx, value)
            return known[0], known[1]
        if isinstance(value, Slice):
            nets = _nir.Value(self._bits(module_idx, value.value, value.start, value.stop))
            self.rhs_cache[id(value)] = nets, False, value
            return nets, False
        return super().emit_rhs(module_idx, value)

    def _repeat(self, module_idx: int, value: Value) -> None:
        use = self.design.uses.find(value)
        if use is not None and use.cells:
            module = self.netlist.modules[module_idx]
            module.repeated.append((len(module.cells), use.wires, use.cells))

    def _bits(self, module_idx: int, value: Value, low: int, high: int) -> Sequence[_nir.Net]:
        """Bits of a value; parts without any of them are not computed here."""
        if low >= high and self.design.uses.find(value) is not None:
            self._repeat(module_idx, value)
            return ()
        if id(value) in self.rhs_cache or not isinstance(value, Slice | Concat):
            nets, _ = self.emit_rhs(module_idx, value)
            return nets[low:high]
        if isinstance(value, Slice):
            return self._bits(module_idx, value.value, value.start + low, value.start + high)
        found: list[_nir.Net] = []
        first = 0
        for part in value.parts:
            size = len(part)
            found += self._bits(module_idx, part, max(low - first, 0), min(high - first, size))
            first += size
        return found


class _Module(_nir.Module):  # type: ignore[misc]
    """Module of the netlist, and the cells that are left out of it.

    Members
    -------
    repeated: position among the cells, wires and cells
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.repeated: list[tuple[int, int, int]] = []


class _ModuleEmitter(ModuleEmitter):
    """Writes a module with the numbers that Amaranth's wires and cells have, because yosys sorts by
    them. The numbers of omitted cells are not used."""

    def _numbered(self, cells: list[int], of: int) -> Iterator[int]:
        waiting = iter(self.module.repeated)
        gap = next(waiting, None)
        for position in range(len(cells) + 1):
            while gap is not None and gap[0] <= position:
                self.builder._auto_index += gap[of]
                gap = next(waiting, None)
            if position < len(cells):
                yield cells[position]

    def _with_gaps(self, emit: Callable[[], None], of: int) -> None:
        cells = self.module.cells
        self.module.cells = self._numbered(cells, of)
        emit()
        self.module.cells = cells

    def emit_cell_wires(self) -> None:
        self._with_gaps(super().emit_cell_wires, 1)

    def emit_cells(self) -> None:
        self._with_gaps(super().emit_cells, 2)
        last = self.builder._auto_index
        if last and f"${last}" not in self.builder.contents:
            self.builder._auto_index -= 1
            self.builder.wire(1)  # Nothing reads it, but what is added is numbered from it on.


def prepare(
    fragment: Fragment, ports: Mapping[str, tuple[Signal, PortDirection]], name: str
) -> Design:
    """The design of one module of this name, as Amaranth's ``Fragment.prepare`` makes it."""
    uses = _Uses()
    with (
        replaced(_xfrm, DomainCollector=partial(_Collector, uses)),
        replaced(_xfrm, DomainLowerer=partial(_Lowerer, uses)),
        replaced(_ir, Design=_Design),
    ):
        design = fragment.prepare(ports, hierarchy=(name,))
    design.uses = uses
    return design


@contextmanager
def _without_zeros(design: Design) -> Iterator[None]:
    """While this lasts, memories that are written hold nothing at power-up, if they held zeros."""
    contents = {
        fragment: fragment._data._init._raw
        for fragment in design.fragments
        if isinstance(fragment, MemoryInstance)
        and fragment._write_ports
        and not any(fragment._data._init._raw)
    }
    for memory in contents:
        memory._data._init._raw = []
    try:
        yield
    finally:
        for memory, words in contents.items():
            memory._data._init._raw = words


def convert(design: Design, name: str) -> tuple[str, dict[str, Place]]:
    """Returns the RTLIL text of a prepared design of one module of this name, and where the values
    of its wires without names are computed."""
    places: dict[str, Place] = {}
    with (
        _without_zeros(design),
        quick_netlist(_Emitter, _Module, partial(_ModuleEmitter, places=places)),
    ):
        text, _ = rtlil.convert_fragment(design, name=name, emit_src=False)
    return str(text), places
