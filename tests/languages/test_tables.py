"""Every language has every table, and what one lacks is named here."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import ace_graph.memory.languages
from ace_graph.learning.statements import patterns
from ace_graph.memory.languages import (
    SPACELESS,
    every_language,
    function_pairs,
    languages,
    spoken_language,
    stop_words,
    table_of_all,
    words,
)

FOLDER = Path(ace_graph.memory.languages.__path__[0]) / "data" / "by_language"
_PERSONS = """own mine others no_person relatives reports supposing questions question_ends joints material
changes not_kept introductions"""
_STATEMENTS = """name age grade home language native_language wishes remember forget clear slots known
numbers denials about yes question no_value asked likes"""
_FEEDBACK = """lead no thanks that very but because wrong should_be value tails again right not_this doubt
wish wished sum_before sum_after"""
_IMPERATIVES = """endings finite_endings sure last plural separable participles before_nouns adjective
polite prefixes starts ends inside irregular nouns leads addressed duties conditions objects owned joints
clitics"""
_DATES = """weekdays months today yesterday tomorrow last next this day week month year numbers events
recurring begun fill"""
_RELATIONS = "self pronouns adverbs not_now frames nouns forms"
TABLES = {
    "claims.toml": frozenset(("negations", "ordering", "seldom")),
    "dates.toml": frozenset(_DATES.split()),
    "feedback.toml": frozenset(_FEEDBACK.split()),
    "agent_orders.toml": frozenset(("rule", "joined_words")),
    "imperatives.toml": frozenset(("finite",)),
    "persons.toml": frozenset(_PERSONS.split()),
    "relations.toml": frozenset(_RELATIONS.split()),
    "sensitive.toml": frozenset(("health", "belief", "origin", "sexuality", "politics", "money", "topics")),
    "standing.toml": frozenset(("marks", "opening", "asking", "greetings", "polite", "kinds")),
    "statements.toml": frozenset(_STATEMENTS.split()),
}
"""The texts that each language needs, by table."""
MAY_BE_EMPTY = {"no_person", "no_value", "not_this", "question_ends", "sum_after"}
OPTIONAL = {
    "claims.toml": {"forms_of_be"},
    "agent_orders.toml": {"answers", "parts"},
    "dates.toml": {
        "since",
        "from",
        "until",
        "to",
        "since_after",
        "until_after",
        "ago",
        "ago_before",
        "ahead",
    },
    "feedback.toml": {"goes_on"},
    "imperatives.toml": set(_IMPERATIVES.split()),
    "persons.toml": {"joint_ends", "titles", "behind_ordinal"},
    "standing.toml": {
        "when",
        "ever",
        "about",
        "wish",
        "wants",
        "each",
        "here",
        "speaker",
        "spelled",
        "enclitics",
        "lets",
        "topic",
        "raised",
        "making",
        "acts",
        "sayings",
        "agent",
    },
    "relations.toml": {"articles", "classes", "elided", "favourites", "named", "particles", "turned"},
    "statements.toml": {
        "beside",
        "not_beside",
        "in_passing",
        "liked",
        "not_liked",
        "not_wished",
        "meant",
        "named",
        "take_back",
        "withdrawn",
    }
    | {"forget_ends", "remember_ends", "subordinate", "verb_last", "prefixes", "unsure_prefixes"},
}
ENGLISH_IN_RULES = {
    "statements.toml": TABLES["statements.toml"] - {"about", "yes", "question", "asked", "likes"},
}
"""English has these forms in statement_rules.toml."""
RULES = "statement_rules.toml"
"""A table that only English has, of regular expressions."""
ENGLISH_ONLY = "claims.toml"
"""A table with texts that only English has: it may hold more than what each language needs."""

LACKS = {
    "arabic": [
        "agent_orders.toml: joined_words",
        "chat.txt",
        "claims.toml",
        "dates.toml",
        "feedback.toml",
        "imperatives.toml",
        "persons.toml",
        "platitudes.txt",
        "relations.toml",
        "sensitive.toml",
        "standing.toml",
        "statements.toml",
        "stop_words.txt",
    ],
    "chinese": ["claims.toml"],
    "japanese": ["claims.toml"],
    "korean": [
        "chat.txt",
        "claims.toml",
        "dates.toml",
        "feedback.toml",
        "imperatives.toml",
        "persons.toml",
        "platitudes.txt",
        "relations.toml",
        "sensitive.toml",
        "standing.toml",
        "statements.toml",
    ],
    "swedish": [
        "agent_orders.toml",
        "chat.txt",
        "claims.toml: negations",
        "claims.toml: seldom",
        "dates.toml",
        "feedback.toml",
        "imperatives.toml",
        "persons.toml",
        "platitudes.txt",
        "relations.toml",
        "sensitive.toml",
        "standing.toml",
        "statements.toml",
    ],
    "thai": [
        "agent_orders.toml",
        "chat.txt",
        "claims.toml",
        "dates.toml",
        "feedback.toml",
        "imperatives.toml",
        "persons.toml",
        "platitudes.txt",
        "relations.toml",
        "sensitive.toml",
        "standing.toml",
        "statements.toml",
    ],
}
"""What the folders lack that are not complete, table by table and name by name."""
WITH_PAIRS = SPACELESS | {"korean", "thai"}
"""What the index reads by pairs of characters has no words to stop."""


def _lacking(language: str) -> list[str]:
    lists = ("chat.txt", "platitudes.txt")
    found = [file for file in lists if not (FOLDER / language / file).exists()]
    words_file = "function_pairs.txt" if language in WITH_PAIRS else "stop_words.txt"
    if not (FOLDER / language / words_file).exists():
        found.append(words_file)
    for file, names in TABLES.items():
        path = FOLDER / language / file
        if not path.exists():
            found.append(file)
            continue
        held = tomllib.loads(path.read_text("utf-8"))
        wanted = names - ENGLISH_IN_RULES.get(file, frozenset()) if language == "english" else names
        if language in WITH_PAIRS:
            wanted -= {"joined_words"}  # their words always stand together
        found += [f"{file}: {name}" for name in sorted(wanted) if name not in held]
    return sorted(found)


def test_every_folder_is_listed_and_english_wins_ties() -> None:
    folders = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
    assert sorted(every_language()) == folders
    assert every_language()[0] == "english"


@pytest.mark.parametrize("language", every_language())
def test_a_language_lacks_what_is_named_here(language: str) -> None:
    lacking = _lacking(language)
    assert lacking == LACKS.get(language, []), f"what {language} lacks: {lacking}"


@pytest.mark.parametrize("language", every_language())
def test_no_table_is_empty_and_none_is_read_by_nobody(language: str) -> None:
    wrong = list[str]()
    for path in sorted((FOLDER / language).glob("*.toml")):
        if path.name == RULES:
            continue
        known = TABLES[path.name] | OPTIONAL.get(path.name, set())
        held = tomllib.loads(path.read_text("utf-8"))
        more_allowed = path.name == ENGLISH_ONLY and language == "english"
        wrong += [
            f"{path.name}: {name} is read by nobody"
            for name in held
            if name not in known and not more_allowed
        ]
        wrong += [
            f"{path.name}: {name} is empty"
            for name, text in held.items()
            if name not in MAY_BE_EMPTY and not (text.strip() if isinstance(text, str) else text)
        ]
    assert wrong == []


@pytest.mark.parametrize("language", languages("persons"))
def test_a_word_for_a_person_has_one_role(language: str) -> None:
    roles = ("own", "mine", "others")
    known = [words(language, "persons", role) for role in roles]
    assert sum(map(len, known)) == len(frozenset[str]().union(*known))


def test_every_form_compiles() -> None:
    assert sum(1 for _ in patterns()) > 80


def test_a_language_without_a_list_has_no_stop_words() -> None:
    assert stop_words("klingon") == frozenset()
    assert stop_words("chinese") == frozenset()


def test_pairs_of_all_languages_are_one_set() -> None:
    assert {"什么", "です", "하는"} <= function_pairs()


def test_texts_of_one_name_are_put_together() -> None:
    negations = table_of_all("claims")["negations"].split()
    assert {"not", "nicht", "jamais", "не"} <= set(negations)


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
