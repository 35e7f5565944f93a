"""The tables of the memory are complete, and each says how it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

import ace_graph.memory
from ace_graph.memory.search.stop_words import stop_words
from ace_graph.memory.tables import PACKAGES, groups, languages, pairs, read_words, word_sets

ROOT = Path(ace_graph.memory.__path__[0])
TABLES = sorted(path.relative_to(ROOT) for path in ROOT.glob("*/data/**/*.*"))


@pytest.mark.parametrize("path", TABLES, ids=str)
def test_every_table_begins_with_its_format(path: Path) -> None:
    header = (ROOT / path).read_text("utf-8").partition("\n\n")[0]
    assert all(line.startswith("#") for line in header.splitlines())
    assert "Format:" in header


@pytest.mark.parametrize("package", ["search"])
def test_every_language_with_a_table_is_in_the_list(package: str) -> None:
    folder = ROOT / package / "data" / "stop_words"
    listed = languages(f"ace_graph.memory.{package}", "stop_words")
    assert sorted(listed) == sorted(path.stem for path in folder.iterdir() if path.stem != "languages")
    assert listed[0] == "english", "it wins ties"
    assert all(stop_words(language) for language in listed)


def test_every_folder_of_tables_is_preloaded() -> None:
    folders = {path.parts[0] for path in TABLES}
    assert sorted(f"ace_graph.memory.{folder}" for folder in folders) == sorted(PACKAGES)


def test_comments_are_no_words() -> None:
    assert not {"#", "Format:"} & read_words("ace_graph.memory.search", "stop_words/english.txt")


def test_a_language_without_a_list_has_no_stop_words() -> None:
    assert stop_words("klingon") == frozenset()


def test_tables_of_several_languages_are_put_together() -> None:
    negations = word_sets("ace_graph.memory.similarity", "words")["negations"].split()
    assert {"not", "nicht", "jamais", "не"} <= set(negations)


def test_groups_are_separated_by_bars_and_line_ends() -> None:
    assert groups("a b | c\n\nd e |\n") == [["a", "b"], ["c"], ["d", "e"]]
    assert pairs("a b | c d") == {"a": "b", "c": "d"}
