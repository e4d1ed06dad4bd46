"""Builds that hold mutations: what replaces the build of Verilated libraries."""

from __future__ import annotations

import ctypes
import hashlib
import random
import sys
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tilewright.hw.emit import hierarchy, unit
from tilewright.hw.emit.blocks import Block
from tilewright.hw.emit.verilog.parameters import Use
from tilewright.sim.rtl import build, streams
from tilewright.sim.rtl.glue import STREAMS, Harness
from tilewright.verif.mutation.proof import (
    ORIGIN,
    SELECT,
    Mutation,
    all_mutations,
    reached_outputs,
    sample,
    with_selector,
)
from tilewright.verif.native import parts

# Repeats the recorded simulations of tests on a mutant, without the tests around them.
#
# A test whose simulations all give what they gave before passes as it did before; so only those
# need to run for which something differs.

_OPAQUE = ("run_fields", "run_streams", "close")
"""Methods of simulations that are not repeated."""


@dataclass
class Story:
    """The simulations of a test.

    Parameters
    ----------
    steps: what does each again, and says whether it gives the same
    complete: whether these are all
    parts: of `NativeParts`, a top and one of its parts each, that the test simulates
    """

    steps: list[Callable[[], bool]] = field(default_factory=list)
    complete: bool = True
    parts: set[tuple[str, str]] = field(default_factory=set)

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
        simulate = parts.NativeParts.simulate

        def simulate_part(native: Any, name: str, bench: Any) -> None:
            if self.story is not None:
                self.story.parts.add((native._name, name))
            simulate(native, name, bench)

        setattr(parts.NativeParts, "simulate", simulate_part)  # noqa: B010

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


_MODEL = f"""#include <set>
struct MutatedModel : Vunit {{
    static std::set<MutatedModel*>& all() {{ static std::set<MutatedModel*> found; return found; }}
    static unsigned& selected() {{ static unsigned number = 0; return number; }}
    explicit MutatedModel(VerilatedContext* context) : Vunit(context) {{
        {SELECT} = selected();
        all().insert(this);
    }}
    ~MutatedModel() {{ all().erase(this); }}
    static bool& used() {{ static bool was = false; return was; }}
    void eval() {{
        used() = true;
        Vunit::eval();
    }}
}};
extern "C" __attribute__((visibility("default"), used)) int native_mutant_used() {{
    const bool was = MutatedModel::used();
    MutatedModel::used() = false;
    return was;
}}
extern "C" __attribute__((visibility("default"), used)) void native_mutant(unsigned number) {{
    MutatedModel::selected() = number;
    for (MutatedModel* model : MutatedModel::all()) model->{SELECT} = number;
}}
using Model = MutatedModel;
"""

_TIMES = 4
"""A design is one of the smaller ones with a module if it is at most so many times as large as the
smallest one."""


def with_origins() -> None:
    """Makes every module of emitted Verilog name the class that it comes from, in a comment."""
    add: Any = hierarchy.Hierarchy._add

    def _add(self: Any, text: str, component: Any, *rest: Any) -> Any:
        block = add(self, text, component, *rest)
        kind = type(component)
        line = f"{ORIGIN}{kind.__module__}.{kind.__qualname__}"
        self.blocks[block.module] = replace(block, comment=(*block.comment, line))
        return self.blocks[block.module]

    setattr(hierarchy.Hierarchy, "_add", _add)  # noqa: B010


def keep_texts() -> None:
    """Writes each module once: a process that runs tests inherits the texts of its parent."""
    write, kept = unit.to_verilog, dict[tuple[Any, ...], tuple[str, dict[str, Use]]]()

    def to_verilog(blocks: Sequence[Block], *step: Any) -> tuple[str, dict[str, Use]]:
        key = tuple((block.module, block.rtlil, block.comment) for block in blocks)
        if key not in kept:
            kept[key] = write(blocks, *step)
        return kept[key]

    setattr(unit, "to_verilog", to_verilog)  # noqa: B010


