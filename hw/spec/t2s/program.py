"""A program: functions that run at once, and the channels between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from .loops import Affine, Loop
from .statements import Body

__all__ = ["Buffer", "Channel", "Function", "Program", "TensorDeclaration"]


@dataclass(frozen=True)
class TensorDeclaration:
    """A tensor in memory.

    Parameters
    ----------
    name: of it
    dimensions: what its indices are in terms of the computation's, before any tiling
    pad: of what lies outside: "0", "+inf" or "-inf"
    image: of a tensor that a serialiser makes, its loops, outermost first; else empty
    functions: names of those that its words go through before they are multiplied; of the result,
        those that make it of sums
    sparse: how its rows lie on elements, "csr" or "ciss", if entries alone are stored; else empty
    """

    name: str
    dimensions: tuple[Affine, ...]
    pad: str
    image: tuple[Loop, ...] = ()
    functions: tuple[str, ...] = ()
    sparse: str = ""


@dataclass(frozen=True)
class Channel:
    """A queue of values, or an array of queues.

    Parameters
    ----------
    source, sink: functions
    dimensions: loops with which it is unrolled, one queue an iteration
    depth: values that each queue holds, if the mapping says so
    """

    name: str
    source: str
    sink: str
    dimensions: tuple[Loop, ...] = ()
    depth: int | None = None


@dataclass(frozen=True)
class Buffer:
    """Memory of an instance of a function.

    Parameters
    ----------
    dimensions: loops whose variables are its indices
    level: the loop in each iteration of which it is filled anew; None of the results' buffer
    double: whether one half is filled while the other is read
    rotating: whether it is read and written at its first element only, and moved on
    """

    name: str
    dimensions: tuple[Loop, ...]
    level: str | None = None
    double: bool = False
    rotating: bool = False

    @property
    def words(self) -> int:
        """Elements that it holds, of one half."""
        return prod(one.extent or 1 for one in self.dimensions)


@dataclass(frozen=True)
class Function:
    """A loop nest, run by itself.

    Parameters
    ----------
    instances: unrolled loops: one copy of the function an iteration
    host: whether it runs on the host, before the device or after it
    beside: another nest, which runs at the same time: it reads blocks that ``body`` writes
    """

    name: str
    body: Body
    instances: tuple[Loop, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    host: bool = False
    beside: Body = ()


@dataclass(frozen=True)
class Program:
    """All that a design is.

    Parameters
    ----------
    indices: of the computation, those of its result first
    semiring: name of (+) and (x)
    number_format: of all words
    result: the tensor that it computes
    start: the tensor that sums start from; empty if that is the identity of (+)
    products: tensors that are multiplied, of each product that is added
    """

    name: str
    indices: tuple[str, ...]
    semiring: str
    number_format: str
    result: str
    tensors: tuple[TensorDeclaration, ...]
    functions: tuple[Function, ...]
    channels: tuple[Channel, ...] = ()
    start: str = ""
    products: tuple[tuple[str, ...], ...] = ()

    @property
    def sparse(self) -> tuple[str, ...]:
        """Tensors that are stored as entries only."""
        return tuple(one.name for one in self.tensors if one.sparse)

    def tensor(self, name: str) -> TensorDeclaration:
        return next(one for one in self.tensors if one.name == name)

    def function(self, name: str) -> Function:
        return next(one for one in self.functions if one.name == name)

    def channel(self, name: str) -> Channel:
        return next(one for one in self.channels if one.name == name)

    def with_function(self, name: str, change: Callable[[Function], Function]) -> Program:
        """Returns the program with one function replaced by the result of ``change``."""
        functions = (change(one) if one.name == name else one for one in self.functions)
        return replace(self, functions=tuple(functions))

    def with_channel(self, name: str, change: Callable[[Channel], Channel]) -> Program:
        """Returns the program with one channel replaced by the result of ``change``."""
        channels = (change(one) if one.name == name else one for one in self.channels)
        return replace(self, channels=tuple(channels))
