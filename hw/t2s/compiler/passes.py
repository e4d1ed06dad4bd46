"""The passes, in the order in which they run; after each there is a whole program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod

from ...spec.formats import FORMATS
from ...spec.t2s.loops import Loop, variable
from ...spec.t2s.program import Buffer, Channel, Function, Program
from ...spec.t2s.statements import (
    Apply,
    Body,
    BufferRead,
    BufferWrite,
    Counted,
    Ever,
    Fold,
    For,
    Load,
    Name,
    Neutral,
    Receive,
    Send,
    Statement,
    Store,
    Value,
)
from ..language import Computation, MappingError
from ..language.isolated import MOST_BITS
from .counting.flattening import flatten, signal, used_variables, uses_memory
from .counting.perfection import perfect
from .counting.rotation import rotate
from .definition import added, applied, define, product_of, start_of, tile
from .overlap import overlap
from .partition import partition
from .removal import drop_loops, remove, without_dimensions
from .rewriting import loops_in, nest, revalue, rewrite, without_loops
from .scattering import forward, gather, scatter
from .visiting import unless_sparse, visit

# Infinitisation: loops that nothing needs to count go round for ever (section 3.4.2).
#
# A function waits for its channels anyway. So its loops, from the outermost on, need no counter
# if
#
# 1. nothing in them needs their variables,
# 2. all loops around them go round for ever, too,
# 3. the function neither is the first one on the device nor the last, which read and write
# memory: it would never come to an end,
# 4. the loop is the only one at its place: of two that follow each other the first would never
#    give way to the second.


# A product taken out of a sum: ``sum of B (A C)`` over lanes is ``B (sum of A C)``.
#
# The thesis changed generated code by hand for it (section 3.5.2), in MTTKRP and TTMc, and counted
# the multiplications that are not done any more. Floats are rounded otherwise than without it.


def vectorise(program: Program, computation: Computation) -> Program:
    """Words that the loop walks become lanes; what does not depend on it is sent once."""
    if not computation.vectorised:
        return program
    loop = computation.loop(computation.vectorised[0])
    _check_copies(program, computation, loop)
    for tensor in (*(one.tensor.name for one in computation.operands), computation.name):
        chain = computation.chain(tensor)
        if loop.name not in computation.loops_of(tensor):
            if tensor != computation.name:
                program = drop_loops(program, chain, 0, [loop.name])
            continue
        for isolated in chain:
            if not isolated.on_host:
                program = program.with_function(isolated.name, lambda one: _widen(one, loop))
    return program.with_function(computation.name, lambda one: _arithmetic(one, loop))


def _check_copies(program: Program, computation: Computation, loop: Loop) -> None:
    """Refuse copies of a function an iteration of the loop, which it does not have any more."""
    said = {computation.name: computation.unrolled}
    for chain in computation.chains.values():
        said |= {one.name: one.unrolled for one in chain}
    for function, unrolled in said.items():
        for name, place in unrolled:
            if name == loop.name:
                raise MappingError(f"{place}: {function}.unroll: loop `{name}` is vectorised")


def _widen(function: Function, loop: Loop) -> Function:
    """A function that moves data, in vectors."""
    body = without_loops(function.body, [loop.name])
    return without_dimensions(replace(function, body=_with_lanes(body, loop)), [loop.name])


def _with_lanes(body: Body, loop: Loop) -> Body:
    def load(value: Value) -> Value | None:
        return replace(value, lanes=loop) if isinstance(value, Load) else None

    def store(one: Statement) -> Body | None:
        return (replace(one, lanes=loop),) if isinstance(one, Store) else None

    return rewrite(revalue(body, load), store)


def _arithmetic(function: Function, loop: Loop) -> Function:
    """The elements: sums over lanes, if results are summed over the loop; else sums of vectors."""
    body = without_loops(function.body, [loop.name])
    if not loop.reduces:
        return without_dimensions(replace(function, body=body), [loop.name])

    def fold(value: Value) -> Value | None:
        if isinstance(value, Apply) and value.operator == "plus":
            total, term = value.arguments
            return Fold(fold(total) or total, term)
        return None

    return replace(function, body=revalue(body, fold))


DISTRIBUTING = ("mma", "minplus", "maxplus", "minmax", "maxmin", "orand")
"""Semirings whose (x) distributes over (+) for all words."""


def factor(program: Program, computation: Computation) -> Program:
    """Follow every ``factor``."""
    taken = [tensor for tensor, _ in computation.factored]
    if not taken:
        return program
    _check(computation)

    def change(value: Value) -> Value | None:
        if not isinstance(value, Fold):
            return None
        factors = _factors(value.vector)
        outer = [one for one in factors if _tensor(one) in taken]
        inner = [one for one in factors if one not in outer]
        partial = Fold(Neutral(), product_of(inner))
        return Apply("plus", (value.start, product_of([*outer, partial])))

    return program.with_function(
        computation.name, lambda one: replace(one, body=revalue(one.body, change))
    )


def _tensor(value: Value) -> str | None:
    """Returns the tensor of a value that is one of its words, or a function of one."""
    while isinstance(value, Apply) and len(value.arguments) == 1:
        value = value.arguments[0]
    return value.name if isinstance(value, Name) else None


def _factors(value: Value) -> list[Value]:
    if isinstance(value, Apply) and value.operator == "times":
        return [found for one in value.arguments for found in _factors(one)]
    return [value]


def _check(computation: Computation) -> None:
    for tensor, place in computation.factored:
        directive = f"{place}: {computation.name}.factor"
        if computation.semiring not in DISTRIBUTING:
            raise MappingError(
                f"{directive}: semiring must be one of {', '.join(DISTRIBUTING)}, not "
                f"{computation.semiring}"
            )
        if not computation.vectorised:
            raise MappingError(f"{directive}: no loop is vectorised")
        loop = computation.loop(computation.vectorised[0])
        if not loop.reduces:
            raise MappingError(f"{directive}: loop `{loop.name}` is not summed over")
        if loop.name in computation.loops_of(tensor):
            raise MappingError(f"{directive}: loop `{loop.name}` chooses the element of {tensor}")


def unroll(program: Program, computation: Computation) -> Program:
    """Make instances, and arrays of channels."""
    unrolled = {computation.name: [name for name, _ in computation.unrolled]}
    for chain in computation.chains.values():
        for isolated in chain:
            unrolled[isolated.name] = [name for name, _ in isolated.unrolled]
            _check_loops(program, isolated.name, isolated.unrolled)
    for function, names in unrolled.items():
        instances = tuple(one for one in computation.loops if one.name in names)
        program = program.with_function(function, partial(_with_instances, instances))
    program = program.with_function(
        computation.name,
        lambda one: without_dimensions(one, [loop.name for loop in one.instances]),
    )
    for channel in program.channels:
        program = _unroll_channel(program, computation, channel)
    return program


def _with_instances(instances: tuple[Loop, ...], function: Function) -> Function:
    return replace(function, instances=instances)


def _check_loops(program: Program, name: str, unrolled: list[tuple[str, str]]) -> None:
    there = [one.name for one in loops_in(program.function(name).body)]
    for loop, place in unrolled:
        if loop not in there:
            raise MappingError(f"{place}: {name}.unroll: it has no loop `{loop}`")


def _unroll_channel(program: Program, computation: Computation, channel: Channel) -> Program:
    ends = (program.function(channel.source), program.function(channel.sink))
    names = {one.name for end in ends for one in end.instances}
    dimensions = tuple(one for one in computation.loops if one.name in names)
    at = tuple(variable(one.name) for one in dimensions)

    def change(one: Statement) -> Body | None:
        if isinstance(one, Send | Receive) and one.channel == channel.name:
            return (replace(one, at=at),)
        return None

    for end in ends:
        program = program.with_function(
            end.name, lambda one: replace(one, body=rewrite(one.body, change))
        )
    return program.with_channel(channel.name, lambda one: replace(one, dimensions=dimensions))


def infinitise(program: Program, computation: Computation) -> Program:
    """Take counters from all functions that do without."""
    return replace(program, functions=tuple(_endless(one) for one in program.functions))


def _endless(function: Function) -> Function:
    if uses_memory(function):
        return function
    return replace(function, body=_uncounted(function.body), beside=_uncounted(function.beside))


def _uncounted(body: Body) -> Body:
    """Statements without the loops that go round for ever, which they are in."""
    inner, used = body, used_variables(body)
    while len(inner) == 1:
        (one,) = inner
        if isinstance(one, For) and one.first is None and one.loop.name not in used:
            inner = one.body
        elif isinstance(one, Counted):
            fields = one.fields
            while fields and not fields[0].asked:
                fields = fields[1:]
            if fields == one.fields:
                break
            inner = (replace(one, fields=fields),) if fields else one.body
        else:
            break
    return (Ever(inner),) if inner != body else body


def check_capacity(program: Program, computation: Computation) -> None:
    """Refuse buffers that have more bits than the mapping allows, in a copy of their function."""
    for chain in computation.chains.values():
        for isolated in chain:
            for buffer in program.function(isolated.name).buffers:
                bits = _bits(program, computation, buffer, isolated.tensor)
                if isolated.buffered and bits > isolated.max_bits:
                    level, _, place = isolated.buffered
                    raise MappingError(
                        f"{place}: {isolated.name}.buffer: at loop `{level}` it has {bits:,} bits, "
                        f"more than `max_bits`, {isolated.max_bits:,}"
                    )
    for buffer in program.function(computation.name).buffers:
        bits = _bits(program, computation, buffer, computation.name)
        if bits > MOST_BITS:
            loop = buffer.dimensions[0].name
            raise MappingError(
                f"{computation.place}: {computation.name}: loops from `{loop}` inwards keep "
                f"{bits:,} bits of sums in an element, more than {MOST_BITS:,}"
            )


def _bits(program: Program, computation: Computation, buffer: Buffer, tensor: str) -> int:
    word = FORMATS[program.number_format].container_bits
    if computation.vectorised:
        loop = computation.loop(computation.vectorised[0])
        word *= loop.extent or 1 if loop.name in computation.loops_of(tensor) else 1
    return (1 + buffer.double) * word * prod(one.extent or 1 for one in buffer.dimensions)


SUMS = "sums"
"""Name of the buffer of sums."""


def accumulate(program: Program, computation: Computation) -> Program:
    """Read and write each result in memory once."""
    loops = computation.loops
    first = next((n for n, loop in enumerate(loops) if loop.reduces), len(loops))
    outer, inner = loops[:first], loops[first:]
    kept = tuple(one for one in inner if not one.reduces)
    at = tuple(variable(one.name) for one in kept)
    indices = {name: computation.index_of_loops(name) for name in program.indices}
    update = BufferWrite(SUMS, at, added(computation, BufferRead(SUMS, at), indices))
    result = applied(computation.applied, BufferRead(SUMS, at))
    place = tuple(indices[name] for name in computation.result)
    body = nest(
        outer,
        (
            *nest(kept, (BufferWrite(SUMS, at, start_of(computation, indices)),)),
            *nest(inner, (update,)),
            *nest(kept, (Store(computation.name, place, result),)),
        ),
    )
    return program.with_function(
        computation.name, lambda one: Function(one.name, body, buffers=(Buffer(SUMS, kept),))
    )


def _made_of(loop: str) -> tuple[str, str]:
    """Names of a loop in which turns are counted, and of its last iteration."""
    return f"{loop}_t", f"last_{loop}"


def check_names(program: Program, computation: Computation) -> None:
    """Refuse two functions, channels, tensors or loop variables of the same name."""
    loops = computation.loop_names
    kinds = {
        "loops": [*loops, *(one for name in loops for one in _made_of(name))],
        "functions": [one.name for one in program.functions],
        "channels": [one.name for one in program.channels],
        "tensors": [one.name for one in program.tensors],
    }
    for kind, names in kinds.items():
        for name in names:
            if names.count(name) > 1:
                raise MappingError(
                    f"{computation.place}: {computation.name}: two {kind} would be called {name}: "
                    "give tensors and loops other names"
                )


def fifo(program: Program, computation: Computation) -> Program:
    """Follow every ``fifo``."""
    depths = computation.depths
    there = {one.name for one in program.channels}
    for name, (_, place) in depths.items():
        if name not in there:
            raise MappingError(f"{place}: {name}.fifo: it writes to memory, into no queue")
    channels = (
        replace(one, depth=depths[one.name][0]) if one.name in depths else one
        for one in program.channels
    )
    return replace(program, channels=tuple(channels))


MAPPED = "fifo"
"""Last pass that implements directives; all loops are still present.

