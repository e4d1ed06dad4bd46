"""Algorithms on the (m, l)-TCU model: a RAM with a unit that multiplies (n, s) by (s, s) words.

Source: Chowdhury, Silvestri, Vella, "Algorithm design for tensor units". ``s`` is the side of the
unit, the paper's sqrt(m); a call with a left operand of n rows takes n s + l, where l is the
latency. All else is work of the CPU, counted in words.
"""

from .cost import Cost, UnitWork
from .tensor_unit import Backend, NumpyBackend, TensorUnit, require, side_of

__all__ = ["Backend", "Cost", "NumpyBackend", "TensorUnit", "UnitWork", "require", "side_of"]
