"""Developers' entry: ``python -m tilewright.synth FILE.v TOP [TARGET]`` prints the report."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from .base.errors import ToolError
from .flow import synthesize_verilog


def main(arguments: list[str]) -> int:
    """Synthesize a file; exit status 2 for bad usage or bad input."""
    if len(arguments) not in (2, 3):
        print("usage: python -m tilewright.synth FILE.v TOP [TARGET]", file=sys.stderr)
        return 2
    try:
        text = Path(arguments[0]).read_text(encoding="utf-8")
        report = synthesize_verilog(text, arguments[1], *arguments[2:])
    except (OSError, ValueError, ToolError) as error:
        print(error, file=sys.stderr)
        return 2
    report.print(Console())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
