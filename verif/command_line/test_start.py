"""What a command imports before it says something: little, for it is what a user waits for."""

import subprocess
import sys
from importlib import import_module

import pytest
from tilewright.commands import COMMANDS
from tilewright.verif.kit.sampling import slow_but

HEAVY = {"amaranth", "matplotlib", "networkx", "numba", "numpy", "scipy", "sklearn"}
HELP = HEAVY | {"pydantic"}
REGISTRY = {"tilewright.registry", "tilewright.hw.spec.unit"}
"""With it come the parameters of all units."""
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
