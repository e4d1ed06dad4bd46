"""Verilog and its sidecar to a shared library that simulates it: Verilator, then the C++ compiler;
and what Verilator has written for cocotb to a program.

Libraries are cached by everything that decides their content. A library appears under its final
name in one step; processes that want the same one at the same time wait for the first to build it.
``$TILEWRIGHT_OPTIMISE`` (0, 1 or 2) is how much Verilator and the compiler optimise: 0 and 1 build
faster, 2, the default, makes what runs faster.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...hw.spec.host.activity import Activity, activity
from ...hw.spec.host.cache import ANOTHER, cache_directory, full, scratch_directory, used
from ...hw.spec.host.programs import ProgramError, run_program, run_programs
from .glue import STREAMS, Harness
from .toolchain import find_compiler, find_verilator
from .waves import WaveFormat

_VERILATOR_FLAGS = (
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--no-assert"),
    *(
        "--output-split",
        "20000",
        "--output-split-cfuncs",
        "5000",
        "--inline-mult",
        "200",
        "-Wno-lint",
        "-Wno-style",
    ),
    *("-Wno-fatal", "--prefix", "Vunit"),
)
# Verilator multiplies signed operands as signed C++ integers, whose overflow must wrap.
_COMPILER_FLAGS = ("-std=gnu++17", "-w", "-pthread", "-fwrapv", "-fPIC", "-fvisibility=hidden")
_LEVELS = {"0": "-O0", "1": "-Og", "2": "-O2"}
"""Compiler's option for a library. ``-Og`` compiles in three quarters of the time of ``-O1``."""
_PROGRAM_LEVELS = {**_LEVELS, "2": "-O1"}
"""The same for what takes less time than what drives it: a program, whose time is that of Python,
and the run-time library."""
_EQUAL_INSTANCES = ("-fno-gate", "-fno-dfg")
"""Verilator's options at the lower levels: instances of a module stay equal, so that it merges
their functions. A large unit takes three quarters of the time to build. It simulates three quarters
of the cycles in the same time."""
_BUNDLE = 1 << 21
"""Bytes of Verilator's output compiled as one file: most of the files that it splits its output
into are so small that the compiler takes longest to begin."""
_LITTLE = 1 << 18
"""Bytes of it that are not worth a second file, with which the compiler would begin once more."""
_RUNTIME = ("verilated", "verilated_threads")
_VPI_RUNTIME = ("verilated_vpi", "verilated_dpi")
_FATAL = Path(__file__).with_name("cpp") / "fatal.cpp"
_FST = Path(__file__).with_name("cpp") / "fst"
COMPILING = "compiling the RTL, once"
"""The text that a terminal shows meanwhile."""
_HEADER = "begin.h"
"""Verilator's header, with which all of its output begins; it takes the compiler longer to read
than most of that."""


class BuildError(ProgramError):
    """Verilator or the compiler refused its input; the text holds what it said."""


