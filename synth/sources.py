"""SystemVerilog that the project did not generate, read by slang, as Verilog for synthesis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from .base.errors import ToolError
from .base.yosys import run_yosys
from .mapping.memories import MODULE

__all__ = ["read_sources"]

_SOURCES = (".v", ".sv")
_HEADERS = (".vh", ".svh", ".vi", ".h", ".inc")
_ATTRIBUTE = re.compile(r"^ *attribute .*\n", re.MULTILINE)
_AUTOMATIC = re.compile(r"(?<=\s)\$\S*\$\d+(?=\s)")
_KIND = re.compile(r"^( +cell )(\\\S+)( )", re.MULTILINE)


def _files(paths: Sequence[Path]) -> dict[str, Path]:
    """Files by their names in the working directory: a folder for each of ``paths``."""
    found: dict[str, Path] = {}
    for number, path in enumerate(paths):
        if path.is_dir():
            inside = sorted(
                one
                for one in path.rglob("*")
                if one.suffix in _SOURCES + _HEADERS and one.is_file()
            )
            if not any(one.suffix in _SOURCES for one in inside):
                raise ValueError(f"{path}: this folder has no Verilog, files that end in .v or .sv")
            found |= {f"s{number}/{one.relative_to(path).as_posix()}": one for one in inside}
        else:
            found[f"s{number}/{path.name}"] = path
    return found


def _merged(text: str, top: str) -> str:
    """Renames modules by plain identifiers; of modules that are equal only one stays.

    slang makes a module of each instance. Two are equal if their texts are, but for source
    locations and for names that yosys made.
    """
    bodies = {name: _ATTRIBUTE.sub("", body) for name, body in MODULE.findall(text)}
    names: dict[str, str] = {}
    of_text: dict[str, str] = {}
    kept: dict[str, str] = {}

    def visit(name: str) -> str:
        if name in names:
            return names[name]

        def child(found: re.Match[str]) -> str:
            kind = visit(found[2]) if found[2] in bodies else found[2]
            return f"{found[1]}{kind}{found[3]}"

        body = _KIND.sub(child, bodies[name])
        numbers: dict[str, str] = {}
        plain = _AUTOMATIC.sub(lambda one: numbers.setdefault(one[0], f"${len(numbers)}"), body)
        digest = sha256(plain.encode()).hexdigest()
        base = "\\" + (re.sub(r"\W+", "_", name[1:].split("$")[0]) or "module")
        if name != f"\\{top}" and digest in of_text:
            names[name] = of_text[digest]
            return names[name]
        own, number = base, 0
        while own in kept or (own == f"\\{top}" and name != own):
            number += 1
            own = f"{base}_{number}"
        names[name] = of_text[digest] = own
        kept[own] = body
        return own

    visit(f"\\{top}")
    return "".join(f"module {name}{body}end\n" for name, body in kept.items())


def read_sources(paths: Sequence[Path], top: str, parameters: Sequence[str] = ()) -> str:
    """Elaborates SystemVerilog, and returns it as Verilog with a module for each different one.

    Parameters
    ----------
    paths: files and folders. Of a folder all .v and .sv files are read; headers (.vh, .svh, .vi,
        .h, .inc) are found in every folder
    top: name of the top module
    parameters: of the top module, each as NAME=VALUE

    Raises OSError for a file that cannot be read, ValueError for Verilog that is not legal.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", top):
        raise ValueError(f"the top module must be named by a Verilog identifier, not {top!r}")
    for one in parameters:
        if not re.fullmatch(r"[A-Za-z_]\w*=[\w'.]+", one):
            raise ValueError(f"a parameter of {top} must be NAME=VALUE, not {one!r}")
    files = _files(paths)
    texts = {
        name: path.read_text(encoding="utf-8", errors="replace") for name, path in files.items()
    }
    folders = sorted({name.rpartition("/")[0] for name in files})
    sources = [name for name in files if not name.endswith(_HEADERS)]
    words = ["read_slang -j 1 --keep-hierarchy --top", top]
    words += [f"-G {one}" for one in parameters] + [f"-I {one}" for one in folders]
    words += sources
    script = f"{' '.join(words)}\nhierarchy -check -top {top}\nproc\nopt_clean\nwrite_rtlil a.il\n"
    try:
        text = run_yosys(script, texts, ["a.il"])["a.il"]
        written = "read_rtlil b.il\nwrite_verilog -sv -noattr c.v\n"
        return run_yosys(written, {"b.il": _merged(text, top)}, ["c.v"])["c.v"]
    except ToolError as error:
        line = str(error)
        for name, path in files.items():
            line = line.replace(name, str(path))
        raise ValueError(f"the Verilog of `{top}` is not usable: {line}") from None
