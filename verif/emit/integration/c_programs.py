"""Small C programs around generated headers, compiled without a warning and run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.hw.spec.host.programs import Completed, run_program
from tilewright.sim.rtl.toolchain import find_compiler

C11 = ("-x", "c", "-std=c11")
LANGUAGES = {"c11": C11, "c++11": ("-x", "c++", "-std=c++11"), "c++20": ("-x", "c++", "-std=c++20")}
_STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def compile_text(
    folder: Path, headers: Mapping[str, str], text: str, *options: str, language: str = "c11"
) -> Completed:
    """Compile a program that includes headers, by name, all warnings being errors."""
    for name, content in headers.items():
        (folder / name).write_text(content)
    source = folder / "program.txt"
    included = "".join(f'#include "{name}"\n' for name in headers)
    source.write_text(included + text)
    command = [*find_compiler().command, *LANGUAGES[language], *_STRICT, *options, str(source)]
    return run_program(command, cwd=folder)


def run_main(folder: Path, headers: Mapping[str, str], body: str) -> list[str]:
    """The words that the body of a C program's main prints."""
    text = f"#include <inttypes.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n"
    program = folder / "program"
    done = compile_text(folder, headers, text, "-o", str(program))
    assert done.returncode == 0, done.stderr
    ran = run_program([str(program)])
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()
