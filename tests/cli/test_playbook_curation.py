"""`playbook show --archived`, `rollback --bullet`, `merge`, `remove --replaced-by`, `edit --vote`."""

from __future__ import annotations

import pytest

from tests.cli.commands import Commands


@pytest.fixture
def three(ace: Commands) -> Commands:
    """Three lessons; the first two say the same about other topics."""
    ace.ok("playbook", "add", "Draw a bar for every fraction", "--topic", "fractions")
    ace.ok("playbook", "add", "Always draw a bar for every fraction.", "--topic", "drawing")
    ace.ok("playbook", "add", "Never draw a bar for a decimal")
    return ace


def test_a_removed_bullet_is_listed_and_restored_as_it_was(three: Commands) -> None:
    before = three.bullets()
    assert "playbook rollback --bullet les-00002" in three.ok("playbook", "remove", "les-00002").out
    (line,) = three.ok("playbook", "show", "--archived").out.splitlines()
    assert line.startswith("[les-00002] version 4, ")
    assert line.endswith("removed: Always draw a bar for every fraction.")
    (listed,) = three.ok("playbook", "show", "--archived", "--json").json["bullets"]
    assert (listed["id"], listed["left"]["version"], listed["left"]["why"]) == ("les-00002", 4, "removed")
    assert three.ok("playbook", "rollback", "--bullet", "les-00002", "--json").json["restored"] == [
        "les-00002"
    ]
    assert three.bullets() == before
    assert three.ok("playbook", "show", "--archived", "--json").json["bullets"] == []


def test_a_refused_restore_says_why(three: Commands) -> None:
    for name, why in (("les-00001", "is in the playbook"), ("les-00009", "does not hold les-00009")):
        done = three("playbook", "rollback", "--bullet", name)
        assert (done.code, done.out) == (1, "")
        assert why in done.err


def test_bullets_that_say_the_same_are_merged_into_the_best(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw a bar for every fraction", "--topic", "fractions")
    ace.ok("playbook", "add", "Name the unit", "--type", "procedural")
    ace.ok("playbook", "edit", "les-00002", "Always draw a bar for every fraction.")
    ace.ok("playbook", "edit", "les-00001", "--vote", "helpful")
    done = ace.ok("playbook", "merge", "les-00001", "les-00002", "--json").json
    assert done["merged"] == [{"kept": "les-00001", "gone": "les-00002"}]
    (bullet,) = ace.bullets()
    assert (bullet["id"], bullet["helpful"]) == ("les-00001", 1)
    assert bullet["consolidated_from"] == ["les-00001", "les-00002"]


def test_other_claims_are_merged_by_force_only(three: Commands) -> None:
    done = three("playbook", "merge", "les-00001", "les-00003")
    assert (done.code, done.out) == (1, "")
    assert "don't say the same" in done.err
    assert len(three.bullets()) == 3
    out = three.ok("playbook", "merge", "les-00001", "les-00003", "--force", "--text", "Draw bars").out
    assert out.startswith("les-00003: holds what les-00001 said")
    assert [b["content"] for b in three.bullets()][-1] == "Draw bars"
    assert three("playbook", "merge", "les-00003").code == 2


def test_a_bullet_is_superseded_and_brought_back(three: Commands) -> None:
    done = three.ok("playbook", "remove", "les-00001", "--replaced-by", "les-00003", "--json").json
    assert done["superseded"] == [{"kept": "les-00003", "gone": "les-00001"}]
    assert "superseded (now les-00003)" in three.ok("playbook", "show", "--archived").out
    three.ok("playbook", "rollback", "--bullet", "les-00001")
    assert [b["id"] for b in three.bullets()] == ["les-00001", "les-00002", "les-00003"]


def test_votes_by_hand_move_counters_and_archive_harmful_bullets(three: Commands) -> None:
    assert (
        three.ok("playbook", "edit", "les-00001", "--vote", "helpful", "--by", "2").out
        == "les-00001: +2/-0\n"
    )
    assert three.ok("playbook", "edit", "les-00001", "--vote", "neutral", "--json").json["tagged"] == [
        "les-00001"
    ]
    assert (
        three.ok("playbook", "edit", "les-00003", "--vote", "harmful", "--by", "2").out
        == "les-00003: +0/-2\n"
    )
    assert "archived" in three.ok("playbook", "edit", "les-00003", "--vote", "harmful").out
    assert "harmful: Never draw" in three.ok("playbook", "show", "--archived").out
    assert "no prompt shows it" in three.ok("playbook", "rollback", "--bullet", "les-00003").out
    assert three("playbook", "edit", "les-00001", "--vote", "great").code == 2
    assert three("playbook", "edit", "les-00009", "--vote", "helpful").code == 1
