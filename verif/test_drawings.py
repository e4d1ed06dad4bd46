"""Checks drawings of the pages: one style, a legend, texts that fit, names of the tree."""

import json
import re
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib
import pytest
from tilewright.apps.t2s.drawing import STYLE
from tilewright.hw.spec.host.plots import plotted
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.registry import systems
from tilewright.verif.kit.headline import CHART, TITLE, draw, read_results
from tilewright.verif.kit.imports import FLOORS, REACH
from tilewright.verif.kit.waves import FOLDER, WAVES, source_in

pytestmark = pytest.mark.quick

DOCS = Path(__file__).resolve().parents[1] / "docs"
DRAWINGS = {
    path.relative_to(DOCS).with_suffix("").as_posix(): root
    for path in sorted(DOCS.rglob("*.svg"))
    if STYLE in path.read_text() and (root := ElementTree.parse(path).getroot()) is not None
}
"""Drawings in the style of the pages; the others are plots and waveforms, by libraries."""

BOX, ARROW = {"rect"}, {"path", "line", "polyline"}
Area = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def drawn(root: Element) -> list[Element]:
    """Elements that are drawn, without the ground and the legend."""
    legend = set(legend_of(root))
    return [one for one in root.iter() if one not in legend and one.get("class")]


def legend_of(root: Element) -> list[Element]:
    (legend,) = [one for one in root if one.get("class") == "legend"]
    return list(legend)


def style_of(element: Element) -> set[str]:
    return set((element.get("class") or "").split())


def test_drawings_by_hand_are_found() -> None:
    found = {name for name in DRAWINGS if not name.startswith("t2s")}
    assert found == {
        "bridge", "c2sr", "ciss", "engine", "flow", "gta", "gta-element", "house", "m3xu",
        "matraptor", "sida", "simd2", "tensaurus", "tensaurus-element",
    }  # fmt: skip


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_style_sheet_is_the_only_style(name: str) -> None:
    root = DRAWINGS[name]
    assert root.get("font-family") == "DejaVu Sans, Helvetica, Arial, sans-serif"
    own = {"fill", "stroke", "stroke-width", "stroke-dasharray", "style", "font-size"}
    heads = {head for marker in root.iter() if tag(marker) == "marker" for head in marker}
    ground, *others = [one for one in root.iter() if tag(one) in BOX | ARROW | {"text"}
                       and one not in heads]  # fmt: skip
    assert ground.get("fill") == "white"
    assert [one.attrib for one in others if own & set(one.attrib)] == []
    known = set(re.findall(r"\.([a-z]+)[,{]", STYLE)) | {"slot"}
    assert {word for one in others for word in style_of(one)} <= known


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_legend_names_every_box_and_line(name: str) -> None:
    root = DRAWINGS[name]
    used = {word for one in drawn(root) if tag(one) in BOX | ARROW for word in style_of(one)}
    legend = legend_of(root)
    signs = [word for one in legend if tag(one) != "text" for word in style_of(one)]
    assert len(signs) == len(set(signs)) == sum(tag(one) == "text" for one in legend)
    assert used == set(signs)


def area(text: Element) -> Area:
    """Returns the rectangle that a text fills, in DejaVu Sans."""
    classes = style_of(text)
    size = 13 if "t" in classes else 12
    width = size / 100 * font("t" in classes).getlength(text.text or "")
    before = width / 2 if "m" in classes else width if "e" in classes else 0
    x, y = float(text.get("x", 0)) - before, float(text.get("y", 0))
    return x, y - 0.76 * size, x + width, y + 0.22 * size


@cache
def font(bold: bool):  # type: ignore[no-untyped-def]
    """DejaVu Sans of 100 pixels, as Matplotlib brings it along."""
    name = f"fonts/ttf/DejaVuSans{'-Bold' if bold else ''}.ttf"
    return pytest.importorskip("PIL.ImageFont").truetype(
        str(Path(matplotlib.get_data_path()) / name), 100
    )


