"""The profile of a turn names functions that there are."""

from __future__ import annotations

from pkgutil import resolve_name

from benchmarks.unit import PHASES


def test_each_phase_names_functions_that_there_are() -> None:
    assert all(callable(resolve_name(name)) for names in PHASES.values() for name in names)
