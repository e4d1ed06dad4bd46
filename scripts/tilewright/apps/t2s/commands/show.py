"""``tilewright t2s show``: what a mapping becomes."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....errors import UserError, user_errors
from ....hw.spec.host.words import not_one_of
from ....reports import write_json
from ....settings import expanded
from ...common.files import check_output, write_whole
from ...common.limits import counted
from ...common.options import JsonOption
from ..design_figures import (
    counter_rows,
    counters_of,
    depths_found,
    element_of,
    entry_rate,
    predicted,
    predicted_rows,
    queue_rows,
    queues,
)
from ..mapping_given import BoundsOption, MappingOptions, bounds_given, mapping_given

if TYPE_CHECKING:
    from ....hw.spec.t2s.program import Function, Program
    from ....hw.t2s.language import Computation

__all__ = ["show"]


@expanded
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Python file with a mapping.")],
    *,
    bounds: BoundsOption = None,
    options: MappingOptions,
    dump: Annotated[
        str | None,
        typer.Option("--dump", metavar="PASS", help="Show only the loop nests after this pass."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE.svg", help="Also write a drawing.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Show the loop nests, buffers, channels and queues that a mapping becomes.

    With --bounds, also show iterations, memory traffic, channel depths and predicted cycles.
    """
    if json_file:
        check_output(json_file, (".json",))
    if svg:
        check_output(svg, (".svg",))
    computation = mapping_given(file, options)
    sizes = bounds_given(bounds, (*computation.result, *computation.sum_over)) if bounds else None
    from ....hw.spec.t2s.program_text import program_text
    from ....hw.spec.t2s.timing import interval_of, interval_text
    from ....hw.t2s.compiler.passes import MAPPED, PASSES, programs

    passes = ("define", *PASSES)
    if dump is not None and dump not in passes:
        raise UserError(not_one_of("--dump", passes, dump))
    with user_errors(ValueError):
        found = dict(programs(computation))
    if dump is not None:
        typer.echo(program_text(found[dump]))
        return
    program = found[MAPPED]
    from ....reports import print_rows

    counts = _counts(computation, program, sizes) if sizes else {}
    if sizes:
        counts["predicted"] = (
            {"not_known": "they depend on where entries are"}
            if program.sparse
            else predicted(file, options, sizes, counts["iterations"][program.name])
        )
    hardware = queues(file, options)
    if json_file:
        element = element_of(computation, program)
        more = {
            "counters": {} if program.sparse else counters_of(found[passes[-1]]),
            "interval": interval_of(element)._asdict() if element else None,
            "hardware": hardware,
        }
        write_json(json_file, {**_figures(computation, program), **more, **counts})
    if svg:
        from ..drawing import drawing

        chains = {
            tensor: [one.name for one in chain] for tensor, chain in computation.chains.items()
        }
        buffers = _figures(computation, program)["buffers"]
        words = {name: one["words"] for name, one in buffers.items()}
        said = {one.name: one.depth for one in program.channels if one.depth}
        drawn = drawing(file.name, program, chains, words, counts.get("depths", said))
        write_whole(svg, lambda out: out.write(drawn.encode()))
    typer.echo(program_text(program) + "\n")
    rows = _rows(computation, program)
    if told := element_of(computation, program):
        rows.append(("rate", interval_text(told)))
    if program.sparse and (rate := entry_rate(file, options)):
        rows.append(("rate", rate))
    if not program.sparse:
        rows += [(f"counters, {name}", told) for name, told in counter_rows(found[passes[-1]])]
    rows += queue_rows(hardware)
    print_rows(file.name, [*rows, *_count_rows(program, counts)])


def _figures(computation: Computation, program: Program) -> dict[str, Any]:
    from ....hw.t2s.compiler.operations import multiplications

    element = program.function(program.name)
    elements = prod(one.extent or 1 for one in element.instances)
    wide = computation.loop(computation.vectorised[0]) if computation.vectorised else None
    lanes = wide.extent if wide and wide.extent else 1
    return {
        "semiring": program.semiring,
        "format": program.number_format,
        "elements": elements,
        "lanes": lanes,
        "multipliers": multiplications(program, computation),
        "buffers": {
            one.name: {
                "function": function.name,
                "words": prod(loop.extent or 1 for loop in one.dimensions)
                * _lanes(computation, function),
                "double": one.double,
                "copies": prod(loop.extent or 1 for loop in function.instances),
            }
            for function in program.functions
            for one in function.buffers
        },
        "channels": {
            one.name: {
                "from": one.source,
                "to": one.sink,
                "queues": prod(loop.extent or 1 for loop in one.dimensions),
                "depth": one.depth,
            }
            for one in program.channels
        },
    }


