"""Where in the user's file stands what hardware cannot do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps

from ...spec.t2s.config import T2sConfig
from ...spec.t2s.design import Design
from ..language import Computation, MappingError
from ..language.isolated import Isolated

__all__ = ["with_places"]

_ABOUT = re.compile(r"^(\w+) (has no hardware yet|would stop)\b|^no depths of queues are known")
_LOOP = re.compile(r"loop `(\w+)`")

Lowering = Callable[[Computation, T2sConfig], Design]


def with_places(lowering: Lowering) -> Lowering:
    """Have messages about functions of a mapping begin with a file and a line: of the directive on
    a function that has to do with it, else of the definition."""

    @wraps(lowering)
    def lowered(computation: Computation, config: T2sConfig) -> Design:
        try:
            return lowering(computation, config)
        except MappingError:
            raise
        except ValueError as error:
            if (about := _ABOUT.match(str(error))) is None:
                raise
            place = _place(computation, about[1] or computation.name, str(error))
            raise ValueError(f"{place}: {error}") from error

    return lowered


def _place(computation: Computation, function: str, message: str) -> str:
    for chain in computation.chains.values():
        for isolated in chain:
            if isolated.name == function:
                return next(_directives(isolated, message), isolated.place)
    return computation.place


def _directives(isolated: Isolated, message: str) -> Iterator[str]:
    """Places of what a message says of a function."""
    if "unrolled" in message:
        named = _LOOP.findall(message)
        yield from (place for loop, place in isolated.unrolled if loop in named)
    if "buffer" in message and isolated.buffered:
        yield isolated.buffered[2]
    if isolated.scattered and ("scattered" in message or "pass" in message):
        yield isolated.scattered[2]
