"""What a provider may cache: prompts begin with the same bytes in every turn, whatever the memory learns."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ace_graph import ACEContext, Settings, build_ace_graph
from ace_graph.base.prompts import PROMPT_VARIABLES, Prompts
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import ask
from tests.graph.test_learning import lessons

ROLES = ("solver", "reflector", "curator")
TURNS = (
    ("How do I add 1/2 and 1/3?", "Write both over the common denominator before adding"),
    ("Remember that my name is Mina. How do I add 1/4 and 1/3?", "Estimate the sum of fractions first"),
    ("How do I subtract fractions?", "Check a difference of fractions by adding it back"),
    ("Remember that I prefer short answers. How do I add 3/4 and 1/3?", "Draw bars to compare fractions"),
)


async def _prompts() -> dict[str, list[str]]:
    """The system messages of each role in turns that each change the memory."""
    curated = '{"reasoning": "new", "operations": [{"type": "ADD", "lesson": 1}]}'
    model = ScriptedModel(
        solver=["<final>5/6</final>"] * len(TURNS),
        reflector=[lessons(lesson) for _, lesson in TURNS],
        curator=[curated] * len(TURNS),
    )
    settings = Settings().model_copy(update={"curator_use_llm": True})
    context = ACEContext(learner_id="mina", reflect_when="always")
    async with SQLiteStore() as store:
        graph = build_ace_graph(model=model, store=store, settings=settings)
        versions = [
            (await graph.ainvoke(ask(question), context=context.model_copy(update={"ground_truth": truth})))[
                "learning"
            ]["version"]
            for (question, _), truth in zip(TURNS, ("5/6", "1", "5/6", "1"), strict=True)
        ]
    assert all(before < after for before, after in pairwise(versions)), "each turn changes the memory"
    return {role: [call.messages[0].text for call in model.calls_of(role)] for role in ROLES}


async def test_instructions_stand_first_and_are_the_same_bytes_in_every_turn() -> None:
    texts, prompts = Prompts.load().texts, await _prompts()
    own = {role: texts[role].partition("{{")[0] for role in ("reflector", "curator")}
    own["solver"] = f"{texts['base']}\n\n{texts['answer']}\n\n<playbook>\n"
    for role in ROLES:
        assert all(prompt.startswith(own[role]) for prompt in prompts[role][1:]), role
        assert len(set(prompts[role])) == len(TURNS), "only what comes behind is another"


async def test_what_is_known_of_the_learner_changes_at_its_end_only() -> None:
    third, fourth = (await _prompts())["solver"][2:]
    core = third.partition("## Relevant Strategies")[0]
    assert "Mina" in core
    assert fourth.startswith(core.partition("</playbook>")[0].rstrip())


@pytest.mark.parametrize("name", sorted(name for name, places in PROMPT_VARIABLES.items() if places))
def test_what_changes_stands_behind_what_does_not(name: str) -> None:
    before, *between = Prompts.load().texts[name].split("{{")
    behind = "".join(part.partition("}}")[2] for part in between)
    assert len(before.encode()) > len(behind.strip().encode()) or name in {"react", "tot_expand"}
