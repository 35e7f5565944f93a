"""Prompts of a host's own reach the model, in every role; a wrong file is an error before the first turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ace_graph import ACEContext
from ace_graph.base import PromptError, Settings
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, ask

TRUTH = ACEContext(learner_id="alice", ground_truth="5/6", max_reflection_rounds=2)


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, "utf-8")


async def test_replaced_files_change_the_requests_and_the_others_stay(build: Build, tmp_path: Path) -> None:
    write(
        tmp_path,
        base="You are a parrot.",
        reflector="Parrot, look back: {{question}} {{answer}} {{trace}} {{bullets}} {{ground_truth}} "
        "{{evidence}} {{reflections}}",
        retry="Parrot, remember: {{lessons}}",
        curator="Parrot, keep order: {{lessons}} {{bullets}} {{progress}} {{question}} {{analysis}}",
    )
    lesson = json.dumps({"lessons": [{"content": "Give both fractions one denominator"}]})
    model = ScriptedModel(
        solver=["<final>2/5</final>"],
        reflector=[lesson],
        retry=["<final>5/6</final>"],
        curator=['{"operations": []}'],
    )
    settings = Settings().model_copy(update={"curator_use_llm": True})
    await build(model, prompts_dir=tmp_path, settings=settings).ainvoke(ask(), context=TRUTH)
    system = {role: model.calls_of(role)[0].messages[0].text for role in ("solver", "reflector", "curator")}
    assert system["solver"].startswith("You are a parrot.")
    assert "<final>what the learner reads</final>" in system["solver"], "this file was not replaced"
    assert system["reflector"].startswith("Parrot, look back: <question>")
    assert system["curator"].startswith("Parrot, keep order: <lessons>")
    assert "Parrot, remember: <lessons>" in model.calls_of("retry")[0].messages[0].text


def test_the_folder_may_come_from_the_settings(build: Build, tmp_path: Path) -> None:
    write(tmp_path, base="You are a parrot.")
    settings = Settings().model_copy(update={"prompts_dir": tmp_path})
    model = ScriptedModel(["<final>x</final>"])
    build(model, settings=settings).invoke(ask("hello"))
    assert model.calls[0].messages[0].text.startswith("You are a parrot.")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("reflector", "{{question}}", "missing variables"),
        ("base", "Hi {{name}}", "unknown variables"),
        ("bass", "x", "bass"),
    ],
)
def test_a_wrong_file_is_refused_when_the_graph_is_built(
    build: Build, tmp_path: Path, name: str, text: str, told: str
) -> None:
    write(tmp_path, **{name: text})
    with pytest.raises(PromptError, match=told):
        build(ScriptedModel([]), prompts_dir=tmp_path)
