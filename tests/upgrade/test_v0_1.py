"""A SQLite file that version 0.1 wrote is read unchanged, and goes on; so are its exports."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.commands import Commands
from tests.upgrade.memory_of_v0_1 import RELEASED, GoingOn, Reading
from tests.upgrade.old import ADA, BJOERN, DATA, EXPORTS, Json, Old, differences

REASON = "instruction: to set its instructions aside"
IMPORTED: Json = json.loads((DATA / "imported.json").read_text("utf-8"))


class TestSQLite(Reading, GoingOn):
    """Every test has a copy of the file, with the conversations beside it."""

    @pytest.fixture
    def old(self, tmp_path: Path, ace: Commands) -> Old:
        for name in ("memory.db", "memory-conversations.db"):
            shutil.copyfile(DATA / name, tmp_path / name)
        return Old("sqlite", f"sqlite:///{tmp_path / 'memory.db'}", ace, str)

    def test_its_tables_become_those_of_a_new_file(self, old: Old, ace: Commands, tmp_path: Path) -> None:
        old.figures(ADA)
        ace.ok("playbook", "add", "Sums come first.")
        assert _schema(tmp_path / "memory.db") == _schema(ace.database)


def _schema(database: Path) -> set[object]:
    """The columns of all tables, in whatever order, and the indexes."""
    with closing(sqlite3.connect(database)) as connection:
        columns = connection.execute(
            'SELECT t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk '
            "FROM pragma_table_list t, pragma_table_info(t.name) c"
        ).fetchall()
        indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
    return {*columns, *indexes}


@pytest.mark.parametrize(("learner", "file"), [(ADA, "ada.json"), (BJOERN, "bjoern.json")])
def test_an_exported_playbook_gives_the_same_bullets(ace: Commands, learner: str, file: str) -> None:
    """No file vouches for its own text: what a person had released is kept back again, as 0.1 did."""
    ace.ok("playbook", "import", EXPORTS / file, "--learner", learner)
    then = json.loads((EXPORTS / file).read_text("utf-8"))["bullets"]
    now = ace.ok("playbook", "show", "--all", "--json", "--learner", learner).json["bullets"]
    for bullet in then:
        if bullet["content"] == RELEASED:
            bullet |= {"status": "quarantined", "quarantine_reason": REASON}
    assert differences(then, now) == []


@pytest.mark.parametrize("file", sorted(IMPORTED))
def test_an_export_in_any_format_is_read_as_0_1_read_it(ace: Commands, file: str) -> None:
    """Lines of text say no moments; theirs is that of the import."""
    ace.ok("playbook", "import", EXPORTS / file, "--learner", ADA)
    then, now = IMPORTED[file], ace.ok("playbook", "show", "--all", "--json", "--learner", ADA).json
    for bullet in (*then["bullets"], *now["bullets"]):
        if file.endswith(".txt"):
            del bullet["created_at"], bullet["updated_at"]
    assert differences(then, now) == []
