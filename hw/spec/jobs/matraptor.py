"""Jobs of MatRaptor: registers, counters, errors, and the rules of a job."""

from __future__ import annotations

from collections.abc import Iterator

from ..c2sr import VALUES
from ..matraptor import MatRaptorConfig
from ..registers.job_spec import Check, Condition, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Register, constants, number
from ..sidecar.operation import Compute, Factor, Limit, Operand, OperationEntry, Size
from ..sidecar.placement import C2srPlacement, CsrPlacement, Room, Setting

_SHAPES = {"a": ("M", "K"), "b": ("K", "N"), "c": ("M", "N")}


def operations(config: MatRaptorConfig) -> tuple[OperationEntry, ...]:
    """The product by rows, where there are formats of A and B also of CSR, and, where there is the
    mode, by outer products."""
    found = [_by_rows(config)]
    if config.csr:
        found.append(_by_rows(config, csr=True))
    if config.outer_product:
        found.append(_outer(config))
    return tuple(found)


def _sizes(config: MatRaptorConfig, columns: str | None) -> tuple[Size, ...]:
    most = None if columns else 1 << config.index_bits
    return (
        Size(name="M", doc="rows of a and c", register="ROWS"),
        Size(name="N", doc="columns of b and c", register=columns, most=most),
        Size(name="K", doc="columns of a, rows of b", register="B_ROWS"),
    )


def _operands(
    config: MatRaptorConfig, lanes: int | None, *, csr: bool = False
) -> tuple[Operand, ...]:
    """Operands of a product; ``lanes``: a is stored by columns for so many; ``csr``: a and b are in
    CSR."""
    layout = config.layout
    room = Room(register="CAPACITY", times=config.channel_lanes, multiple_of=layout.block_entries)
    places: dict[str, C2srPlacement | CsrPlacement] = {
        "a": layout.placement("A", lanes=lanes),
        "b": layout.placement("B"),
        "c": layout.placement("C", read=False, room=room),
    }
    if csr:
        places |= {name: layout.csr_placement(name.upper(), pointers="PAIRS") for name in "ab"}
    return tuple(
        Operand(
            name=name,
            direction="out" if name == "c" else "in",
            rows=_SHAPES[name][0],
            columns=_SHAPES[name][1],
            format=layout.format,
            placement=place,
        )
        for name, place in places.items()
    )


def _compute(config: MatRaptorConfig, how: str) -> Compute:
    doc = (
        f"c = a (x) b with (+) {config.operators.plus} and (x) {config.operators.times}, {how}; "
        "absent elements take no part, each product and each sum is rounded once"
    )
    return Compute(
        kind="product", plus=config.operators.plus, times=config.operators.times, doc=doc
    )


def _settings(config: MatRaptorConfig, mode: int, *, csr: bool = False) -> tuple[Setting, ...]:
    """The registers of a whole product in a mode, whose B is not in the cache."""
    values = {"MODE": mode} if config.outer_product else {}
    values |= dict.fromkeys(FORMATS, FORMAT_CODES["csr" if csr else "c2sr"]) if config.csr else {}
    values |= {"KEEP": 0} if config.cache_bytes else {}
    values |= {"FIRST_COLUMN": 0, "END_COLUMN": 0}
    return tuple(Setting(register=name, value=value) for name, value in values.items())


def _by_rows(config: MatRaptorConfig, *, csr: bool = False) -> OperationEntry:
    limit = Limit(
        product_of=(Factor(size="N"),),
        at_most=config.queue_depth,
        error="overflow",
        doc="a row of c that fits a queue never overflows; a longer one may",
    )
    return OperationEntry(
        name="rows_csr" if csr else "rows",
        select=_settings(config, 0, csr=csr),
        compute=_compute(config, "row by row" + (", a and b in CSR" if csr else "")),
        sizes=_sizes(config, None),
        operands=_operands(config, None, csr=csr),
        limits=(limit,),
    )


