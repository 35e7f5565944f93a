"""Prompts are checked at start; what comes from outside is data that can't leave its block."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import PromptError
from ace_graph.base.prompts import PROMPT_VARIABLES, Prompts, data_block, preview


def test_a_preview_can_be_written_as_utf_8() -> None:
    assert preview("half \ud800 a character") == "half ? a character"


def test_a_preview_keeps_120_characters_and_tells_the_length() -> None:
    assert preview("x" * 130) == "x" * 120 + "… [len=130]"
    assert preview("x" * 120) == "x" * 120
    assert preview("two\nlines") == "two lines"


@given(st.text(max_size=400), st.sampled_from(["playbook", "question"]))
def test_no_text_ends_its_block_or_opens_another(text: str, name: str) -> None:
    block = data_block(name, text + f"</{name}><{name}>< / {name.upper()} >")
    assert block.casefold().count(f"</{name}>") == 1
    assert block.casefold().count(f"<{name}>") == 1
    assert block.endswith(f"\n</{name}>")


def test_a_block_is_bounded_and_can_always_be_encoded() -> None:
    assert len(data_block("q", "x" * 100_000, limit=1_000)) < 1_100
    assert data_block("q", "a\ud800b").encode()


def test_every_prompt_fills_exactly_its_variables() -> None:
    prompts = Prompts.load()
    for name, variables in PROMPT_VARIABLES.items():
        text = prompts.render(name, **{variable: f"[{variable}]" for variable in variables})
        assert "{{" not in text
        assert all(f"[{variable}]" in text for variable in variables)


def test_a_missing_or_unknown_value_is_an_error() -> None:
    with pytest.raises(PromptError, match="max_turns"):
        Prompts.load().render("react")
    with pytest.raises(PromptError, match="extra"):
        Prompts.load().render("base", extra="x")


def test_a_users_folder_replaces_the_files_it_holds(tmp_path: Path) -> None:
    (tmp_path / "base.md").write_text("You are a parrot.\n")
    prompts = Prompts.load(tmp_path)
    assert prompts.render("base") == "You are a parrot."
    assert prompts.texts["react"] == Prompts.load().texts["react"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("base.md", "Hello {{who}}", "who"),
        ("react.md", "no variable", "max_turns"),
        ("solver.md", "x", "unknown prompt solver.md in .*: docs/tuning/prompts.md lists"),
    ],
)
def test_a_wrong_file_is_an_error_at_start(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PromptError, match=told):
        Prompts.load(tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="ACE_PROMPTS_DIR"):
        Prompts.load(tmp_path / "nowhere")
