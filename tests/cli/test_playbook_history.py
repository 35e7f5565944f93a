"""`ace-graph playbook history`, `diff` and `rollback`."""

from __future__ import annotations

import pytest

from tests.cli.commands import Commands


@pytest.fixture
def changed(ace: Commands) -> Commands:
    """Four versions: two bullets came, one was edited, one removed."""
    ace.ok("playbook", "add", "Draw a picture first")
    ace.ok("playbook", "add", "Estimate the result")
    ace.ok("playbook", "edit", "les-00002", "Estimate the size of the result")
    ace.ok("playbook", "remove", "les-00001")
    return ace


def test_history_lists_changes_with_authors_newest_first(changed: Commands) -> None:
    versions = changed.ok("playbook", "history", "--json").json["versions"]
    assert [entry["version"] for entry in versions] == [4, 3, 2, 1]
    assert versions[0]["reason"] == "playbook remove"
    assert versions[0]["removed"] == ["les-00001"]
    assert versions[3]["added"] == ["les-00001"]
    lines = changed.ok("playbook", "history", "--limit", "2").out.splitlines()
    assert [line.split()[0] for line in lines] == ["4", "3"]
    assert "1 removed" in lines[0]


def test_diff_shows_added_removed_and_changed_bullets(changed: Commands) -> None:
    difference = changed.ok("playbook", "diff", "2", "4", "--json").json
    assert [bullet["id"] for bullet in difference["removed"]] == ["les-00001"]
    (pair,) = difference["changed"]
    assert (pair["before"]["content"], pair["after"]["content"]) == (
        "Estimate the result",
        "Estimate the size of the result",
    )
    lines = changed.ok("playbook", "diff", "0", "4").out.splitlines()
    assert lines == ["+ [les-00002] Estimate the size of the result"]
    told = changed.ok("playbook", "diff", "2", "4").out
    assert "content: Estimate the result -> Estimate the size of the result" in told
    assert "same bullets" in changed.ok("playbook", "diff", "4", "4").out


@pytest.mark.parametrize("version", ["0", "1", "2", "3"])
def test_a_rollback_brings_back_the_bullets_of_a_version_exactly(changed: Commands, version: str) -> None:
    wanted = changed.ok("playbook", "diff", "0", version, "--json").json["added"]
    changed.ok("playbook", "rollback", version)
    assert changed.bullets() == wanted
    assert changed.ok("playbook", "diff", version, "5", "--json").json["added"] == []


def test_a_rollback_can_be_undone(changed: Commands) -> None:
    before = changed.bullets()
    changed.ok("playbook", "rollback", "1")
    assert changed.ok("playbook", "rollback", "4", "--json").json["version"] == 6
    assert changed.bullets() == before


def test_clearing_can_be_undone(changed: Commands) -> None:
    before = changed.bullets()
    changed.ok("playbook", "remove", "--all")
    assert f"remove --all: {len(before)} removed" in changed.ok("playbook", "history").out
    changed.ok("playbook", "rollback", "4")
    assert changed.bullets() == before


def test_an_unknown_version_is_an_error_that_lists_the_known_ones(changed: Commands) -> None:
    for command in (["rollback", "9"], ["diff", "1", "9"]):
        done = changed("playbook", *command)
        assert (done.code, done.out) == (1, "")
        assert "from 0 to 4" in done.err


def test_a_rollback_to_the_present_version_changes_nothing(changed: Commands) -> None:
    done = changed("playbook", "rollback", "4")
    assert (done.code, done.out) == (1, "")
    assert len(changed.ok("playbook", "history", "--json").json["versions"]) == 4


def test_a_learner_without_a_history_has_none(ace: Commands) -> None:
    assert ace.ok("playbook", "history", "--json").json == {"oldest": 0, "versions": []}
    assert ace.ok("playbook", "history").out == ""


def test_a_version_is_named_by_its_label_or_its_number(ace: Commands) -> None:
    for content in ("Draw a picture first", "Estimate the result", "Check the sum"):
        ace.ok("playbook", "add", content)
    ace.ok("playbook", "remove", "--all", stdin="y\n")
    ace.ok("playbook", "add", "Begin again")
    found = ace.ok("playbook", "diff", "1.1", "2.1", "--json").json
    assert (found["from"], found["to"]) == (2, 5)
    assert [bullet["content"] for bullet in found["added"]] == ["Begin again"]
    ace.ok("playbook", "rollback", "1.1")
    assert [bullet["content"] for bullet in ace.bullets()] == ["Draw a picture first", "Estimate the result"]
    unknown = ace("playbook", "rollback", "9.9")
    assert unknown.code == 1
    assert "there is no version 9.9: choose one of" in unknown.err