def misplaced(root: Element) -> list[str]:
    """Texts that leave the drawing or their box, or that lie over a box or another text."""
    right, bottom = map(float, root.attrib["viewBox"].split()[2:])
    texts = [(area(one), one.text or "") for one in root.iter()
             if tag(one) == "text" and not one.get("transform")]  # fmt: skip
    boxes: list[Area] = []
    for one in root.iter():
        if tag(one) == "rect" and one.get("class") not in (None, "f"):
            x, y, width, height = (float(one.get(k, 0)) for k in ("x", "y", "width", "height"))
            boxes.append((x, y, x + width, y + height))
    found = [f"{a} over {b}" for (at, a), (other, b) in combinations(texts, 2)
             if overlap(at, other, 1)]  # fmt: skip
    for at, text in texts:
        x, y = (at[0] + at[2]) / 2, (at[1] + at[3]) / 2
        around = [box for box in boxes if box[0] <= x <= box[2] and box[1] <= y <= box[3]]
        if not inside(at, (0, 0, right, bottom)):
            found.append(f"{text} leaves the drawing")
        if around and not any(inside(at, box) for box in around):
            found.append(f"{text} leaves its box")
        if not around and any(overlap(at, box, 1) for box in boxes):
            found.append(f"{text} over a box")
    return found


def inside(one: Area, box: Area) -> bool:
    return box[0] < one[0] and box[1] < one[1] and one[2] < box[2] and one[3] < box[3]


def overlap(one: Area, two: Area, by: float) -> bool:
    return (one[0] < two[2] - by and two[0] < one[2] - by
            and one[1] < two[3] - by and two[1] < one[3] - by)  # fmt: skip


@pytest.mark.parametrize("name", DRAWINGS)
def test_texts_fit(name: str) -> None:
    assert misplaced(DRAWINGS[name]) == []


def test_a_misplaced_text_is_found() -> None:
    text = '<text class="m" x="50" y="20">{}</text>'
    box = '<rect class="b" x="10" y="5" width="80" height="30"/>'
    whole = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 60">{}</svg>'
    for inner, said in (
        (box + text.format("fits"), []),
        (box + text.format("leaves its box"), ["leaves its box leaves its box"]),
        (text.format("leaves the drawing"), ["leaves the drawing leaves the drawing"]),
        (text.format("one") + text.format("two"), ["one over two"]),
    ):
        assert misplaced(ElementTree.fromstring(whole.format(inner))) == said


# Waveforms are those of the hardware.


@pytest.mark.parametrize("name", WAVES)
def test_a_waveform_is_the_simulation(name: str) -> None:
    """The committed source is what the simulation records, and the drawing was made from it."""
    source = WAVES[name].source()
    assert (FOLDER / f"{name}.json").read_text() == source
    assert source_in((FOLDER / f"{name}.svg").read_text()) == source


def lanes(name: str) -> dict[str, list[str]]:
    """Signals of a waveform, cycle by cycle; a box has its value."""
    found = {}
    for signal in json.loads(WAVES[name].source())["signal"]:
        values, boxes = [""], iter(signal.get("data", ()))
        for sign in signal["wave"]:
            values.append(values[-1] if sign == "." else next(boxes) if sign == "=" else sign)
        found[signal["name"]] = values[1:]
    return found


def test_waveforms_show_what_their_titles_say() -> None:
    stream, burst, job = lanes("stream"), lanes("write_burst"), lanes("job")
    for side in "io":
        valid, ready, payload = (stream[f"{side}__{x}"] for x in ("valid", "ready", "payload"))
        cycles = list(zip(valid, ready, payload, strict=True))
        assert [word for at in cycles if at[:2] == ("1", "1") for word in at[2]] == list("ABCDE")
        held = [(one[2], two[2]) for one, two in pairwise(cycles) if one[:2] == ("1", "0")]
        assert held
        assert all(one == two for one, two in held)
    assert burst["WVALID"].index("1") < burst["AWREADY"].index("1") < burst["BVALID"].index("1")
    start, done = job["bvalid"].index("1"), job["STATUS.done"].index("1")
    assert start < job["STATUS.busy"].index("1") < done == job["irq"].index("1")
    operations, latency = lanes("operations"), Simd2Config(
        tile=2, format="int8", ops=("mma", "minplus"), pipeline=3
    ).latency["mma"]  # fmt: skip
    given, taken = ("".join(operations[f"{side}__valid"]) for side in "io")
    assert given[: len(given) - latency] == taken[latency:]