def _run(command: list[str], scratch: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run a command; BuildError with the end of its messages if it fails.

    ``scratch`` is a directory for its temporary files.
    """
    _check(run_program(command, scratch=scratch, environment=environment))


def _check(done: subprocess.CompletedProcess[str]) -> None:
    """Raise BuildError if a program has failed."""
    if done.returncode:
        said = (done.stderr + done.stdout).strip()[-4000:]
        name = Path(done.args[0]).name
        if why := full(said):
            raise BuildError(f"{name}: {why}; the cache is {cache_directory()}, {ANOTHER}")
        raise BuildError(f"{name} failed with status {done.returncode}:\n{said}")


def _compile(
    work: Path, jobs: Iterable[tuple[Path, Path, tuple[str, ...]]], shown: Activity | None = None
) -> None:
    """Compile (source, object, flags) jobs in a directory, as many at a time as there are
    processors; each is a step of what is shown."""

    def check(done: subprocess.CompletedProcess[str]) -> None:
        _check(done)
        if shown is not None:
            shown.step()

    command = find_compiler().command
    commands = [[*command, *flags, "-c", str(src), "-o", str(o)] for src, o, flags in jobs]
    run_programs(commands, len(os.sched_getaffinity(0)) or 1, scratch=work, check=check)


def _optimisation(levels: Mapping[str, str]) -> str:
    """Returns the one of the compiler's options that ``TILEWRIGHT_OPTIMISE`` chooses."""
    level = os.environ.get("TILEWRIGHT_OPTIMISE") or "2"
    if level not in levels:
        raise BuildError(f"`TILEWRIGHT_OPTIMISE` must be one of {', '.join(levels)}, not {level!r}")
    return levels[level]


def verilator_optimisation() -> tuple[str, ...]:
    """Returns Verilator's options for the level that ``TILEWRIGHT_OPTIMISE`` chooses."""
    return () if _optimisation(_LEVELS) == _LEVELS["2"] else _EQUAL_INSTANCES


def _flags() -> tuple[str, ...]:
    """Returns the compiler's options for all sources."""
    include = find_verilator().root / "include"
    return (*_COMPILER_FLAGS, "-I", str(include), "-I", str(include / "vltstd"))


def _kept(kind: str, *parts: str) -> Path:
    """A directory of the cache for what these, the tools and the flags decide."""
    verilator = find_verilator()
    compiler = find_compiler().version
    key = _digest(verilator.version, str(verilator.root), compiler, str(_flags()), *parts)
    return cache_directory() / f"{kind}-{key}"


def _runtime_objects(names: tuple[str, ...], *flags: str) -> list[Path]:
    """Parts of Verilator's own run-time library, compiled once per version, compiler and flags."""
    flags = (*_flags(), _optimisation(_PROGRAM_LEVELS), *flags)
    target = _kept("runtime", str(names), str(flags))
    with _scratch(target) as scratch:
        if scratch:
            work = scratch / "runtime"
            work.mkdir()
            include = find_verilator().root / "include"
            _compile(work, ((include / f"{n}.cpp", work / f"{n}.o", flags) for n in names))
            _publish(work, target)
    return [target / f"{name}.o" for name in names]


def _header(optimise: str) -> tuple[str, ...]:
    """Options that begin a file with Verilator's header, compiled once for a level.

    A compiler that cannot use it reads the text beside it.
    """
    target = _kept("header", optimise)
    with _scratch(target) as scratch:
        if scratch:
            work = scratch / "header"
            work.mkdir()
            text = work / _HEADER
            text.write_text('#include "verilated.h"\n')
            command = (*find_compiler().command, *_flags(), optimise, "-x", "c++-header", str(text))
            _run([*command, "-o", f"{text}.gch"], work)
            _publish(work, target)
    return ("-include", str(target / _HEADER))


@contextmanager
def _scratch(target: Path) -> Iterator[Path | None]:
    """A directory to build ``target`` in, or None if it is there, perhaps after a wait."""
    if target.exists():
        used(target)
        yield None
        return
    with cache_errors(), open(target.parent / f".{target.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            yield None
            return
        with scratch_directory() as directory:
            yield directory


@contextmanager
def cache_errors() -> Iterator[None]:
    """Turns an OSError in writing a build into a BuildError of one line."""
    try:
        yield
    except OSError as error:
        raise BuildError(
            f"the cache {cache_directory()} cannot be written: {error.strerror or error}; {ANOTHER}"
        ) from None


def _publish(work: Path, target: Path) -> None:
    """Give a finished file or directory its name; losing the race to an equal build is fine."""
    try:
        os.replace(work, target)
    except OSError:
        if not target.exists():
            raise


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def build_library(
    verilog: str,
    sidecar: Mapping[str, Any],
    *,
    waves: WaveFormat | None = None,
    wave_depth: int = 2,
    harness: Harness = STREAMS,
) -> Path:
    """The shared library of a unit in a harness, built unless the cache has it.

    With ``waves`` it can write such, of ``wave_depth`` levels of modules.
    Raises `ToolMissing` without Verilator or a compiler, `BuildError` if one of them fails.
    """
    glue, optimise = harness.glue(sidecar), _optimisation(_LEVELS)
    if waves or harness.slow:
        optimise = "-O0"
    verilog += harness.checkers(sidecar)
    key = _digest(
        verilog, glue, *harness.texts(), find_verilator().version, find_compiler().version,
        platform.machine(), _own_headers(waves),
        str((waves and (waves, wave_depth), sidecar["module"])),
        str((_VERILATOR_FLAGS, verilator_optimisation(), _COMPILER_FLAGS, optimise)),
    )  # fmt: skip
    target = cache_directory() / f"{sidecar['module']}-{key}.so"
    with _scratch(target) as work:
        if work:
            with activity(COMPILING, compiles=True) as shown:
                _verilate(work, verilog, sidecar["module"], waves, wave_depth)
                (work / "native_glue.h").write_text(glue)
                runtime = _runtime_objects(_RUNTIME)
                if waves:
                    runtime += _trace_objects(waves)
                library = work / "unit.so"
                trace = (f"-DNATIVE_TRACE_{waves.name.upper()}",) if waves else ()
                objects = _objects(work, "Vunit", [harness.source], trace, optimise, shown)
                _link(library, [*objects, *runtime], ("-shared",))
                _publish(library, target)
    return target


def program_optimisation() -> str:
    """Returns how `build_program` optimises: the compiler's option."""
    return _optimisation(_PROGRAM_LEVELS)


def build_program(
    work: Path,
    prefix: str,
    main: Path,
    program: Path,
    *,
    waves: WaveFormat | None,
    link: tuple[str, ...],
) -> None:
    """Compile what Verilator has written into a directory, with VPI, to a program.

    Parameters
    ----------
    work: the directory
    prefix: that Verilator was told
    main: the program's C++ source
    waves: that Verilator was told to trace
    link: more options for the linker

    Raises `ToolMissing` without Verilator or a compiler, `BuildError` if the compiler fails.
    """
    runtime = _runtime_objects(_RUNTIME, *(("-DVL_USER_FATAL",) if waves else ()))
    # The program shows this part to what it loads.
    runtime += _runtime_objects(_VPI_RUNTIME, "-fvisibility=default")
    if waves:
        runtime += _trace_objects(waves)
    trace = ("-DVM_TRACE=1", f"-DVM_TRACE_{waves.name.upper()}=1") if waves else ("-DVM_TRACE=0",)
    drivers = [main, _FATAL] if waves else [main]
    with activity(COMPILING, compiles=True) as shown:
        optimise = program_optimisation()
        objects = _objects(work, prefix, drivers, trace, optimise, shown)
        _link(program, [*objects, *runtime], link)


def _trace_objects(waves: WaveFormat) -> list[Path]:
    """The part of the run-time library that writes waves; headers that it wants are ours."""
    flags = ("-iquote", str(_FST), "-I", str(_FST), f"-DOWN_HEADERS=0x{_own_headers(waves)}")
    return _runtime_objects((waves.runtime,), *flags)


def _own_headers(waves: WaveFormat | None) -> str:
    """Returns a digest of the content of those headers; 0 without waves."""
    return _digest(*(path.read_text() for path in sorted(_FST.rglob("*.h")))) if waves else "0"


def _verilate(
    work: Path, verilog: str, module: str, waves: WaveFormat | None, wave_depth: int
) -> None:
    """Verilator's C++ for a module, into the work directory."""
    verilator = find_verilator()
    (work / "unit.sv").write_text(verilog)
    options = [*_VERILATOR_FLAGS, *verilator_optimisation()]
    options += ["--top-module", module, "--Mdir", str(work)]
    if waves is not None:
        below = module + ".*" * wave_depth
        rules = f'`verilator_config\ntracing_off -scope "{below}" -levels 0\n'
        (work / "waves.vlt").write_text(rules)
        options += [waves.option, str(work / "waves.vlt")]
    command = [str(verilator.program), *options, str(work / "unit.sv")]
    _run(command, work, environment=verilator.environment)


def _bundles(work: Path, prefix: str, drivers: list[Path], optimise: str) -> list[Path]:
    """Verilator's output, and what drives it, in few files; what Verilator calls slow stays apart,
    unless all together is little, or nothing is optimised."""
    order = sorted(work.glob(f"{prefix}*.cpp"), key=lambda s: s.stat().st_size, reverse=True)
    little = sum(source.stat().st_size for source in order) <= _LITTLE
    apart = optimise != "-O0" and not little
    slow = [source for source in order if source.stem.endswith("Slow") and apart]
    fast = [source for source in order if source not in slow]
    texts: dict[Path, list[Path]] = {}
    for suffix, sources in (("", [*fast, *drivers]), ("Slow", slow)):
        room = 0
        for source in sources:
            size = source.stat().st_size
            if size > room:
                bundle, room = work / f"bundle_{len(texts)}{suffix}.cpp", _BUNDLE
                texts[bundle] = []
            texts[bundle].append(source)
            room -= size
    for bundle, parts in texts.items():
        bundle.write_text("".join(f'#include "{part}"\n' for part in parts))
    return list(texts)


def _objects(
    work: Path, prefix: str, drivers: list[Path], driver_flags: tuple[str, ...], optimise: str,
    shown: Activity,
) -> list[Path]:  # fmt: skip
    """Compile Verilator's output, and what drives it, in the work directory."""
    jobs = []
    for source in _bundles(work, prefix, drivers, optimise):
        # Code that Verilator calls slow runs once, at the start.
        level = "-O0" if source.stem.endswith("Slow") else optimise
        flags = (*_header(level), "-I", str(work), *_flags(), *driver_flags, level)
        jobs.append((source, work / f"{source.stem}.o", flags))
    shown.total = len(jobs)
    _compile(work, jobs, shown)
    return [target for _, target, _ in jobs]


def _link(output: Path, objects: list[Path], options: tuple[str, ...]) -> None:
    linked = [str(path) for path in objects]
    _run(
        [*find_compiler().command, "-pthread", "-o", str(output), *linked, *options], output.parent
    )
