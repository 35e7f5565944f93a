"""`ace-graph playbook`: when a fact is true, and what was known or true on a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.cli.commands import Commands


def test_a_fact_has_days_that_are_shown_changed_and_asked_for(ace: Commands) -> None:
    berlin = ("--valid-from", "2020-01-01", "--valid-until", "2025-04-30")
    ace.ok("playbook", "add", "Ada lives in Berlin", *berlin)
    ace.ok("playbook", "add", "Ada lives in Rome", "--valid-from", "2025-05-01")
    shown = ace.ok("playbook", "show").out
    assert "Ada lives in Berlin (was true 2020-01-01 until 2025-04-30)" in shown
    assert "Ada lives in Rome (since 2025-05-01)" in shown

    def true_on(day: str) -> list[str]:
        found = ace.ok("playbook", "show", "--valid-on", day, "--json").json["bullets"]
        return [bullet["id"] for bullet in found]

    assert (true_on("2021-06-01"), true_on("2025-05-01")) == (["les-00001"], ["les-00002"])
    ace.ok("playbook", "edit", "les-00002", "--valid-from", "unknown", "--valid-until", "2030-01-01")
    [_, rome] = ace.bullets()
    assert (rome["valid_from"], rome["valid_until"]) == (None, "2030-01-01")
    assert true_on("2021-06-01") == ["les-00001"], "that it was Rome then nobody said"
    ace.ok("playbook", "add", "Ada speaks French")
    ace.ok("playbook", "add", "Ada speaks Italian")
    assert true_on("2026-01-01") == ["les-00002", "les-00003", "les-00004"], "one home, two languages"


def test_what_was_known_on_a_day_is_shown(ace: Commands) -> None:
    ace.ok("playbook", "add", "Ada lives in Berlin")
    today = datetime.now(UTC).date()
    assert "Berlin" in ace.ok("playbook", "show", "--as-of", str(today)).out
    before = ace.ok("playbook", "show", "--as-of", str(today - timedelta(days=1))).out
    assert "nothing stored yet" in before
    assert ace.ok("playbook", "show", "--as-of", "2020-01-01", "--json").json == {
        "version": None,
        "bullets": [],
    }


def test_what_is_no_day_is_refused(ace: Commands) -> None:
    ace.ok("playbook", "add", "Ada lives in Berlin")
    turned = ("--valid-from", "2025-01-01", "--valid-until", "2024-01-01")
    refused = ace("playbook", "add", "Ada lives in Rome", *turned)
    assert (refused.code, "is before valid_from" in refused.err) == (2, True)
    for wrong in ("soon", "2025-02-30"):
        refused = ace("playbook", "edit", "les-00001", "--valid-until", wrong)
        assert (refused.code, "is not a date" in refused.err) == (2, True)
        assert ace("playbook", "show", "--as-of", wrong).code == 2
    assert [bullet["content"] for bullet in ace.bullets()] == ["Ada lives in Berlin"]


def test_an_export_keeps_the_days(ace: Commands) -> None:
    ace.ok("playbook", "add", "Ada lives in Rome", "--valid-from", "2025-05-01")
    ace.ok("playbook", "export", "-o", "ada.json")
    ace.ok("playbook", "import", "ada.json", "--learner", "ben")
    assert [bullet["valid_from"] for bullet in ace.bullets("ben")] == ["2025-05-01"]