Later passes remove loops that functions need not count."""

PASSES: dict[str, Callable[[Program, Computation], Program]] = {
    "tile": tile,
    "accumulate": accumulate,
    "partition": partition,
    "unroll": unroll,
    "forward": forward,
    "remove": remove,
    "scatter": scatter,
    "gather": gather,
    "vectorise": vectorise,
    "factor": factor,
    "visit": visit,
    "overlap": unless_sparse(overlap),
    "fifo": fifo,
    "signal": unless_sparse(signal),
    "rotate": unless_sparse(rotate),
    "perfect": unless_sparse(perfect),
    "flatten": unless_sparse(flatten),
    "infinitise": unless_sparse(infinitise),
}
"""Passes by name, in order. The first one starts from the definition."""


def programs(computation: Computation) -> Iterator[tuple[str, Program]]:
    """Yields the definition, and the program after each pass.

    Raises MappingError for a directive that cannot be followed.
    """
    program = define(computation)
    yield "define", program
    for name, run in PASSES.items():
        program = run(program, computation)
        check_names(program, computation)
        if name == MAPPED:
            check_capacity(program, computation)
        yield name, program


def compiled(computation: Computation, after: str = MAPPED) -> Program:
    """Returns the program after a pass."""
    return next(program for name, program in programs(computation) if name == after)
