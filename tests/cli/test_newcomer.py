"""What a newcomer typed into the chat with the offline tutor, and the answers that a user would want."""

from __future__ import annotations

import pytest

from tests.cli.commands import Commands


def _chat(ace: Commands, *lines: str) -> list[str]:
    """The answers with their "learned: ..." lines, one text a turn."""
    shown = " ".join(ace.ok("chat", stdin="\n".join(lines) + "\n").out.split())
    told, turns = shown, list[str]()
    while told:
        answer, mark, rest = told.partition("learned: ")
        turns.append(answer)
        told = rest if mark else ""
    return turns


def _kept(ace: Commands) -> set[str]:
    return {bullet["content"].removeprefix("Learner says: ") for bullet in ace.bullets()}


def test_a_new_name_replaces_the_name_only(ace: Commands) -> None:
    first, second, *_ = _chat(ace, "My name is Mia and I am left-handed.", "Actually, call me Mimi.")
    assert 'I will remember: "My name is Mia"; "I am left-handed".' in first
    assert 'I will remember: "call me Mimi".' in second
    assert _kept(ace) == {"I am left-handed", "call me Mimi"}


def test_only_stored_statements_are_confirmed(ace: Commands) -> None:
    told, more, other, *_ = _chat(
        ace, "I have dyslexia.", "I'm 10 years old. I am left-handed. I live in Rome.", "I think so."
    )
    assert told.strip().startswith("Thank you for telling me.")
    assert 'Shall I remember that you said "I have dyslexia"?' in told
    assert 'I will remember: "I\'m 10 years old"; "I am left-handed"; "I live in Rome".' in more
    assert _kept(ace) == {"I'm 10 years old", "I am left-handed", "I live in Rome"}
    assert "kept nothing" in other
    assert "Understood" not in told + other


def test_a_sensitive_statement_is_asked_about_and_kept_after_a_yes(ace: Commands) -> None:
    asked, done, listed, *_ = _chat(ace, "Ich habe Legasthenie.", "ja", "What do you know about me?")
    assert "Soll ich mir merken" in asked
    assert 'I will remember: "Ich habe Legasthenie".' in done
    assert "Ich habe Legasthenie" in listed
    assert _kept(ace) == {"Ich habe Legasthenie"}


def test_what_is_known_is_asked_for_in_the_learners_language(ace: Commands) -> None:
    _, german, french, spanish, other, *_ = _chat(
        ace,
        "Ich heiße Sam.",
        "Hallo, was weißt du über mich?",
        "Que sais-tu de moi ?",
        "¿Qué sabes de mí?",
        "Was weißt du über Brüche?",
    )
    assert "Ich heiße Sam" in german
    assert "Ich heiße Sam" in french
    assert "Ich heiße Sam" in spanish
    assert "beyond me" in other


def test_everything_is_forgotten_in_the_learners_language(ace: Commands) -> None:
    _, asked, done, *_ = _chat(ace, "Ich heiße Sam.", "Vergiss alles, was du über mich weißt.", "ja")
    assert "Shall I forget everything" in asked
    assert "I have forgotten the 1 thing" in done
    assert _kept(ace) == set()


def test_what_is_said_twice_is_refused_once(ace: Commands) -> None:
    told, named, *_ = _chat(ace, "I like cats. I like cats. I like cats.", "No, I am called Max, not Mia.")
    assert told.count("I like cats") == 1
    assert 'I will remember: "I am called Max".' in named
    assert "have not kept" not in named


def test_what_is_denied_is_forgotten_and_what_changed_replaced(ace: Commands) -> None:
    _, denied, renamed, *_ = _chat(
        ace,
        "My name is Mimi. Remember that I have dyslexia. I live in Rome. I'm 10 years old.",
        "I don't have dyslexia.",
        "I'm not called Mimi any more, I'm Max.",
        "I'm 11 now. I moved to Paris.",
    )
    assert 'I have forgotten: "I have dyslexia".' in denied
    assert 'I have forgotten: "My name is Mimi".' in renamed
    assert 'I will remember: "My name is Max".' in renamed
    assert _kept(ace) == {"My name is Max", "I'm 11 now", "I moved to Paris"}


def test_a_wrong_sum_is_not_kept_and_a_right_one_is_confirmed(ace: Commands) -> None:
    wrong, right, *_ = _chat(ace, "Remember that 12 x 12 is 124.", "Remember that 12 x 12 is 144.")
    assert 'I have not kept "12 x 12 is 124" (12 × 12 = 144, not 124).' in wrong
    assert "The answer is 144." in wrong
    assert 'I will remember: "12 x 12 is 144".' in right
    assert _kept(ace) == {"12 x 12 is 144"}