def _outer(config: MatRaptorConfig) -> OperationEntry:
    limit = Limit(
        product_of=(
            Factor(size="M", divided_by=config.lanes),
            Factor(size="N", divided_by=config.accumulator_banks),
        ),
        at_most=config.queue_depth,
        error="overflow",
        doc="the sums of a lane, each line of which is so many banks wide, fit the queues",
    )
    return OperationEntry(
        name="outer",
        select=_settings(config, 1),
        compute=_compute(config, "by outer products"),
        sizes=_sizes(config, "COLUMNS"),
        operands=_operands(config, config.lanes),
        limits=(limit,),
    )


ARRAYS = tuple(f"{operand}_{what}" for operand in "abc" for what in ("pairs", "entries"))
"""Arrays in memory whose bases are in the job registers: members and, in upper case, registers."""

_IN_CSR = {
    **dict.fromkeys(("a_pairs", "b_pairs"), " (in CSR its pointers)"),
    **dict.fromkeys(("a_entries", "b_entries"), " (or its columns)"),
}

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which at least one lane accepted a product",
    "stalls": "cycles without one, between the first product and the last",
    "operations": "products",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written of C",
    "bytes_a_pairs": "bytes read of A's pairs, in whole beats",
    "bytes_a_entries": "bytes read of A's entries, in whole beats",
    "bytes_b_pairs": "bytes read of B's pairs, in whole beats",
    "bytes_b_entries": "bytes read of B's entries, in whole beats",
    "bytes_c_pairs": "bytes written of C's pairs",
    "bytes_c_entries": "bytes written of C's entries",
    "conflicts": "cycles in which requests waited for a channel serving another lane",
    "merge_steps": "entries moved by merges into a helper queue",
    "results": "entries of C",
    "lane_busy_max": "products of the lane with the most",
    "lane_busy_min": "products of the lane with the fewest",
}
"""Events that are counted from the start of a job to its end."""

CACHE_COUNTERS: dict[str, str] = {
    "cache_hits": "reads of B whose block was in the cache",
    "cache_misses": "blocks of B read from memory into the cache",
    "cache_merged": "reads of B whose block was on its way into the cache",
    "cache_evictions": "blocks of B replaced in the cache",
}
"""Those of a cache of B."""


def counters(config: MatRaptorConfig) -> dict[str, str]:
    """Returns what an accelerator counts."""
    if not config.cache_bytes:
        return COUNTERS
    return COUNTERS | {"bytes_read": "bytes read over the bus, in whole beats"} | CACHE_COUNTERS


ERRORS = (
    Error("zero_size", 1, "register", "ROWS, B_ROWS or CAPACITY is 0"),
    Error(
        "size_limit",
        2,
        "register",
        "one of them exceeds the range of `index_bits` or of a 32-bit pointer",
    ),
    Error("misaligned_base", 3, "register", "a base is not a multiple of `interleave`"),
    Error("misaligned_capacity", 4, "register", "CAPACITY is not a whole number of blocks"),
    Error("address_range", 5, "register", "a base has more than `addr_bits` bits"),
    Error("bus_read", 6, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 7, "address", "a response to a write was neither OKAY nor EXOKAY"),
    Error("index", 8, "row", "a column of A is not below B_ROWS"),
    Error("unsorted", 9, "row", "the columns of a row of B do not ascend in the range"),
    Error("overflow", 10, "row", "a row does not fit the queues"),
    Error("region", 11, "row", "a row does not fit its lane's region of C"),
)
"""Rows are those of C; in the outer-product mode, of ``index`` and ``unsorted`` they are those of A
as it is stored, ``k * lanes + lane``."""

CSR_ERRORS = (
    Error("pointers", 12, "row", "the pointers of a row of A or B in CSR descend"),
    Error("format", 13, "register", "A_FORMAT or B_FORMAT is not the number of a format"),
)
"""Those of a job with A or B in CSR; of B the row is that of A which names it."""

