"""`ace-graph share` and `ace-graph team`, and what `--as` shows of the playbooks of others."""

from __future__ import annotations

import pytest

from tests.cli.commands import Commands

THEIRS = ("--name", "ada/api_client")


@pytest.fixture
def made(ace: Commands) -> Commands:
    """Ada's playbook with one bullet for everybody, and one of her own."""
    ace.ok("playbook", "create", "api_client", "--learner", "ada")
    ace.ok("playbook", "add", "Use /v1", "--name", "api_client", "--learner", "ada")
    ace.ok(
        "playbook", "add", "Learner says: I am Ann", "--section", "profile", "-n", "api_client", "-l", "ada"
    )
    return ace


def _fails(ace: Commands, code: int, *args: str) -> str:
    done = ace(*args)
    assert done.code == code, (done.out, done.err)
    return done.err.splitlines()[-1] if code == 1 else done.err  # before it, the log's line


def _seen(ace: Commands, *who: str) -> list[str]:
    shown = ace.ok("playbook", "show", "--details", *THEIRS, *who, "--json").json
    return [bullet["content"] for bullet in shown["bullets"]]


def test_a_playbook_is_shared_listed_and_taken_back(made: Commands) -> None:
    before = _fails(made, 1, "playbook", "show", "--details", *THEIRS, "--as", "bob")
    missing = _fails(made, 1, "playbook", "show", "--details", "--name", "ada/api_clienx", "--as", "bob")
    assert before == missing.replace("api_clienx", "api_client")
    assert "there is no playbook 'ada/api_client'" in before
    told = made.ok("share", "grant", "api_client", "--to", "user:bob", "--as", "viewer", "--learner", "ada")
    assert told.out == "api_client: user:bob is viewer\n"
    assert _seen(made, "--as", "bob") == _seen(made, "--learner", "bob") == ["Use /v1"]
    assert made.ok("share", "list", "--learner", "bob").out.split()[:3] == ["ada/api_client", "1.2", "read"]
    (grant,) = made.ok("share", "list", "api_client", "--learner", "ada", "--json").json["grants"]
    assert {name: grant[name] for name in ("subject", "relation", "by")} == {
        "subject": "user:bob",
        "relation": "viewer",
        "by": "ada",
    }
    made.ok("share", "revoke", "api_client", "--from", "user:bob", "--learner", "ada")
    assert _fails(made, 1, "playbook", "show", "--details", *THEIRS, "--as", "bob") == before
    assert "no playbook is shared" in made.ok("share", "list", "--learner", "bob").err
    _fails(made, 1, "share", "revoke", "api_client", "--from", "user:bob", "--learner", "ada")


def test_a_viewer_is_refused_every_change(made: Commands) -> None:
    made.ok("share", "grant", "api_client", "--to", "user:bob", "-l", "ada")
    (bullet,) = made.ok("playbook", "show", "--details", *THEIRS, "--as", "bob", "--json").json["bullets"]
    for change in (
        ("add", "Use /v2"),
        ("remove", bullet["id"]),
        ("edit", bullet["id"], "Use /v2"),
        ("edit", bullet["id"], "--vote", "harmful"),
        ("edit", bullet["id"], "--pin"),
        ("remove", "--all"),
        ("rollback", "1"),
        ("delete",),
    ):
        told = _fails(made, 1, "playbook", *change, *THEIRS, "--as", "bob")
        assert "you may read the playbook" in told, change
    assert _seen(made, "--learner", "ada")[0] == "Use /v1"
    assert "you may read the playbook" in _fails(made, 1, "share", "list", "ada/api_client", "-l", "bob")
    assert "you may read the playbook" in _fails(
        made, 1, "share", "grant", "ada/api_client", "--to", "user:eve", "-l", "bob"
    )
    assert "you may read the playbook" in _fails(made, 1, "playbook", "consolidate", *THEIRS, "--as", "bob")


def test_an_editor_changes_single_bullets(made: Commands) -> None:
    made.ok("share", "grant", "api_client", "--to", "user:bob", "--as", "editor", "-l", "ada")
    made.ok("playbook", "add", "Use gzip", *THEIRS, "--as", "bob")
    (first, _) = made.ok("playbook", "show", "--details", *THEIRS, "--as", "bob", "--json").json["bullets"]
    made.ok("playbook", "edit", first["id"], "Use /v2", *THEIRS, "--as", "bob")
    assert _seen(made, "--as", "bob") == ["Use /v2", "Use gzip"]
    assert _seen(made, "--as", "ada") == ["Use /v2", "Learner says: I am Ann", "Use gzip"]
    for shown in (
        ("show",),
        ("export",),
        ("history",),
        ("stats",),
        ("search", "Ann"),
        ("show", "--archived"),
    ):
        assert "I am Ann" not in made.ok("playbook", *shown, *THEIRS, "--as", "bob").out


