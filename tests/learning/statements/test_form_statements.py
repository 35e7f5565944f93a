"""The rules in ten languages: what of a message is a statement about oneself, and what is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ace_graph.learning.statements import read_statements
from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.delta import Add, Delta, apply
from ace_graph.memory.delta.resolve import resolve
from tests.learning.statements.operations import explicit_operations
from tests.learning.statements.test_learner_facts import Row, rows

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.message[:40])
def test_the_rules_keep_what_the_table_says(row: Row) -> None:
    found = read_statements(row.message, Playbook(), "t")
    kept = [
        each.operation.content.removeprefix("Learner says: ")
        for each in found
        if isinstance(each.operation, Add)
    ]
    asked = [f"? {each.words}" for each in found if each.after_yes is not None]
    assert [*kept, *asked] == ([] if row.rules == "-" else row.rules.split(" | "))


def told(*messages: str) -> list[str]:
    playbook = Playbook()
    for number, message in enumerate(messages):
        operations = explicit_operations(message, playbook, f"t{number}")
        delta = Delta(op_id=f"d{number}", now=NOW, operations=tuple(operations), origin="turn")
        playbook = apply(playbook, resolve(Snapshot(playbook), delta, Policy()))
    return [bullet.content.removeprefix("Learner says: ") for bullet in playbook.bullets()]


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("Ich wohne in Paris.", "Ich bin nach Rom gezogen.", ["Ich bin nach Rom gezogen"]),
        ("J'ai 11 ans.", "J'ai 12 ans.", ["J'ai 12 ans"]),
        ("Vivo en Lima.", "Me mudé a Quito.", ["Me mudé a Quito"]),
        ("我住在北京。", "我搬到了上海。", ["我搬到了上海"]),
        ("Я живу в Казани.", "Мы переехали в Омск.", ["Мы переехали в Омск"]),
        ("Ich heiße Sam.", "Vergiss, dass ich Sam heiße.", []),
        ("Je m'appelle Léo.", "Oublie que je m'appelle Léo.", []),
        ("Me llamo Ana.", "Olvida que me llamo Ana.", []),
        ("Mi chiamo Luca.", "Dimentica che mi chiamo Luca.", []),
        ("Ik heet Daan.", "Vergeet dat ik Daan heet.", []),
        ("Ich heiße Sam und bin 12 Jahre alt.", "Vergiss mein Alter.", ["Ich heiße Sam"]),
        ("Ich heiße Sam und bin 12 Jahre alt.", "Ich heiße Max.", ["bin 12 Jahre alt", "Ich heiße Max"]),
        ("J'ai 12 ans.", "Oublie mon âge.", []),
        ("Me llamo Ana y tengo 12 años.", "Olvida mi nombre y mi edad.", []),
        ("Tenho 12 anos.", "Esqueça a minha idade.", []),
        ("Ho 12 anni.", "Dimentica la mia età.", []),
        ("Ik ben 12 jaar.", "Vergeet mijn leeftijd.", []),
        ("Мне 12 лет.", "Забудь мой возраст.", []),
        ("我12岁。", "忘掉我的年龄", []),
        ("Ich bin 12 Jahre alt.", "Vergiss das Alter der Königin.", ["Ich bin 12 Jahre alt"]),
    ],
)
def test_a_new_value_replaces_the_old_and_a_request_removes_it(
    before: str, after: str, left: list[str]
) -> None:
    assert told(before, after) == left


def test_a_statement_in_another_language_names_its_turn() -> None:
    [statement] = read_statements("Ich heiße Sam.", Playbook(), "turn-3")
    assert isinstance(statement.operation, Add)
    assert statement.operation.examples == ("turn-3",)
    assert statement.operation.slot == "name"


def test_what_is_not_known_is_not_forgotten() -> None:
    [statement] = read_statements("Vergiss meinen Namen.", Playbook(), "t")
    assert statement.operation is None
    assert statement.kind == "forget"


@pytest.mark.parametrize(
    "unit", ["ich bin ", "我有病，", "Ich heiße ", "« j'ai ", '"', "¿tengo ", "merk dir, dass "]
)
def test_a_long_message_is_read(unit: str) -> None:
    assert len(read_statements(unit * 20_000, Playbook(), "t")) <= 10


@pytest.mark.parametrize(
    "message",
    [
        "I have a test about Islam.",
        "I am reading a book on epilepsy.",
        "Ich habe eine Frage zu Diabetes.",
        "J'ai un exposé sur le judaïsme.",
        "Tengo un examen sobre el cáncer.",
        "У меня доклад про диабет.",
        "我有一个关于糖尿病的问题。",
        "Toujours faux.",
        "Siempre me equivoco.",
        "Er heißt Sam.",
        "Heiße ich Sam?",
    ],
)
def test_schoolwork_and_remarks_are_neither_kept_nor_asked_about(message: str) -> None:
    found = read_statements(message, Playbook(), "t")
    assert [each for each in found if each.operation is not None or each.after_yes is not None] == []


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Merk dir: mein Test ist am Montag.", "mein Test ist am Montag"),
        ("Retiens : mon contrôle est lundi.", "mon contrôle est lundi"),
        ("Recuerda: mi examen es el lunes.", "mi examen es el lunes"),
        ("Запомни: мой экзамен в понедельник.", "мой экзамен в понедельник"),
    ],
)
def test_what_follows_a_colon_is_remembered(message: str, kept: str) -> None:
    [statement] = read_statements(message, Playbook(), "t")
    assert isinstance(statement.operation, Add)
    assert statement.operation.content == f"Learner says: {kept}"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Ich mag es lieber, wenn du mir zuerst ein Beispiel gibst. Was ist ein Bruch?", True),
        ("Mir wäre es lieber, wenn du Stichpunkte nutzt.", True),
        ("Ich mag es nicht, wenn du lange redest.", True),
        ("Ich mag es lieber, wenn es regnet.", False),
        ("Ich mag es lieber, wenn du kurz antwortest, falls ich Hunger habe.", False),
        ("Mein Freund sagt, ich mag es lieber, wenn du schreibst.", False),
    ],
)
def test_an_if_within_a_wish_supposes_nothing(message: str, kept: bool) -> None:
    found = read_statements(message, Playbook(), "t")
    assert [each.words for each in found] == ([message.partition(".")[0]] if kept else [])
