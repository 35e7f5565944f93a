"""Forgetting everything: which words ask for it, and what counts as the yes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ace_graph.learning import JudgedExchange
from ace_graph.learning.statements import asks_to_clear, clearing_of
from ace_graph.memory import Access, Playbook, RecentTurn, Snapshot, answer_hash


@pytest.mark.parametrize(
    "message",
    [
        "Forget everything you know about me.",
        "forget everything",
        "Please forget all about me!",
        "Delete my data.",
        "Delete all my personal data now, please",
        "Can you delete everything you have stored about me?",
        "I want you to erase all my information.",
        "wipe your memory",
        "Clear your notes about me.",
        "Forget me.",
        "Forget everything I've told you so far.",
        "Hi! Delete my data. Thanks.",
        "Forget what you know about me",
        "Hello, will you please forget everything about me?",
        "Forget everything you know about me and what is 2+2?",
        "Forget everything you know about me, and then call me Bob",
        "What is 2+2 and delete my data",
        "Delete my data - how much is 2+2",
        "Vergiss bitte alles, was du über mich weißt!",
        "Hallo. Lösche alle meine Daten.",
        "Oublie tout ce que tu sais de moi",
        "Efface toutes mes données.",
        "Olvida todo lo que sabes de mí.",
        "Apague todos os meus dados.",
        "Cancella tutto quello che sai di me.",
        "Vergeet alles wat je over mij weet.",
        "Забудь всё, что ты знаешь обо мне.",
        "请删除我的所有数据。",
        "私のデータをすべて削除してください。",
    ],
)
def test_it_is_a_request_to_forget_everything(message: str) -> None:
    assert asks_to_clear(message)


@pytest.mark.parametrize(
    "message",
    [
        "Forget my name.",
        "Forget everything I said about fractions.",
        "Forget it.",
        "Did you forget everything about me?",
        "Don't forget everything about me.",
        'My brother says "delete my data".',
        "Delete the data in column A.",
        "How do I delete my data in Excel?",
        "Remove all brackets.",
        "Please don't forget anything about me",
        "I get nervous and forget everything.",
        "Forget everything you know about me but my name.",
        "Clear everything from the right side of the equation.",
        "I forget everything about fractions.",
        "",
        "Vergiss alles über Brüche.",
        "Ich vergesse alles.",
        "Oublie.",
        "Oublie tout ce que j'ai dit sur Rome.",
        "Sie sagte: „Lösche meine Daten.“",
        "Borra todos los paréntesis.",
        "忘掉我的名字",
    ],
)
def test_it_is_none(message: str) -> None:
    assert not asks_to_clear(message)


def _held() -> Snapshot:
    playbook, _ = Playbook().add_bullet("profile", "Learner says: Call me Sam")
    return Snapshot(playbook)


def _asked() -> tuple[Snapshot, JudgedExchange]:
    """The memory and the exchange after the question was asked back."""
    asked = clearing_of("Delete my data.", None, _held())
    assert asked is not None
    turn = RecentTurn(turn_id="t", answer_hash=answer_hash(asked.answer))
    return replace(_held(), access=Access(1, recent_turns=(turn,))), JudgedExchange(
        "Delete my data.", asked.answer, "yes"
    )


@pytest.mark.parametrize(
    "yes",
    [
        "yes",
        "Yes!",
        "yes, please",
        "Yeah, do it.",
        "go ahead",
        "Yes, forget everything about me",
        "y",
        "Ja!",
        "oui",
        "Sí.",
        "si",
        "sim",
        "да",
        "是",
        "はい",
    ],
)
def test_a_yes_clears(yes: str) -> None:
    snapshot, before = _asked()
    done = clearing_of(yes, before, snapshot)
    assert done is not None
    assert done.clears


@pytest.mark.parametrize(
    "other",
    [
        "nein",
        "ja, merk dir das",
        "oui, retiens-le",
        "oké",
        "claro",
        "no",
        "yes but keep my name",
        "ok",
        "yes?",
        "What is 2+2?",
        "please",
        "not yes",
        "yes " * 30,
    ],
)
def test_anything_else_clears_nothing(other: str) -> None:
    snapshot, before = _asked()
    assert clearing_of(other, before, snapshot) is None


def test_a_yes_counts_only_after_our_question_to_such_a_request() -> None:
    snapshot, before = _asked()
    stranger = replace(snapshot, access=Access())
    assert clearing_of("yes", before, stranger) is None, "the answer is none of ours"
    assert clearing_of("yes", None, snapshot) is None
    assert clearing_of("yes", replace(before, question="Shall I?"), snapshot) is None
    other = "I like tea."
    ours = RecentTurn(turn_id="t", answer_hash=answer_hash(other))
    known = replace(snapshot, access=Access(1, recent_turns=(ours,)))
    assert clearing_of("yes", replace(before, answer=other), known) is None, "nothing was asked"


def test_a_clear_that_can_not_be_done_is_explained() -> None:
    snapshot, before = _asked()
    for message, memory in (("Delete my data.", snapshot), ("yes", snapshot), ("Delete my data.", None)):
        told = clearing_of(message, before, memory, closed="learning is off in this conversation")
        assert told is not None
        assert not told.clears
        assert "Nothing is forgotten: learning is off in this conversation." in told.answer
    empty = clearing_of("Delete my data.", None, Snapshot())
    assert empty is not None
    assert "nothing to forget" in empty.answer


def test_the_question_names_what_stays_and_that_the_rest_was_not_read() -> None:
    asked = clearing_of("Delete my data.", None, _held())
    assert asked is not None
    assert "whoever runs this program can delete them" in asked.answer
    assert "ace-graph" not in asked.answer, "a pupil has no command line"
    assert asked.answer.endswith("?"), "a no that follows answers it, and judges nothing"
    both = clearing_of("Delete my data. What is 2+2?", None, _held())
    assert both is not None
    assert "nothing of the rest" in both.answer
    joined = clearing_of("Delete my data and what is 2+2?", None, _held())
    assert joined is not None
    assert "nothing of the rest" in joined.answer
    assert "nothing of the rest" not in asked.answer


def test_it_tells_how_many_things_are_remembered() -> None:
    snapshot, before = _asked()
    assert "I forget the 1 thing that I remember about you" in before.answer
    done = clearing_of("yes", before, snapshot)
    assert done is not None
    assert "forgotten the 1 thing that" in done.answer
    more, _ = snapshot.playbook.add_bullet("math", "Draw fractions as bars")
    asked = clearing_of("Delete my data.", None, Snapshot(more))
    assert asked is not None
    assert "I forget all 2 things that I remember about you" in asked.answer
