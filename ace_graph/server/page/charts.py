"""Charts as inline SVG: bars over time, drawn by attributes alone, as the page's policy allows no style.

Each chart has a text for those who don't see it, and stands beside the table of its figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

__all__ = ["bars"]

_WIDTH, _HEIGHT, _GAP = 600, 90, 2


def bars(values: Sequence[float], label: str) -> Markup:
    """Return bars for values that are not negative, the first on the left; `label` says what they show."""
    most = max(values, default=0) or 1
    step = _WIDTH / max(len(values), 12)
    drawn = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>').format(
            place * step, _HEIGHT - height, max(1.0, step - _GAP), height
        )
        for place, height in enumerate(value / most * _HEIGHT for value in values)
    )
    frame = Markup('<svg class="bars" role="img" aria-label="{}" viewBox="0 0 {} {}" {}>{}</svg>')
    return frame.format(label, _WIDTH, _HEIGHT, Markup('preserveAspectRatio="none"'), drawn)
