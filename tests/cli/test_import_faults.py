"""`ace-graph playbook import` when the store fails half way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.commands import Commands


def test_an_import_that_stops_half_way_says_how_to_undo_it(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw it")
    before = ace.bullets()
    with closing(sqlite3.connect(ace.database)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON ace_deltas WHEN (SELECT count(*) FROM ace_deltas) >= 2 "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    lines = [f"- Lesson {n * 7919} is about word{n} and thing{n}" for n in range(1, 620)]
    Path("many.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = ace("playbook", "import", "many.txt")
    assert (done.code, done.out) == (1, "")
    assert "no room" in done.err
    assert "playbook rollback 1 undoes what was imported" in done.err
    assert len(ace.bullets()) == 501
    with closing(sqlite3.connect(ace.database)) as connection:
        connection.execute("DROP TRIGGER full")
    ace.ok("playbook", "rollback", "1")
    assert ace.bullets() == before


def test_an_import_of_one_delta_is_whole_or_not_at_all(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw it")
    with closing(sqlite3.connect(ace.database)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON ace_deltas BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    Path("few.txt").write_text("- Estimate first\n- Name the unit\n", encoding="utf-8")
    done = ace("playbook", "import", "few.txt")
    assert done.code == 1
    assert "rollback" not in done.err
    assert [bullet["content"] for bullet in ace.bullets()] == ["Draw it"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one_line.txt", "- " + "word " * 1_000),
        ("wrong_types.json", '{"bullets": [{"content": 5, "section": []}, {"content": null}]}'),
    ],
)
def test_an_import_without_a_usable_bullet_fails(ace: Commands, name: str, text: str) -> None:
    ace.ok("playbook", "add", "Draw it")
    before = ace.ok("playbook", "show", "--json").out
    Path(name).write_text(text, encoding="utf-8")
    done = ace("playbook", "import", name)
    assert done.code == 1
    assert "every bullet was refused, nothing was changed" in done.err
    assert "refused" in done.out
    assert ace.ok("playbook", "show", "--json").out == before
