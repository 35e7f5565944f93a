"""Charts as inline SVG, drawn by attributes alone, as the page's policy allows no style.

Each chart has a sentence for those who don't see it, and stands beside the table of its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from markupsafe import Markup

_WIDTH, _HEIGHT, _GAP = 600, 90, 2
_LEAST_PLACES = 12
"""A few values are not spread over the whole width."""


class Interval(Protocol):
    """A value between -1 and 1 with the ends of its interval."""

    @property
    def lift(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def bars(values: Sequence[float], label: str) -> Markup:
    """Return bars for values that are not negative, the first on the left; `label` says what they show."""
    most, step = max(values, default=0) or 1, _step(values)
    drawn = Markup("").join(
        _rect(place * step, _HEIGHT - height, step, height)
        for place, height in enumerate(value / most * _HEIGHT for value in values)
    )
    return _chart("bars", label, drawn)


def intervals(values: Sequence[Interval | None], label: str) -> Markup:
    """Return each value as a mark in the bar of its interval, above and below a line for 0; None is a gap."""
    known = [value for value in values if value is not None]
    reach = max((max(abs(value.low), abs(value.high)) for value in known), default=0) or 1
    step, middle = _step(values), _HEIGHT / 2

    def level(value: float) -> float:
        return middle - value / reach * middle

    drawn = Markup('<line x1="0" x2="{}" y1="{}" y2="{}"/>').format(_WIDTH, middle, middle)
    for place, value in enumerate(values):
        if value is not None:
            left, top = place * step, level(value.high)
            drawn += _rect(left, top, step, level(value.low) - top)
            drawn += Markup('<rect class="mark" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="3"/>').format(
                left, level(value.lift) - 1.5, max(1.0, step - _GAP)
            )
    return _chart("intervals", label, drawn)


def _step(values: Sequence[object]) -> float:
    return _WIDTH / max(len(values), _LEAST_PLACES)


def _rect(left: float, top: float, step: float, height: float) -> Markup:
    return Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>').format(
        left, top, max(1.0, step - _GAP), height
    )


def _chart(kind: str, label: str, drawn: Markup) -> Markup:
    frame = Markup('<svg class="{}" role="img" aria-label="{}" viewBox="0 0 {} {}" {}>{}</svg>')
    return frame.format(kind, label, _WIDTH, _HEIGHT, Markup('preserveAspectRatio="none"'), drawn)
