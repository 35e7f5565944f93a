"""`ace-graph playbook`: looking at it and changing it, bullet by bullet."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory import views as memory_kinds
from tests.cli.commands import Commands


@pytest.fixture
def filled(ace: Commands) -> Commands:
    """A playbook with two lessons and one preference."""
    ace.ok("playbook", "add", "Convert the fraction first.", "--topic", "fractions", "--tag", "math")
    ace.ok("playbook", "add", "The LCM of 2 and 3 is 6")
    ace.ok("playbook", "add", "Learner says: I prefer pictures", "--section", "preferences", "--pin")
    return ace


def test_a_learner_without_a_state_is_an_empty_playbook(ace: Commands) -> None:
    assert ace.ok("playbook", "show", "--json").json == {"version": None, "bullets": []}
    assert "nothing stored yet" in ace.ok("playbook", "show").out
    assert ace.ok("playbook", "stats", "--json").json["version"] is None


def test_show_as_json_has_every_field_of_every_active_bullet(filled: Commands) -> None:
    shown = filled.ok("playbook", "show", "--json").json
    assert shown["version"] == 3
    bullets = [Bullet.model_validate(bullet) for bullet in shown["bullets"]]
    assert [set(bullet) for bullet in shown["bullets"]] == [set(Bullet.model_fields)] * 3
    assert [bullet.id for bullet in bullets] == ["les-00001", "les-00002", "pre-00003"]
    assert [bullet.memory_type for bullet in bullets] == ["procedural", "semantic", "episodic"]
    assert (bullets[0].topic, bullets[0].tags, bullets[2].pinned) == ("fractions", ("math",), True)


def test_show_prints_totals_sections_and_the_bullets_strongest_first(filled: Commands) -> None:
    out = filled.ok("playbook", "show").out.splitlines()
    assert "version 3, 3 bullets" in out[0]
    assert "lessons 2, preferences 1" in out[1]
    shown = [(line.split("[")[1].partition("]")[0], line.rpartition(": ")[2]) for line in out[2:]]
    assert shown == [
        ("pre-00003", "I prefer pictures"),
        ("les-00001", "Convert the fraction first."),
        ("les-00002", "The LCM of 2 and 3 is 6"),
    ]
    limited = filled.ok("playbook", "show", "--limit", "1").out.splitlines()
    assert limited[2] == out[2]
    assert "2 more" in limited[3]


def test_stats_show_the_basis_of_trust(filled: Commands) -> None:
    figures = filled.ok("playbook", "stats", "--json").json
    assert (figures["proven"], figures["withheld_share"], figures["lift"]) == (3, 0, None)


def test_stats_counts_and_gives_the_mean_of_the_decayed_strengths(filled: Commands) -> None:
    figures = filled.ok("playbook", "stats", "--json").json
    assert (figures["bullets"], figures["sections"]) == (3, {"lessons": 2, "preferences": 1})
    assert (figures["unused"], figures["core"], figures["mean_reliability"]) == (3, 1, 0.5)
    # Added at clock 1, 2 and 3: the first is two events old, the second one.
    expected = (0.998**2 + 0.99 + 1.0) / 3
    assert figures["access_clock"] == 3
    assert figures["mean_strength"] == pytest.approx(expected)
    assert "mean reliability: 0.500" in filled.ok("playbook", "stats").out


def test_stats_give_the_mean_share_of_helpful_votes(filled: Commands) -> None:
    for tag, number in (("helpful", 3), ("harmful", 1)):
        for _ in range(number):
            filled.ok("playbook", "edit", "les-00001", "--vote", tag)
    figures = filled.ok("playbook", "stats", "--json").json
    assert (figures["helpful"], figures["harmful"], figures["unused"]) == (3, 1, 2)
    assert figures["mean_reliability"] == pytest.approx((0.75 + 0.5 + 0.5) / 3)
    assert "mean reliability: 0.583" in filled.ok("playbook", "stats").out


def test_search_shows_only_bullets_that_hold_every_word(filled: Commands) -> None:
    assert filled.ok("playbook", "search", "FRACTION").out.count("\n") == 1
    (found,) = filled.ok("playbook", "search", "lcm 6", "--json").json["bullets"]
    assert found["id"] == "les-00002"
    nothing = filled.ok("playbook", "search", "fraction lcm")
    assert nothing.out == ""
    assert "No bullet" in nothing.err


def test_search_is_narrowed_by_memory_type(filled: Commands) -> None:
    types = {bullet["id"]: bullet["memory_type"] for bullet in filled.bullets()}
    assert types == {"les-00001": "procedural", "les-00002": "semantic", "pre-00003": "episodic"}
    for memory_type, only in (
        ("procedural", "les-00001"),
        ("semantic", "les-00002"),
        ("episodic", "pre-00003"),
    ):
        found = filled.ok("playbook", "search", "e", "--type", memory_type, "--json").json["bullets"]
        assert [bullet["id"] for bullet in found] == [only]
    both = filled.ok("playbook", "search", "e", "--type", "semantic", "--type", "episodic", "--json").json
    assert [bullet["id"] for bullet in both["bullets"]] == ["les-00002", "pre-00003"]
    assert len(filled.ok("playbook", "search", "e", "--json").json["bullets"]) == 3
    assert filled("playbook", "search", "e", "--type", "emotional").code == 2


def test_a_time_to_live_is_given_changed_and_lifted(ace: Commands) -> None:
    (new,) = ace.ok("playbook", "add", "The exam is in room 5", "--ttl-days", "1.5", "--json").json["added"]
    assert ace.bullets()[0]["ttl_days"] == 1.5
    ace.ok("playbook", "edit", new, "--ttl-days", "30")
    assert (ace.bullets()[0]["ttl_days"], ace.bullets()[0]["content"]) == (30, "The exam is in room 5")
    ace.ok("playbook", "edit", new, "The exam is in room 6")
    assert (ace.bullets()[0]["ttl_days"], ace.bullets()[0]["content"]) == (30, "The exam is in room 6")
    ace.ok("playbook", "edit", new, "--ttl-days", "0")
    assert ace.bullets()[0]["ttl_days"] is None
    for days in ("0", "-1", "nan", "inf"):
        assert ace("playbook", "add", "Another one", "--ttl-days", days).code == 2
    assert ace("playbook", "edit", new, "--ttl-days", "-1").code == 2
    assert ace("playbook", "edit", new).code == 2


def test_adding_a_known_text_reinforces_its_bullet(filled: Commands) -> None:
    again = filled.ok("playbook", "add", "convert the fraction  first", "--topic", "fractions", "--json").json
    assert (again["id"], again["reinforced"], again["added"]) == ("les-00001", ["les-00001"], [])
    assert [bullet["seen"] for bullet in filled.bullets()] == [2, 1, 1]


def test_editing_keeps_the_id_and_the_votes(filled: Commands) -> None:
    filled.ok("playbook", "edit", "les-00002", "The LCM of 4 and 6 is 12")
    bullet = filled.bullets()[1]
    assert (bullet["id"], bullet["content"]) == ("les-00002", "The LCM of 4 and 6 is 12")


def test_pinning_and_unpinning(filled: Commands) -> None:
    filled.ok("playbook", "edit", "les-00001", "--pin")
    assert [bullet["pinned"] for bullet in filled.bullets()] == [True, False, True]
    filled.ok("playbook", "edit", "les-00001", "--unpin")
    assert [bullet["pinned"] for bullet in filled.bullets()] == [False, False, True]


def test_removing_archives_one_bullet(filled: Commands) -> None:
    assert filled.ok("playbook", "remove", "les-00001", "--json").json["removed"] == ["les-00001"]
    assert [bullet["id"] for bullet in filled.bullets()] == ["les-00002", "pre-00003"]
    assert filled.ok("playbook", "search", "convert").out == ""


def test_clearing_leaves_nothing_and_sets_the_clock_to_0(filled: Commands) -> None:
    filled.ok("playbook", "remove", "--all")
    figures = filled.ok("playbook", "stats", "--json").json
    assert (figures["bullets"], figures["access_clock"]) == (0, 0)
    assert filled.ok("playbook", "add", "Draw it", "--json").json["id"] == "les-00004", "no id twice"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["edit", "les-00009", "text"], "unknown id"),
        (["edit", "les-00001", " "], "empty text"),
        (["edit", "pre-00003", "--pin"], "pinned already"),
        (["edit", "les-00001", "--unpin"], "not pinned"),
        (["remove", "nonsense"], "unknown id"),
        (["add", "x" * 2001], "2000"),
        (["add", "fine", "--section", "s" * 101], "section"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_refusal_is_reported_and_nothing_is_written(filled: Commands, command: list[str], why: str) -> None:
    before = filled.ok("playbook", "stats", "--json").out
    done = filled("playbook", *command)
    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert filled.ok("playbook", "stats", "--json").out == before, "not even the access clock moved"


@pytest.mark.parametrize(
    "command", [["remove", "--all"], ["remove", "x"], ["edit", "x", "--pin"], ["edit", "x", "y"]], ids=str
)
def test_changing_nobodys_playbook_creates_nobody(ace: Commands, command: list[str]) -> None:
    done = ace("playbook", *command, "--learner", "typo")
    assert done.code == 1
    assert "typo" in done.err
    assert ace.ok("playbook", "show", "--json", "--learner", "typo").json["version"] is None


def test_show_and_search_filter_by_tag_and_type(ace: Commands) -> None:
    ace.ok(
        "playbook",
        "add",
        "Draw a bar for each fraction",
        "--tag",
        "Exam",
        "--tag",
        "bars",
        "--type",
        "procedural",
    )
    ace.ok("playbook", "add", "A fraction is a share", "--tag", "exam", "--type", "semantic")
    ace.ok("playbook", "add", "A fraction can be above one", "--type", "semantic")

    def shown(*args: str) -> list[str]:
        return [each["content"] for each in ace.ok("playbook", *args, "--json").json["bullets"]]

    assert len(shown("show", "--tag", "exam")) == 2
    assert shown("show", "--tag", "exam", "--tag", "bars") == ["Draw a bar for each fraction"]
    assert shown("show", "--tag", "ex") == []
    assert shown("search", "fraction", "--tag", "EXAM", "--type", "semantic") == ["A fraction is a share"]
    assert len(shown("search", "fraction", "--type", "semantic", "--type", "procedural")) == 3


def test_text_that_could_move_the_cursor_is_shown_as_text(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw \x1b[31mred\x07 [bold]it[/bold] \u202eback", "--learner", "a\x1b[2Jb")
    out = ace.ok("playbook", "show", "--learner", "a\x1b[2Jb").out
    assert "\x1b" not in out
    assert "[bold]it[/bold]" in out


def test_two_writers_at_the_same_learner_both_count(ace: Commands) -> None:
    command = "from ace_graph.cli.main import app; app()"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", command, "playbook", "add", f"Lesson number {n} is about {word}"],
            cwd=ace.folder,
            stdout=subprocess.DEVNULL,
        )
        for n, word in ((1, "bars"), (2, "circles"))
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(ace.bullets()) == 2


def test_on_a_terminal_bullets_are_a_table(filled: Commands) -> None:
    ours, theirs = pty.openpty()
    command = "from ace_graph.cli.main import app; app()"
    with subprocess.Popen(
        [sys.executable, "-c", command, "playbook", "show"],
        cwd=filled.folder,
        stdout=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        assert process.wait() == 0
    os.close(ours)
    text = shown.decode()
    assert "┏━━" in text
    assert "Convert the fraction first." in text
    assert "last used" in text
    assert len(re.findall(r"\d{4}-\d\d-\d\d", text)) == 2
    assert text.count("always") == 1


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says so when the other side has closed
        return b""


KINDS = ("fact", "preference", "experience", "strategy", "anti_pattern", "observation")


def test_show_lists_one_kind_and_an_unknown_one_names_the_nine(ace: Commands) -> None:
    for kind in KINDS:
        ace.ok("playbook", "add", f"What belongs to {kind}", "--kind", kind)
    for kind in KINDS:
        (shown,) = ace.ok("playbook", "show", "--kind", kind, "--json").json["bullets"]
        assert shown["content"] == f"What belongs to {kind}"
    run = ace.ok("trajectory", "start", "Fetch the invoices", "--json").json["trajectory_id"]
    (shown,) = ace.ok("playbook", "show", "--kind", "trajectory", "--json").json["trajectories"]
    assert (shown["id"], shown["kind"], shown["content"]) == (run, "trajectory", "Fetch the invoices")
    assert ace.ok("playbook", "show", "--kind", "reflection", "--json").json["reflections"] == []
    refused = ace("playbook", "show", "--kind", "banana")
    assert refused.code == 2
    assert all(kind in refused.err for kind in memory_kinds.KINDS)
    assert ace("playbook", "add", "x", "--kind", "trajectory").code == 2
    assert ace("playbook", "add", "x", "--kind", "fact", "--avoid").code == 2


def test_get_shows_a_bullet_as_a_strategy_with_the_runs_behind_it(ace: Commands) -> None:
    runs = [
        ace.ok("trajectory", "start", f"Fetch page {n}", "--agent", "crawler", "--json").json["trajectory_id"]
        for n in (1, 2)
    ]
    ace.ok("trajectory", "complete", runs[0], "success")
    lesson = (
        "playbook",
        "add",
        "Retry once after a 429",
        "--kind",
        "strategy",
        "--context",
        "calling an API",
    )
    for run in runs:
        ace.ok(*lesson, "--example", run, "--importance", "0.9")
    shown = ace.ok("playbook", "show", "les-00001", "--json").json
    assert (shown["category"], shown["pattern"], shown["context"], shown["kind"], shown["importance"]) == (
        *("helpful", "Retry once after a 429", "calling an API", "strategy", 0.9),
    )
    assert (shown["examples"], shown["evidence_count"]) == (runs, 2)
    assert round(shown["confidence"], 2) == 0.67, "the second run has not ended"
    assert [run["task"] for run in shown["trajectories"]] == ["Fetch page 2", "Fetch page 1"]
    assert "confidence: 0.667" in ace.ok("playbook", "show", "les-00001").out
    whole = ace.ok("playbook", "show", "--details", "--json").json
    assert [entry["id"] for entry in whole["strategies"]["helpful"]] == ["les-00001"]
    assert (whole["strategies"]["harmful"], whole["strategies"]["neutral"]) == ([], [])
    assert "usage count: 0" in ace.ok("playbook", "show", "--details").out
    assert ace("playbook", "show", "nothing-1").code == 1


def test_a_dangling_example_is_refused_and_nothing_is_written(filled: Commands) -> None:
    before = filled.ok("playbook", "stats", "--json").json
    refused = filled("playbook", "add", "Name the unit", "--example", "nobody")
    assert (refused.code, "unknown trajectory nobody" in refused.err) == (1, True)
    assert filled.ok("playbook", "stats", "--json").json == before


def test_stats_tell_what_the_playbook_was_worth(filled: Commands) -> None:
    figures = filled.ok("playbook", "stats", "--json").json
    assert (figures["usage_count"], figures["success_rate"], figures["last_used_at"]) == (0, None, None)
    assert (figures["total_trajectories_analyzed"], figures["consolidation_count"]) == (0, 0)
    assert figures["kinds"] == {"strategy": 1, "fact": 1, "preference": 1}
    assert figures["mean_confidence"] == 0.5
    filled.ok("playbook", "merge", "les-00001", "les-00002", "--force")
    figures = filled.ok("playbook", "stats", "--json").json
    assert (figures["consolidation_count"], figures["last_consolidated"] is None) == (1, False)
    filled.ok("playbook", "rollback", "3")
    assert filled.ok("playbook", "stats", "--json").json["consolidation_count"] == 0


def test_memories_are_added_shown_and_found_by_scope(ace: Commands) -> None:
    ace.ok("playbook", "create", "http", "--learner", "bob")
    ace.ok("share", "team", "add", "ops", "ada")
    ace.ok("share", "grant", "http", "--to", "team:ops", "--as", "editor", "--learner", "bob")
    ada = ("--learner", "ada")
    ace.ok("playbook", "add", "Pages have 50 rows", "--scope", "agent", "--agent", "crawler", *ada)
    ace.ok("playbook", "add", "Retry pages after 429", "--scope", "tenant", *ada)
    texts = {
        scope: [
            each["content"] for each in ace.ok("playbook", "show", *more, *ada, "--json").json["memories"]
        ]
        for scope, more in {
            "agent": ("--scope", "agent", "--agent", "crawler"),
            "user": ("--scope", "user"),
            "tenant": ("--scope", "tenant"),
        }.items()
    }
    assert texts == {
        "agent": ["Pages have 50 rows"],
        "user": ["Pages have 50 rows"],
        "tenant": ["Retry pages after 429"],
    }
    (own,) = ace.bullets(learner="ada")
    assert own["tags"] == ["agent:crawler"]
    found = ace.ok("playbook", "search", "pages", "--scope", "global", *ada).out
    assert found.startswith("bob/http [")
    assert found.endswith("Retry pages after 429\n")
    assert (
        "no such memory" in ace.ok("playbook", "search", "pages", "--scope", "tenant", "--learner", "eve").err
    )
    for wrong in (
        ("show", "--scope", "agent"),
        ("show", "--scope", "tenant", "--name", "http"),
        ("search", "pages", "--scope", "tenant", "--explain"),
        ("add", "x", "--scope", "tenant"),
    ):
        assert ace("playbook", *wrong, "--learner", "eve").code == 2, wrong
