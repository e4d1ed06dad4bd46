"""Functions of a program as Python: generators that wait by ``yield``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...hw.spec.t2s.loops import Affine, Loop, variable
from ...hw.spec.t2s.program import Buffer, Function
from ...hw.spec.t2s.statements import (
    Apply,
    Block,
    Body,
    BufferRead,
    BufferWrite,
    Counted,
    Ever,
    Flagged,
    Fold,
    For,
    If,
    Load,
    Name,
    Neutral,
    Pack,
    Phases,
    Receive,
    Rotate,
    Send,
    Statement,
    Store,
    Together,
    Until,
    Value,
    Visit,
    When,
)
from .sizes import trip_count


def value_text(
    value: Value,
    bounds: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    loops: Mapping[str, Loop],
) -> str:
    """An expression. Names of ``machine_names`` in it are the machine's that runs it.

    Parameters
    ----------
    bounds: of the computation's indices
    buffers, loops: of the function, by name
    """

    def text(one: Value) -> str:
        return value_text(one, bounds, buffers, loops)

    if isinstance(value, Neutral):
        return "identity"
    if isinstance(value, Name):
        return f"n_{value.name}"
    if isinstance(value, Load):
        place = place_text(value, bounds, loops)
        if value.lanes is None:
            return f"load({value.tensor!r}, {place})"
        lanes = f"v_{value.lanes.name} in range({trip_count(value.lanes, bounds)})"
        return f"tuple([load({value.tensor!r}, {place}) for {lanes}])"
    if isinstance(value, BufferRead):
        return element_text(buffers[value.buffer], value.indices, writes=False)
    if isinstance(value, Pack):
        return f"pack({', '.join(map(text, value.parts))})"
    if isinstance(value, Fold) and isinstance(value.vector, Together):
        return f"fold_each({', '.join(map(text, (value.start, *value.vector.terms)))})"
    if isinstance(value, Fold):
        return f"fold({text(value.start)}, {text(value.vector)})"
    if isinstance(value, Flagged):
        flags = [
            " and ".join(f"v_{name} == {sum_text(at)}" for name, at in its) or "True"
            for its in (value.first, value.last)
        ]
        return f"flagged({text(value.value)}, {', '.join(flags)})"
    assert isinstance(value, Apply)
    return f"{value.operator}({', '.join(map(text, value.arguments))})"


def place_text(load: Load, bounds: Mapping[str, int], loops: Mapping[str, Loop]) -> str:
    """The place of a word; none where an index is beyond its bound."""
    sums: dict[str, Affine] = {}
    lanes = {load.lanes.name: load.lanes} if load.lanes else {}
    for name in dict.fromkeys(name for one in load.indices for name in one.variables):
        one = lanes.get(name) or loops[name]
        sums[one.index] = sums.get(one.index, Affine()) + variable(name).times(one.step)
    held = [f"{sum_text(one)} < {bounds[index]}" for index, one in sums.items()]
    place = tuple_text(load.indices)
    return f"{place} if {' and '.join(held)} else None" if held else place


def element_text(buffer: Buffer, indices: tuple[Affine, ...], *, writes: bool) -> str:
    """An element of a buffer: of a rotating one, the first; of the half that a side works on."""
    if buffer.rotating:
        return f"b_{buffer.name}[r_{buffer.name}[0]]"
    if buffer.level is None:
        return f"b_{buffer.name}[{tuple_text(indices)}]"
    half = f"s_{buffer.name}[{0 if writes else 1}] % {1 + buffer.double}"
    return f"b_{buffer.name}[{half}, {tuple_text(indices)}]"


def sum_text(given: Affine) -> str:
    """A sum of loop variables."""
    terms = [f"{by} * v_{name}" if by != 1 else f"v_{name}" for name, by in given.terms]
    return " + ".join([*terms, str(given.constant)] if given.constant or not terms else terms)


def tuple_text(indices: tuple[Affine, ...]) -> str:
    """Indices, a tuple."""
    return "(" + "".join(f"{sum_text(one)}, " for one in indices) + ")"


def lanes_text(indices: tuple[Affine, ...], lanes: Loop, bounds: Mapping[str, int]) -> str:
    """Indices in all lanes, a list of tuples."""
    return f"[{tuple_text(indices)} for v_{lanes.name} in range({trip_count(lanes, bounds)})]"


def python_text(function: Function, bounds: Mapping[str, int]) -> str:
    """Returns the source of a function ``run``. Its parameters are the instance's loops; it returns
    a list of generators: its body, and the body that runs at the same time.

    It uses names of the machine that runs it: ``queues``, ``depth_of``, ``moved``, ``load``,
    ``store``, ``stored``, ``plus``, ``times``, ``fold``, ``fold_each``, ``pack``, ``identity``,
    ``flagged``, ``word_of``, ``product``, and functions of one word. A word of which an index is
    beyond its bound is loaded from no place.
    """
    writer = _Writer(function, bounds)
    parameters = ", ".join(f"v_{one.name}" for one in function.instances)
    lines = [f"def run({parameters}):"]
    bodies = [function.body, *([function.beside] if function.beside else [])]
    lines += [
        f"    v_last_{one.name} = {trip_count(one, bounds) - 1}"
        for body in bodies
        for one in _loops(body)
        if one.extent is None
    ]
    for one in function.buffers:
        # Blocks that were written, and that were read: the half is the lowest bit.
        lines += [f"    b_{one.name} = {{}}", f"    s_{one.name} = [0, 0]"]
        lines += [f"    r_{one.name} = [0]"] if one.rotating else []
    for number, body in enumerate(bodies):
        lines += [f"    def side_{number}():", *writer.body(body, 2)]
        lines += ["        return", "        yield"]
    return "\n".join(
        [*lines, f"    return [{', '.join(f'side_{n}()' for n in range(len(bodies)))}]"]
    )


class _Writer:
    def __init__(self, function: Function, bounds: Mapping[str, int]) -> None:
        self._bounds = bounds
        self._instances = {one.name for one in function.instances}
        self._buffers: dict[str, Buffer] = {one.name: one for one in function.buffers}
        around = (*function.instances, *_loops(function.body), *_loops(function.beside))
        self._known: dict[str, Loop] = {one.name: one for one in around}

    def body(self, body: Body, depth: int) -> Iterator[str]:
        indent = "    " * depth
        if not body:
            yield f"{indent}pass"
        for one in body:
            for line in _WRITTEN[type(one)](self, one):
                yield indent + line

    def _inner(self, body: Body) -> Iterator[str]:
        return self.body(body, 1)

    def loop(self, one: For) -> Iterator[str]:
        # Loops of which each is all that is in the one around it are one statement: Python takes
        # no more than twenty in one another.
        nest, inner = [one], one.body
        while len(inner) == 1 and isinstance(inner[0], For):
            nest.append(inner[0])
            inner = inner[0].body
        nest = [one for one in nest if one.loop.name not in self._instances]
        if not nest:
            yield from self.body(inner, 0)
            return
        names = "".join(f"v_{one.loop.name}, " for one in nest)
        yield f"for {names}in product({', '.join(map(self._span, nest))}):"
        yield from self._inner(inner)

    def _span(self, one: For) -> str:
        if one.first is None:
            return f"range({trip_count(one.loop, self._bounds)})"
        return f"range({sum_text(one.first)}, {sum_text(one.last or Affine())} + 1)"

    def condition(self, one: If) -> Iterator[str]:
        yield f"if {sum_text(one.condition.left)} == {sum_text(one.condition.right)}:"
        yield from self._inner(one.then)
        yield "else:"
        yield from self._inner(one.otherwise)

    def visit(self, one: Visit) -> Iterator[str]:
        products = (
            " and ".join(f"stored({word.tensor!r}, {self._place(word)})" for word in words)
            for words in one.products
        )
        yield f"if {' or '.join(products)}:"
        yield from self._inner(one.body)

    def flag(self, one: When) -> Iterator[str]:
        yield f"if f_{one.word}.{one.flag}:"
        yield from self._inner(one.body)

    def ever(self, one: Ever) -> Iterator[str]:
        yield "while True:"
        yield from self._inner(one.body)

    def until(self, one: Until) -> Iterator[str]:
        yield "while True:"
        yield from self._inner(one.body)
        yield f"    if f_{one.word}.last:"
        yield "        break"

    def counted(self, one: Counted) -> Iterator[str]:
        count = f"c_{one.name}"
        yield f"{count} = 0"
        yield f"while {count} < {one.fields[0].extent << one.places[0]}:"
        for field, place in zip(one.fields, one.places, strict=True):
            if field.asked:
                yield f"    v_{field.name} = {count} >> {place} & {(1 << field.bits) - 1}"
        yield from self._inner(one.body)
        yield f"    {count} += 1"
        for field, place in list(zip(one.fields, one.places, strict=True))[:0:-1]:
            missing = (1 << field.bits) - field.extent
            if missing:
                yield f"    if {count} >> {place} & {(1 << field.bits) - 1} == {field.extent}:"
                yield f"        {count} += {missing << place}"

    def phases(self, one: Phases) -> Iterator[str]:
        yield f"for t_{one.name} in range({one.extent}):"
        first = 0
        for phase in one.phases:
            yield f"    if {first} <= t_{one.name} < {first + phase.extent}:"
            below = phase.extent
            for loop in phase.loops:
                extent = loop.extent or 1
                below //= extent
                yield f"        v_{loop.name} = (t_{one.name} - {first}) // {below} % {extent}"
            yield from self.body(phase.body, 2)
            first += phase.extent

    def block(self, one: Block) -> Iterator[str]:
        state, room = f"s_{one.buffer}", 1 + self._buffers[one.buffer].double
        if one.writes:
            yield f"while {state}[0] - {state}[1] == {room}:"
            yield f"    yield ({one.buffer!r}, (), 'full')"
        else:
            yield f"while {state}[0] == {state}[1]:"
            yield f"    yield ({one.buffer!r}, (), 'empty')"
        yield from self.body(one.body, 0)
        yield f"{state}[{0 if one.writes else 1}] += 1"
        yield "moved[0] += 1"

    def receive(self, one: Receive) -> Iterator[str]:
        yield f"q = queues[{one.channel!r}, {tuple_text(one.at)}]"
        yield "while not q:"
        yield f"    yield ({one.channel!r}, {tuple_text(one.at)}, 'empty')"
        yield f"f_{one.name} = q.popleft()"
        yield f"n_{one.name} = word_of(f_{one.name})"
        yield "moved[0] += 1"

    def send(self, one: Send) -> Iterator[str]:
        # A word that is passed on goes with its flags.
        value = f"f_{one.value.name}" if isinstance(one.value, Name) else self._value(one)
        yield f"value = {value}"
        yield f"q = queues[{one.channel!r}, {tuple_text(one.at)}]"
        yield f"while len(q) >= depth_of[{one.channel!r}]:"
        yield f"    yield ({one.channel!r}, {tuple_text(one.at)}, 'full')"
        yield "q.append(value)"
        yield "moved[0] += 1"

    def store(self, one: Store) -> Iterator[str]:
        places = f"[{tuple_text(one.indices)}]"
        if one.lanes:
            places = lanes_text(one.indices, one.lanes, self._bounds)
        yield f"store({one.tensor!r}, {places}, {self._value(one)})"

    def write(self, one: BufferWrite) -> Iterator[str]:
        place = element_text(self._buffers[one.buffer], one.indices, writes=True)
        yield f"{place} = {self._value(one)}"

    def rotate(self, one: Rotate) -> Iterator[str]:
        state = f"r_{one.buffer}[0]"
        yield f"{state} = ({state} + 1) % {self._buffers[one.buffer].words}"

    def _place(self, word: Load) -> str:
        return place_text(word, self._bounds, self._known)

    def _value(self, one: Send | Store | BufferWrite) -> str:
        return value_text(one.value, self._bounds, self._buffers, self._known)


_WRITTEN: Mapping[type[Statement], Callable[[_Writer, Any], Iterator[str]]] = {
    For: _Writer.loop,
    If: _Writer.condition,
    Visit: _Writer.visit,
    When: _Writer.flag,
    Ever: _Writer.ever,
    Until: _Writer.until,
    Counted: _Writer.counted,
    Phases: _Writer.phases,
    Block: _Writer.block,
    Receive: _Writer.receive,
    Send: _Writer.send,
    Store: _Writer.store,
    BufferWrite: _Writer.write,
    Rotate: _Writer.rotate,
}


def _loops(body: Body) -> Iterator[Loop]:
    for one in body:
        if isinstance(one, For):
            yield one.loop
        if isinstance(one, For | Visit | When | Ever | Until | Counted | Block):
            yield from _loops(one.body)
        elif isinstance(one, If):
            yield from _loops((*one.then, *one.otherwise))