def test_only_forgotten_statements_are_confirmed(ace: Commands) -> None:
    before, _, after, *_ = _chat(ace, "Forget my name.", "Call me Mia.", "Forget my name.")
    assert 'I have not forgotten "my name"' in before
    assert 'I have forgotten: "Call me Mia".' in after
    assert _kept(ace) == set()


def test_forgetting_everything_is_asked_once_and_done_after_a_yes(ace: Commands) -> None:
    _, asked, refused, again, done, known, *_ = _chat(
        ace,
        "Call me Mia. I live in Rome.",
        "Forget everything you know about me.",
        "no",
        "Delete my data.",
        "yes",
        "what do you know about me?",
    )
    assert "Shall I forget everything that I remember about you?" in asked
    assert "whoever runs this program can delete them" in asked
    assert "forgotten" not in refused
    assert "Shall I forget everything" in again
    assert "I have forgotten all 2 things" in done
    assert "told nothing about you" in known
    assert _kept(ace) == set()
    nothing, *_ = _chat(ace, "Forget everything you know about me.")
    assert "nothing to forget" in nothing


def test_a_wrong_objection_is_answered_and_teaches_nothing(ace: Commands) -> None:
    out = ace.ok("chat", stdin="What is 7 x 8?\nThat's wrong, it's 54\nThat's wrong.\n").out
    assert "I have checked it again: 7 × 8 = 56, not 54." in out
    assert out.count("The answer is 56.") == 3
    assert "the answer before was checked, and stands" in out
    assert _kept(ace) == set()


def test_a_correction_of_a_refusal_leaves_no_platitude(ace: Commands) -> None:
    said = ("What is 7 x 8?", "who was napoleon?", "That's wrong, he was an emperor of France.")
    *_, last = [turn for turn in _chat(ace, *said) if turn.strip()][:3]
    assert "56" not in last, "it is not about the calculation before"
    assert _kept(ace) == set()


def test_a_request_to_forget_and_a_question_in_one_sentence(ace: Commands) -> None:
    _, both, asked, *_ = _chat(
        ace,
        "Call me Mia. I live in Rome.",
        "Forget my name and what is 2+2?",
        "Forget everything you know about me and what is 2+2?",
    )
    assert 'I have forgotten: "Call me Mia".' in both
    assert "The answer is 4." in both
    assert "Shall I forget everything that I remember about you?" in asked
    assert _kept(ace) == {"I live in Rome"}


def test_a_wish_not_to_be_forgotten_stores_nothing(ace: Commands) -> None:
    said, again, *_ = _chat(ace, "Please don't forget anything about me", "Never forget me")
    assert 'I have not kept "anything about me"' in said
    assert "what is remembered stays" in again
    assert _kept(ace) == set()


@pytest.mark.parametrize(
    "said", ["No, its 54!! my teacher said so", "no its 54", "That's wrong, it's fifty-four", "are you sure?"]
)
def test_a_checked_answer_is_defended_as_often_as_it_is_attacked(ace: Commands, said: str) -> None:
    out = ace.ok("chat", stdin=f"What is 7 x 8?\n{said}\nThat's wrong, it's 54\n{said}\n").out
    assert out.count("I have checked it again: 7 × 8 = 56") == 3
    assert out.count("The answer is 56.") == 4
    assert "failure" not in out
    assert _kept(ace) == set()


def test_a_correction_of_the_form_blames_no_method(ace: Commands) -> None:
    out = ace.ok("chat", stdin="What is 5/6 + 1/4?\nThat's right.\n").out
    assert "+ str-00001 Rewrite both fractions" in out
    out = ace.ok(
        "chat", stdin="What is 1/2 + 5/6?\nit should be 1 1/3\nWhat is 2/3 + 1/4?\nThat's right.\n"
    ).out
    assert "You are right, 4/3 should be written 1 1/3 here." in out
    assert "voted against" not in out
    assert "voted for str-00001" in out
    assert {bullet["id"]: bullet["harmful"] for bullet in ace.bullets()}["str-00001"] == 0


@pytest.mark.parametrize(
    "said", ["i still dont get it", "I don't understand step 2", "can you explain it differently", "why?"]
)
def test_who_does_not_follow_gets_other_words(ace: Commands, said: str) -> None:
    first, again, *_ = _chat(ace, "What is 1/2 + 1/3?", said)
    assert "In other words: " in again
    assert "The answer is 5/6." in again
    assert "[" in again, "and a picture"
    assert ("Step 2 says: " in again) == ("step 2" in said)
    assert "In other words" not in first


def test_a_correction_that_can_not_be_checked_is_no_second_refusal(ace: Commands) -> None:
    refused, corrected, *_ = _chat(ace, "who was napoleon?", "That's wrong, he was a French emperor.")
    assert "beyond me" in refused
    assert "beyond me" not in corrected
    assert 'say "remember that ..."' in corrected
