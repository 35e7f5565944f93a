"""Retrieval: what a question gets, what it never gets, and never more than the budget."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Access, Bullet, DecayRates, Playbook, Policy
from ace_graph.memory.playbook import BaseVotes
from ace_graph.memory.retrieval import FRAME_TOKENS, Retrieval, estimate_tokens, retrieve
from tests.memory.questions import LESSONS, NEEDED, UNRELATED

NOW = datetime(2026, 1, 1, tzinfo=UTC)
THEN = NOW - timedelta(days=30)
ADD = "How do I add fractions with different denominators?"
LCD = "Find the least common denominator before adding fractions"


def bullet(key: str, content: str = LCD, **fields: object) -> Bullet:
    return Bullet.model_validate(
        {"id": key, "section": "strategies", "content": content, "created_at": THEN, "updated_at": THEN}
        | fields
    )


def ask(
    bullets: Iterable[Bullet] | Playbook,
    question: str = ADD,
    *,
    access: Access | None = None,
    policy: Policy | None = None,
    now: datetime = NOW,
    **options: Any,  # the options of `retrieve` as they are, so that a test names only what it is about
) -> Retrieval:
    playbook = bullets if isinstance(bullets, Playbook) else Playbook.of(bullets)
    return retrieve(question, playbook, access or Access(), policy or Policy(), now=now, **options)


def ids(found: Retrieval) -> list[str]:
    return [scored.bullet.id for scored in found.retrieved]


def core(found: Retrieval) -> list[str]:
    return [scored.bullet.id for scored in found.core]


SCHOOL = Playbook.of(bullet(key, content) for key, content in LESSONS.items())


def test_a_question_finds_the_lesson_it_needs() -> None:
    missed = [question for question, key in NEEDED if key not in ids(ask(SCHOOL, question))[:3]]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("question", UNRELATED)
def test_a_question_about_something_else_gets_nothing(question: str) -> None:
    assert ask(SCHOOL, question) == Retrieval()


@pytest.mark.parametrize("question", ["", "   ", "?!", "What is it?", "\u202e\u0000"])
def test_a_question_without_content_gets_only_the_core(question: str) -> None:
    found = ask([bullet("a"), bullet("b", "The learner prefers pictures", section="preferences")], question)
    assert (core(found), ids(found)) == (["b"], [])


def test_the_best_of_an_irrelevant_lot_is_not_good_enough() -> None:
    assert (
        ids(ask([bullet("a", "Fractions of a second matter in sprinting")], "Who invented sprinting shoes?"))
        == []
    )


def test_relevance_outranks_strength_and_memory_type() -> None:
    relevant = bullet("fact", "Adding fractions needs a common denominator")
    strong = bullet("rule", "Add the tip after adding the tax", memory_type="procedural", helpful=50)
    assert ids(ask([strong, relevant]))[0] == "fact"


def test_of_equals_procedural_comes_before_episodic_before_semantic() -> None:
    bullets = [bullet("s"), bullet("e", memory_type="episodic"), bullet("p", memory_type="procedural")]
    assert ids(ask(bullets)) == ["p", "e", "s"]


def test_the_more_helpful_of_equals_comes_first() -> None:
    proven, new = bullet("proven", helpful=10), bullet("new", memory_type="semantic")
    assert ids(ask([new, proven])) == ["proven", "new"]


def test_the_own_topic_is_a_boost_and_no_filter() -> None:
    other, own = bullet("a", topic="decimals"), bullet("b", topic="fraction_addition")
    assert ids(ask([other, own], topic="fraction_addition")) == ["b", "a"]
    assert ids(ask([other, own], topic="decimals")) == ["a", "b"]


def test_the_topic_of_the_question_itself_opens_the_gate() -> None:
    lesson = bullet("a", "Draw both parts as slices of a pizza", topic="fraction_addition")
    assert ids(ask([lesson], "1/2 + 1/3 = ?", topic="fraction_addition")) == ["a"]


def test_a_topic_that_the_caller_fixed_does_not_open_it_for_a_greeting() -> None:
    lesson = bullet("a", "Draw both parts as slices of a pizza", topic="fraction_addition")
    assert ids(ask([lesson], "hello, nice weather", topic="fraction_addition")) == []


def test_memory_types_keep_all_others_out() -> None:
    bullets = [
        bullet("s"),
        bullet("p", memory_type="procedural"),
        bullet("core", "The learner prefers pictures", section="preferences", memory_type="episodic"),
    ]
    found = ask(bullets, memory_types=["procedural"])
    assert (core(found), ids(found)) == ([], ["p"])


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "quarantined"},
        {"helpful": 1, "harmful": 2},
        {"ttl_days": 29.0},
        {"ttl_days": 29.0, "pinned": True},
        {"harmful": 1, "section": "preferences"},
    ],
)
def test_what_must_not_be_injected_is_not(fields: dict[str, object]) -> None:
    assert ask([bullet("a", LCD, **fields)]) == Retrieval()


def test_a_bullet_expires_after_its_days_and_not_before() -> None:
    assert ids(ask([bullet("a", ttl_days=31)])) == ["a"]


def test_the_prune_threshold_hides_weak_bullets_and_spares_the_core() -> None:
    bullets = [
        bullet("weak"),
        bullet("strong", helpful=4),
        bullet("pin", "Add fractions slowly", pinned=True),
    ]
    access = Access(access_clock=100, stamps={"weak": 0, "strong": 0, "pin": 0})
    assert sorted(ids(ask(bullets, access=access))) == ["strong", "weak"]
    found = ask(bullets, access=access, policy=Policy(prune_threshold=1.0))
    assert (core(found), ids(found)) == (["pin"], ["strong"])


def test_decay_never_makes_a_relevant_bullet_unreachable() -> None:
    access = Access(access_clock=100_000, stamps={"a": 0})
    assert ids(ask([bullet("a", memory_type="episodic")], access=access)) == ["a"]


def test_the_wall_clock_changes_no_score() -> None:
    access = Access(access_clock=9, stamps={"a": 3})
    now, later = (
        ask([bullet("a")], access=access),
        ask([bullet("a")], access=access, now=NOW + timedelta(days=365)),
    )
    assert now == later


def test_scores_are_shown_with_their_parts() -> None:
    access = Access(access_clock=10, stamps={"a": 0})
    (scored,) = ask(
        [bullet("a", helpful=1)], access=access, policy=Policy(decay=DecayRates(semantic=0.5))
    ).retrieved
    assert scored.strength == pytest.approx(2 * 0.5**10)
    assert 0.3 < scored.relevance <= 1
    assert scored.score > 0


def test_the_core_has_a_stable_order_and_comes_whatever_the_question() -> None:
    bullets = [
        bullet("fact-new", "The dog of the family is called Rex", section="profile", created_at=NOW),
        bullet("fact-old", "The exam is in June", section="profile"),
        bullet("pref", "The learner prefers pictures", section="preferences"),
        bullet("slot", "Call me Anna", section="profile", slot="name"),
        bullet("pin", "Answer in German", pinned=True),
    ]
    found = ask(bullets, "What is the weather like?")
    assert core(found) == ["pin", "slot", "pref", "fact-old", "fact-new"]
    assert core(ask(reversed(bullets), "Which pictures?")) == core(found)


def test_the_core_takes_half_the_budget_and_the_rest_of_it_competes() -> None:
    facts = [
        bullet(
            f"fact-{n}",
            f"The learner met person{n} in city{n}",
            section="profile",
            created_at=THEN + timedelta(n),
        )
        for n in range(40)
    ]
    lesson = bullet("lesson")
    found = ask([*facts, lesson], ADD, budget_tokens=400)
    assert 0 < len(found.core) < 40
    assert core(found)[-1] == "fact-39"
    assert ids(found) == ["lesson"]
    assert ids(ask([*facts, lesson], "Where did I meet person3?", budget_tokens=400)) == ["fact-3"]


def test_a_bullet_is_injected_once() -> None:
    found = ask([bullet("pin", pinned=True)])
    assert (core(found), ids(found)) == (["pin"], [])


def test_a_new_fact_changes_only_the_end_of_the_core() -> None:
    facts = [
        bullet(f"f-{n}", f"The learner met person{n}", section="profile", created_at=THEN + timedelta(n))
        for n in range(5)
    ]
    assert core(ask(facts))[:4] == core(ask(facts[:4]))


def test_at_most_one_of_a_group_of_rivals_is_injected_the_better_proven() -> None:
    two = bullet("two", "Round money to 2 decimal places", helpful=1)
    three = bullet("three", "Round money to 3 decimal places", helpful=2)
    four = bullet("four", "Round money to 4 decimal places")
    assert ids(ask([two, three, four], "How do I round money to decimal places?")) == ["three"]


def test_of_rivals_with_equal_evidence_the_newer_is_injected() -> None:
    old = bullet("old", "The exam is on 14 June")
    new = bullet("new", "The exam is on 21 June", updated_at=NOW)
    assert ids(ask([old, new], "When is my exam?")) == ["new"]
    assert ids(ask([new, old], "When is my exam?")) == ["new"]


def test_a_core_bullet_stands_against_its_rival() -> None:
    said = bullet("said", "The exam is on 14 June", section="profile")
    learned = bullet("learned", "The exam is on 21 June", helpful=9, updated_at=NOW)
    found = ask([said, learned], "When is my exam?")
    assert (core(found), ids(found)) == (["said"], [])


def test_complementary_facts_are_both_injected() -> None:
    facts = [bullet("a", "The LCM of 4 and 6 is 12"), bullet("b", "The LCM of 4 and 10 is 20")]
    assert sorted(ids(ask(facts, "What is the LCM?"))) == ["a", "b"]


def test_the_base_playbook_is_retrieved_together_with_the_own() -> None:
    base = Playbook.of([bullet("base:1", "Adding fractions with different denominators needs the LCD")])
    found = ask([bullet("own")], base=base)
    assert sorted(ids(found)) == ["base:1", "own"]
    assert ids(ask([], base=base)) == ["base:1"]


def test_a_base_bullet_gives_way_to_an_own_one_that_says_the_same() -> None:
    base = Playbook.of([bullet("base:1", f"Always {LCD}", helpful=30)])
    assert ids(ask([bullet("own")], base=base)) == ["own"]


def test_the_learners_votes_count_on_a_base_bullet() -> None:
    base = Playbook.of([bullet("base:1", helpful=1)])
    harmed = Playbook(base_votes={"base:1": BaseVotes(harmful=2)})
    assert ids(ask(harmed, base=base)) == []
    (scored,) = ask(Playbook(base_votes={"base:1": BaseVotes(helpful=3)}), base=base).retrieved
    assert (scored.bullet.helpful, scored.strength) == (4, 5)


def test_only_pinned_bullets_of_the_base_are_core() -> None:
    base = Playbook.of(
        [
            bullet("base:1", "Never give away the answer", pinned=True),
            bullet("base:2", "Somebody else prefers pictures", section="preferences"),
        ]
    )
    assert core(ask([], base=base)) == ["base:1"]


def test_a_high_cosine_opens_the_gate_and_a_low_one_does_not() -> None:
    sister = bullet("sister", "Maria is the sibling of the learner")
    semantic = {"sister": 0.8, "gone": 0.9}
    assert ids(ask([sister], "Who is my sister?", semantic=semantic)) == ["sister"]
    assert ids(ask([sister], "Who is my sister?", semantic={"sister": 0.2})) == []


def test_cosines_share_in_the_rank() -> None:
    bullets = [
        bullet("a", "Adding fractions: common denominators"),
        bullet("b", "Adding fractions: pizza slices"),
    ]
    question = "adding fractions"
    assert ids(ask(bullets, question, semantic={"a": 0.9, "b": 0.1})) == ["a", "b"]
    assert ids(ask(bullets, question, semantic={"a": 0.1, "b": 0.9})) == ["b", "a"]


def test_max_bullets_limits_the_retrieved_part_alone() -> None:
    many = [bullet(f"a-{n:05d}", f"{LCD} like example{n} example{n}{n}") for n in range(9)]
    pin = bullet("pin", "Answer in German", pinned=True)
    found = ask([*many, pin], max_bullets=2)
    assert (core(found), len(ids(found))) == (["pin"], 2)
    assert ids(ask([*many, pin], max_bullets=0)) == []


def test_what_is_too_long_is_passed_over_for_what_fits() -> None:
    long = bullet("long", f"{LCD} {'because it is so ' * 60}")
    found = ask([long, bullet("short")], budget_tokens=150)
    assert ids(found) == ["short"]


def test_a_long_question_still_finds_its_lesson() -> None:
    story = "Yesterday my neighbour Peter baked three apple pies and invited everybody from our street. " * 3
    assert ids(ask(SCHOOL, f"{story} {ADD}"))[:1] == ["lcd"]


def test_an_endless_question_ends() -> None:
    assert ask(SCHOOL, " ".join(f"word{n}" for n in range(20_000))) == Retrieval()


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
@settings(max_examples=60)
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
@settings(max_examples=40)
def test_any_counter_of_tokens_is_respected(bullets: list[Bullet], question: str, budget: int) -> None:
    found = ask(bullets, question, budget_tokens=budget, count_tokens=len)
    shown = [scored.bullet for scored in (*found.core, *found.retrieved)]
    assert sum(len(b.content) for b in shown) <= found.tokens <= budget


@given(BULLETS, CONTENTS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_in_which_bullets_came_changes_nothing(
    bullets: list[Bullet], question: str, random: Any
) -> None:
    shuffled = list(bullets)
    random.shuffle(shuffled)
    assert ask(bullets, question) == ask(shuffled, question) == ask(bullets, question)


@given(BULLETS, CONTENTS)
@settings(max_examples=60)
def test_nothing_that_must_not_be_injected_ever_is(bullets: list[Bullet], question: str) -> None:
    found = ask(bullets, question)
    shown = [scored.bullet for scored in (*found.core, *found.retrieved)]
    assert all(b.injectable(NOW) for b in shown)
    assert len({b.id for b in shown}) == len(shown)
    assert all(b.core for b in (scored.bullet for scored in found.core))
