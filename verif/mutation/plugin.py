"""A plugin of pytest: runs the collected tests on mutated designs, and writes what they noticed.

Every test runs twice without a mutation: first it builds the designs, then it runs in a process as
those of mutants. Then, for each mutant, in a process of its own, what the tests have simulated on
its design is simulated again, and those run for which something differs, until one fails. If none
fails, a proof is tried that the mutant changes nothing. Each mutant is written when it is decided.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.tmpdir import tmppath_result_key
from tilewright.verif.mutation.designs import Design, Designs, keep_texts, with_origins
from tilewright.verif.mutation.proof import Mutation, is_equivalent
from tilewright.verif.mutation.settings import Settings, read_rows

if TYPE_CHECKING:
    from tilewright.verif.mutation.designs import Recorder, Story

_DEAD = 101
_SLACK, _TIMES = 10.0, 10.0
"""A test of a mutant is hung after so many times its processor time, and some seconds."""
_EVERY = 30.0
"""Seconds between two lines that tell how far the run is."""
_ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("hw", "sim", "verif")
"""Folders of the sources; a change in them makes results those of other sources."""


@dataclass
class Outcome:
    """Outcome of a mutant."""

    mutation: Mutation
    design: str
    number: int
    verdict: str = ""
    by: str = ""
    why: str = ""
    seconds: float = 0.0
    proof_seconds: float = 0.0


@dataclass
class Use:
    """A test, what it simulates, its processor time, and how often it killed."""

    item: pytest.Item
    story: Story
    seconds: float = 0.0
    runs: int = 0
    kills: int = 0

    @property
    def cost(self) -> float:
        """Expected cost of a kill."""
        return (self.seconds + 0.005) * (self.runs + 2) / (self.kills + 1)


@dataclass
class _Child:
    """Exit status and output of a process that ran tests."""

    status: int
    said: dict[str, Any] = field(default_factory=dict)


class _Log:
    """Mutants of a run that are decided, one per line of the result file.

    Parameters
    ----------
    settings: of the run
    chosen: mutations of the run
    """

    def __init__(self, settings: Settings, chosen: Sequence[tuple[Design, Mutation]]) -> None:
        self._file = settings.result
        state = hashlib.sha256(str(settings.proof_seconds).encode())
        for source in sorted(one for name in _SOURCES for one in (_ROOT / name).rglob("*")):
            if source.suffix in (".py", ".sv", ".v", ".cpp", ".h"):
                state.update(source.read_bytes())
        self._sources = state.hexdigest()[:16]
        self._total = len(chosen)
        wanted = {(design.name, one.change) for design, one in chosen}
        earlier = read_rows(self._file)
        self._survived = {
            (row["design"], row["mutation"]["change"]): row
            for row in earlier
            if settings.again and row["verdict"] == "survivor" and row["sources"] != self._sources
        }
        self._rows = [
            row
            for row in earlier
            if (
                row["sources"] == self._sources or (settings.again and row["verdict"] != "survivor")
            )
            and (row["design"], row["mutation"]["change"]) in wanted
        ]
        self._file.write_text("".join(f"{json.dumps(row)}\n" for row in self._rows))
        self._told = self._begun = time.monotonic()

    def has(self, design: str, mutation: Mutation) -> bool:
        """Returns whether the mutant was decided before."""
        change = mutation.change
        return any(
            row["design"] == design and row["mutation"]["change"] == change for row in self._rows
        )

    def survived(self, design: str, mutation: Mutation) -> dict[str, Any] | None:
        """Returns the row of a mutant that is decided again."""
        return self._survived.get((design, mutation.change))

    def add(self, outcome: Outcome) -> None:
        """Write a mutant; now and then tell how far the run is."""
        self._write(asdict(outcome))
        now = time.monotonic()
        if now - self._told >= _EVERY or len(self._rows) == self._total:
            counts = Counter(row["verdict"] for row in self._rows)
            verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
            seconds = f"{now - self._begun:.0f} s"
            print(f"{len(self._rows)} of {self._total} mutants: {verdicts}, {seconds}", flush=True)
            self._told = now

    def end(self, **facts: Any) -> None:
        """Write how the run went."""
        with self._file.open("a") as file:
            file.write(json.dumps({"end": facts}) + "\n")

    def _write(self, row: dict[str, Any]) -> None:
        self._rows.append(row | {"sources": self._sources})
        with self._file.open("a") as file:
            file.write(json.dumps(self._rows[-1]) + "\n")


class Mutants:
    """The plugin.

    Parameters
    ----------
    settings: what to mutate, and how much
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._designs = Designs(
            settings.folders, settings.stand_ins, (settings.here, settings.most), settings.seed
        )
        self._recorder: Recorder
        self.sound = True

    def install(self) -> None:
        """Patches the generator; call it before anything that simulates is imported."""
        with_origins()
        keep_texts()
        self._designs.install()
        from tilewright.verif.kit import kept_units

        # Units kept from other runs do not say where their modules come from.
        generator = kept_units._generator
        setattr(kept_units, "_generator", lambda: f"{generator()} with origins")  # noqa: B010
        from tilewright.verif.mutation.designs import Recorder

        self._recorder = Recorder()

    # Running tests

    def _run(self, item: pytest.Item) -> None:
        """Runs a test with its fixtures; its exceptions are raised."""
        state = item.session._setupstate
        item._initrequest()  # type: ignore[attr-defined]
        item.stash[tmppath_result_key] = {}
        try:
            state.setup(item)
            item.runtest()
        finally:
            state.teardown_exact(None)
            item.funcargs = None  # type: ignore[attr-defined]

    def _in_child(self, uses: list[Use], design: Design | None, number: int) -> _Child:
        """Runs tests in a separate process until one fails: 0, 1, or how it ended. Without a design
        all run."""
        reads, writes = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            status = _DEAD
            try:
                os.close(reads)
                status = self._child(uses, design, number, writes)
            finally:
                os._exit(status)
        os.close(writes)
        with os.fdopen(reads) as pipe:
            lines = [json.loads(line) for line in pipe if line.endswith("\n")]
        _, status = os.waitpid(child, 0)
        return _Child(status, {"lines": lines})

    def _child(self, uses: list[Use], design: Design | None, number: int, writes: int) -> int:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        gc.freeze()
        if design is not None:
            design.select(number)
        for index, use in enumerate(uses) if design is None else self._differing(uses):
            begun = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, _SLACK + _TIMES * use.seconds)
            row: dict[str, Any] = {"test": index}
            os.write(writes, (json.dumps({"begins": index}) + "\n").encode())
            try:
                self._recorder.reset_all()
                self._run(use.item)
            except BaseException as error:
                row["why"] = f"{type(error).__name__}: {str(error).strip()[:200]}"
            row["seconds"] = time.process_time() - begun
            os.write(writes, (json.dumps(row) + "\n").encode())
            if "why" in row and design is not None:
                return 1
        return 0

    def _differing(self, uses: list[Use]) -> Iterator[tuple[int, Use]]:
        """Yields the tests whose simulations differ, then those for which this is not known."""
        unknown = []
        for index, use in enumerate(uses):
            story = use.story
            if not story.steps:
                unknown.append((index, use))
                continue
            signal.setitimer(signal.ITIMER_PROF, _SLACK + _TIMES * use.seconds)
            self._recorder.reset_all()
            if story.differs():
                yield index, use
            elif not story.complete:
                unknown.append((index, use))
        yield from unknown

    # The run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of pytest's own."""
        settings, begun = self._settings, time.monotonic()
        print(f"\nseed {settings.seed}, {', '.join(settings.folders)}: {len(session.items)} tests")
        uses = self._first_run(session.items)
        designs = self._designs.found
        print(
            f"{len(designs)} designs, {len(uses)} tests use them, {time.monotonic() - begun:.0f} s"
        )
        self._repeat(list(uses.values()))
        chosen = self._chosen(designs)
        log = _Log(settings, chosen)
        for design, mutation in chosen:
            if not log.has(design.name, mutation):
                its = [
                    use
                    for name, use in uses.items()
                    if name in design.users and design.is_seen(mutation, use.story)
                ]
                number = 1 + design.candidates.index(mutation)
                outcome = self._mutant(design, number, mutation, its)
                before = log.survived(design.name, mutation)
                if outcome.verdict == "survivor" and before and before["why"]:
                    # The proof of the earlier run stands: the design is the same.
                    outcome.why = outcome.why or before["why"]
                    outcome.proof_seconds = before["proof_seconds"]
                elif outcome.verdict == "survivor" and settings.proof_seconds:
                    self._prove(design, outcome)
                log.add(outcome)
        seconds = time.process_time() + sum(os.times()[2:4])
        log.end(seconds=seconds, sound=self.sound)
        return True

    def _first_run(self, items: list[pytest.Item]) -> dict[str, Use]:
        """Runs the tests once without a mutation, which must pass, and returns those that use a
        mutated design; they build it."""
        from tilewright.verif.mutation.designs import Story

        uses = {}
        for item in items:
            if item.get_closest_marker("skip"):
                continue
            begun, story = time.process_time(), Story()
            self._recorder.reset_all()
            self._recorder.story = story
            try:
                self._run(item)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if type(error).__name__ != "Skipped":
                    print(f"{item.nodeid} fails without a mutation: {error!r}"[:600], flush=True)
                    self.sound = False
            self._recorder.story = None
            uses[item.nodeid] = Use(item, story, time.process_time() - begun)
            for design in self._designs.found:
                design.note_use(item.nodeid)
        users = {user for design in self._designs.found for user in design.users}
        found = {name: use for name, use in uses.items() if name in users}
        seconds = sum(use.seconds for use in found.values())
        print(f"they take {seconds:.1f} s of processor time", flush=True)
        return found

    def _repeat(self, uses: list[Use]) -> None:
        """Run all tests again without a mutation, in a process as a mutant's: a test that fails
        because it is repeated would kill every mutant."""
        child = self._in_child(uses, None, 0)
        if child.status:
            print(f"the tests, repeated, end with status {child.status}", flush=True)
            self.sound = False
        for row in child.said["lines"]:
            if "why" in row:
                test = uses[row["test"]].item.nodeid
                print(f"{test} fails when it is repeated: {row['why']}"[:600], flush=True)
                self.sound = False

    def _chosen(self, designs: list[Design]) -> list[tuple[Design, Mutation]]:
        """Draws the requested number of mutants, one of each module in turn: even a run that is cut
        off is a sample."""
        rng = random.Random(f"{self._settings.seed} chosen")
        pool: dict[str, list[tuple[Design, Mutation]]] = defaultdict(list)
        for design in designs:
            for mutation in design.candidates:
                if self._designs.is_small(mutation.module, design.size):
                    pool[mutation.module].append((design, mutation))
        for rows in pool.values():
            rng.shuffle(rows)
        chosen: list[tuple[Design, Mutation]] = []
        while any(pool.values()):
            chosen += [pool[module].pop() for module in sorted(pool) if pool[module]]
        return chosen[: self._settings.mutants]

    def _mutant(self, design: Design, number: int, mutation: Mutation, uses: list[Use]) -> Outcome:
        order = sorted(uses, key=lambda use: use.cost)
        outcome = Outcome(mutation, design.name, number)
        child = self._in_child(order, design, number)
        last = None
        for row in child.said["lines"]:
            if "begins" in row:
                last = order[row["begins"]]
                last.runs += 1
            else:
                outcome.seconds += row["seconds"]
                outcome.why = row.get("why", "")
        outcome.by = last.item.nodeid if last is not None else ""
        if os.WIFEXITED(child.status) and os.WEXITSTATUS(child.status) == 0:
            outcome.verdict, outcome.by = "survivor", ""
        elif os.WIFEXITED(child.status) and os.WEXITSTATUS(child.status) == 1:
            outcome.verdict = "killed"
        elif os.WIFSIGNALED(child.status) and os.WTERMSIG(child.status) == signal.SIGPROF:
            outcome.verdict, outcome.why = "killed", "time-out"
        else:
            outcome.verdict, outcome.why = "survivor", f"ended with status {child.status}"
        if outcome.verdict == "killed" and last is not None:
            last.kills += 1
        return outcome

    def _prove(self, design: Design, outcome: Outcome) -> None:
        """Try to prove that a mutant changes nothing."""
        begun = sum(os.times()[2:4])
        with suppress(OSError):
            same = is_equivalent(design.directory, outcome.mutation, self._settings.proof_seconds)
            outcome.verdict = "equivalent" if same else "survivor"
            outcome.why = outcome.why or {True: "proved", False: "differs", None: "undecided"}[same]
        outcome.proof_seconds = sum(os.times()[2:4]) - begun
        told = f"{outcome.verdict} ({outcome.why}, {outcome.proof_seconds:.0f} s)"
        print(f"{told}: {outcome.mutation.module}: {outcome.mutation.short}", flush=True)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin's instance, which the environment describes."""
    plugin = Mutants(Settings.from_environment())
    plugin.install()
    config.pluginmanager.register(plugin, "mutants")
