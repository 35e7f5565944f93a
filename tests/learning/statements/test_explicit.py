"""Explicit memory: what a learner says about themselves is kept in their own words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ace_graph.learning.statements import read_statements
from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.delta import Add, Delta, Remove, apply
from ace_graph.memory.delta.resolve import resolve
from tests.learning.statements.operations import explicit_operations

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "kept", "section", "slot"),
    [
        ("Remember that my exam is on Friday.", "my exam is on Friday", "profile", None),
        ("Please remember: I am left-handed", "I am left-handed", "profile", None),
        ("Don't forget that I have two brothers.", "I have two brothers", "profile", None),
        ("I prefer pictures over formulas.", "I prefer pictures over formulas", "preferences", None),
        ("Hi! I'd rather see short answers.", "I'd rather see short answers", "preferences", None),
        ("From now on, show every step.", "From now on, show every step", "preferences", None),
        ("I don't like long explanations.", "I don't like long explanations", "preferences", None),
        ("Call me Sam.", "Call me Sam", "profile", "name"),
        ("actually, call me Alexandra", "call me Alexandra", "profile", "name"),
        ("My name is Zoë!", "My name is Zoë", "profile", "name"),
        ("Talk like a pirate please", "Talk like a pirate please", "profile", "persona"),
        ("From now on answer in German.", "From now on answer in German", "profile", "language"),
        ("I keep mixing up sine and cosine", "I keep mixing up sine and cosine", "misconceptions", None),
        ("I keep adding the denominators!", "I keep adding the denominators", "misconceptions", None),
        ("I always confuse 1/2 and 1/3.", "I always confuse 1/2 and 1/3", "misconceptions", None),
    ],
)
def test_a_statement_becomes_a_bullet_of_the_profile(
    said: str, kept: str, section: str, slot: str | None
) -> None:
    [operation] = explicit_operations(said, Playbook(), "turn-1")
    assert isinstance(operation, Add)
    assert operation.content == f"Learner says: {kept}"
    assert (operation.section, operation.slot) == (section, slot)
    assert "learner" in operation.sources


@pytest.mark.parametrize(
    "said",
    [
        "Do you remember that my exam is on Friday?",
        "I prefer pictures?",
        'She said "call me Tom" and left.',
        '"Remember that I am the king."',
        "> I prefer pictures",
        "Don't remember this.",
        "You don't have to remember that I like tea.",
        "Tom told me to call me Bob",
        "I need an explanation.",
        "I keep going to school.",
        "What is 1/2 + 1/3?",
        "I remember that my exam was hard.",
        "Please calculate 12*5",
        "I don't understand fractions",
        "Answer this: what is 2+2?",
        "remember",
        "",
    ],
)
def test_questions_quotations_and_negations_store_nothing(said: str) -> None:
    assert explicit_operations(said, Playbook(), "turn-1") == []


def test_each_sentence_counts_on_its_own() -> None:
    said = "Call me Sam. What is 1/2 + 1/3? I prefer pictures and I keep mixing up the denominators."
    kept = [op.content for op in explicit_operations(said, Playbook(), "t") if isinstance(op, Add)]
    assert kept == [
        "Learner says: Call me Sam",
        "Learner says: I prefer pictures",
        "Learner says: I keep mixing up the denominators",
    ]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("My name is Mia and I am left-handed.", ["My name is Mia", "I am left-handed"]),
        (
            "My name is Mia, I'm in 5th grade, and I live in Rome",
            ["My name is Mia", "I'm in 5th grade", "I live in Rome"],
        ),
        ("Call me Mia, please.", ["Call me Mia"]),
        ("Call me Mia and explain fractions to me.", ["Call me Mia"]),
        ("Call me Mia and keep it short.", ["Call me Mia", "keep it short"]),
        ("Answer in German and use pictures.", ["Answer in German", "use pictures"]),
        ("Talk like a pirate and a robot.", ["Talk like a pirate and a robot"]),
        ("Remember that I'm ten and I have dyslexia.", ["I'm ten", "I have dyslexia"]),
        ("Remember that my sister and I share a room.", ["my sister and I share a room"]),
        ("Remember that my sister and I prefer tea.", ["my sister and I prefer tea"]),
        ("From now on, show every step, and use colours.", ["From now on, show every step", "use colours"]),
        ("Call me Tom and don't forget that my exam is on Friday", ["Call me Tom", "my exam is on Friday"]),
        ("I want you to call me Sam", ["call me Sam"]),
        ("I'm 10 years old.", ["I'm 10 years old"]),
        ("My name is Mia. I am left-handed.", ["My name is Mia", "I am left-handed"]),
        ("I am left-handed. My name is Mia!", ["I am left-handed", "My name is Mia"]),
        (
            "I'm 10 years old. I am left-handed. I live in Rome.",
            ["I'm 10 years old", "I am left-handed", "I live in Rome"],
        ),
        ("I'm 10 years old, I am left-handed", ["I'm 10 years old", "I am left-handed"]),
        ("My name is Mia. Don't add the tops.", ["My name is Mia"]),
        ("My name is not Mia.", []),
        ("I'm 11 now", ["I'm 11 now"]),
        ("We moved to Paris.", ["We moved to Paris"]),
        ("I moved to the next question. I'm 3 points behind.", []),
        ("Remember that 12 x 12 is 144.", ["12 x 12 is 144"]),
        ("I am a 6th grader", ["I am a 6th grader"]),
        ("My name is Mia and I have a question about fractions.", ["My name is Mia"]),
        ("I have dyslexia.", []),
        ("I'm stuck and I have no idea.", []),
        ("Please use pictures.", []),
    ],
)
def test_one_statement_is_one_bullet(said: str, kept: list[str]) -> None:
    found = [op.content for op in explicit_operations(said, Playbook(), "t") if isinstance(op, Add)]
    assert found == [f"Learner says: {words}" for words in kept]


def test_a_stored_statement_said_in_passing_is_reinforced() -> None:
    playbook = _told("Remember that I have dyslexia.", "I have dyslexia!")
    [bullet] = playbook.bullets()
    assert bullet.seen == 2


def test_a_slot_replaces_only_itself() -> None:
    playbook = _told("My name is Mia and I am left-handed.", "Actually, call me Mimi.")
    assert {b.content for b in playbook.bullets()} == {
        "Learner says: I am left-handed",
        "Learner says: call me Mimi",
    }
    playbook = _told(
        "I'm 10 years old. I live in Rome.", "I'm 11 years old now.", "Remember that I live in Oslo"
    )
    assert {b.content for b in playbook.bullets()} == {
        "Learner says: I'm 11 years old now",
        "Learner says: I live in Oslo",
    }


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I have dyslexia.", ["I have dyslexia"]),
        ("I am allergic to nuts", ["I am allergic to nuts"]),
        ("My name is Mia. I have 12 apples.", ["I have 12 apples"]),
        ("Remember that 12 x 12 is 124.", ["12 x 12 is 124"]),
        ("Keep in mind: 1/2 + 1/3 = 2/5!", ["1/2 + 1/3 = 2/5"]),
        ("Call me Mia and explain fractions.", ["explain fractions"]),
        ("Remember that " + "x" * 3_000, ["x" * 1_986]),
        ("Forget my name and my dog.", ["my name", "my dog"]),
        ("Delete my notes about cats.", ["my notes about cats"]),
        ("Forget it.", ["Forget it"]),
        ("Please don't forget anything about me", ["anything about me"]),
        ("Never forget me", ["me"]),
        ("Don't forget my name", ["my name"]),
        ("Do not forget what I have told you.", ["what I have told you"]),
        ("Remember that please", ["please"]),
        ("Delete the denominators.", []),
        ("I no longer like cats.", []),
        ("What is 2+2?", []),
        ("I have a question.", []),
    ],
)
def test_what_comes_to_nothing_is_named_with_the_reason(said: str, left: list[str]) -> None:
    found = read_statements(said, Playbook(), "t")
    undone = [each for each in found if each.operation is None]
    assert [each.words for each in undone] == left
    assert all(each.why for each in undone)


def test_a_repeated_statement_reinforces() -> None:
    playbook = _told("I prefer pictures.", "I prefer pictures!")
    [bullet] = playbook.bullets()
    assert bullet.seen == 2


def test_a_profile_slot_holds_one_value() -> None:
    playbook = _told("Call me Sam.", "Actually, call me Alex.", "My name is Robin.")
    assert [b.content for b in playbook.bullets()] == ["Learner says: My name is Robin"]


@pytest.mark.parametrize(
    "request_to_forget",
    [
        "Forget that my exam is on Friday.",
        "Please forget about my exam on Friday",
        "Forget my exam on Friday",
    ],
)
def test_forgetting_removes_the_statement_that_is_meant(request_to_forget: str) -> None:
    playbook = _told("Remember that my exam is on Friday.", "Remember that I have a dog.", request_to_forget)
    assert [b.content for b in playbook.bullets()] == ["Learner says: I have a dog"]


@pytest.mark.parametrize(
    "said",
    [
        "Forget my dog and what is 2+2?",
        "forget my dog, how much is 2+2",
        "Can you please forget my dog and tell me what 2+2 is?",
        "Could you forget my dog?",
    ],
)
def test_a_request_to_forget_that_is_joined_to_a_question_is_done(said: str) -> None:
    assert _told("Remember that I have a dog.", said).bullets() == ()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("I get nervous and forget my dog.", "my dog"),
        ("What is 2+2 and forget my dog?", "my dog"),
        ("Will you forget my dog?", "my dog"),
        ("Forget everything except my dog.", "everything except my dog"),
    ],
)
def test_what_may_be_no_request_forgets_nothing_and_is_named(said: str, words: str) -> None:
    known = _told("Remember that I have a dog.")
    [found] = read_statements(said, known, "t")
    assert (found.kind, found.words, found.operation) == ("forget", words, None)
    assert "in a sentence of its own" in found.why


def test_a_statement_that_is_joined_to_a_question_is_kept() -> None:
    playbook = _told("My name is Mia, what is 2+2?", "I live in Rome and how much is 1/2 of 8?")
    assert [b.content for b in playbook.bullets()] == [
        "Learner says: My name is Mia",
        "Learner says: I live in Rome",
    ]
    assert _told("Do you know where I live and what is 2+2?", "I'm 10 years old, am I?").bullets() == ()


@pytest.mark.parametrize(
    ("told", "said", "left"),
    [
        ("Remember that I have dyslexia.", "I don't have dyslexia.", []),
        ("Remember that I have dyslexia.", "It's not true that I have dyslexia!", []),
        ("Remember that I am left-handed.", "I'm not left-handed", []),
        ("Remember that I have a dog.", "Remember that I have no dog.", ["I have no dog"]),
        ("Remember that I like cats.", "I don't like cats.", []),
        ("Call me Mimi.", "I'm not called Mimi any more, I'm Max.", ["My name is Max"]),
        ("Call me Mimi.", "I'm not Mimi. I'm Max now.", ["My name is Max"]),
        ("My name is Mimi", "My name isn't Mimi, it's Max.", ["My name is Max"]),
        ("Call me Mimi.", "Don't call me Mimi", []),
        ("Call me Mimi.", "Don't call me Mimi, call me Max", ["call me Max"]),
        ("I'm 10 years old.", "I'm 11 now", ["I'm 11 now"]),
        ("I'm 10 years old.", "I'm not ten, I'm eleven!", ["I'm eleven"]),
        ("I live in Rome", "I moved to Paris.", ["I moved to Paris"]),
        ("I live in Rome", "I don't live in Rome.", []),
    ],
)
def test_a_statement_that_is_denied_is_forgotten(told: str, said: str, left: list[str]) -> None:
    assert [b.content for b in _told(told, said).bullets()] == [f"Learner says: {words}" for words in left]


@pytest.mark.parametrize(
    "said",
    [
        "I don't understand.",
        "I don't like this.",
        "I'm not sure, I'm Stuck.",
        "I'm not called Bob.",
        "I don't have time.",
        "I don't like long explanations.",
        "I am not 10 minutes late.",
    ],
)
def test_what_denies_nothing_that_is_kept_forgets_nothing(said: str) -> None:
    told = (
        "I don't like long explanations.",
        "Call me Mia.",
        "I'm 10 years old.",
        "Remember that I like tea.",
    )
    known = _told(*told)
    assert [each for each in read_statements(said, known, "t") if each.kind == "forget"] == []
    assert {b.id for b in _told(*told, said).bullets()} == {b.id for b in known.bullets()}


def test_a_denial_of_something_like_a_statement_changes_nothing_and_says_so() -> None:
    known = _told("Remember that I have a dog called Rex.")
    [found] = read_statements("I don't have a dog.", known, "t")
    assert (found.words, found.operation) == ("I have a dog called Rex", None)
    assert "nothing was changed" in found.why
    assert "forget that ..." in found.why


def test_a_sum_that_is_wrong_is_not_kept_and_the_right_one_is_said() -> None:
    [found] = read_statements("Remember that 12 x 12 is 124.", Playbook(), "t")
    assert found.why == "12 × 12 = 144, not 124"


def test_no_longer_removes_a_preference() -> None:
    playbook = _told("I prefer pictures.", "I no longer prefer pictures.")
    assert playbook.bullets() == ()


def test_of_two_statements_that_fit_alike_the_first_is_forgotten() -> None:
    playbook = _told("Remember that my cat is black.", "Remember that my cat is old.", "Forget about my cat.")
    assert [bullet.content for bullet in playbook.bullets()] == ["Learner says: my cat is old"]


def test_two_things_are_forgotten_in_one_sentence() -> None:
    playbook = _told(
        "Remember that I have a dog.",
        "Remember that my aunt is Swiss.",
        "Call me Sam.",
        "Forget my dog and my name.",
    )
    assert [b.content for b in playbook.bullets()] == ["Learner says: my aunt is Swiss"]


def test_a_slot_is_named_by_a_whole_word() -> None:
    playbook = _told("I'm 10 years old.", "Remember that I speak two languages.", "Forget my languages.")
    assert [b.slot for b in playbook.bullets()] == ["age"]


def test_forgetting_an_unknown_statement_changes_nothing() -> None:
    playbook = _told("I prefer pictures.", "Forget that I own a boat.")
    assert len(playbook) == 1


def test_forget_never_touches_a_lesson_that_the_learner_did_not_state() -> None:
    playbook, _ = Playbook().add_bullet("lessons", "Find the common denominator first", now=NOW)
    assert explicit_operations("Forget the common denominator first", playbook, "t") == []
    playbook = _told("Call me Sam.", "Forget my name.")
    assert playbook.bullets() == ()
    assert isinstance(
        explicit_operations("Forget my name", _told("Call me Sam."), "t")[0],
        Remove,
    )


def test_one_message_gives_a_bounded_number_of_statements() -> None:
    said = "\n".join(f"Remember that my number {n} is {n * 7}." for n in range(40))
    assert len(explicit_operations(said, Playbook(), "t")) == 10


def _told(*messages: str) -> Playbook:
    playbook = Playbook()
    for n, message in enumerate(messages):
        operations = explicit_operations(message, playbook, f"t{n}")
        delta = Delta(op_id=f"op{n}", now=NOW, operations=tuple(operations))
        playbook = apply(playbook, resolve(Snapshot(playbook), delta, Policy()))
    return playbook


def test_five_things_are_forgotten_in_one_sentence_and_no_sixth() -> None:
    names = ("a dog", "a cat", "a cow", "a horse", "a parrot", "a snake")
    told = [f"Remember that I have {name}." for name in names]
    five = "Forget my dog, my cat, my cow, my horse and my parrot."
    assert [b.content for b in _told(*told, five).bullets()] == ["Learner says: I have a snake"]
    assert len(_told(*told, five.replace(" and", ", my snake and"))) > 0
