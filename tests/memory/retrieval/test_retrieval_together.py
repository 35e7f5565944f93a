"""What is injected together: the core, at most one of any rivals, the base playbook."""

from __future__ import annotations

from datetime import timedelta

from ace_graph.memory import BaseVotes, Playbook
from tests.memory.retrieval.queries import ADD, LCD, NOW, THEN, ask, bullet, core, ids


def test_the_core_is_in_every_prompt_in_a_stable_order() -> None:
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


def test_of_rivals_only_the_one_with_better_evidence_is_injected() -> None:
    two = bullet("two", "Round money to 2 decimal places", helpful=1)
    three = bullet("three", "Round money to 3 decimal places", helpful=2)
    four = bullet("four", "Round money to 4 decimal places")
    assert ids(ask([two, three, four], "How do I round money to decimal places?")) == ["three"]


def test_of_rivals_with_equal_evidence_the_newer_is_injected() -> None:
    old = bullet("old", "The exam is on 14 June")
    new = bullet("new", "The exam is on 21 June", updated_at=NOW)
    assert ids(ask([old, new], "When is my exam?")) == ["new"]
    assert ids(ask([new, old], "When is my exam?")) == ["new"]


def test_a_core_bullet_wins_over_its_rival() -> None:
    said = bullet("said", "The exam is on 14 June", section="profile")
    learned = bullet("learned", "The exam is on 21 June", helpful=9, updated_at=NOW)
    found = ask([said, learned], "When is my exam?")
    assert (core(found), ids(found)) == (["said"], [])


def test_of_two_values_of_one_slot_the_newer_is_injected_whatever_their_words() -> None:
    old = bullet("a", "Ada Lovelace", section="profile", slot="name")
    new = bullet("b", "Grace Hopper", section="profile", slot="name", updated_at=NOW)
    goal = bullet("c", "Wants to learn fractions", section="profile", slot="goal")
    for order in ([old, new, goal], [goal, new, old]):
        assert sorted(core(ask(order))) == ["b", "c"]


def test_complementary_facts_are_both_injected() -> None:
    facts = [bullet("a", "The LCM of 4 and 6 is 12"), bullet("b", "The LCM of 4 and 10 is 20")]
    assert sorted(ids(ask(facts, "What is the LCM?"))) == ["a", "b"]


def test_the_base_playbook_is_retrieved_together_with_the_own() -> None:
    base = Playbook.of([bullet("base:1", "Adding fractions with different denominators needs the LCD")])
    found = ask([bullet("own")], base=base)
    assert sorted(ids(found)) == ["base:1", "own"]
    assert ids(ask([], base=base)) == ["base:1"]


def test_failed_base_advice_is_superseded_by_a_lesson_on_its_subject() -> None:
    failed = bullet("base:1", "Round money to two places in every bill", helpful=1, harmful=1)
    base = Playbook.of([failed, bullet("base:2", "Round money to four places in every bill", updated_at=NOW)])
    question = "How do I round money in a bill?"
    fine = Playbook(base_votes={"base:1": BaseVotes(helpful=1)})
    assert ids(ask(fine, question, base=base)) == ["base:1"], "the better one of two rivals"
    failing = Playbook(base_votes={"base:1": BaseVotes(setbacks=1, helpful=1)})
    assert ids(ask(failing, question, base=base)) == ["base:2"]


def test_an_own_bullet_replaces_a_base_one_that_says_the_same() -> None:
    base = Playbook.of([bullet("base:1", f"Always {LCD}", helpful=30)])
    assert ids(ask([bullet("own")], base=base)) == ["own"]


def test_the_learners_votes_count_on_a_base_bullet() -> None:
    base = Playbook.of([bullet("base:1", helpful=1)])
    harmed = Playbook(base_votes={"base:1": BaseVotes(harmful=2)})
    assert ids(ask(harmed, base=base)) == []
    failing = Playbook(base_votes={"base:1": BaseVotes(helpful=9, harmful=2, setbacks=2)})
    assert ids(ask(failing, base=base)) == []
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
