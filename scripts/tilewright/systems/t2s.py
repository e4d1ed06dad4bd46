"""T2S-Tensor: a language of spatial mappings. Its compiler ends at loop nests; no unit yet."""

from ..registry import System, Work

SYSTEM = System(
    name="t2s",
    entries=(),
    tables={
        "t2s-designs": Work(
            "tilewright.tables.t2s_designs:t2s_designs",
            "Lines, elements and multipliers of the designs in the mapping language.",
        ),
    },
    groups={
        "t2s": {
            "show": Work(
                "tilewright.apps.t2s.commands.show:show",
                "Show the loop nests, buffers and channels that a mapping becomes.",
            ),
            "check": Work(
                "tilewright.apps.t2s.commands.check:check",
                "Run the program after every pass of the compiler on random integers, beside "
                "NumPy.",
            ),
        },
    },
    pages=("t2s.md", "t2s-directives.md"),
    place=10,
)
