"""The imports of all our modules, read from their sources."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOMS = ("hw", "sim", "synth", "verif")
"""The rooms whose modules are named after their folder; all others are the command line's."""

REACH: dict[str, set[str]] = {
    "scripts": {"hw", "sim", "synth"},
    "verif": {"hw", "sim", "synth", "scripts"},
    "synth": {"hw"},
    "sim": set(),
    "hw": set(),
}
"""The rooms that each room may import, besides itself; all may import ``hw.spec``."""

FLOORS: dict[str, dict[str, set[str]]] = {
    "hw": {
        "spec": set(),
        "arith": set(),
        "stream": set(),
        "axi": {"stream"},
        "channels": {"arith", "stream", "axi"},
        "job": {"arith", "stream", "axi"},
    },
    "sim": {
        "numbers": set(),
        "timing": set(),
        "device": set(),
        "sparse": {"numbers"},
        "rtl": {"device"},
        "units": {"numbers"},
    },
}
"""For each floor of a room, the floors that it may import. A folder that is not a floor is a system
or the emitter: it may import every floor, but no other system."""

Imports = Mapping[str, tuple["Import", ...]]


@dataclass(frozen=True, order=True)
class Import:
    """An import of ours: ``module`` names ``target``, a module or a package, in a ``line``.

    Names are dotted paths below ``tilewright``; the command line's own modules begin with
    ``scripts``.
    """

    module: str
    target: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def name_of(path: Path, root: Path) -> str:
    """Returns the dotted name of a file's module, below ``tilewright``."""
    parts = path.relative_to(root).with_suffix("").parts
    if parts[:2] == ("scripts", "tilewright"):
        parts = ("scripts", *parts[2:])
    return ".".join(parts).removesuffix(".__init__")


def sources(root: Path) -> Iterator[Path]:
    """Yields all Python files of the rooms and of the command line."""
    for room in ROOMS:
        yield from sorted((root / room).rglob("*.py"))
    own = root / "scripts" / "tilewright"
    for path in sorted(own.rglob("*.py")):
        # The rooms are linked into the package.
        if path.relative_to(own).parts[0] not in ROOMS:
            yield path


def _base(node: ast.ImportFrom, module: str, is_package: bool) -> str | None:
    """The module that a ``from`` names; None if it is not ours."""
    if node.level == 0:
        first, _, rest = (node.module or "").partition(".")
        if first != "tilewright":
            return None
        return rest if rest.split(".")[0] in ROOMS else f"scripts.{rest}".rstrip(".")
    above = module.split(".")
    above = above[: len(above) - node.level + is_package]
    base = [*above, *(node.module.split(".") if node.module else [])]
    if len(base) > 1 and base[0] == "scripts" and base[1] in ROOMS:
        base = base[1:]
    return ".".join(base)


def imports_of(text: str, module: str, known: frozenset[str], is_package: bool) -> list[Import]:
    """The imports of one module, wherever in its text they stand.

    The root package, which holds the version, is left out: everything may name it.

    Parameters
    ----------
    text: its source
    known: all our modules; a name that is none of them is one of its package's
    """
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            base = _base(node, module, is_package)
            if base is None:
                continue
            for alias in node.names:
                of_room = base == "scripts" and alias.name in ROOMS
                inner = alias.name if of_room else f"{base}.{alias.name}"
                found.add(Import(module, inner if inner in known else base, node.lineno))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                first, _, rest = alias.name.partition(".")
                if first == "tilewright":
                    own = rest.split(".")[0] in ROOMS
                    target = rest if own else f"scripts.{rest}".rstrip(".")
                    found.add(Import(module, target, node.lineno))
    return sorted(one for one in found if one.target != "scripts")


def folders(modules: Iterable[str]) -> frozenset[str]:
    """Returns the packages of the modules: most folders have no module of their own."""
    parts = [module.split(".") for module in modules]
    return frozenset(".".join(one[:end]) for one in parts for end in range(1, len(one)))


def read_imports(root: Path) -> Imports:
    """The imports of every module of a checkout, by the module's name."""
    paths = {name_of(path, root): path for path in sources(root)}
    known = frozenset(paths) | folders(paths)
    return {
        name: tuple(imports_of(path.read_text(), name, known, path.name == "__init__.py"))
        for name, path in paths.items()
    }


def children(imports: Imports, package: str) -> dict[str, set[str]]:
    """Returns for each module and package directly in ``package`` those of the others that it
    imports."""
    depth = package.count(".") + 2 if package else 1

    def child(name: str) -> str | None:
        inside = name.startswith(f"{package}.") if package else True
        return ".".join(name.split(".")[:depth]) if inside else None

    edges: dict[str, set[str]] = {}
    for module, its in imports.items():
        if (source := child(module)) is None:
            continue
        targets = {target for one in its if (target := child(one.target)) is not None}
        edges.setdefault(source, set()).update(targets - {source})
    return edges


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Returns a cycle of a graph, with its first node again at its end; empty if there is none."""
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for target in sorted(edges.get(node, ())):
            if found := visit(target, [*path, node]):
                return found
        done.add(node)
        return []

    for node in sorted(edges):
        if found := visit(node, []):
            return found
    return []
