"""``python -m tilewright.apps.t2s.directives_page``: the directives, as docs/t2s-directives.md has
them, from their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ...hw.spec.formats import FORMATS
from ...hw.spec.semirings import SEMIRINGS
from ...hw.t2s.language import Computation, Isolated, compute, sizes, tensor

__all__ = ["BEFORE", "DIRECTIVES", "Refusal", "directives_page", "refusals"]

BEFORE = """\
from tilewright.hw.t2s.language import compute, indices, relu, sizes, tensor

i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
T = tensor("T", "fp32", i, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
D = compute("D", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
R, S = (tensor(name, "fp32", i, k, sparse="csr") for name in "RS")
X = tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[S[i, k] * X[k]]
C.tile(i, (ii, 2), (iii, 2)).tile(j, (jj, 3), (jjj, 2)).tile(k, (kk, 4))
C.order(i, j, k, ii, jj, iii, jjj, kk).unroll(ii, jj)
feed, load = C.producers(A, "feeder", "loader")
drain, unload = C.consumers("drainer", "unloader")
"""
"""Program before every line that is refused."""

_HEAD = """\
# Directives of the mapping language

This page has every directive of the [mapping language](t2s.md), with its picture, its rule, and its
error messages. `python -m tilewright.apps.t2s.directives_page` prints it from the docstrings of
`tilewright.hw.t2s.language`.

Each line below **Refused** follows this program. The text after it is the error message of
`tilewright t2s` without file and line; `mine.py:11: C.unroll: loop ...` is a complete one.
`verif/t2s/test_directives_page.py` provokes all of them.
"""

_GROUPS: dict[str, tuple[Any, ...]] = {
    "The computation": (compute, tensor, sizes),
    "Directives of a computation": (Computation,),
    "Directives of an isolated function": (Isolated,),
}


class Refusal(NamedTuple):
    """A line, and what is said of it after its place."""

    line: str
    message: str


def _directives() -> dict[str, tuple[str, Callable[..., Any]]]:
    """Lists the directives by their name on the page: the group, and the function."""
    found: dict[str, tuple[str, Callable[..., Any]]] = {}
    for group, things in _GROUPS.items():
        for one in things:
            if not inspect.isclass(one):
                found[one.__name__] = (group, one)
                continue
            prefix = "function" if one is Isolated else "C"
            methods = [
                (base.__dict__[name], name)
                for base in reversed(one.__mro__)
                for name in base.__dict__
                if not name.startswith("_") and inspect.isfunction(base.__dict__[name])
            ]
            for method, name in methods:
                if "Refused::" in (method.__doc__ or ""):
                    found[f"{prefix}.{name}"] = (group, method)
    return found


DIRECTIVES = _directives()
"""Every directive."""


def refusals(directive: Callable[..., Any]) -> list[Refusal]:
    """Returns the refusals that a directive's docstring lists."""
    text = _parts(directive)["Refused"]
    found: list[Refusal] = []
    for line in text.splitlines():
        if line.startswith("-> "):
            found[-1] = Refusal(found[-1].line, line.removeprefix("-> "))
        elif line.startswith("   "):
            found[-1] = Refusal(found[-1].line, f"{found[-1].message} {line.strip()}")
        else:
            found.append(Refusal(line, ""))
    known = {"FORMATS": ", ".join(FORMATS), "SEMIRINGS": ", ".join(SEMIRINGS)}
    return [
        Refusal(one.line, re.sub("FORMATS|SEMIRINGS", lambda at: known[at[0]], one.message))
        for one in found
    ]


def _parts(directive: Callable[..., Any]) -> dict[str, str]:
    """A docstring's text, picture, legality and refusals; its parameters are elsewhere."""
    text = inspect.cleandoc(directive.__doc__ or "")
    pattern = r"(.*?)\n\nPicture::\n\n(.*?)\n\n(Legal.*?)\n\nRefused::\n\n(.*)"
    found = re.fullmatch(pattern, text, re.DOTALL)
    if not found:
        raise ValueError(f"docstring of {directive.__name__} must have a picture and refusals")
    said, picture, legal, refused = found.groups()
    return {
        "Text": said.partition("\n\nParameters\n")[0],
        "Picture": inspect.cleandoc("\n" + picture),
        "Legal": legal,
        "Refused": inspect.cleandoc("\n" + refused),
    }


def _section(name: str, directive: Callable[..., Any]) -> list[str]:
    parts = _parts(directive)
    given = ", ".join(
        str(one).partition(":")[0] for one in inspect.signature(directive).parameters.values()
        if one.name != "self"
    )  # fmt: skip
    lines = [f"### `{name}({given})`", "", _plain(parts["Text"]), "", "```text"]
    lines += [parts["Picture"], "```", "", f"**{_plain(parts['Legal']).replace(' ', '** ', 1)}"]
    lines += ["", "**Refused**", "", "```text"]
    for one in refusals(directive):
        lines += [one.line, f"    {one.message}"]
    return [*lines, "```", ""]


def _plain(text: str) -> str:
    """A docstring's paragraphs as the page's lines."""
    paragraphs = (" ".join(one.split()) for one in text.split("\n\n"))
    return "\n\n".join(re.sub("``(.*?)``", r"`\1`", one) for one in paragraphs)


def directives_page() -> str:
    """Writes the page of all directives, grouped by what they apply to."""
    lines = [_HEAD, "```python", BEFORE + "```", ""]
    group = ""
    for name, (its, directive) in DIRECTIVES.items():
        if its != group:
            lines += [f"## {its}", ""]
            group = its
        lines += _section(name, directive)
    return "\n".join(lines)


if __name__ == "__main__":
    print(directives_page(), end="")
