"""Repeats the recorded simulations of tests on a mutant, without the tests around them.

A test whose simulations all give what they gave before passes as it did before; so only those need
to run for which something differs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tilewright.sim.rtl import streams

_OPAQUE = ("run_fields", "run_streams", "close")
"""Methods of simulations that are not repeated."""


@dataclass
class Story:
    """The simulations of a test.

    Parameters
    ----------
    steps: what does each again, and says whether it gives the same
    complete: whether these are all
    """

    steps: list[Callable[[], bool]] = field(default_factory=list)
    complete: bool = True

    def differs(self) -> bool:
        """Returns whether a simulation now has another result."""
        return not all(step() for step in self.steps)


class Recorder:
    """Notes what runs on all `NativeSimulation` from now on.

    Members
    -------
    story: what is being told; None: nothing is noted
    simulations: all that are alive
    """

    def __init__(self) -> None:
        self.story: Story | None = None
        self.simulations: weakref.WeakSet[Any] = weakref.WeakSet()
        kind: Any = streams.NativeSimulation
        self._run, self._reset, begin = kind.run, kind.reset, kind.__init__

        def __init__(simulation: Any, *arguments: Any, **options: Any) -> None:
            begin(simulation, *arguments, **options)
            self.simulations.add(simulation)

        def opaque(original: Any) -> Any:
            def method(simulation: Any, *arguments: Any, **options: Any) -> Any:
                if self.story is not None:
                    self.story.complete = False
                return original(simulation, *arguments, **options)

            return method

        kind.__init__ = __init__
        kind.run = lambda simulation, *args, **options: self._noted(simulation, args, options)
        kind.reset = lambda simulation: self._noted_reset(simulation)
        for name in _OPAQUE:
            setattr(kind, name, opaque(getattr(kind, name)))

    def reset_all(self) -> None:
        """Every simulation, noting nothing."""
        for simulation in list(self.simulations):
            self._reset(simulation)

    def _noted_reset(self, simulation: Any) -> None:
        def again() -> bool:
            self._reset(simulation)
            return True

        if self.story is not None:
            self.story.steps.append(again)
        self._reset(simulation)

    def _noted(self, simulation: Any, args: Any, options: Any) -> Any:
        story = self.story
        if story is None:
            return self._run(simulation, *args, **options)
        payloads = np.array(args[0])
        try:
            result = self._run(simulation, *args, **options)
        except Exception:
            story.complete = False
            raise
        kept = [np.array(x) for x in (result.payloads, result.input_cycles, result.output_cycles)]

        def again() -> bool:
            try:
                new = self._run(simulation, payloads, **options)
            except Exception:
                return False
            found = (new.payloads, new.input_cycles, new.output_cycles)
            return all(np.array_equal(x, y) for x, y in zip(found, kept, strict=True))

        story.steps.append(again)
        return result
