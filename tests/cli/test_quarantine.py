"""What is kept out of prompts is shown with the reason, and a person lets it in."""

from __future__ import annotations

from tests.cli.commands import Commands

LINK = "Fractions are explained at https://example.org/f"


def test_what_is_added_by_hand_is_screened_too_and_says_how_to_let_it_in(ace: Commands) -> None:
    said = ace.ok("playbook", "add", LINK).out
    assert "in quarantine (link); playbook release les-00001 lets it into prompts" in said
    assert ace.bullets() == []
    shown = ace.ok("playbook", "show", "--quarantined").out
    assert "(quarantined: link)" in shown
    assert LINK in shown


def test_only_what_is_in_quarantine_is_shown_as_such(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw first.")
    ace.ok("playbook", "add", LINK)
    held = ace.ok("playbook", "show", "--quarantined", "--json").json["bullets"]
    assert [(b["content"], b["quarantine_reason"]) for b in held] == [(LINK, "link")]
    assert "1 in quarantine (--quarantined)" in ace.ok("playbook", "show").out


def test_a_released_bullet_is_an_ordinary_one(ace: Commands) -> None:
    ace.ok("playbook", "add", LINK)
    assert "released" in ace.ok("playbook", "release", "les-00001").out
    assert [b["content"] for b in ace.bullets()] == [LINK]
    assert ace("playbook", "release", "les-00001").code == 1, "it is active already"
    assert ace("playbook", "release", "nobody-1").code == 1


def test_a_person_keeps_a_bullet_back_with_a_reason(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw first.")
    ace.ok("playbook", "quarantine", "les-00001", "wrong in this class")
    assert ace.bullets() == []
    assert "(quarantined: wrong in this class)" in ace.ok("playbook", "show", "--all").out


def test_an_edit_that_brings_a_link_is_kept_back(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw first.")
    assert "in quarantine (link)" in ace.ok("playbook", "edit", "les-00001", LINK).out


def test_an_import_says_what_it_kept_back(ace: Commands) -> None:
    file = ace.folder / "book.txt"
    file.write_text(f"## MATHS\n[mat-00001] Draw first.\n[mat-00002] {LINK}\n", encoding="utf-8")
    said = ace.ok("playbook", "import", file).out
    assert "read 2 bullets: kept 2, merged 0, refused 0" in said
    assert "in quarantine, playbook show --quarantined says why: mat-00002" in said
    assert ace.ok("playbook", "import", file, "--learner", "ben", "--json").json["quarantined"] == [
        "mat-00002"
    ]
