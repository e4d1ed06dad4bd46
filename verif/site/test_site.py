"""The site as ``./scripts/docs`` builds it: what is on it, and how a browser shows it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lxml.html
import pytest
import tilewright
from markdown_it import MarkdownIt
from playwright.sync_api import ConsoleMessage, Error, Request, sync_playwright
from playwright.sync_api import Page as BrowserPage
from tilewright.commands import COMMANDS
from tilewright.registry import commands, entries, tables

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for page in sorted(ROOT.glob(pattern))
]

_COMPARED = ("h1", "h2", "h3", "h4", "li", "td", "th", "pre", "a", "code", "em", "strong", "img")
_ADDED = ".//a[@class='headerlink'] | .//p[@class='reference'] | .//nav | .//button"
"""Elements that the site adds to a page: links of headings, of units' references, copy buttons."""


def build(directory: Path) -> None:
    """Builds the site into a new directory."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "--site-dir", str(directory)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, which one process builds for all."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    directory = shared / "site"
    with open(shared / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "sitemap.xml").exists():  # which is written last
            build(directory)
    return directory


def html_of(site: Path, page: Path) -> Path:
    """Returns the file of the site that a page of the repository becomes."""
    name = "index.html" if page.name == "README.md" else f"{page.stem}.html"
    return site / page.parent / name


def article(path: Path) -> Any:
    """The text of a page, without what is around it."""
    (found,) = lxml.html.parse(str(path)).getroot().xpath("//article")
    return found


def parts(element: Any) -> list[tuple[str, str]]:
    """Headings, items, cells, code, links and emphases of a text, in order."""
    for added in element.xpath(_ADDED):
        added.drop_tree()
    return [(one.tag, " ".join(one.text_content().split())) for one in element.iter(*_COMPARED)]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_site_says_what_a_forge_shows(site: Path, page: Path) -> None:
    """Forges read pages by CommonMark with tables, MkDocs by Python-Markdown."""
    forge = MarkdownIt("commonmark").enable("table").render((ROOT / page).read_text())
    expected = parts(lxml.html.fromstring(f"<div>{forge}</div>"))
    assert parts(article(html_of(site, page))) == expected


def test_nothing_is_from_the_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        found = lxml.html.parse(str(path)).getroot()
        loaded = found.xpath("//script/@src | //link/@href | //img/@src | //iframe/@src")
        assert [url for url in loaded if "//" in url] == [], path


@pytest.mark.parametrize("unit", entries())
def test_reference_of_units(site: Path, unit: str) -> None:
    found = article(site / "reference" / "units" / f"{unit}.html")
    cells = {cell.text_content() for cell in found.iter("td")}
    kind = entries()[unit].unit
    config = kind.config()
    assert {item.name for item in config.parameters()} <= cells
    if kind.jobs:
        spec = kind.job_spec(config)
        assert {register.name for register in spec.registers} <= cells
        assert {error.name for error in spec.errors} <= cells


def test_reference_of_commands(site: Path) -> None:
    for name, command in COMMANDS.items():
        found = article(site / "reference" / "commands" / f"{name}.html")
        text = found.text_content()
        usages = {one.text_content().strip() for one in found.iter("pre")}
        if command.group:
            missing = [one for one in commands(name)
                       if not any(f"{usage} ".startswith(f"tilewright {name} {one} ")
                                  for usage in usages)]  # fmt: skip
            assert missing == []
        else:
            assert any(usage.startswith(f"tilewright {name}") for usage in usages)
        if command.listed:
            assert [one for one in tables() if one not in text] == []
    options = (site / "reference" / "commands" / "generate.html").read_text()
    assert "--filelist" in options
    assert "Also write a file list for simulators." in options


def test_reference_of_python(site: Path) -> None:
    folder = site / "reference" / "python-API"
    text = "".join(path.read_text() for path in sorted(folder.glob("*.html")))
    found = set(lxml.html.fromstring(text).xpath("//*/@id"))
    public = [name for name in tilewright.__all__ if name != "__version__"]
    headings = " ".join(article(folder / "tilewright.html").text_content().split())
    modules = ("formats", "payloads")
    assert [name for name in public if name not in modules
            and f"tilewright.{name}" not in headings] == []  # fmt: skip
    for module in modules:
        names = getattr(tilewright, module).__all__
        assert [name for name in names if f"tilewright.{module}.{name}" not in found] == []
    for entry in entries().values():
        for place in filter(None, (entry.driver, entry.unit.component)):
            assert place.replace(":", ".") in found


@contextmanager
def opened(**options: Any) -> Iterator[tuple[BrowserPage, list[str]]]:
    """A page of headless Chromium, and its complaints: what the console said, errors and warnings,
    what failed to load, and what came from the network."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("there is no Chromium; the Debian package `chromium` has it")
    complaints: list[str] = []

    def say(said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            complaints.append(f"{said.type}: {said.text}")

    def ask(request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:", "about:")):
            complaints.append(f"from the network: {request.url}")

    def fail(what: Request | Error) -> None:
        complaints.append(str(what) if isinstance(what, Error) else f"not loaded: {what.url}")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(**options)
        page.on("console", say)
        page.on("request", ask)
        page.on("requestfailed", fail)
        page.on("pageerror", fail)
        yield page, complaints
        browser.close()


SHOWN = (
    "index.html",
    "docs/index.html",
    "docs/tensaurus.html",
    "docs/t2s-designs.html",
    "reference/units/sida.html",
    "reference/commands/run.html",
    "reference/python-API/tilewright.html",
)


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_pages_in_a_browser(site: Path, width: int, scheme: Any) -> None:
    """The site works without a server, wide and narrow, light and dark: all is loaded, no console
    complaint, drawings are pictures, and only tables and code may be wider than the window."""
    window: Any = {"width": width, "height": 900}
    with opened(viewport=window, color_scheme=scheme) as (page, complaints):
        for shown in SHOWN:
            page.goto(f"file://{site}/{shown}")
            page.evaluate("document.querySelectorAll('img').forEach(x => x.loading = 'eager')")
            page.wait_for_function("[...document.images].every(x => x.complete)")
            broken = "[...document.images].filter(x => !x.naturalWidth).map(x => x.src)"
            assert page.evaluate(broken) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width, shown
            shade = {"light": "default", "dark": "slate"}[scheme]
            assert page.evaluate("document.body.dataset.mdColorScheme") == shade
            assert complaints == [], shown


def test_complaints_are_found(tmp_path: Path) -> None:
    """Each kind of them, but for the network, which a test does not reach."""
    wrong = "<script>console.error('one'); setTimeout(() => two(), 0)</script><img src='three.png'>"
    (tmp_path / "wrong.html").write_text(wrong)
    with opened() as (page, complaints):
        page.goto(f"file://{tmp_path}/wrong.html")
        page.wait_for_timeout(100)
        text = " ".join(complaints)
        assert [word for word in ("one", "two", "three.png") if word not in text] == []


def test_search_without_a_server(site: Path) -> None:
    with opened() as (page, complaints):
        page.goto(f"file://{site}/index.html?q=BYTES_WRITTEN")
        found = page.locator(".md-search-result__item")
        found.first.wait_for()
        assert any("matraptor" in text.lower() for text in found.all_inner_texts())
        page.goto(f"file://{site}/docs/m3xu.html?q=wordthatisnowhere")
        page.locator(".md-search-result__meta", has_text="No matching").wait_for()
        assert complaints == []
