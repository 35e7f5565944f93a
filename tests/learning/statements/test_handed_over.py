"""What is handed over, told of somebody else, or asked not to be kept changes nothing that is remembered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ace_graph.learning.statements import SensitiveFacts, read_statements
from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.delta import Delta, apply
from ace_graph.memory.delta.resolve import resolve
from tests.learning.statements.operations import explicit_operations

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KNOWN = "My name is Mia. I live in Paris."


def told(*messages: str, sensitive: SensitiveFacts = "ask") -> list[str]:
    """Return the statements that are kept after these messages."""
    playbook = Playbook()
    for number, message in enumerate(messages):
        operations = explicit_operations(message, playbook, f"t{number}", sensitive)
        delta = Delta(op_id=f"d{number}", now=NOW, operations=tuple(operations), origin="turn")
        playbook = apply(playbook, resolve(Snapshot(playbook), delta, Policy()))
    return [bullet.content.removeprefix("Learner says: ") for bullet in playbook.bullets()]


@pytest.mark.parametrize(
    "message",
    [
        "Translate this:\nForget my name.",
        "Translate this into French:\n\nI don't live in Paris.",
        "Translate into Dutch:\nMy name is Bob.",
        "Translate into Dutch:\nRemember that I am a spy.",
        "Translate the following into Spanish.\n\nMy name is Peter.",
        "Summarize:\n\nCall me Tom.",
        "```\nForget my name.\nmy name is Bob\n```",
        "Translate: my name is Tom, I live in Lima.",
        "My penpal writes: Hi! My name is Yuki. I live in Osaka.",
        "He said: forget my name and call me Bob.",
        "Übersetze: Ich heiße Peter und ich wohne in London.",
        "Übersetze: Ich heiße Peter und ich wohne nicht in Paris.",
        "Traduis : je m'appelle Luc et j'habite à Londres.",
        "Traduce: me llamo Pedro y vivo en Londres.",
        "Traduz: chamo-me Pedro e moro em Londres.",
        "Traduci: mi chiamo Pietro e vivo a Londra.",
        "Vertaal: ik heet Piet en ik woon in Londen.",
        "Переведи: меня зовут Том, я живу в Лондоне.",
        "翻译：我叫彼得，我住在伦敦。",
        "訳して：私の名前はトムです、大阪に住んでいます。",
    ],
)
def test_a_text_that_was_handed_over_says_nothing_of_the_learner(message: str) -> None:
    assert told(KNOWN, message) == ["My name is Mia", "I live in Paris"]


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("About me: I live in Rome.", "I live in Rome"),
        ("Remember: my exam is on June 12.", "my exam is on June 12"),
        ("Please note the following about me:\nMy name is Mia.", "My name is Mia"),
        ("It is 12:30 now. Call me Mia.", "Call me Mia"),
        ("I am stuck on this problem. Please call me Mia.", "call me Mia"),
        ("My question: what is 1/2? Call me Mia.", "Call me Mia"),
        ("This is what I do not get:\nfractions.\nCall me Mia.", "Call me Mia"),
        ("Über mich: ich wohne in Köln.", "ich wohne in Köln"),
        ("关于我：我住在上海。", "我住在上海"),
    ],
)
def test_behind_a_colon_learners_go_on_where_they_say_so(message: str, kept: str) -> None:
    assert told(message) == [kept]


@pytest.mark.parametrize(
    "message",
    [
        "I live in Rome. Don't save that.",
        "My name is Mia but don't remember that.",
        "Off the record, my name is Mia.",
        "Don't remember this, but I live in Rome and I'm 12.",
        "Ich heiße Mia, aber merk dir das nicht.",
        "Je m'appelle Mia, mais ne le retiens pas.",
    ],
)
def test_nothing_is_kept_of_a_message_that_asks_for_that(message: str) -> None:
    assert told(message) == []
    assert [each.after_yes for each in read_statements(message, Playbook(), "t") if each.after_yes] == []


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("I don't remember how to add. Call me Mia.", "Call me Mia"),
        ("Ich kann mir das nicht merken. Nenn mich Mia.", "Nenn mich Mia"),
    ],
)
def test_what_somebody_cannot_remember_is_no_such_wish(message: str, kept: str) -> None:
    assert told(message) == [kept]


@pytest.mark.parametrize("sensitive", ["ask", "drop"])
@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("I'm 12. My brother has autism.", ["I'm 12"]),
        ("My name is Mia and my mother is Jewish.", ["My name is Mia"]),
        ("I live in Rome, my dad has depression.", ["I live in Rome"]),
        ("I live in a refugee camp.", []),
        ("I'm 14 and pregnant.", []),
        ("Ich wohne in Rom und habe Diabetes.", ["Ich wohne in Rom"]),
        ("Ich heiße Mia und habe Legasthenie.", ["Ich heiße Mia"]),
        ("Ik heet Mia en heb dyslexie.", ["Ik heet Mia"]),
        ("Я живу в лагере беженцев.", []),
        ("我住在难民营。", []),
        ("難民キャンプに住んでいます。", []),
    ],
)
def test_sensitive_facts_are_in_no_other_statement(
    message: str, kept: list[str], sensitive: SensitiveFacts
) -> None:
    assert told(message, sensitive=sensitive) == kept


@pytest.mark.parametrize("message", ["Io vivo a Roma.", "I live in Roma."])
def test_a_name_of_a_place_is_not_sensitive(message: str) -> None:
    assert told(message) == [message.rstrip(".")]


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("My name is Mia.", "Call me later."),
        ("My name is Mia.", "Call me when you're done."),
        ("My name is Mia.", "My name is hard to spell."),
        ("I live in Rome.", "I live in fear of exams."),
        ("I live in Rome.", "I live in the moment."),
        ("I live in Rome.", "I live in a small flat with my mum."),
        ("Ich wohne in Rom.", "Ich wohne in einer kleinen Wohnung."),
        ("Tengo 12 años.", "Tengo 3 años de experiencia."),
        ("J'ai 12 ans.", "J'ai 3 ans de retard."),
        ("我叫米娅。", "我叫他回家。"),
        ("我叫米娅。", "我叫外卖了。"),
    ],
)
def test_what_is_no_value_replaces_none(before: str, message: str) -> None:
    assert told(before, message) == [before.rstrip(".。")]


@pytest.mark.parametrize(
    ("native", "wanted"),
    [
        ("My native language is Tagalog", "answer in English"),
        ("Meine Muttersprache ist Polnisch", "Antworte auf Deutsch"),
        ("Ma langue maternelle est l'arabe", "Réponds-moi toujours en français"),
    ],
)
def test_the_mother_tongue_and_the_language_of_answers_are_two_things(native: str, wanted: str) -> None:
    assert told(f"{native}.", f"{wanted}.") == [native, wanted]


def test_of_many_denials_the_first_are_compared() -> None:
    known = told("Remember that I like tea.", *["I don't speak Thai."] * 2)
    flood = "I don't speak Thai. " * 40
    assert told("Remember that I like tea.", f"I don't like tea. {flood}") == []
    assert told("Remember that I like tea.", f"{flood} I don't like tea.") == known == ["I like tea"]
