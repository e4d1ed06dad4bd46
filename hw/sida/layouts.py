"""Layouts of the signals between the parts of SIDA."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ..spec.elementwise.instructions import SCALARS, VECTORS
from ..spec.jobs.sida import BASES, WINDOW_BASES
from ..spec.sida import SidaConfig
from .operators import semiring_range

__all__ = [
    "count_bits",
    "gathered_layout",
    "job_bases",
    "job_layout",
    "leaf_layout",
    "results_layout",
    "set_layout",
    "sums_layout",
    "terms_layout",
]


def count_bits(config: SidaConfig) -> int:
    """Width of a number of rows or columns, 0 to those of the largest matrix."""
    return config.most_rows.bit_length()


def leaf_layout(config: SidaConfig) -> data.StructLayout:
    """An element of a set: ``valid``; its ``row`` and ``value``; its column, as an ``offset`` from
    the set's ``base``."""
    return data.StructLayout(
        {
            "valid": 1,
            "row": config.place_bits,
            "offset": range(config.pes),
            "value": config.format.bits,
        }
    )


def set_layout(config: SidaConfig) -> data.StructLayout:
    """Elements that follow each other in the matrix by columns: element n is leaf ``n % pes``.

    Its columns are ``base`` to ``base + pes - 1`` at most, and of one step; all columns before
    ``base`` are complete; with the set ``columns`` more are, from ``base`` on, empty ones included.
    A set may have no element. Only columns ``base`` and ``base + columns`` can have elements in
    other sets. ``final``: of the matrix' last set.
    """
    return data.StructLayout(
        {
            "base": count_bits(config),
            "columns": range(config.pes + 1),
            "final": 1,
            "leaves": data.ArrayLayout(leaf_layout(config), config.pes),
        }
    )


def gathered_layout(config: SidaConfig) -> data.StructLayout:
    """A set with the elements of both vectors that its rows name: ``x``, ``z``, arrays by leaf,
    anything where a leaf is not valid, or the element of z is not there yet."""
    values = data.ArrayLayout(config.format.bits, config.pes)
    return data.StructLayout({"set": set_layout(config), "x": values, "z": values})


def results_layout(config: SidaConfig) -> data.StructLayout:
    """Complete columns' results: ``columns`` of them from column ``base`` on, ``values`` by their
    offset from it."""
    return data.StructLayout(
        {
            "base": count_bits(config),
            "columns": range(config.pes + 1),
            "values": data.ArrayLayout(config.format.bits, config.pes),
        }
    )


def terms_layout(config: SidaConfig) -> data.StructLayout:
    """Terms of a set that the columns' sums accept in a cycle, if ``valid``.

    ``base`` and ``columns`` are those of the set. By leaf: ``offset``; whether it is ``present``
    (else its fields are arbitrary); the factors ``operand``, of the vector, and ``value``, of the
    matrix.
    """
    pes = config.pes
    values = data.ArrayLayout(config.format.bits, pes)
    return data.StructLayout(
        {
            "valid": 1,
            "base": count_bits(config),
            "columns": range(pes + 1),
            "offset": data.ArrayLayout(range(pes), pes),
            "present": pes,
            "operand": values,
            "value": values,
        }
    )


def sums_layout(config: SidaConfig) -> data.StructLayout:
    """``results``, if ``valid``: then they are of one column at least."""
    return data.StructLayout({"valid": 1, "results": results_layout(config)})


def job_bases(config: SidaConfig) -> tuple[str, ...]:
    """Registers with addresses, but for those of the program's vectors."""
    return (*BASES, *WINDOW_BASES) if config.windowed else tuple(BASES)


def job_layout(config: SidaConfig) -> data.StructLayout:
    """A job, constant while it runs: its registers, by their names, but for ``first`` and
    ``second``, which are numbers in ``config.operators``, and ``vectors``, all of their bases."""
    semiring = semiring_range(config.operators)
    fields: dict[str, ShapeLike] = {
        "rows": count_bits(config),
        "passes": 32,
        "first": semiring,
        "second": semiring,
        "second_product": 1,
        "transposed": 1,
        "words": range(config.program_words + 1),
        "entry": range(config.program_words),
        "stops": 1,
        **{name: range(SCALARS) for name in ("stop_1", "stop_2", "limit")},
        **dict.fromkeys(job_bases(config), config.addr_bits),
        "vectors": data.ArrayLayout(config.addr_bits, VECTORS),
    }
    return data.StructLayout(fields)
