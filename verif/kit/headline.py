"""Draws the chart of headline results from the README's table: ``docs/headline.svg``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from tilewright.hw.spec.host.plots import COLOURS, write_plot

__all__ = ["Result", "draw", "read_results"]

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docs" / "headline.svg"
TITLE = "Headline results over those of the papers"

_NUMBER = r"[\d.]+"
_ONE = re.compile(rf"({_NUMBER})(?: %)?(?: \(.*\))?")
_RANGE = re.compile(rf"({_NUMBER}) to ({_NUMBER})")


@dataclass(frozen=True, kw_only=True)
class Result:
    """A row of the table that has a figure of a paper.

    Parameters
    ----------
    unit, measured, configuration, cost, command: cells; ``cost`` is the area and the clock
    ours: our figure
    paper: that of the paper, the least and the largest
    """

    unit: str
    measured: str
    ours: float
    paper: tuple[float, float]
    configuration: str
    cost: str
    command: str

    @property
    def less_is_better(self) -> bool:
        return self.measured.startswith("area")

    def gain(self, paper: float) -> float:
        """Returns how many times as good ours is as a figure of the paper."""
        return paper / self.ours if self.less_is_better else self.ours / paper


def read_results(text: str) -> list[Result]:
    """Reads the rows with one figure of ours and one, or a range, of the paper. An empty cell of a
    unit or a command, and "same", stand for the cell above."""
    found, above = [], [""] * 7
    table = text.partition("| unit | measured |")[2].partition("\n\n")[0]
    for line in re.findall(r"^\| .* \|$", table, re.M):
        cells = [re.sub(r"\[(.*?)\]\(.*?\)|`", r"\1", cell).strip()
                 for cell in line.strip("|").split("|")]  # fmt: skip
        for place in (0, 4, 5, 6):
            cells[place] = above[place] if cells[place] in ("", "same") else cells[place]
        above = cells
        ours, one, several = (form.fullmatch(cells[place])
                              for form, place in ((_ONE, 2), (_ONE, 3), (_RANGE, 3)))  # fmt: skip
        if ours and (one or several):
            assert one or several
            paper = (one[1], one[1]) if one else (several[1], several[2]) if several else ("", "")
            unit, measured, _, _, configuration, cost, command = cells
            found.append(
                Result(
                    unit=unit,
                    measured=measured,
                    ours=float(ours[1]),
                    paper=(float(paper[0]), float(paper[1])),
                    configuration=configuration,
                    cost=cost,
                    command=command,
                )
            )
    return found


def _lines(text: str, most: int) -> str:
    """Breaks a text into lines of so many characters."""
    return "\n".join(wrap(text, most))


def draw(figure: Figure, results: list[Result]) -> None:
    """Draws a bar for each result: how many times as good it is as the paper's, of a range as its
    best result."""
    figure.set_size_inches(9.6, 0.9 + 0.74 * len(results))
    axes = figure.subplots()
    blue, orange, green = COLOURS[:3]
    kinds = {"as good or better": blue, "in the paper's range": green, "worse": orange}
    for number, result in enumerate(results):
        low, high = sorted(map(result.gain, result.paper))
        kind = list(kinds)[0 if low >= 1 else 1 if high >= 1 else 2]
        axes.barh(number, low, color=kinds[kind], height=0.5)
        if low != high:
            axes.plot((low, high), [number] * 2, "-|", color="#222222", markersize=9)
        paper = f"{result.paper[0]:g}"
        paper += f" to {result.paper[1]:g}" if low != high else ""
        axes.annotate(
            f"ours {result.ours:g}, paper {paper}", (max(high, 1), number), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
        name = _lines(f"{result.unit}: {result.measured}", 66)
        about = _lines(f"{result.configuration}; area and clock: {result.cost}", 84)
        left: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "right"}
        above = 0.1 * about.count("\n") + 0.05
        axes.text(-0.02, number - above, name, va="bottom", fontsize=8, **left)
        axes.text(-0.02, number - above, about, va="top", fontsize=6.5, color="#555555", **left)
    line = axes.axvline(1, color="#222222", linewidth=1.4, label="the paper's result")
    (spread,) = axes.plot([], [], "-|", color="#222222", label="range of the paper's results")
    signs = [Patch(color=colour, label=kind) for kind, colour in kinds.items()]
    axes.set(
        xlim=(0, 2.75), ylim=(len(results) - 0.5, -0.5), yticks=[],
        xlabel="times as good as the paper: ours / paper, of areas paper / ours",
    )  # fmt: skip
    axes.grid(visible=False, axis="y")
    figure.legend(handles=[*signs, line, spread], loc="outside lower center", ncols=5)


def main() -> None:
    """Writes the chart."""
    results = read_results((ROOT / "README.md").read_text())
    write_plot(CHART, TITLE, lambda figure: draw(figure, results))


if __name__ == "__main__":
    main()
