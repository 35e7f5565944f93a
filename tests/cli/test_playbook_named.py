"""`playbook create`, `list`, `show --details`, `import`, `delete`, `history`, and `--name` elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import Commands


@pytest.fixture
def advice(tmp_path: Path) -> Path:
    file = tmp_path / "advice.json"
    texts = ("Send the key in a header", "Retry after 429")
    file.write_text(json.dumps([{"content": text} for text in texts]))
    return file


def _texts(ace: Commands, name: str) -> list[str]:
    return [
        b["content"]
        for b in ace.ok("playbook", "show", "--details", "--name", name, "--json").json["bullets"]
    ]


def test_get_shows_everything_about_a_playbook(ace: Commands, advice: Path) -> None:
    options = ("--description", "calling the API", "--scope", "tenant", "--visibility", "shared")
    ace.ok("playbook", "create", "api_client", str(advice), *options)
    shown = ace.ok("playbook", "show", "--details", "--name", "api_client", "--json").json
    assert {
        name: shown[name] for name in ("owner", "name", "description", "scope", "visibility", "label")
    } == {
        "owner": "local",
        "name": "api_client",
        "description": "calling the API",
        "scope": "tenant",
        "visibility": "shared",
        "label": "1.0",
    }
    assert len(shown["playbook_id"]) == 36
    assert shown["version"] == 1
    assert shown["created_at"] == shown["updated_at"]
    assert len(shown["bullets"]) == 2
    assert (
        "description: calling the API" in ace.ok("playbook", "show", "--details", "--name", "api_client").out
    )


def test_the_fields_of_an_entry_are_changed_later(ace: Commands) -> None:
    ace.ok("playbook", "create", "api_client", "--description", "old")
    told = ace.ok("playbook", "edit", "--name", "api_client", "--description", "new").out
    ace.ok("playbook", "edit", "--name", "api_client", "--scope", "user")
    ace.ok("playbook", "edit", "--name", "api_client", "--lessons", "judged")
    shown = ace.ok("playbook", "show", "--details", "--name", "api_client", "--json").json
    assert told == "api_client: scope agent, lessons written, new\n"
    assert (shown["description"], shown["scope"], shown["version"]) == ("new", "user", 1)
    assert shown["lessons"] == "judged"
    assert shown["visibility"] == "private", "unless it was asked to be shared"
    assert ace("playbook", "edit", "--name", "api_client").code == 2
    assert ace("playbook", "edit", "--name", "default", "--scope", "user").code == 2


def test_a_playbook_is_listed_beside_the_memory(ace: Commands) -> None:
    assert "no playbook" in ace.ok("playbook", "list").err
    ace.ok("playbook", "create", "api_client")
    ace.ok("playbook", "add", "Draw a picture first")
    names = [each["name"] for each in ace.ok("playbook", "list", "--json").json["playbooks"]]
    assert names == ["default", "api_client"]
    assert [line.split()[:2] for line in ace.ok("playbook", "list").out.splitlines()] == [
        ["default", "1.0"],
        ["api_client", "1.0"],
    ]
    assert "no playbook" in ace.ok("playbook", "list", "--learner", "ben").err


def test_a_file_is_merged_or_replaces_everything(ace: Commands, advice: Path, tmp_path: Path) -> None:
    ace.ok("playbook", "create", "api_client", str(advice))
    more, named = tmp_path / "more.md", ("--name", "api_client")
    more.write_text("- Retry after 429\n- Use /v2\n")
    done = ace.ok("playbook", "import", str(more), *named, "--one-version", "--json").json
    assert (done["label"], len(done["added"]), len(done["reinforced"])) == ("1.1", 1, 1)
    assert len(_texts(ace, "api_client")) == 3
    told = ace.ok("playbook", "import", str(more), "--name", "api_client", "--replace").out
    assert "version 3 (2.0), 2 bullets" in told
    assert sorted(_texts(ace, "api_client")) == ["Retry after 429", "Use /v2"]
    ace.ok("playbook", "rollback", "2", "--name", "api_client")
    assert len(_texts(ace, "api_client")) == 3
    versions = ace.ok("playbook", "history", "--name", "api_client", "--json").json["versions"]
    assert [(each["version"], each["label"]) for each in versions] == [
        (4, "3.0"),
        (3, "2.0"),
        (2, "1.1"),
        (1, "1.0"),
    ]
    assert versions[2]["reason"] == "playbook import more.md"


def test_an_export_put_back_is_the_same_playbook(ace: Commands, advice: Path, tmp_path: Path) -> None:
    ace.ok("playbook", "create", "api_client", str(advice))
    ace.ok("playbook", "edit", "gen-00001", "--vote", "helpful", "--name", "api_client")
    before = ace.ok("playbook", "show", "--details", "--name", "api_client", "--json").json["bullets"]
    file = tmp_path / "out.json"
    ace.ok("playbook", "export", "--name", "api_client", "-o", str(file))
    ace.ok("playbook", "import", str(file), "--name", "api_client", "--replace", "--keep-label")
    assert ace.ok("playbook", "show", "--details", "--name", "api_client", "--json").json["bullets"] == before
    labels = [
        line.split()[1] for line in ace.ok("playbook", "history", "--name", "api_client").out.splitlines()
    ]
    assert labels == ["1.1", "1.1", "1.0"]


def test_the_commands_for_bullets_take_a_name(ace: Commands, advice: Path) -> None:
    named = ("--name", "api_client")
    ace.ok("playbook", "create", "api_client", str(advice))
    ace.ok("playbook", "add", "Use /v2", *named)
    ace.ok("playbook", "edit", "gen-00001", "Send the key as a bearer token", *named)
    ace.ok("playbook", "remove", "gen-00002", *named)
    assert sorted(_texts(ace, "api_client")) == ["Send the key as a bearer token", "Use /v2"]
    ace.ok("playbook", "rollback", "--bullet", "gen-00002", *named)
    assert len(_texts(ace, "api_client")) == 3
    assert ace.ok("playbook", "search", "bearer", *named).out.count("gen-00001") == 1
    assert "playbook api_client of learner local" in ace.ok("playbook", "show", *named).out.lower()
    added = ace.ok("playbook", "diff", "1", "2", *named, "--json").json["added"]
    assert [bullet["content"] for bullet in added] == ["Use /v2"]
    assert len(ace.ok("playbook", "history", *named, "--json").json["versions"]) == 5
    assert ace.ok("playbook", "show", "--json").json == {"version": None, "bullets": []}


def test_a_deleted_playbook_is_gone(ace: Commands) -> None:
    ace.ok("playbook", "create", "api_client")
    ace.ok("playbook", "delete", "--name", "API_CLIENT")
    told = ace("playbook", "show", "--details", "--name", "api_client").err
    assert "there is no playbook 'api_client'" in told
    ace.ok("playbook", "create", "api_client")


def test_on_a_terminal_a_playbook_is_deleted_when_the_answer_is_yes(ace: Commands) -> None:
    ace.ok("playbook", "create", "tea")
    for answer, code in (("n", 1), ("y", 0)):
        with ace.terminal("playbook", "delete", "--name", "tea") as terminal:
            terminal.expect("Delete the playbook tea with all of its versions?")
            terminal.type(f"{answer}\r")
            assert terminal.end() == code
    assert "there is no playbook 'tea'" in ace("playbook", "show", "--details", "--name", "tea").err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "a/b"), "slash"),
        (("create", ""), "1 to 255"),
        (("create", "default"), "own memory"),
        (("delete", "--name", "default"), "forget the learner"),
        (("history", "--name", "none"), "no playbook"),
        (("add", "Use /v2", "--name", "none"), "no playbook"),
        (("show", "--name", "none"), "no playbook"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(ace: Commands, arguments: tuple[str, ...], told: str) -> None:
    failed = ace("playbook", *arguments)
    assert failed.code in (1, 2)
    assert told in failed.err
    assert "Traceback" not in failed.err
    assert ace.ok("playbook", "list", "--json").json == {"playbooks": []}


def test_a_chat_and_a_run_read_named_playbooks(ace: Commands, tmp_path: Path) -> None:
    rule = tmp_path / "rule.md"
    rule.write_text("- Adding fractions needs a common denominator first\n")
    ace.ok("playbook", "create", "maths", str(rule))
    question = "Explain adding fractions 1/2 + 1/3"
    payload = {"messages": [{"role": "user", "content": question}], "scratch": {"playbooks": ["maths"]}}
    done = ace.program("run", stdin=json.dumps(payload)).json
    assert done["result"]["injected"] == ["local/maths:gen-00001"]
    ace.ok("chat", "--playbook", "maths", stdin=question)
    for failed in (
        ace.program("run", stdin=json.dumps(payload).replace("maths", "none")),
        ace("chat", "--playbook", "none", stdin=question),
    ):
        assert failed.code == 1
        assert "there is no playbook 'none'" in failed.out + failed.err


def test_the_list_tells_how_each_playbook_is_used_by_all_who_read_it(ace: Commands, tmp_path: Path) -> None:
    rule = tmp_path / "rule.md"
    rule.write_text("- Adding fractions needs a common denominator first\n")
    ace.ok("playbook", "create", "maths", str(rule))
    ace.ok("playbook", "create", "unread")
    ace.ok("share", "grant", "maths", "--to", "user:bob")
    for learner, name in (("local", "maths"), ("bob", "local/maths")):
        ace.ok(
            *("chat", "--learner", learner, "--playbook", name), stdin="Explain adding fractions 1/2 + 1/3"
        )
    _, maths, unread = ace.ok("playbook", "list", "--figures", "--json").json["playbooks"]
    assert (maths["name"], maths["bullets"], maths["usage_count"], maths["used_by"]) == ("maths", 1, 2, 2)
    assert (unread["usage_count"], unread["used_by"], unread["last_used_at"]) == (0, 0, None)
    out = ace.ok("playbook", "list", "--figures").out
    assert "maths  1.0  1 bullet  2 turns of 2 learners  not judged  last used " in out
    assert "bob" not in out
    assert "unread  1.0  0 bullets  0 turns of 0 learners  not judged  never used  0 runs analysed" in out


_CORRECTED = ("What is 7/8 + 1/2?", "That's wrong, it should be 1 3/8.")


def _taught(ace: Commands, learner: str, *arguments: str) -> str:
    done = ace.ok("chat", "--learner", learner, *arguments, stdin="\n".join(_CORRECTED))
    return done.out + done.err


def _contents_of(ace: Commands, *arguments: str) -> list[str]:
    shown = ace.ok("playbook", "show", "--json", *arguments).json
    return [bullet["content"] for bullet in shown["bullets"]]


@pytest.mark.parametrize(
    ("relation", "told"),
    [
        ("owner", "1 lesson written into ada/maths"),
        ("editor", "1 lesson written into ada/maths"),
        ("contributor", "1 lesson proposed to ada/maths"),
        ("viewer", "1 lesson kept in your own memory, not in ada/maths: you may read the playbook"),
        ("stranger", "1 lesson kept in your own memory, not in ada/maths: there is no playbook"),
    ],
)
def test_a_chat_learns_into_a_playbook_as_far_as_one_may(ace: Commands, relation: str, told: str) -> None:
    ace.ok("playbook", "create", "maths", "--learner", "ada")
    learner = "ada" if relation == "owner" else "bob"
    if relation not in ("owner", "stranger"):
        ace.ok("share", "grant", "maths", "--to", "user:bob", "--as", relation, "--learner", "ada")
    out = _taught(ace, learner, "--learn-into", "ada/maths")
    assert told in out
    kept = "kept in" in told
    assert ("what is learned stays in your own memory" in out) is kept, "said before the first question, too"
    assert bool(_contents_of(ace, "--learner", learner)) is kept
    assert bool(_contents_of(ace, "--name", "maths", "--learner", "ada")) is ("written" in told)
    proposals = ace.ok("share", "proposals", "maths", "--learner", "ada", "--json").json["proposals"]
    assert bool(proposals) is ("proposed" in told)
    (judged, *_) = json.loads(ace.ok("trajectory", "list", "--learner", learner, "--json").out)
    assert told in ace.ok("trajectory", "show", judged["trajectory_id"], "--learner", learner).out


def test_a_run_learns_into_a_playbook_and_its_scratch_may_be_sent_back(ace: Commands) -> None:
    ace.ok("playbook", "create", "maths")
    said = [
        {"role": "user", "content": _CORRECTED[0]},
        {"role": "assistant", "content": "The answer is 11/8."},
        {"role": "user", "content": _CORRECTED[1]},
    ]
    first = ace.program(
        "run", stdin=json.dumps({"messages": said[:1], "scratch": {"learn_into": "maths"}})
    ).json
    answer = {"role": "assistant", "content": first["answer"]}
    scratch = {**first["scratch"], "learn_into": "maths"}
    payload = {"messages": [said[0], answer, said[2]], "scratch": scratch}
    second = ace.program("run", stdin=json.dumps(payload)).json
    assert second["scratch"]["learned_into"]["how"] == "written"
    again = {**payload, "scratch": {**second["scratch"], "learn_into": "maths"}}
    assert "answer" in ace.program("run", stdin=json.dumps(again)).json


def test_a_temporary_chat_learns_into_nothing(ace: Commands) -> None:
    for arguments, told in (
        (("--temporary", "--learn-into", "maths"), "leave out --learn-into or --temporary"),
        (("--learn-into", "ada/"), "a playbook's name must have 1 to 255 characters"),
    ):
        refused = ace("chat", *arguments, stdin="hi\n")
        assert refused.code == 2
        assert told in refused.err


def test_the_export_of_a_learner_holds_the_playbooks(ace: Commands, advice: Path) -> None:
    ace.ok("playbook", "create", "api_client", str(advice), "--learner", "ada")
    ace.ok("playbook", "add", "Use /v2", "--name", "api_client", "--learner", "ada")
    exported = ace.ok("learner", "export", "ada")
    assert "nothing is stored" not in exported.err
    (playbook,) = exported.json["playbooks"]
    assert (playbook["name"], playbook["version"], exported.json["version"]) == ("api_client", 2, None)
    assert [b["content"] for b in playbook["playbook"]["bullets"]][-1] == "Use /v2"
    assert [entry["label"] for entry in playbook["history"]["entries"]] == ["1.0", "1.1"]


def test_forgetting_a_learner_deletes_the_playbooks_too(ace: Commands, advice: Path) -> None:
    ace.ok("playbook", "create", "api_client", str(advice), "--learner", "ada")
    ace.ok("learner", "forget", "ada", "--yes")
    assert ace.ok("playbook", "list", "--learner", "ada", "--json").json == {"playbooks": []}


def test_a_new_playbook_says_what_becomes_of_lessons(ace: Commands) -> None:
    ace.ok("playbook", "create", "orders", "--lessons", "proposed")
    ace.ok("playbook", "create", "notes")
    listed = ace.ok("playbook", "list", "--json").json["playbooks"]
    assert {each["name"]: each["lessons"] for each in listed} == {"orders": "proposed", "notes": "written"}


def test_a_playbook_begins_with_a_template(ace: Commands, advice: Path) -> None:
    made = ace.ok("playbook", "create", "shop", "--template", "api_client")
    assert made.out.startswith("shop: created, version 1.0, 23 bullets; id ")
    shown = ace.ok("playbook", "show", "--details", "--name", "shop", "--json").json
    assert shown["description"] == "calling HTTP APIs: limits, retries, paging, writing safely"
    assert {each["polarity"] for each in shown["bullets"]} == {"strategy", "anti_pattern", "observation"}
    (version,) = ace.ok("playbook", "history", "--name", "shop", "--json").json["versions"]
    assert version["reason"] == "playbook create from the template api_client"
    ace.ok("playbook", "create", "mine", "--template", "tutoring", "--description", "for fractions")
    assert (
        ace.ok("playbook", "show", "--details", "--name", "mine", "--json").json["description"]
        == "for fractions"
    )
    both = ace("playbook", "create", "other", str(advice), "--template", "tutoring")
    assert (both.code, "leave one of them out" in both.err) == (2, True)
    unknown = ace("playbook", "create", "other", "--template", "cooking")
    assert (unknown.code, "use api_client, data_analysis or tutoring" in unknown.err) == (2, True)
    assert len(ace.ok("playbook", "list", "--json").json["playbooks"]) == 2


def test_the_templates_are_listed_and_read(ace: Commands) -> None:
    lines = ace.ok("playbook", "list", "--templates").out.splitlines()
    assert [line.split()[0] for line in lines] == ["api_client", "data_analysis", "tutoring"]
    listed = ace.ok("playbook", "list", "--templates", "--json").json["templates"]
    assert [each["count"] for each in listed] == [23, 24, 24]
    whole = ace.ok("playbook", "show", "--template", "tutoring").out
    assert "## hints\n- Ask what the student has tried" in whole
    assert "- AVOID: Taking the pen" in whole
    assert len(ace.ok("playbook", "show", "--template", "tutoring", "--json").json["bullets"]) == 24
    assert ace("playbook", "show", "--template", "cooking").code == 2


def test_who_has_a_grant_is_told_what_stays_with_the_learner_whose_playbook_it_is(ace: Commands) -> None:
    ace.ok("playbook", "create", "tea", "--learner", "ada")
    ace.ok("playbook", "add", "Warm the pot first", "--name", "tea", "--learner", "ada")
    for who, relation in (("bob", "viewer"), ("kim", "owner")):
        ace.ok("share", "grant", "tea", "--to", f"user:{who}", "--as", relation, "--learner", "ada")
        shown = ace.ok("playbook", "history", "--name", "ada/tea", "--learner", who).out.splitlines()
        assert len(shown) == 2
        assert all(line.endswith("what changed is known to its owner alone") for line in shown)
        refused = ace("playbook", "rollback", "1", "--name", "ada/tea", "--learner", who)
        assert refused.code == 1
        assert "only the learner whose it is can, and no grant gives it" in refused.err
    assert (
        "what changed is known" not in ace.ok("playbook", "history", "--name", "tea", "--learner", "ada").out
    )
    assert "playbook: tea" in ace.ok("playbook", "stats", "--name", "tea", "--learner", "ada").out


def test_a_proposal_shows_what_it_would_replace(ace: Commands) -> None:
    ace.ok("playbook", "create", "tea", "--learner", "ada")
    ace.ok("playbook", "add", "Steep for ten minutes", "--name", "tea", "--learner", "ada")
    ace.ok("share", "grant", "tea", "--to", "user:bob", "--as", "contributor", "--learner", "ada")
    ace.ok("playbook", "add", "Steep for three minutes", "--learner", "bob")
    [own] = ace.bullets("bob")
    [theirs] = ace.ok("playbook", "show", "--name", "tea", "--learner", "ada", "--json").json["bullets"]
    ace.ok("share", "propose", "ada/tea", own["id"], "--replaces", theirs["id"], "--learner", "bob")
    shown = ace.ok("share", "proposals", "tea", "--learner", "ada").out
    assert f"instead of: [{theirs['id']}] Steep for ten minutes" in shown
    ace.ok("playbook", "remove", theirs["id"], "--name", "tea", "--learner", "ada")
    shown = ace.ok("share", "proposals", "tea", "--learner", "ada").out
    assert f"instead of: [{theirs['id']}], which is gone" in shown
