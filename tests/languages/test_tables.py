"""Every language has every table, and each table says how it is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import ace_graph.languages
from ace_graph.languages.tables import languages, spoken_language, words
from ace_graph.learning.statements.forms import patterns

FOLDER = Path(ace_graph.languages.__path__[0]) / "data" / "by_language"
_PERSONS = """own mine others no_person relatives reports supposing questions question_ends joints material
changes not_kept"""
_STATEMENTS = "name age grade home language wishes remember forget numbers about yes question"
FILES = {
    "persons.toml": frozenset(_PERSONS.split()),
    "sensitive.toml": frozenset(("health", "belief", "origin", "sexuality", "politics", "topics")),
    "statements.toml": frozenset(_STATEMENTS.split()),
}
MAY_BE_EMPTY = {"no_person", "question_ends"}
ENGLISH_IN_RULES = FILES["statements.toml"] - {"about", "yes", "question"}
"""English has these forms in learning/statements/rules.py."""


def test_every_folder_is_listed_and_english_wins_ties() -> None:
    folders = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
    assert sorted(languages()) == folders
    assert languages()[0] == "english"


@pytest.mark.parametrize("language", languages())
def test_a_language_lacks_no_table(language: str) -> None:
    lacking = list[str]()
    for file, names in FILES.items():
        path = FOLDER / language / file
        held = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
        wanted = names - ENGLISH_IN_RULES if language == "english" else names
        lacking += [f"{file}: {name}" for name in sorted(wanted) if name not in held]
        lacking += [
            f"{file}: {name} is empty"
            for name, text in held.items()
            if name not in MAY_BE_EMPTY and not text.strip()
        ]
        lacking += [f"{file}: {name} is read by nobody" for name in held if name not in names]
    assert lacking == []


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.t*")), ids=lambda path: path.parent.name)
def test_every_table_begins_with_its_format(path: Path) -> None:
    header = path.read_text("utf-8").partition("\n\n")[0]
    assert all(line.startswith("#") for line in header.splitlines())
    assert "Format:" in header


@pytest.mark.parametrize("language", languages())
def test_a_word_for_a_person_has_one_role(language: str) -> None:
    roles = ("own", "mine", "others")
    known = [words(language, "persons", role) for role in roles]
    assert sum(map(len, known)) == len(frozenset[str]().union(*known))


def test_every_form_compiles() -> None:
    assert sum(1 for _ in patterns()) > 80


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("I live in Rome", "english"),
        ("Ich wohne in Rom", "german"),
        ("J'habite à Rome", "french"),
        ("Vivo en Roma", "spanish"),
        ("Eu moro em Roma", "portuguese"),
        ("Abito a Roma", "italian"),
        ("Ik woon in Rome", "dutch"),
        ("Я живу в Риме", "russian"),
        ("我住在罗马", "chinese"),
        ("私はローマに住んでいます", "japanese"),
        ("🙂🙂", "english"),
        ("", "english"),
    ],
)
def test_a_sentence_tells_its_language(sentence: str, language: str) -> None:
    assert spoken_language(sentence) == language
