"""The tutorials of ``docs/tutorials``: each block does what the page says, from the first to the
last, in an empty directory."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from tilewright.verif.examples.readme import Shell
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size

TUTORIALS = sorted(page("tutorials").glob("*.md"))

_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)
_FAILED = re.compile(r"^error: |Error: |FAIL=[1-9]", re.M)


def follow(text: str, shell: Shell, **variables: str) -> int:
    """Does what a page says, block after block. Returns the number of compared outputs.

    A block with a title is a file of that name. A block ``sh`` is run; it fails if, and only if,
    the output that the page shows below it has an error. A block ``text`` is the whole output of
    the commands before it; ``...`` stands for any text, a blank for any blanks. No other blocks are
    allowed.
    """
    compared, said = 0, ""
    blocks = _BLOCK.findall(text)
    assert len(blocks) == len(re.findall(r"^```", text, re.M)) // 2
    for number, (language, title, content) in enumerate(blocks):
        if title:
            (shell.directory / title).write_text(content)
        elif language == "sh":
            after = blocks[number + 1] if number + 1 < len(blocks) else ("", "", "")
            shown = after[2] if after[0] == "text" else ""
            done = shell.run(f"set -e\nexec 2>&1\n{content}", COLUMNS="100", **variables)
            said = done.stdout
            assert bool(done.returncode) == bool(_FAILED.search(shown)), f"{content}\n{said}"
        else:
            assert language == "text", language
            assert said, f"nothing printed what the page shows:\n{content}"
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            same = doctest.OutputChecker().check_output(content, said, flags)
            assert same, f"the page shows:\n{content}\nprinted:\n{said}"
            compared += 1
            said = ""
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_every_block_of_a_tutorial(tutorial: Path, tmp_path: Path) -> None:
    """cocotb runs in Icarus where it is installed, as it compiles in a fraction of the time; in the
    long test in Verilator, as the page has it."""
    shell = Shell(tmp_path / "here", tmp_path / "bin")
    shell.with_verilator()
    quick = shutil.which("iverilog") and by_size(True, True, False)
    assert follow(tutorial.read_text(), shell, **({"SIM": "icarus"} if quick else {})) > 0


def test_every_tutorial_is_listed() -> None:
    named = re.findall(r"\(tutorials/([\w-]+\.md)\)", page("README.md").read_text())
    assert sorted(named) == [path.name for path in TUTORIALS]


TEXT = """
```python title="twice.py"
import sys
print(2 * int(sys.argv[1]))
```
```sh
python twice.py 4
echo done
```
```text
8
...
```
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("8\n", "9\n", "the page shows"),
        ("echo done", "false", "twice.py 4"),
        ("...", "error: none", "twice.py 4"),
        ("```text", "```yaml", "yaml"),
        ("```sh", "```sh then", "assert"),
    ],
)
def test_what_a_page_says_wrongly_is_found(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    shell = Shell(tmp_path / "here", tmp_path / "bin")
    assert follow(TEXT, shell) == 1
    with pytest.raises(AssertionError, match=message):
        follow(TEXT.replace(old, new), shell)
