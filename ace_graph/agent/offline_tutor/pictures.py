"""Pictures in plain characters: a bar for each fraction, rows of dots for small whole numbers.

All bars of a picture have cells of one size, so that they can be compared by eye.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from ace_graph.agent.offline_tutor.solver import WorkedSolution

_MAX_CELLS = 30
_MAX_WHOLES = 4
_MAX_DOTS = 20
_MAX_SIDE = 12
_HUNDRED = 20


def draw(solution: WorkedSolution) -> str | None:
    """Return a picture of `solution`, several lines without a line end, or None where none would help."""
    numbers = solution.numbers
    if solution.kind == "percentages":
        share = next((number for number in numbers if 0 <= number <= 1), None)
        return _bars([(f"{share * 100}%", share)], _HUNDRED) if share is not None else None
    if solution.kind in ("arithmetic", "factors"):
        return _dots(solution)
    shown = [(str(number), number) for number in numbers]
    if solution.symbol in ("+", "-"):
        shown.append((f"= {solution.value}", solution.value))
    return _bars(shown, lcm(*(number.denominator for _, number in shown))) if shown else None


def _bars(shown: Sequence[tuple[str, Fraction]], cells: int) -> str | None:
    """A bar of `cells` cells to the whole for each labelled number, or None when one does not fit."""
    if cells > _MAX_CELLS or any(not 0 <= value <= _MAX_WHOLES for _, value in shown):
        return None
    width = max(len(label) for label, _ in shown)
    return "\n".join(f"{label.rjust(width)} {_bar(value, max(cells, 4))}" for label, value in shown)


def _bar(value: Fraction, cells: int) -> str:
    filled = round(value * cells)
    wholes = max(1, -(-filled // cells))
    row = "#" * filled + "." * (wholes * cells - filled)
    return "".join(f"[{row[start : start + cells]}]" for start in range(0, len(row), cells))


def _dots(solution: WorkedSolution) -> str | None:
    if len(solution.numbers) != 2 or any(number.denominator != 1 for number in solution.numbers):
        return None
    left, right = (int(number) for number in solution.numbers)
    if solution.symbol == "×" and 1 <= left <= _MAX_SIDE and 1 <= right <= _MAX_SIDE:
        return "\n".join(["o " * (right - 1) + "o"] * left)
    if solution.symbol == "+" and left > 0 and right > 0 and left + right <= _MAX_DOTS:
        return f"{'o' * left} + {'o' * right} = {'o' * (left + right)}"
    if solution.symbol == "-" and 0 < right <= left <= _MAX_DOTS:
        return f"{'o' * (left - right)}{'x' * right}   ({right} of {left} crossed out)"
    return None
