"""docs/tuning.md and the pages below it name every knob there is, with its default."""

from __future__ import annotations

import re
from pathlib import Path

from ace_graph import ACEContext, Policy
from ace_graph.base import Settings, variable_names
from ace_graph.base.prompts import PROMPT_VARIABLES
from ace_graph.memory import DecayRates

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "tuning.md", *sorted((DOCS / "tuning").glob("*.md"))]
PAGE = "".join(path.read_text(encoding="utf-8") for path in PAGES)
ROWS = {
    name: default.strip().strip("`")
    for name, default in re.findall(r"^\| `(\w+)` \|([^|]*)\| .* \|$", PAGE, re.MULTILINE)
}


def shown(default: object) -> str:
    """How a default stands in the table; nothing for what is unset."""
    if isinstance(default, float) and default.is_integer():
        return str(int(default))
    return (
        "" if default in (None, ()) else str(default).lower() if isinstance(default, bool) else str(default)
    )


def test_every_variable_is_explained() -> None:
    assert [name for name in variable_names() if f"`{name}`" not in PAGE] == []


def test_no_variable_is_explained_that_is_not_read() -> None:
    named = {name for name in ROWS if name.isupper()}
    assert sorted(named - set(variable_names())) == []


def test_the_defaults_of_the_settings_are_the_real_ones() -> None:
    real = {
        f"ACE_{field}".upper(): shown(info.default)
        for field, info in Settings.model_fields.items()
        if f"ACE_{field}".upper() in ROWS
    }
    real |= {"ACE_LEARNING": "inline"}  # where the setting is unset
    assert {name: ROWS[name] for name in real} == real
    assert len(real) > 12


def test_every_field_of_the_context_is_explained_with_its_default() -> None:
    real = {
        name: str(info.default) if info.default is True else shown(info.default)
        for name, info in ACEContext.model_fields.items()
    }
    assert {name: ROWS.get(name, "missing") for name in real} == real


def test_every_field_of_a_stores_policy_is_explained_with_its_default() -> None:
    real = {name: shown(info.default) for name, info in Policy.model_fields.items()}
    rates = DecayRates()
    real["decay"] = f"{rates.semantic}, {rates.episodic}, {rates.procedural}"
    assert {name: ROWS.get(name, "missing") for name in real} == real


def test_every_prompt_file_is_named() -> None:
    assert [name for name in PROMPT_VARIABLES if f"`{name}.md`" not in PAGE] == []
