"""The (m, l)-TCU model: algorithms on any matrix unit. It has no unit of its own."""

from ..registry import System, Work

SYSTEM = System(
    name="tcu",
    entries=(),
    commands={
        "strassen": Work(
            "tilewright.apps.tcu.commands.strassen:strassen",
            "Multiply matrices on a tensor unit by Strassen's algorithm, calls and words counted.",
            "tensor-unit algorithms",
        ),
        "spmul": Work(
            "tilewright.apps.tcu.commands.spmul:spmul",
            "Multiply sparse matrices on a tensor unit, compressed to as many buckets as the "
            "product's entries need.",
            "tensor-unit algorithms",
        ),
        "eliminate": Work(
            "tilewright.apps.tcu.commands.eliminate:eliminate",
            "Eliminate a matrix into L and U on a tensor unit, without pivoting; solve equations "
            "by them.",
            "tensor-unit algorithms",
        ),
        "closure": Work(
            "tilewright.apps.tcu.commands.closure:closure",
            "Find what can be reached from each vertex of a directed graph on a tensor unit.",
            "tensor-unit algorithms",
        ),
        "distances": Work(
            "tilewright.apps.tcu.commands.distances:distances",
            "Find the distances between all vertices of an undirected graph on a tensor unit, by "
            "Seidel's algorithm.",
            "tensor-unit algorithms",
        ),
        "fft": Work(
            "tilewright.apps.tcu.commands.fft:fft",
            "Transform signals of any length on a tensor unit, one tall call per level of factors.",
            "tensor-unit algorithms",
        ),
        "stencil": Work(
            "tilewright.apps.tcu.commands.stencil:stencil",
            "Sweep a linear stencil over a grid many times at once, by transforms on a tensor "
            "unit.",
            "tensor-unit algorithms",
        ),
        "bigmul": Work(
            "tilewright.apps.tcu.commands.bigmul:bigmul",
            "Multiply two long integers on a tensor unit, in pieces, by halves or all by all.",
            "tensor-unit algorithms",
        ),
        "polyval": Work(
            "tilewright.apps.tcu.commands.polyval:polyval",
            "Evaluate a polynomial at many points on a tensor unit, by one product.",
            "tensor-unit algorithms",
        ),
    },
    tables={
        "tcu-theorems": Work(
            "tilewright.tables.tcu.theorems:tcu_theorems",
            "Exponents and constants of the TCU model's theorems, beside counts.",
        ),
        "tcu-crossovers": Work(
            "tilewright.tables.tcu.crossovers:tcu_crossovers",
            "Sizes from which algorithms on a tensor unit are worthwhile, on several units.",
        ),
        "tcu-model": Work(
            "tilewright.tables.tcu.model:tcu_model",
            "Cycles of every algorithm on hardware: predicted by the TCU model, and measured.",
        ),
        "tcu-lines": Work(
            "tilewright.tables.tcu.lines:tcu_lines",
            "Deviation of calls on GTA and an engine from their calibration, by word and side.",
        ),
        "tcu-low-precision": Work(
            "tilewright.tables.tcu.low_precision:tcu_low_precision",
            "Cost of 8-bit words and of 2:4 sparsity in the (m, l)-TCU model.",
        ),
    },
    groups={
        "tcu": {
            "calibrate": Work(
                "tilewright.apps.tcu.commands.calibrate:calibrate",
                "Fit cycles = a n s + l to a backend's calls of n = s, 2 s, 4 s, ... 4096 rows.",
            ),
            "list": Work(
                "tilewright.apps.tcu.commands.list_algorithms:list_algorithms",
                "List the algorithms with theorem, problem, number types and sizes.",
            ),
            "cost": Work(
                "tilewright.apps.tcu.commands.cost:cost",
                "Count the calls, rows and time of an algorithm on a tensor unit, without running "
                "it.",
            ),
        },
    },
    paper="(m, l)-TCU model",
    pages=("tcu.md", "tcu-algorithms.md", "tcu-results.md"),
    place=9,
)
