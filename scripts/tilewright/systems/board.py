"""Boards: an accelerator with memory and a bridge to a host, on an FPGA."""

from ..registry import System, Work

SYSTEM = System(
    name="board",
    entries=(),
    groups={
        "board": {
            "generate": Work(
                "tilewright.apps.board.commands:generate",
                "Write an accelerator with memory and a host bridge as SystemVerilog.",
            ),
            "simulate": Work(
                "tilewright.apps.board.commands:simulate",
                "Simulate a board behind a pseudo-terminal, for `--backend board` elsewhere.",
            ),
        }
    },
    pages=("bridge.md",),
)
