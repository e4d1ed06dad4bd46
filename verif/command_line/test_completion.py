"""Completion of words in shells, by the answers to a shell and in real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tilewright.choices import a_setting
from tilewright.cli import main
from tilewright.commands import ASKED, COMMANDS
from tilewright.commands.completion import SHELLS
from tilewright.registry import commands, entries, tables
from tilewright.synth.targets import KNOWN

ANSWERS = {
    "": list(COMMANDS),
    "s": ["show", "simulate", "synth"],
    "make": [],
    "show ": list(entries()),
    "show simd2 --s": ["--spec", "--set"],
    "show m3xu --set r": ["rows=8"],
    "generate mat": ["matraptor"],
    "simulate simd2 --sim ": ["verilator", "icarus"],
    "simulate matraptor --sim ": ["verilator"],
    "synth m3xu --target ": ["cmos", *KNOWN, "ecp5", "ice40"],
    "table ": list(tables()),
    "table m3xu-area --j": ["--json"],
    "run sp": [name for name in commands() if name.startswith("sp")],
    "run gemm --mo": ["--mode"],
    "run spgemm a.mtx --set ch": ["channels=8"],
    "run apsp a.mtx --set ti": ["tile=4"],
    "run gemm a.npy --unit engine_simd2 --set ma": ["managers=1"],
    "run gemm --unit s": ["simd2"],
    "completion ": list(SHELLS),
    "show m3xu -c ": [],
}


def ask(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Sets the environment as bash does after ``tilewright`` and words, the last one unfinished."""
    monkeypatch.setenv("COMP_WORDS", f"tilewright {words}")
    monkeypatch.setenv("COMP_CWORD", str(1 + words.count(" ")))
    monkeypatch.setenv(ASKED, "complete_bash")


@pytest.mark.parametrize("words", ANSWERS)
def test_what_may_follow(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(monkeypatch, words)
    assert main([]) == 0
    said = capsys.readouterr()
    assert (said.out.split(), said.err) == (ANSWERS[words], "")


@pytest.mark.parametrize("unit", entries())
def test_a_setting_that_is_offered_is_the_default(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = entries()[unit].unit.config
    assert a_setting() == []
    ask(monkeypatch, f"show {unit} --set ")
    offered = dict(setting.split("=") for setting, _ in a_setting())
    assert list(offered) == [item.name for item in kind.parameters()]
    assert kind.from_settings(offered) == kind()


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == (
        "error: the shell must be one of bash, zsh, fish, not 'tcsh'\n"
    )


ASKED_BY = {
    "bash": """
        eval "$(tilewright completion bash)"
        ask() {{ COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
                 ${{function}} tilewright; printf '%s\\n' "${{COMPREPLY[@]}}"; }}
        function=$(complete -p tilewright | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        ask tilewright {words}""",
    "zsh": """
        compdef() {{ function=$1; }}
        _arguments() {{ list=${{@[-1]#*: :\\(}}; eval "pairs=${{list%\\)}}"
                        print -l -- ${{pairs%%:*}}; }}
        eval "$(tilewright completion zsh)"
        words=(tilewright {words}) CURRENT=${{#words}}
        $function""",
    "fish": """
        tilewright completion fish | source
        complete -C "tilewright "{words} | string replace -r '\\t.*' ''""",
}
"""Scripts that have a shell ask what may stand in place of the last of its words."""


@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(s, marks=pytest.mark.slow) for s in SHELLS[1:])]
)
def test_a_shell_asks(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    program = tmp_path / "tilewright"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tilewright "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    words = "'synth m3x'" if shell == "fish" else "synth m3x"
    done = subprocess.run(
        [shell, "-c", ASKED_BY[shell].format(words=words)],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    expected = [name for name in entries() if name.startswith("m3x")]
    assert (sorted(done.stdout.split()), done.stderr) == (sorted(expected), "")
