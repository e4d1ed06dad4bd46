"""The examples of docs/engine.md work."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tilewright.hw.spec.engine import Simd2EngineConfig
from tilewright.hw.spec.jobs.engine import job_spec
from tilewright.verif.kit.pages import examples, page

PAGE = page("engine.md")


def test_python_examples_run() -> None:
    names: dict[str, object] = {}
    found = examples(PAGE, "python")
    assert found
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler is installed")
def test_c_examples_compile(tmp_path: Path) -> None:
    found = examples(PAGE, "c")
    assert found
    for example in found:
        (tmp_path / "example.c").write_text(example)
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "example.c"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        registers = job_spec(Simd2EngineConfig()).registers
        offsets = re.findall(r"^#define ENGINE_(\w+) +(0x[0-9A-F]+)", example, re.M)
        assert len(offsets) > 10
        for name, offset in offsets:
            assert registers[name].offset == int(offset, 16)
