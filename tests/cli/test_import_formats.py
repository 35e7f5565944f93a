"""`playbook export` and `import` in every format, with real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import Commands

FORMATS = ["json", "text", "ace", "ace-plain", "kayba", "kayba-v1", "lmb"]
SKILLBOOK = {
    "skills": {
        "units-00001": {
            "id": "units-00001",
            "section": "units",
            "content": "Convert units before adding",
            "helpful": 2,
            "justification": "Sums of unlike units were wrong",
        },
        "units-00002": {"id": "units-00002", "content": "", "status": "active"},
    }
}
HOSTILE = {
    "nested": b"[" * 200_000,
    "broken": b'{"bullets": [{"content": "a"}',
    "bytes": b"- caf\xe9\n",
    "zeros": b"\0" * 1_000,
    "headings": b"## only\n## headings\n",
    "large": b"- x" * 7_000_000,
    "refused": b'[{"content": 7}, {"content": "b", "helpful": NaN}]',
}


@pytest.fixture
def filled(ace: Commands) -> Commands:
    for text in ("Draw a picture first", "Estimate the result", "Convert units before adding"):
        ace.ok("playbook", "add", text)
    ace.ok("playbook", "edit", "les-00002", "--pin")
    return ace


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_read_back_into_an_empty_learner_gives_the_same_bullets(
    filled: Commands, name: str
) -> None:
    filled.ok("playbook", "export", "--format", name, "-o", "file")
    counts = filled.ok("playbook", "import", "file", "--learner", "other", "--json").json
    assert (counts["read"], counts["kept"], counts["merged"], counts["refused"]) == (3, 3, 0, 0)
    assert (
        filled.ok("playbook", "export", "--format", name, "--learner", "other").out
        == Path("file").read_text()
    )
    if name not in ("text", "ace", "ace-plain"):
        assert filled.bullets("other") == filled.bullets()


def test_the_format_may_be_named(filled: Commands) -> None:
    filled.ok("playbook", "export", "--format", "ace", "-o", "file")
    assert filled.ok("playbook", "import", "file", "--format", "ace", "--learner", "b").out.startswith(
        "read 3 "
    )
    done = filled("playbook", "import", "file", "--format", "lmb", "--learner", "c")
    assert (done.code, filled.bullets("c")) == (1, [])
    assert "file: it is not valid JSON" in done.err


def test_the_report_lists_dropped_renamed_and_core_bullets(ace: Commands) -> None:
    ace.ok("playbook", "add", "Estimate the result", "--section", "units")
    Path("book.json").write_text(json.dumps(SKILLBOOK), encoding="utf-8")
    assert ace.ok("playbook", "import", "book.json").out == (
        "read 2 bullets: kept 1, merged 0, refused 1\n"
        "  refused units-00002: empty text\n"
        "  new ids for 1 bullet: theirs were taken\n"
        "  left out, a bullet has no place for it: justification (1)\n"
    )
    Path("mine.txt").write_text("## preferences\n- Short answers\n", encoding="utf-8")
    assert "always in the prompt: pre-00003" in ace.ok("playbook", "import", "mine.txt").out


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_changes_nothing(filled: Commands, name: str) -> None:
    Path("file").write_bytes(HOSTILE[name])
    before = filled.ok("playbook", "export").out
    done = filled("playbook", "import", "file")
    if name == "refused":
        assert done.out.startswith("read 2 bullets: kept 0, merged 0, refused 2\n")
    else:
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("ace-graph: file: ")
        assert done.err.count("\n") == 1
    assert filled.ok("playbook", "export").out == before


@pytest.mark.parametrize(
    ("name", "bullets", "merged"),
    [
        ("playbook_ace_appworld_318.txt", 318, 9),
        ("playbook_ace_appworld_8.txt", 8, 0),
        ("skillbook_kayba_v1_6.json", 6, 0),
    ],
)
def test_a_file_of_another_project_is_counted_to_the_last_bullet(
    ace: Commands, shared_data: Path, name: str, bullets: int, merged: int
) -> None:
    counts = ace.ok("playbook", "import", shared_data / name, "--json").json
    found = (counts["read"], counts["kept"], counts["merged"], counts["refused"], counts["renamed"])
    assert found == (bullets, bullets - merged, merged, 0, 0)
    assert len(ace.bullets()) == bullets - merged
