"""Caches for Amaranth's values: shapes, checks of expressions, keys of signals.

Amaranth computes the shape of an expression at each use, from the shapes of its operands, and each
statement checks the whole of its expressions. Both take time quadratic in the depth of an
expression. Values, signals and layouts do not change, so each result is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from amaranth.hdl import Const, Shape, Signal, _ast, _dsl
from amaranth.hdl._ast import Concat, Operator, SignalKey, Slice, SwitchValue, Value
from amaranth.lib import data

from .netlist import replaced

__all__ = ["quick_values"]


@cache
def _plain_shape(width: int, signed: bool) -> Shape:
    return Shape(width, signed)


def _shape_of_signal(signal: Any) -> Shape:
    return _plain_shape(signal._width, signed=signal._signed)


def _shape_of_slice(value: Any) -> Shape:
    return _plain_shape(value._stop - value._start, signed=False)


def _remembered(compute: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Returns the function with its result kept in the object, under ``name``; the object must not
    change."""

    def known(of: Any) -> Any:
        try:
            return of.__dict__[name]
        except KeyError:
            result = of.__dict__[name] = compute(of)
            return result

    return known


def _length(value: Any) -> int:
    kind = type(value)
    if kind is Signal:
        return int(value._width)
    if kind is Slice:
        return int(value._stop - value._start)
    return int(value.shape()._width)


def _key(_signals: Any, signal: Any) -> SignalKey:
    """The key of a signal in Amaranth's collections of signals: one object for each signal."""
    known = getattr(signal, "_signal_key", None)
    if known is None:
        known = SignalKey(signal)
        signal._signal_key = known
    return known


def _pairs(signals: Any) -> list[tuple[Any, Any]]:
    storage = signals._storage.items()
    return [(None if key is None else key.signal, value) for key, value in storage]


def _contains(signals: Any, signal: Any) -> bool:
    return (None if signal is None else signals._map_key(signal)) in signals._storage


_CHECK_RHS = _dsl._check_rhs


def _check_rhs(value: Any) -> None:
    """Checks a value as Amaranth does, once; Amaranth calls this for each operand in turn."""
    kind = type(value)
    if kind is Signal or kind is Const or "_is_checked" in value.__dict__:
        return
    _CHECK_RHS(value)
    value._is_checked = True


@contextmanager
def quick_values() -> Iterator[None]:
    """Adds the caches to Amaranth's values and collections of signals while the context lasts."""
    computed: dict[Any, dict[str, Any]] = {
        kind: {"shape": _remembered(kind.shape, "_shape_known")}
        for kind in (Operator, Concat, SwitchValue)
    }
    size = property(_remembered(data.StructLayout.size.fget, "_size_known"))
    with ExitStack() as stack:
        for place, parts in (
            *computed.items(),
            (Signal, {"shape": _shape_of_signal}),
            (Slice, {"shape": _shape_of_slice}),
            (Value, {"__len__": _length}),
            (data.StructLayout, {"size": size}),
            (_ast.SignalDict, {"_map_key": _key}),
            (_ast.SignalSet, {"_map_key": _key}),
            (_ast._MappedKeyDict, {"items": _pairs, "__contains__": _contains}),
            (_dsl, {"_check_rhs": _check_rhs}),
        ):
            stack.enter_context(replaced(place, **parts))
        yield