FORMATS = ("A_FORMAT", "B_FORMAT")
"""Registers of the formats of A and B, of an accelerator that reads CSR."""

FORMAT_CODES = {"c2sr": 0, "csr": 1, "csr-arrays": 2}
"""Their values: CSR with entries, and with columns and values in arrays of their own."""

VALUE_ARRAYS = ("a_values", "b_values")
"""Further arrays of operands whose columns and values are apart."""

MODES = {"rows": 0, "outer": 1}
"""Values of MODE, of an accelerator that has both."""

BY_ROWS = Condition(register="MODE", value=MODES["rows"])
OUTER = Condition(register="MODE", value=MODES["outer"])


def limits(config: MatRaptorConfig, *, outer: bool = False) -> dict[str, int]:
    """The greatest value of each size: rows have numbers of ``index_bits`` bits; pointers, which
    count all entries that the lanes of a channel may write, have 32.

    In the ``outer`` mode A has a row for each row of B and lane, and a queue holds a row of B.
    """
    rows = min(1 << config.index_bits, (1 << 32) - 1)
    most = {"ROWS": rows, "B_ROWS": rows, "CAPACITY": ((1 << 32) - 1) // config.channel_lanes}
    if outer:
        most |= {"B_ROWS": rows // config.lanes, "COLUMNS": config.queue_depth}
    return most


def _size_limits(config: MatRaptorConfig) -> Iterator[Check]:
    """Limits of each size; one for each mode where the modes differ."""
    by_rows, outer = limits(config), limits(config, outer=config.outer_product)
    for name in outer:
        same = by_rows.get(name) == outer[name]
        of_modes = {None: by_rows} if same else {BY_ROWS: by_rows, OUTER: outer}
        for when, most in of_modes.items():
            if name in most:
                yield from checks_of("size_limit", (name,), Rule.AT_MOST, most, when={name: when})


def _checks(config: MatRaptorConfig) -> tuple[Check, ...]:
    layout, bases = config.layout, [name.upper() for name in ARRAYS]
    formats: tuple[Check, ...] = ()
    if config.csr:
        bases += [name.upper() for name in VALUE_ARRAYS]
        formats = checks_of("format", FORMATS, Rule.AT_MOST, max(FORMAT_CODES.values()))
    sizes = list(limits(config, outer=config.outer_product))
    return (
        *checks_of("zero_size", sizes, Rule.NON_ZERO, when={"COLUMNS": OUTER}),
        *_size_limits(config),
        *checks_of("misaligned_base", bases, Rule.MULTIPLE_OF, layout.interleave),
        *checks_of("misaligned_capacity", ("CAPACITY",), Rule.MULTIPLE_OF, layout.block_entries),
        *checks_of("address_range", bases, Rule.BELOW, 1 << config.addr_bits),
        *formats,
    )


def _constants(config: MatRaptorConfig) -> tuple[Register, ...]:
    layout, semiring = config.layout, config.operators
    value = VALUES.index(config.value)
    cache = constants(
        "CONFIG4", 0x18, "the cache of B", ("cache_bytes", 32, config.cache_bytes, "bytes")
    )
    more = constants(
        "CONFIG5",
        0x1C,
        "more depths",
        ("a_outstanding", 12, config.a_bursts, "bursts of a reader of A in flight"),
        ("queue_sets", 4, config.queue_sets, "sets of queues"),
        ("row_queue", 8, config.row_queue, "rows that may wait for phase II"),
        ("beat_queue", 8, config.beat_queue, "beats that may wait in a channel for a lane"),
    )
    others = config.queue_sets != 2 or config.row_queue or config.beat_queue
    return (
        constants(
            "CONFIG0",
            0x08,
            "the parts",
            ("lanes", 8, config.lanes, "lanes"),
            ("channels", 8, config.channels, "memory channels"),
            ("queues", 8, config.queues, "queues of a set"),
            ("semiring", 8, semiring.opcode, "opcode of the semiring in the SIMD2 unit"),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "widths",
            ("format", 8, value, f"of the values: {', '.join(VALUES)}"),
            ("index_bits", 8, config.index_bits, "width of a row or column number"),
            ("entry_bytes", 8, layout.entry_bytes, "bytes of an entry"),
            ("beat_bytes", 8, config.beat_bytes, "bytes of a beat"),
        ),
        constants(
            "CONFIG2",
            0x10,
            "depths",
            ("queue_depth", 20, config.queue_depth, "entries of a queue"),
            ("outstanding", 12, config.outstanding, "bursts of a reader in flight"),
        ),
        constants(
            "CONFIG3",
            0x14,
            "memory",
            ("interleave", 16, config.interleave, "bytes of a block of the interleaving"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
            *_modes(config),
        ),
        *((cache,) if config.cache_bytes else ()),
        *((more,) if config.a_outstanding or others else ()),
    )


def _modes(config: MatRaptorConfig) -> tuple[tuple[str, int, int, str], ...]:
    """What the accelerator has beside products by rows of matrices in C2SR."""
    if not config.csr:
        return (("outer_product", 8, int(config.outer_product), "1: the mode is present"),)
    return (
        ("outer_product", 4, 0, "1: the mode is present"),
        ("csr", 4, 1, "1: A and B may be in CSR"),
    )


def _job(config: MatRaptorConfig) -> list[Register]:
    entries = config.layout.block_entries
    capacity = f"entries that a lane may write into a channel, a multiple of {entries}"
    rows = [
        number("ROWS", 0x100, "rw", 32, "rows of A and C"),
        number("B_ROWS", 0x104, "rw", 32, "rows of B, columns of A"),
        number("CAPACITY", 0x108, "rw", 32, capacity),
    ]
    if config.outer_product:
        rows += [
            number("MODE", 0x10C, "rw", 1, "0: row by row; 1: outer products", MODES),
            number("COLUMNS", 0x110, "rw", 32, "columns of B and C, for outer products"),
        ]
    if config.cache_bytes:
        doc = "1: B is that of the last job, its cached blocks are kept"
        rows.append(number("KEEP", 0x114, "rw", 1, doc))
    rows += [
        number("FIRST_COLUMN", 0x118, "rw", 32, "first column of B and C, for products by rows"),
        number("END_COLUMN", 0x11C, "rw", 32, "the one after the last; 0: B has no others"),
    ]
    for index, name in enumerate(ARRAYS):
        operand, what = name.upper().split("_")
        other = _IN_CSR.get(name, "") if config.csr else ""
        doc = f"byte address of {operand}'s {what.lower()}{other}, a multiple of "
        rows.append(number(name.upper(), 0x120 + 8 * index, "rw", 64, f"{doc}{config.interleave}"))
    if config.csr:
        for index, name in enumerate(FORMATS):
            doc = f"format of {name[0]}; 0: C2SR; 1: CSR; 2: CSR, columns and values apart"
            rows.append(number(name, 0x150 + 4 * index, "rw", 2, doc, FORMAT_CODES))
        for index, name in enumerate(VALUE_ARRAYS):
            doc = f"byte address of {name[0].upper()}'s values apart from columns, a multiple of "
            doc += f"{config.interleave}"
            rows.append(number(name.upper(), 0x158 + 8 * index, "rw", 64, doc))
    return rows


def job_spec(config: MatRaptorConfig) -> JobSpec:
    """The jobs of a MatRaptor."""
    return JobSpec(
        accelerator="accelerator",
        letters=b"TWMR",
        version=0x0001_0003 if config.csr else 0x0001_0002,
        constants=_constants(config),
        detail="wrong register, bus address or row of C",
        counters=counters(config),
        errors=(*ERRORS, *CSR_ERRORS) if config.csr else ERRORS,
        job=tuple(_job(config)),
        checks=_checks(config),
        operations=operations(config),
        traffic=config.traffic,
    )