@dataclass
class Design:
    """A library with mutations, the length of its Verilog, and what uses it."""

    name: str
    directory: Path
    candidates: list[Mutation]
    library: ctypes.CDLL
    path: Path
    size: int
    users: set[str] = field(default_factory=set)

    def note_use(self, test: str) -> None:
        """Notes that the test uses the design if a model of it was simulated since the last
        call."""
        if self.library.native_mutant_used():
            self.users.add(test)

    def is_seen(self, mutation: Mutation, story: Story) -> bool:
        """Returns whether a test may see a mutation: it simulates the part with the mutated cell,
        or does not say which parts it simulates."""
        mine = [part for top, part in story.parts if top == self.name.rpartition("-")[0]]
        netlist = (self.directory / "prepared.il").read_text()
        ports = reached_outputs(netlist, mutation.cell) if mine else set()
        return not mine or any(port.startswith(f"{part}__") for port in ports for part in mine)

    def select(self, number: int) -> None:
        """Let a mutation be there, in all models of it; 0: none."""
        self.library.native_mutant(ctypes.c_uint(number))


class Designs:
    """All libraries that a run of tests builds.

    Parameters
    ----------
    folders: paths of the Python modules whose hardware is mutated begin with one of these
    stand_ins: classes of benches that stand for a module
    most: candidates of each module in a design, and in all of them
    seed: of the choice
    """

    def __init__(
        self,
        folders: Sequence[str],
        stand_ins: Mapping[str, str],
        most: tuple[int, int],
        seed: int,
    ) -> None:
        self._folders, self._stand_ins = folders, stand_ins
        self._most, self._seed = most, seed
        self._scratch = tempfile.TemporaryDirectory(prefix="mutation-")
        self._built: dict[str, Design | None] = {}
        self._counts: Counter[str] = Counter()
        self._smallest: dict[str, int] = {}
        self._build_library = build.build_library

    def is_small(self, module: str, size: int) -> bool:
        """Returns whether a design is one of the smaller ones that hold a module. Only these are
        mutated: they are the module's own benches, where no other part hides its behaviour."""
        return size <= _TIMES * self._smallest[module]

    @property
    def found(self) -> list[Design]:
        """Returns the designs that have mutations."""
        return [design for design in self._built.values() if design is not None]

    def install(self) -> None:
        """Builds with mutations from now on, in modules that have imported the function, too."""
        for module in [*sys.modules.values()]:
            if vars(module).get("build_library") is self._build_library:
                setattr(module, "build_library", self.build_library)  # noqa: B010

    def build_library(
        self,
        verilog: str,
        sidecar: Mapping[str, Any],
        *,
        harness: Harness = STREAMS,
        waves: Any = None,
        **options: Any,
    ) -> Path:
        """Replaces `build.build_library`."""
        if waves is None:
            text = f"{verilog} {harness.source.name}"
            key = f"{sidecar['module']}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
            if key not in self._built:
                self._built[key] = self._mutated(key, verilog, sidecar, harness)
            design = self._built[key]
            if design is not None:
                return design.path
        return self._build_library(verilog, sidecar, harness=harness, waves=waves, **options)

    def _mutated(
        self, name: str, verilog: str, sidecar: Mapping[str, Any], harness: Harness
    ) -> Design | None:
        if not any(
            f"// {ORIGIN}tilewright.{f.replace('/', '.')}" in verilog for f in self._folders
        ):
            known = [c for c in self._stand_ins if f"// {ORIGIN}{c}\n" in verilog]
            if not known:
                return None
        directory = Path(self._scratch.name) / name
        # It is there if building it has failed before, in another test.
        directory.mkdir(exist_ok=True)
        top = sidecar["module"]
        there = all_mutations(verilog, top, directory, self._folders, self._stand_ins)
        here, all_of_it = self._most
        wanted = {}
        for module in {one.module for one in there}:
            if len(verilog) * _TIMES < self._smallest.setdefault(module, len(verilog)):
                # No design so far is one of the smaller ones.
                self._counts[module] = 0
            self._smallest[module] = min(self._smallest[module], len(verilog))
            if self.is_small(module, len(verilog)):
                wanted[module] = max(0, min(here, all_of_it - self._counts[module]))
        rng = random.Random(f"{self._seed} {name.rpartition('-')[0]}")
        candidates = sample(there, wanted, rng)
        if not candidates:
            return None
        self._counts.update(one.module for one in candidates)
        text = with_selector(candidates, top, directory)
        glued = replace(
            harness,
            glue=lambda sidecar: harness.glue(sidecar).replace("using Model = Vunit;\n", _MODEL),
        )
        path = self._build_library(text, sidecar, harness=glued)
        return Design(name, directory, candidates, ctypes.CDLL(str(path)), path, len(verilog))