# headline.svg is the README's table.


def test_the_chart_is_the_table() -> None:
    """The plot is equal byte for byte with the release of Matplotlib that drew it, and has the same
    texts with others."""
    results, kept = read_results((DOCS.parent / "README.md").read_text()), CHART.read_text()
    assert {one.unit for one in results} == {"M3XU", "SIMD2", "Tensaurus", "SIDA", "GTA"}
    assert min(len(one.cost) for one in results) > 5
    for one in results:
        assert f"ours {one.ours:g}, paper {one.paper[0]:g}" in kept
    if f"Matplotlib v{matplotlib.__version__}," in kept:
        drawn = plotted("svg", TITLE, lambda figure: draw(figure, results))
        assert drawn.decode() == kept


def test_results_are_read() -> None:
    head = "| unit | measured | ours | paper | configuration | area | command |\n|---|\n"
    rows = (
        "| [A](a.md) | area of a, b | 2 | 3 | big | 1 mm2 | `a` |\n"
        "| | speed | 98.5 % (99 %) | 1.5 to 3 | same | same | |\n"
        "| B | steps | equal | | x | | |\n"
    )
    area, speed = read_results(head + rows + "\n| C | area | 1 | 1 | x | x | x |\n")
    assert (area.unit, area.ours, area.paper, area.gain(3)) == ("A", 2, (3, 3), 1.5)
    assert (speed.unit, speed.ours, speed.paper) == ("A", 98.5, (1.5, 3))
    assert (speed.configuration, speed.cost, speed.command) == ("big", "1 mm2", "a")
    assert speed.gain(2) == 98.5 / 2


# house.svg is the tree.

TABLES_ONLY = {"clocks"}
"""Systems that are registered for a table only: they have no unit and no computation."""


def house() -> tuple[set[str], set[tuple[str, str]]]:
    """Words of the drawing, and its arrows."""
    root = DRAWINGS["house"]
    words = {word for one in root.iter() for word in re.findall(r"[\w/]+", one.text or "")}
    arrows = {(source, one.get("data-to", ""))
              for one in root.iter() if (source := one.get("data-from"))}  # fmt: skip
    return words, arrows


def test_the_house_names_every_system_and_folder() -> None:
    words, _ = house()
    folders = {path.parent.name for room in ("hw", "sim")
               for path in (DOCS.parent / room).glob("*/*.py")}  # fmt: skip
    assert len(folders) > 15
    assert folders - {"spec"} <= words
    assert {system.name for system in systems()} - TABLES_ONLY <= words
    assert {*REACH, "hw/spec"} <= words


def test_the_arrows_of_the_house_are_the_allowed_imports() -> None:
    _, arrows = house()
    rooms = {one for one in arrows if "." not in one[0]}
    allowed = {(source, target) for source, its in REACH.items() for target in its}
    assert rooms <= allowed | {(room, "hw.spec") for room in REACH}
    assert closed(rooms) >= allowed
    for room, floors in FLOORS.items():
        inner = {one for one in arrows if one[0].startswith(f"{room}.")}
        every = {(f"{room}.{floor}", f"{room}.{below}")
                 for floor, its in floors.items() for below in its if below != "spec"}  # fmt: skip
        every |= {(f"{room}.systems", f"{room}.{floor}") for floor in floors if floor != "spec"}
        assert inner <= every
        assert closed(inner) == every


def closed(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """All pairs that a walk along the arrows joins."""
    found = set(arrows)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found
