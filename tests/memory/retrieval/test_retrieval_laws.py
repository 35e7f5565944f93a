"""The laws of retrieval: never above the budget, the same whatever the order, nothing forbidden."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Bullet
from ace_graph.memory.retrieval import FRAME_TOKENS
from ace_graph.memory.search import estimate_tokens
from tests.memory.retrieval.queries import NOW, THEN, ask, bullet
from tests.plugins.sizes import HEAVY

WORDS = "add fractions with different denominators pictures 1/2 not 3 file read < 分数 common"
CONTENTS = st.lists(
    st.sampled_from(WORDS.split()),
    min_size=1,
    max_size=12,
).map(" ".join)
BULLETS = st.lists(
    st.builds(
        bullet,
        st.integers(0, 30).map(lambda number: f"str-{number:05d}"),
        CONTENTS,
        helpful=st.integers(0, 3),
        harmful=st.integers(0, 3),
        pinned=st.booleans(),
        section=st.sampled_from(["strategies", "preferences", "profile"]),
        memory_type=st.sampled_from(["semantic", "episodic", "procedural"]),
        polarity=st.sampled_from(["strategy", "anti_pattern"]),
        slot=st.sampled_from([None, None, "name"]),
        created_at=st.integers(0, 5).map(lambda day: THEN + timedelta(days=day)),
    ),
    max_size=12,
    unique_by=lambda b: b.id,
)


@given(BULLETS, CONTENTS, st.integers(0, 400))
@settings(max_examples=60 if HEAVY else 15)
def test_the_prompt_never_exceeds_the_budget(bullets: list[Bullet], question: str, budget: int) -> None:
    found = ask(bullets, question, budget_tokens=budget)
    lines = [
        f"{number}. [{s.bullet.id}] [+{s.bullet.helpful}/-{s.bullet.harmful}] AVOID: {s.bullet.content}"
        if s.bullet.polarity == "anti_pattern"
        else f"{number}. [{s.bullet.id}] [+{s.bullet.helpful}/-{s.bullet.harmful}] {s.bullet.content}"
        for part in (found.core, found.retrieved)
        for number, s in enumerate(part, 1)
    ]
    text = "\n".join(lines).replace("<", "&lt;")
    assert estimate_tokens(text) + (FRAME_TOKENS if lines else 0) <= found.tokens <= budget


@given(BULLETS, CONTENTS, st.integers(0, 900))
@settings(max_examples=40 if HEAVY else 15)
def test_any_counter_of_tokens_is_respected(bullets: list[Bullet], question: str, budget: int) -> None:
    found = ask(bullets, question, budget_tokens=budget, count_tokens=len)
    shown = [scored.bullet for scored in (*found.core, *found.retrieved)]
    assert sum(len(b.content) for b in shown) <= found.tokens <= budget


@given(BULLETS, CONTENTS, st.randoms(use_true_random=False))
@settings(max_examples=60 if HEAVY else 15)
def test_the_order_in_which_bullets_came_changes_nothing(
    bullets: list[Bullet], question: str, random: Any
) -> None:
    shuffled = list(bullets)
    random.shuffle(shuffled)
    assert ask(bullets, question) == ask(shuffled, question) == ask(bullets, question)


@given(BULLETS, CONTENTS)
@settings(max_examples=60 if HEAVY else 15)
def test_nothing_that_must_not_be_injected_ever_is(bullets: list[Bullet], question: str) -> None:
    found = ask(bullets, question)
    shown = [scored.bullet for scored in (*found.core, *found.retrieved)]
    assert all(b.injectable(NOW) for b in shown)
    assert len({b.id for b in shown}) == len(shown)
    assert all(b.core for b in (scored.bullet for scored in found.core))
