"""Retrieval: what a question gets, in which order, and what it never gets."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ace_graph.memory import Access, DecayRates, Playbook, Policy, QuestionTerms, decay_score
from ace_graph.memory.retrieval import Retrieval, parse_question, relevant
from tests.memory.counted_calls import calls_of
from tests.memory.retrieval.queries import ADD, LCD, NOW, ask, bullet, core, ids
from tests.memory.retrieval.questions import LESSONS, NEEDED, UNRELATED

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


def test_the_best_of_irrelevant_bullets_is_not_injected() -> None:
    sprint = bullet("a", "Fractions of a second matter in sprinting")
    assert ids(ask([sprint], "May I have a second helping of the dessert, please?")) == []


def test_relevance_outranks_strength_and_memory_type() -> None:
    relevant = bullet("fact", "Adding fractions needs a common denominator")
    strong = bullet("rule", "Add the tip after adding the tax", memory_type="procedural", helpful=50)
    assert ids(ask([strong, relevant]))[0] == "fact"


def test_of_what_passes_the_gate_the_more_relevant_comes_first() -> None:
    near = bullet("near", "Adding fractions needs a common denominator")
    far = bullet("far", "Adding fractions: color each denominator", memory_type="procedural", helpful=50)
    question = "How does adding fractions get a common denominator?"
    assert ids(ask([far], question)) == ["far"], "alone it is relevant enough"
    assert ids(ask([far, near], question)) == ["near", "far"]


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


def test_the_questions_own_topic_opens_the_gate() -> None:
    lesson = bullet("a", "Draw both parts as slices of a pizza", topic="fraction_addition")
    assert ids(ask([lesson], "1/2 + 1/3 = ?", topic="fraction_addition")) == ["a"]


def test_a_given_topic_does_not_open_the_gate_for_a_greeting() -> None:
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


@pytest.mark.parametrize(
    ("helpful", "harmful", "shown"), [(0, 0, True), (0, 1, False), (4, 4, True), (4, 5, False)]
)
def test_one_more_failure_than_successes_hides_a_bullet(helpful: int, harmful: int, shown: bool) -> None:
    assert ids(ask([bullet("a", helpful=helpful, harmful=harmful)])) == (["a"] if shown else [])


def test_the_strength_of_a_retrieved_bullet_decays_by_the_formula() -> None:
    kinds = {"semantic": 10 * 0.99**10, "episodic": 5 * 0.95**10, "procedural": 2 * 0.998**10}
    total = 0.0
    for kind, helpful in (("semantic", 9), ("episodic", 4), ("procedural", 1)):
        access = Access(access_clock=10, stamps={"a": 0})
        (scored,) = ask([bullet("a", helpful=helpful, memory_type=kind)], access=access).retrieved
        assert scored.strength == pytest.approx(kinds[kind])
        total += scored.strength
    assert total == pytest.approx(13.99786, abs=1e-5), "the number of the document"


def test_of_two_equally_relevant_the_decayed_one_comes_second() -> None:
    both = [bullet("a", helpful=3), bullet("b", f"{LCD}!", helpful=3, topic="other")]
    for faded, order in (("a", ["b", "a"]), ("b", ["a", "b"])):
        access = Access(access_clock=60, stamps={"a": 60, "b": 60} | {faded: 0})
        assert ids(ask(both, access=access)) == order


def test_advice_that_failed_twice_in_a_row_is_not_shown() -> None:
    failing = bullet("a", helpful=9, harmful=2, setbacks=2)
    assert ids(ask([failing])) == []
    assert ids(ask([failing], policy=Policy(setbacks_allowed=2))) == ["a"]
    assert ids(ask([bullet("a", helpful=9, harmful=2, setbacks=1)])) == ["a"]
    assert core(ask([bullet("a", helpful=9, harmful=2, setbacks=2, pinned=True)])) == ["a"]


def test_a_bullet_expires_exactly_after_its_days() -> None:
    lesson, fact = bullet("a", ttl_days=30), bullet("b", "The exam is on Monday", pinned=True, ttl_days=30)
    before, after = ask([lesson, fact], now=NOW - timedelta(seconds=1)), ask([lesson, fact], now=NOW)
    assert (ids(before), core(before)) == (["a"], ["b"])
    assert after == Retrieval()
    assert ids(ask([bullet("a", ttl_days=None)], now=NOW + timedelta(days=10_000))) == ["a"]


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


def test_a_bullet_that_is_too_long_is_skipped() -> None:
    long = bullet("long", f"{LCD} {'because it is so ' * 60}")
    found = ask([long, bullet("short")], budget_tokens=150)
    assert ids(found) == ["short"]


def test_a_long_question_still_finds_its_lesson() -> None:
    story = "Yesterday my neighbour Peter baked three apple pies and invited everybody from our street. " * 3
    assert ids(ask(SCHOOL, f"{story} {ADD}"))[:1] == ["lcd"]


def test_every_sentence_is_read_in_the_language_of_the_whole_question() -> None:
    german = bullet("a", "Brüche vor dem Addieren auf einen Nenner bringen")
    other = bullet("b", "Dreiecke und die Schule")
    for question in ("Was ist das mit der Schule? Brüche addieren!", "Brüche addieren!\nWie geht das denn?"):
        assert "a" in ids(ask([german, other], question))


def test_a_very_long_question_is_answered() -> None:
    assert ask(SCHOOL, " ".join(f"word{n}" for n in range(20_000))) == Retrieval()


def test_a_bullet_without_a_vector_gains_nothing_from_cosines() -> None:
    bullets = [
        bullet("a", "Adding fractions: common denominators"),
        bullet("b", "Adding fractions: pizza slices"),
    ]
    known = ask(bullets, "adding fractions", semantic={"a": 0.2, "b": 0.0}).retrieved
    unknown = ask(bullets, "adding fractions", semantic={"a": 0.2}).retrieved
    assert [(each.bullet.id, each.score) for each in unknown] == [
        (each.bullet.id, each.score) for each in known
    ]


def test_a_pinned_bullet_comes_before_an_older_fact_about_the_learner() -> None:
    fact = bullet("fact", "The learner is called Ada", slot="name")
    rule = bullet("rule", "Answer in short sentences", pinned=True, created_at=NOW)
    assert core(ask([fact, rule])) == ["rule", "fact"]


def test_of_many_relevant_bullets_the_shortlist_holds_the_best() -> None:
    index = Playbook.of(
        bullet(f"b{n}", "Adding fractions" + " needs a common denominator" * (n % 2)) for n in range(6)
    ).index
    query = parse_question(
        "Does adding fractions need a common denominator?", None, [(index, False)], QuestionTerms()
    )
    assert sorted(hit.key for hit in relevant(query, [(index, False)], {}, 3).hits) == ["b1", "b3", "b5"]


def test_the_strength_of_a_bullet_that_is_not_relevant_is_not_computed() -> None:
    bullets = [bullet(f"o{n}", f"Label the axis of chart number {n}") for n in range(50)]
    bullets += [bullet(f"r{n}", f"Adding fractions needs a common denominator, case {n}") for n in range(3)]
    computed = calls_of(decay_score, lambda: ask(bullets, "Does adding fractions need a common denominator?"))
    assert 1 <= computed <= 3
