"""Charts: what a browser draws of values and intervals, with the numbers of their axes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest
from jinja2 import Environment, PackageLoader

from ace_graph.server.page.render import Look

_ENVIRONMENT = Environment(loader=PackageLoader("ace_graph.server.page"), autoescape=True, trim_blocks=True)
_LOOK = {"look": Look("en", "auto", "", ZoneInfo("UTC"))}
_CHARTS: Any = _ENVIRONMENT.get_template("charts.html").make_module(_LOOK)  # Any: the macros of a template
bars, intervals = _CHARTS.bars, _CHARTS.intervals
FIRST = date(2026, 9, 1)


@dataclass(frozen=True)
class Known:
    lift: float
    low: float
    high: float


def days(*values: object) -> list[tuple[date, object]]:
    return [(FIRST + timedelta(days=n), value) for n, value in enumerate(values)]


def drawn(svg: str, kind: str) -> list[dict[str, float]]:
    """The rectangles of a kind."""
    found = [each.attrib for each in ET.fromstring(svg).iter("rect") if each.get("class") == kind]
    return [{name: float(value) for name, value in each.items() if name != "class"} for each in found]


def told(svg: str) -> list[str]:
    """The texts of the chart: the numbers of the axis, then the days."""
    return [each.text or "" for each in ET.fromstring(svg).iter("text")]


def test_bars_are_as_high_as_their_values_and_stand_on_one_line() -> None:
    svg = bars(days(1, 4, 0), 4, "three")
    found = drawn(svg, "bar")
    room = found[1]["height"]
    assert [each["height"] / room for each in found] == [pytest.approx(0.25, abs=0.01), 1, 0]
    assert {round(each["y"] + each["height"]) for each in found} == {164}
    assert [each["x"] for each in found] == sorted(each["x"] for each in found)
    assert told(svg) == ["0", "2", "4", "1 Sep 2026", "3 Sep 2026"]


def test_an_interval_reaches_from_its_low_to_its_high_end_around_the_line_for_nothing() -> None:
    svg = intervals(days(None, Known(0.25, -0.5, 0.5), Known(0.1, 0.0, 0.2)), 0.5, "lift")
    first, second = drawn(svg, "span")
    assert (first["y"], first["y"] + first["height"]) == (10, 164)
    assert second["y"] + second["height"] == pytest.approx(87, abs=0.2)
    assert [each["y"] + 1.5 for each in drawn(svg, "mark")] == [
        pytest.approx(48.5, abs=0.1),
        pytest.approx(71.6, abs=0.1),
    ]
    assert told(svg)[:3] == ["−50 %", "0 %", "+50 %"]


def test_one_day_stands_in_the_middle_and_a_year_fits() -> None:
    [one] = drawn(bars(days(3), 5, "one"), "bar")
    assert one["x"] + one["width"] / 2 == pytest.approx(332, abs=0.1)
    year = drawn(bars(days(*[1] * 365), 1, "year"), "bar")
    assert min(each["x"] for each in year) >= 64
    assert max(each["x"] + each["width"] for each in year) <= 600


def test_a_label_is_escaped() -> None:
    svg = bars(days(1), 1, '"><script>')
    assert re.findall(r'aria-label="([^"]*)"', svg) == ["&#34;&gt;&lt;script&gt;"]