def _lanes(computation: Computation, function: Function) -> int:
    """Words of a value that a function keeps."""
    if not computation.vectorised:
        return 1
    loop = computation.loop(computation.vectorised[0])
    tensor = next(
        (name for name, chain in computation.chains.items()
         if function.name in [one.name for one in chain]),
        computation.name,
    )  # fmt: skip
    return loop.extent or 1 if loop.name in computation.loops_of(tensor) else 1


def _counts(computation: Computation, program: Program, sizes: dict[str, int]) -> dict[str, Any]:
    from ....sim.t2s.sizes import iterations, memory_words, products

    device = [one for one in program.functions if not one.host]
    moved = memory_words(program, sizes)
    return {
        "bounds": sizes,
        "iterations": {one.name: iterations(one, sizes) for one in device},
        "words": {name: {"read": r, "written": w} for name, (r, w) in moved.items()},
        "products": products(program, sizes),
        "multiplications": {
            "defined": products(program, sizes) * sum(len(one) - 1 for one in computation.products),
            "done": _done(computation, program, sizes),
        },
        **depths_found(computation, program, sizes),
    }


def _done(computation: Computation, program: Program, sizes: dict[str, int]) -> int:
    """(x) of all elements in all iterations."""
    from ....hw.t2s.compiler.operations import multiplications
    from ....sim.t2s.sizes import operations

    element = program.function(program.name)
    copies = prod(one.extent or 1 for one in element.instances)
    return multiplications(program, computation) * copies * operations(element, sizes)


def _rows(computation: Computation, program: Program) -> list[tuple[str, str]]:
    figures = _figures(computation, program)
    elements = " x ".join(str(one.extent) for one in program.function(program.name).instances)
    each = figures["multipliers"]
    rows = [
        ("numbers", f"{program.number_format}, {program.semiring}"),
        ("elements", f"{elements or 1}, {counted(figures['lanes'], 'lane')}"),
        ("(x)", f"{each:,} an element, {each * figures['elements']:,} in all"),
    ]
    for name, one in figures["buffers"].items():
        copies = f", {one['copies']} of them" if one["copies"] > 1 else ""
        rows.append((name, f"{counted(one['words'], 'word')}"
                           f"{', double' if one['double'] else ''}{copies}"))  # fmt: skip
    said = [f"{name} {one['depth']}" for name, one in figures["channels"].items() if one["depth"]]
    rows += [("fifos", ", ".join(said))] if said else []
    queues = sum(one["queues"] for one in figures["channels"].values())
    rows.append(("channels", f"{len(figures['channels'])}, {queues:,} queues in all"))
    return rows


def _count_rows(program: Program, counts: dict[str, Any]) -> list[tuple[str, str]]:
    if not counts:
        return []
    rounds, most = counts["iterations"], ", at most" if program.sparse else ""
    busiest = max(rounds, key=lambda name: rounds[name])
    deep = {name: depth for name, depth in counts["depths"].items() if depth > 1}
    rows = [
        (f"iterations{most}", ", ".join(f"{name} {count:,}" for name, count in rounds.items())),
        ("most", f"{busiest}, {rounds[busiest]:,}"),
        ("(x), defined", f"{counts['multiplications']['defined']:,}"),
        (
            f"(x), done{most}",
            f"{counts['multiplications']['done']:,}, those of padding among them",
        ),
    ]
    rows += [
        (f"memory, {name}{most}", f"{one['read']:,} words read, {one['written']:,} written")
        for name, one in counts["words"].items()
    ]
    rows += predicted_rows(counts["predicted"])
    told = ", ".join(f"{name} {depth}" for name, depth in deep.items())
    why = counts["depths_depend_on_bounds"]
    said = "depths, these bounds" if why else "depths, any bounds"
    if not program.sparse:
        rows.append((said, f"1 ends without a deadlock{f', but for {told}' if told else ''}"))
    rows += [("depths, any bounds", f"none is known: {why}")] if why else []
    return rows