def test_a_reader_shows_their_use_and_takes_it_back(made: Commands) -> None:
    made.ok("share", "grant", "api_client", "--to", "user:bob", "-l", "ada")
    assert "see your use by name" in made.ok("share", "show-use", "ada/api_client", "-l", "bob").out
    made.ok("chat", "-l", "bob", "--playbook", "ada/api_client", stdin="Which version do I use, /v1?\n")
    assert "your use is shown" in made.ok("share", "list", "-l", "bob").out
    assert "reader:bob  shows" in made.ok("share", "list", "api_client", "-l", "ada").out
    stats = ("playbook", "stats", "--name", "api_client", "-l", "ada")
    assert "readers: bob 1" in made.ok(*stats).out
    [use] = made.ok(*stats, "--json").json["readers"]
    assert (use["learner"], use["usage_count"]) == ("bob", 1)
    made.ok("share", "show-use", "ada/api_client", "--off", "-l", "bob")
    assert "readers: none" in made.ok(*stats).out


def test_a_team_reads_until_its_member_leaves(made: Commands) -> None:
    made.ok("share", "grant", "api_client", "--to", "team:ops", "-l", "ada")
    assert made.ok("share", "team", "add", "ops", "bob", "eve").out == "ops: 2 users added\n"
    assert _seen(made, "--as", "bob") == ["Use /v1"]
    assert made.ok("share", "team", "list").out == "ops\n"
    assert made.ok("share", "team", "list", "ops", "--json").json == {"members": ["bob", "eve"], "next": None}
    made.ok("share", "team", "remove", "ops", "bob")
    _fails(made, 1, "playbook", "show", "--details", *THEIRS, "--as", "bob")
    assert _seen(made, "--as", "eve") == ["Use /v1"]
    assert "none of them" in _fails(made, 1, "share", "team", "remove", "ops", "bob")
    assert "looks the same" in _fails(made, 2, "share", "team", "add", "OPS", "bob")


@pytest.mark.parametrize(
    "wrong",
    [
        ("--to", "user:bob", "--as", "admin"),
        ("--to", "bob"),
        ("--to", "group:bob"),
        ("--to", "user:ada"),
        ("--to", "team:"),
    ],
)
def test_a_wrong_grant_is_wrong_usage(made: Commands, wrong: tuple[str, ...]) -> None:
    _fails(made, 2, "share", "grant", "api_client", *wrong, "--learner", "ada")
    assert made.ok("share", "list", "api_client", "--learner", "ada", "--json").json["grants"] == []


def test_the_memory_and_unknown_playbooks_are_not_shared(made: Commands) -> None:
    assert "own memory" in _fails(made, 2, "share", "grant", "default", "--to", "user:bob", "-l", "ada")
    assert "there is no playbook" in _fails(
        made, 1, "share", "grant", "none", "--to", "user:bob", "-l", "ada"
    )
    _fails(made, 1, "playbook", "show", "--details", "--name", "ada/default", "--as", "bob")


def test_a_finding_is_proposed_accepted_and_withdrawn(made: Commands) -> None:
    made.ok("share", "grant", "api_client", "--to", "user:bob", "--as", "contributor", "-l", "ada")
    for text in ("Retry after 429", "Use gzip for large bodies"):
        made.ok("playbook", "add", text, "--learner", "bob")
    first, second = (bullet["id"] for bullet in made.bullets("bob"))
    _fails(made, 1, "playbook", "add", "Retry after 429", *THEIRS, "--as", "bob")
    one = made.ok("share", "propose", "ada/api_client", first, "-l", "bob", "--json").json["proposal_id"]
    two = made.ok("share", "propose", "ada/api_client", second, "-l", "bob").out.split()[-1]
    shown = made.ok("share", "proposals", "api_client", "-l", "ada").out
    assert "by bob  given  until" in shown
    assert "Retry after 429" in shown
    assert "may read" in _fails(made, 1, "share", "accept", "ada/api_client", one, "-l", "bob")
    made.ok("share", "accept", "api_client", one, "--text", "Retry 3 times after 429", "-l", "ada")
    made.ok("share", "refuse", "api_client", two, "-l", "ada")
    assert _seen(made, "--as", "bob") == ["Use /v1", "Retry 3 times after 429"]
    listed = made.ok("share", "proposals", "ada/api_client", "--all", "-l", "bob", "--json").json["proposals"]
    assert {each["proposal_id"]: each["state"] for each in listed} == {one: "accepted", two: "refused"}
    dry = made.ok("share", "withdraw", "api_client", "--by", "bob", "--dry-run", "-l", "ada").out
    assert "Retry 3 times" in dry
    assert "1 bullet removed" in made.ok("share", "withdraw", "api_client", "--by", "bob", "-l", "ada").out
    assert _seen(made, "--as", "bob") == ["Use /v1"]
    _fails(made, 1, "share", "withdraw", "api_client", "--by", "bob", "-l", "ada")
    assert "nothing new" in made.ok("share", "collect", "api_client", "-l", "ada").out
