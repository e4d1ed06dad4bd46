"""Checks the conversion of pages for the site: their order, lists, tables and docstrings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tilewright.site.docstrings import as_markdown
from tilewright.site.markdown import as_on_forges, slug, table, unbroken_options
from tilewright.site.navigation import KINDS, navigation, places

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
ORDER = (ROOT / "docs" / "README.md").read_text()

NOT_LISTED = {"README.md", "docs/README.md"}
"""Pages in front of all kinds: the first one, and the list itself."""


def test_every_page_is_of_one_kind() -> None:
    found = Counter(path for _, _, path in places(ORDER))
    assert [path for path, count in found.items() if count > 1] == []
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    assert set(found) == {str(page.relative_to(ROOT)) for page in pages} - NOT_LISTED
    assert {above[0] for above, _, _ in places(ORDER)} <= set(KINDS)


def test_navigation() -> None:
    text = """# Pages
## Reference
| page | about |
|---|---|
| [the units](units.md) | all |
### Formats
| [C2SR](c2sr.md#layout) | no row of the list |
| [C2SR](c2sr.md) | [another](json.md) |
## Explanation
| [Changes](../CHANGELOG.md) | |
## The whole house
| [left out](house.md) | |
"""
    generated = {"reference/units/m3xu.md": "m3xu", "reference/formats/x.md": "X"}
    assert navigation(text, [{"Home": "README.md"}], generated) == [
        {"Home": "README.md"},
        {"Reference": [
            {"The units": "docs/units.md"},
            {"Formats": [{"C2SR": "docs/c2sr.md"}, {"X": "reference/formats/x.md"}]},
            {"Units": [{"m3xu": "reference/units/m3xu.md"}]},
        ]},
        {"Explanation": [{"Changes": "CHANGELOG.md"}]},
    ]  # fmt: skip


def test_anchors_are_those_of_forges() -> None:
    assert slug("`run --json`: A, b & C_d", "-") == "run---json-a-b--c_d"


def test_nested_lists_are_indented_by_four() -> None:
    page = "* a\n  goes on\n  * b\n    * c\n\n  more of a\n* d\n\nText\n\n1. e\n   * f\n"
    moved = (
        "* a\n    goes on\n    * b\n        * c\n\n    more of a\n\n* d\n\nText\n\n1. e\n    * f\n"
    )
    assert as_on_forges(page) == moved


def test_code_stays_as_it_is() -> None:
    page = "Text:\n\n    * code\n      * code\n\n```\n  * code\n```\n"
    assert as_on_forges(page) == page


def test_cells_of_tables() -> None:
    rows = [("`a|b*`", "x * y, [1]"), ("<c>", "d\ne")]
    assert list(table(("p", "q"), rows)) == [
        "| p | q |",
        "|---|---|",
        r"| `a\|b*` | x \* y, \[1\] |",
        r"| \<c> | d e |",
        "",
    ]
    assert list(table(("p",), [])) == []


def test_options_are_not_broken() -> None:
    """Options in the code of cells are spans; other code and words are as they were."""
    html = "<td><code>a-b --rank 8 -o x</code> --no</td> <code>--out</code>"
    assert unbroken_options(html) == (
        '<td><code>a-b <span class="option">--rank</span> 8 <span class="option">-o</span> x'
        "</code> --no</td> <code>--out</code>"
    )


def test_docstrings_are_lists() -> None:
    text = """Does ``x``, see :func:`tilewright.run`.

Parameters
----------
a, b: what :class:`~hw.C` takes
    and more
m0_*, ...: names

Raises
------
ValueError for a bad one.

Example
-------
    for n in range(2):
        print(n)
"""
    assert (
        as_markdown(text)
        == """Does `x`, see `tilewright.run`.

**Parameters**

* `a`, `b`: what `hw.C` takes
    and more
* `m0_*`, `...`: names

**Raises**

ValueError for a bad one.

**Example**

```python
for n in range(2):
    print(n)
```"""
    )
