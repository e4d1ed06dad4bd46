"""Hooks of MkDocs, which make the files of the site, its navigation and the text of its pages.

Pages have the paths that they have in the repository, so a link works on a forge and on the site.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tilewright.registry import systems
from tilewright.site.api_pages import api_pages
from tilewright.site.command_pages import command_pages
from tilewright.site.markdown import as_on_forges, unbroken_options
from tilewright.site.navigation import navigation
from tilewright.site.unit_pages import unit_pages

ROOT = Path(__file__).resolve().parents[3]

_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "examples/**/*.md")
_DRAWINGS = ("docs/**/*.svg", "docs/**/*.png")
_PROJECT = {"Home": "README.md", "All pages": "docs/README.md"}


_DOCUMENTED = ("hw", "sim", "scripts/tilewright")
"""Folders of the modules whose docstrings are printed."""

_sources = tempfile.TemporaryDirectory()


@event_priority(100)  # mkdocstrings reads it there
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Returns the configuration with the place of the modules. Griffe reads no folder without an
    ``__init__``, so it gets links to all modules, in folders that have one."""
    package = Path(_sources.name) / "tilewright"
    shutil.rmtree(package, ignore_errors=True)
    for room in _DOCUMENTED:
        inside = package / room.removeprefix("scripts/tilewright")
        for module in (ROOT / room).rglob("*.py"):
            link = inside / module.relative_to(ROOT / room)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(module)
    for folder in [package, *filter(Path.is_dir, package.rglob("*"))]:
        (folder / "__init__.py").touch()
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_sources.name]
    return config


def generated_pages() -> dict[str, tuple[str, str]]:
    """Returns the title and the text of each page that is generated, by its path."""
    found = {f"reference/units/{name}.md": (name, text) for name, text in unit_pages().items()}
    found |= {
        f"reference/commands/{name}.md": (f"tilewright {name}", text)
        for name, text in command_pages().items()
    }
    return found | {f"reference/python-API/{name}.md": page for name, page in api_pages().items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Returns the files of the site, and sets its navigation."""
    found = Files([file for file in files if file.src_dir != config.docs_dir])  # the theme's
    for pattern in (*_PAGES, *_DRAWINGS):
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if found.get_file_from_path(name) is None:
                found.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    pages = generated_pages()
    for name, (_, text) in pages.items():
        found.append(File.generated(config, name, content=text))
    titles = {name: title for name, (title, _) in pages.items()}
    first = [{title: path} for title, path in _PROJECT.items()]
    order = (ROOT / "docs" / "README.md").read_text()
    config.nav = navigation(order, [{"Home": first}], titles)
    return found


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Returns a page as Python-Markdown reads it. The first page of a system links the reference of
    its units."""
    name = page.file.src_uri
    if name.startswith("reference/"):
        return text
    for system in systems():
        if system.entries and system.pages and name == f"docs/{system.pages[0]}":
            units = [entry.unit.name for entry in system.entries]
            links = ", ".join(f"[`{unit}`](../reference/units/{unit}.md)" for unit in units)
            heading, _, rest = text.partition("\n")
            said = f"Parameters, ports, registers, errors: {links}.\n{{ .reference }}"
            text = f"{heading}\n\n{said}\n{rest}"
    return as_on_forges(text)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Returns a page's HTML with options in tables that are not broken at their hyphens."""
    return unbroken_options(html)
