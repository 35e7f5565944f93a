"""Charts: what a browser draws of values and intervals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jinja2 import Environment, PackageLoader

_CHARTS: Any = (  # Any: the macros of a template
    Environment(loader=PackageLoader("ace_graph.server.page"), autoescape=True, trim_blocks=True)
    .get_template("charts.html")
    .module
)
bars, intervals = _CHARTS.bars, _CHARTS.intervals


@dataclass(frozen=True)
class Known:
    lift: float
    low: float
    high: float


def drawn(svg: str, **attributes: str) -> list[dict[str, float]]:
    """The rectangles with these attributes, and with no class where none is asked for."""
    found = [each.attrib for each in ET.fromstring(svg).iter("rect")]
    wanted = [each for each in found if each.get("class", "") == attributes.get("kind", "")]
    return [{name: float(value) for name, value in each.items() if name != "class"} for each in wanted]


def test_bars_are_as_high_as_their_values_and_stand_on_one_line() -> None:
    found = drawn(bars([1, 4, 0], "three"))
    assert [each["height"] for each in found] == [22.5, 90.0, 0.0]
    assert {each["y"] + each["height"] for each in found} == {90.0}
    assert [each["x"] for each in found] == [0.0, 50.0, 100.0]


def test_an_interval_reaches_from_its_low_to_its_high_end_around_the_middle() -> None:
    svg = intervals([None, Known(0.25, -0.5, 0.5), Known(0.1, 0.0, 0.2)], "lift")
    first, second = drawn(svg)
    assert (first["y"], first["height"]) == (0.0, 90.0)
    assert (second["y"], second["height"]) == (27.0, 18.0)
    assert [each["x"] for each in (first, second)] == [50.0, 100.0]
    marks = drawn(svg, kind="mark")
    assert [each["y"] + 1.5 for each in marks] == [22.5, 36.0]


@pytest.mark.parametrize("svg", [bars([], "nothing"), intervals([None], "nothing"), bars([0, 0], "zeros")])
def test_nothing_is_drawn_of_nothing(svg: str) -> None:
    assert all(each["height"] == 0 for each in drawn(svg))


def test_a_label_is_escaped() -> None:
    svg = bars([1], '"><script>')
    assert re.findall(r'aria-label="([^"]*)"', svg) == ["&#34;&gt;&lt;script&gt;"]
