"""Commands import little before their first output, because the user waits for it."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.commands import COMMANDS
from tilewright.commands.application import in_words, progress
from tilewright.hw.spec.host.activity import Activity, activity
from tilewright.hw.spec.unit import named_object
from tilewright.registry import commands
from tilewright.verif.kit.commands import SMALLEST
from tilewright.verif.kit.data import empty_cache
from tilewright.verif.kit.sampling import by_size, slow_but

HEAVY = {"amaranth", "matplotlib", "networkx", "numba", "numpy", "scipy", "sklearn"}
HELP = HEAVY | {"pydantic"}
REGISTRY = {"tilewright.registry", "tilewright.hw.spec.unit"}
"""Registry modules, which load the parameters of all units."""
MEASURING = {"tilewright.synth", "tilewright.sim", "tilewright.verif", "tilewright.hw.emit"}

WITHOUT = {
    "": HEAVY | MEASURING | REGISTRY,
    "--help": HELP | MEASURING | REGISTRY,
    "--version": HEAVY | MEASURING | REGISTRY | {"rich"},
    "make": HEAVY | MEASURING | {"rich", "typer", "pydantic"},
    "run": HEAVY | MEASURING | {"rich", "typer", "pydantic"},
    "table": HEAVY | MEASURING | {"rich", "typer", "pydantic"},
    "list": HEAVY | MEASURING | {"rich"},
    "list --rows": HEAVY | MEASURING | {"rich"},
    "show --help": HELP | MEASURING | REGISTRY,
    "show m4xu": HEAVY | MEASURING | {"rich"},
    "generate": HEAVY | MEASURING | REGISTRY | {"rich"},
    "generate --help": HELP | MEASURING | REGISTRY,
    "generate m3xu --set rows=65 -o unit.v": HEAVY | MEASURING | {"rich"},
    "simulate --help": HELP | MEASURING | REGISTRY,
    "simulate m3xu --sim vcs": HEAVY | MEASURING | {"rich"},
    "synth --help": HELP | MEASURING | REGISTRY,
    "synth m4xu": HEAVY | MEASURING | {"rich"},
    "table --help": HELP | MEASURING,
    "cache --help": HELP | MEASURING | REGISTRY,
    "cache --clean mine": HEAVY | MEASURING | REGISTRY | {"rich"},
    "completion bash": HEAVY | MEASURING | REGISTRY,
    "completion tcsh": HEAVY | MEASURING | REGISTRY | {"rich"},
    "table none": HEAVY | MEASURING | {"rich"},
    "run make": HEAVY | MEASURING | {"rich", "typer", "pydantic"},
}


def imported(words: list[str]) -> set[str]:
    """The modules and packages that a command line has imported at its end."""
    code = (
        "import sys; from tilewright.cli import main; main(sys.argv[1:]);"
        "print('modules:', *sorted(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].removeprefix("modules: ").split())


QUICK = ["--help", "make", "list", "generate --help", "table none"]


@pytest.mark.parametrize("words", slow_but(QUICK, WITHOUT))
def test_a_command_imports_what_it_needs(words: str) -> None:
    found = imported(words.split())
    assert not found & WITHOUT[words]
    modules = {name: command.function.partition(":")[0] for name, command in COMMANDS.items()}
    listing = ("run make", "run", "table")
    used = [name for name in words.split()[:1] if name in COMMANDS and words not in listing]
    assert [name for name, module in modules.items() if module in found] == used


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_that_of_the_function(name: str) -> None:
    module, _, attribute = COMMANDS[name].function.partition(":")
    said = getattr(import_module(module), attribute).__doc__
    assert said.splitlines()[0] == COMMANDS[name].summary


# Imports of ``tilewright run`` before it prints a help or a refusal.
#
# A process takes many command lines, one after the other: the first that has imported too much is
# named.

COMPUTING = {"amaranth", "cocotb", "matplotlib", "networkx", "numba", "scipy", "sklearn"}
"""Modules that only a computation needs; reading a file needs NumPy too."""
EMITTING = {"tilewright.hw.emit", "tilewright.synth", "tilewright.verif"}

FILES: dict[str, int | tuple[str, ...]] = {
    "gemm": 2, "knn": 2, "gcn": 2, "label": ("{file}", "--labels", "0,1"),
    "tucker": ("{file}", "--ranks", "2,2,2"), "passes": ("{file}", "--program", "{program}"),
    "bignum": 2, "fir": 2, "vector": ("add", "{file}", "{file}"),
    "pair": ("{file},{file}", "{file},{file}"),
    "einsum": ("ik,kj->ij", "{file}", "{file}"),
    "strassen": 2, "bigmul": 2, "polyval": 2, "spmul": 2,
    "stencil": ("{file}", "--weights", "{file}", "--steps", "2"),
}  # fmt: skip
"""Files that a command must be given, if not one; or all that it must be."""

PROGRAM = "vector x\ne1:\n    out y\ne2:\n    store x, y\n    out y\n"

_TAKE = """
import json, sys
from tilewright.cli import main
forbidden, lines = json.load(sys.stdin)
found = [[main(line), sorted(set(forbidden) & set(sys.modules))] for line in lines]
print("\\n" + json.dumps(found))
"""


def taken(forbidden: set[str], lines: list[list[str]]) -> tuple[list[int], list[str]]:
    """Returns the exit statuses and standard error of command lines; no forbidden module may have
    been imported."""
    told = json.dumps([sorted(forbidden), lines])
    command = [sys.executable, "-c", _TAKE]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    for line, (_, imported) in zip(lines, found, strict=True):
        assert imported == [], " ".join(line)
    return [status for status, _ in found], done.stderr.splitlines()


def given(name: str, file: str, program: str = "absent.ew") -> list[str]:
    """A command with a file in each place that must have one."""
    wanted = FILES.get(name, 1)
    if isinstance(wanted, int):
        return ["run", name, *[file] * wanted]
    return ["run", name, *(word.format(program=program, file=file) for word in wanted)]


def modelled(name: str) -> tuple[str, str]:
    """The backend of a command that runs no Verilog."""
    on_tcu = ".apps.tcu." in commands()[name].function
    return "--backend", "numpy" if on_tcu else "model"


SOME = by_size(["gemm", "spgemm", "cg"], list(commands()), list(commands()))


def test_helps() -> None:
    lines = [["run", "--help"], ["run"], ["run", "make"]]
    lines += [["run", name, "--help"] for name in SOME]
    statuses, said = taken(COMPUTING | EMITTING | {"numpy", "pydantic"}, lines)
    assert statuses == [0, 0, 2] + [0] * len(SOME)
    assert len(said) == 1


REFUSED_OPTIONS = {
    ("--backend", "silicon"): "backend must be ",
    ("--set", "colour=1"): "unknown parameter",
    ("--json", "report.txt"): "report.txt: must end in .json, not '.txt'",
}


def test_refused_options() -> None:
    """Refuses options before it looks for files, which are absent here."""
    lines = [[*given(name, "absent.npy"), *words] for words in REFUSED_OPTIONS for name in SOME]
    statuses, said = taken(COMPUTING | EMITTING | {"numpy"}, lines)
    assert statuses == [2] * len(lines)
    expected = [line for line in REFUSED_OPTIONS.values() for _ in SOME]
    assert [one for one, line in zip(said, expected, strict=True) if line not in one] == []


REFUSED_FILES = {
    "absent.mtx": "cannot be read: No such file or directory",
    "headless.mtx": "line 1: not a Matrix Market header",
    "words.npy": "not a NumPy .npy file",
}


OF_OTHER_FILES = {"bigmul", "bignum", "color", "mlp"}
"""Commands whose first file is no matrix."""


def test_refused_files(tmp_path: Path) -> None:
    program = tmp_path / "own.ew"
    program.write_text(PROGRAM)
    for file in list(REFUSED_FILES)[1:]:
        (tmp_path / file).write_text("not what its name says\n")
    some = [name for name in SOME if name not in OF_OTHER_FILES]
    lines = [[*given(name, str(tmp_path / file), str(program)), *modelled(name)]
             for file in REFUSED_FILES for name in some]  # fmt: skip
    statuses, said = taken(COMPUTING | EMITTING, lines)
    assert statuses == [2] * len(lines)
    expected = [f"error: {tmp_path / file}: {line}" for file, line in REFUSED_FILES.items()
                for _ in some]  # fmt: skip
    wrong = [one for one, line in zip(said, expected, strict=True) if not one.startswith(line)]
    assert wrong == []


def test_refused_shapes(tmp_path: Path) -> None:
    """Refuses matrices whose shape the first lines, or the header of a .npy file, show to be
    wrong."""
    wide = tmp_path / "wide.mtx"
    wide.write_text("%%MatrixMarket matrix coordinate real general\n3 4 0\n")
    array = tmp_path / "wide.npy"
    np.save(array, np.ones((3, 4)))
    square = ["apsp", "mst", "triangles", "mcl", "bfs", "cg", "passes", "gcn"]
    program = tmp_path / "own.ew"
    program.write_text(PROGRAM)
    pairs = [("gemm", wide), ("gemm", array), ("spgemm", wide), ("spmm", array)]
    lines = [["run", name, str(file), str(file)] for name, file in pairs]
    lines += [given(name, str(file), str(program)) for name in square for file in (wide, array)]
    lines += [given("strassen", str(file)) for file in (wide, array)]
    lines = [[*line, *modelled(line[1])] for line in lines]
    statuses, said = taken(COMPUTING | EMITTING, lines)
    assert statuses == [2] * len(lines)
    assert [line for line in said if "must be square" not in line and "must have" not in line] == []


@pytest.mark.parametrize("name", commands())
def test_run_summary_is_that_of_the_function(name: str) -> None:
    work = commands()[name]
    first, _, _ = cleandoc(named_object(work.function).__doc__).partition("\n\n")
    assert " ".join(first.split()) == work.summary


# A terminal shows what is under way; a pipe stays quiet.

COMMAND = [sys.executable, "-m", "tilewright"]
_MOST = 1 << 16
_MARK = "\a"
_COLUMNS = 120


def test_in_words() -> None:
    one = Activity("compiling the RTL, once", 7, done=2, began=0.0)
    assert in_words(one, 0.5) == "compiling the RTL, once: 2 of 7"
    assert in_words(one, 12.3) == "compiling the RTL, once: 2 of 7, 12 s"
    one = Activity("simulating products", 1000, done=1020, detail="a part", began=0.0)
    assert in_words(one, 0.0) == "simulating products: 1,000 of 1,000, a part"
    assert in_words(Activity("elaborating", began=0.0), 0.0) == "elaborating"


class Terminal:
    """Collects what is written to a terminal."""

    def __init__(self, end: int, file: IO[str]) -> None:
        self._end, self._file = end, file

    def shown(self) -> bytes:
        """Returns the bytes since the last call, up to a mark that it writes and waits for."""
        self._file.write(_MARK)
        self._file.flush()
        found = b""
        while not found.endswith(_MARK.encode()):
            found += os.read(self._end, _MOST)
        return found.removesuffix(_MARK.encode())


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Standard error is one."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(_COLUMNS))
    monkeypatch.delenv("TILEWRIGHT_PROGRESS")
    ours, theirs = pty.openpty()
    with open(theirs, "w") as file, monkeypatch.context() as patch:
        patch.setattr("sys.stderr", file)
        try:
            yield Terminal(ours, file)
        finally:
            os.close(ours)


def plain(shown: bytes) -> str:
    """Removes colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def test_a_terminal_shows_the_innermost(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as end:
        with progress(), activity("outer"):
            assert "outer" in plain(end.shown())
            with activity("compiling the RTL, once", total=7) as inner:
                assert "compiling the RTL, once: 0 of 7" in plain(end.shown())
                inner.step(2)
        assert "outer" in plain(end.shown())
        with activity("unseen"):
            pass
        assert not end.shown()


def test_an_error_gives_the_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as end:
        with pytest.raises(KeyboardInterrupt), progress(), activity("outer"):
            raise KeyboardInterrupt
        shown = end.shown()
    hidden, given_back = shown.rfind(b"\x1b[?25l"), shown.rfind(b"\x1b[?25h")
    assert 0 <= hidden < given_back


def test_a_pipe_stays_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    with progress(), activity("unseen", total=2) as one:
        one.step()
    assert capfd.readouterr() == ("", "")


LONG_WORK = """
import sys, time
from contextlib import nullcontext, redirect_stderr
from io import StringIO
from tilewright.commands import application
from tilewright.hw.spec.host.activity import activity
application._FIRST_SECONDS, application._NEXT_SECONDS = 0.2, 0.1
collected = redirect_stderr(StringIO()) if sys.argv[1:] else nullcontext()
with collected as text:
    with application.progress(), activity("outer"), activity("simulating", total=2) as one:
        one.step()
        time.sleep(1)
print(repr(text.getvalue()) if text else "end")
"""


@pytest.mark.parametrize(
    ("setting", "words", "printed"), [("", [], "end"), ("off", [], "end"), ("", ["text"], "''")]
)
def test_long_work_in_a_pipe_writes_lines(setting: str, words: list[str], printed: str) -> None:
    """Long work writes lines, unless that is turned off or a Python program collects the text."""
    environment = {**os.environ, "TILEWRIGHT_PROGRESS": setting}
    done = subprocess.run(
        [sys.executable, "-c", LONG_WORK, *words],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{printed}\n"
    lines = done.stderr.splitlines()
    assert all(line.startswith("simulating: 1 of 2") for line in lines)
    assert (len(lines) < 2) is bool(setting or words)


@pytest.mark.slow
def test_generate_shows_its_steps(tmp_path: Path) -> None:
    """Shows the steps on a terminal; in a pipe the same command writes nothing to standard
    error."""
    words = [*COMMAND, "generate", "simd2", "--set", "tile=2", "-o", "unit.v"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(_COLUMNS)}
    environment["TILEWRIGHT_PROGRESS"] = ""
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        assert child.stdout is not None
        shown = b""
        while part := _read(ours):
            shown += part
        printed = child.stdout.read().decode()
    os.close(ours)
    assert child.returncode == 0
    assert "elaborating simd2" in plain(shown)
    assert "writing the Verilog of simd2: " in plain(shown)
    quiet = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (quiet.stdout, quiet.stderr) == (printed, "")


def _read(descriptor: int) -> bytes:
    """Returns the next bytes of a terminal; none after its end, where Linux raises an error."""
    try:
        return os.read(descriptor, _MOST)
    except OSError:
        return b""


@pytest.mark.slow
def test_what_compiles_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first run of a unit compiles it; the second finds it in the cache."""
    empty_cache(tmp_path / "cache", monkeypatch)
    monkeypatch.setenv("TILEWRIGHT_OPTIMISE", "0")
    np.save(tmp_path / "a.npy", np.eye(4))
    operands = [str(tmp_path / "a.npy")] * 2
    reports, printed = [], []
    for number in range(2):
        file = tmp_path / f"{number}.json"
        assert main(["run", "gemm", *operands, *SMALLEST, "--json", str(file)]) == 0
        reports.append(json.loads(file.read_text()))
        out, err = capfd.readouterr()
        assert not err
        printed.append(out)
    first, second = reports
    assert first["compile_seconds"] > 1 > first["seconds"]
    assert second["compile_seconds"] == 0
    assert ["compiled, once" in text for text in printed] == [True, False]
    assert first["operations_per_second"] == pytest.approx(first["operations"] / first["seconds"])
