"""`trajectory`, `worker`, `reflect` and `feedback`, as a shell script would use them."""

from __future__ import annotations

import json
import shlex
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ace_graph.testing import GeminiServer
from tests.cli.commands import PROGRAM, Commands, Json
from tests.plugins.warm_python import WarmPython

SCRIPT = """
set -eu
id=$(ace trajectory start "Fetch the invoices" --agent crawler --type api_call)
ace trajectory log "$id" decision "page by page"
ace trajectory log "$id" action "GET /invoices" --metadata '{"page": 1}' --json > step.json
ace trajectory complete "$id" failure --score 0.25 --error "429 after 3 retries" \
    --metrics '{"pages": 3}' --json > done.json
ace trajectory list --json > list.json
ace trajectory show "$id" --json > show.json
"""


@pytest.fixture
def model(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ace.folder.is_dir()
    monkeypatch.setenv("ACE_MODEL", "offline")


def _failed(ace: Commands, error: str = "429 after 3 retries") -> str:
    name = ace.ok("trajectory", "start", "Fetch the invoices", "--agent", "crawler").out.strip()
    ace.ok("trajectory", "complete", name, "failure", "--error", error)
    return name


def _show(ace: Commands, name: str) -> Json:
    return ace.ok("trajectory", "show", name, "--json").json


def _asked(ace: Commands) -> str:
    """A turn of the graph, left to a worker; its id."""
    ace.ok("run", stdin=json.dumps({"messages": [{"role": "user", "content": "What is 1/2 + 1/3?"}]}))
    return json.loads(ace.ok("trajectory", "list", "--json").out)[0]["turn_id"]


def test_a_shell_script_records_a_trajectory(ace: Commands, warm_python: WarmPython) -> None:
    program = f'ace() {{ {shlex.join(warm_python("-c", PROGRAM))} "$@"; }}\n'
    subprocess.run(["bash", "-c", program + SCRIPT], check=True, cwd=ace.folder)
    (listed,) = json.loads(Path("list.json").read_text("utf-8"))
    shown = json.loads(Path("show.json").read_text("utf-8"))
    assert listed["trajectory_id"] == shown["turn_id"]
    assert json.loads(Path("done.json").read_text("utf-8"))["status"] == listed["status"] == "failure"
    assert [(step["kind"], step["metadata"]) for step in shown["steps"]] == [
        ("decision", {}),
        ("action", {"page": 1}),
    ]
    assert (shown["agent"], shown["task_type"], shown["score"]) == ("crawler", "api_call", 0.25)
    assert (shown["error"], shown["metrics"]) == ("429 after 3 retries", {"pages": 3})
    assert shown["learning"] == "pending"


def test_a_day_is_counted_from_its_beginning_to_its_end(ace: Commands) -> None:
    name = ace.ok("trajectory", "start", "Fetch").out.strip()
    ace.ok("trajectory", "complete", name, "success")
    ended = datetime.fromisoformat(_show(ace, name)["completed_at"])
    day, before, after = (f"{ended + timedelta(days=n):%Y-%m-%d}" for n in (0, -1, 1))
    midnight = f"{day}T00:00:01" if ended.hour or ended.minute or ended.second > 1 else f"{before}T23:00:00"
    for bounds, number in (
        (("--since", day, "--until", day), 1),
        (("--since", before, "--until", after), 1),
        (("--until", before), 0),
        (("--since", after), 0),
        (("--until", midnight), 0),
    ):
        assert len(json.loads(ace.ok("trajectory", "list", *bounds, "--json").out)) == number, bounds


def test_tokens_and_cost_are_given_with_the_outcome(ace: Commands) -> None:
    by_options = ("--input-tokens", "1200", "--output-tokens", "300", "--cost", "0.03", "--model", "m")
    by_metrics = ("--metrics", '{"tokens": 1500, "cost_usd": 0.03, "duration_ms": 2340}')
    found = list[Json]()
    for given in (by_options, by_metrics):
        name = ace.ok("trajectory", "start", "Fetch").out.strip()
        ace.ok("trajectory", "complete", name, "success", *given)
        found.append(_show(ace, name))
    assert [(each["input_tokens"], each["output_tokens"], each["cost"], each["model"]) for each in found] == [
        (1200, 300, 0.03, "m"),
        (1500, 0, 0.03, None),
    ]
    assert found[1]["duration_ms"] == 2340


def test_a_graph_turn_shows_every_field(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = {"reasoning": "r", "lessons": [{"content": "Rewrite both fractions with one denominator."}]}
    asked = {"messages": [{"role": "user", "content": "What is 1/2 + 1/3?"}], "mode": "tot"}
    scratch = {"ground_truth": "5/6", "depth": 1, "conversation_id": "c", "task_type": "homework"}
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", "a-key-of-no-provider")
        monkeypatch.setenv("GEMINI_MODEL", "my-model")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("ACE_PRICES", "other=9/9, my-model=2/10")
        server.answer("1. Rewrite both.\n2. Draw them.\n3. Guess.", tokens=(40, 12))
        server.answer("1: 9\n2: 5\n3: 1", tokens=(60, 8))
        server.answer("<final>4/6</final>", tokens=(300, 30))
        server.answer(json.dumps(lesson), tokens=(600, 50))
        ace.ok("run", stdin=json.dumps({**asked, "scratch": scratch}))
    (listed,) = json.loads(ace.ok("trajectory", "list", "--json").out)
    shown = _show(ace, listed["turn_id"])
    assert (shown["task"], shown["answer"], shown["mode"]) == ("What is 1/2 + 1/3?", "4/6", "tot")
    assert (shown["agent"], shown["task_type"], shown["conversation_id"]) == ("ace_graph", "homework", "c")
    assert (shown["status"], shown["verdict"], shown["score"]) == ("failure", "failure", 0.0)
    assert [(item["source"], item["verdict"]) for item in shown["evidence"]] == [("ground_truth", "failure")]
    assert (shown["model"], shown["calls"]) == ("my-model", 4)
    assert (shown["input_tokens"], shown["output_tokens"]) == (1_000, 100)
    assert shown["cost"] == pytest.approx(0.003), "a million tokens cost 2 in and 10 out"
    assert shown["duration_ms"] > 0
    assert shown["started_at"].endswith("Z")
    assert shown["completed_at"] >= shown["started_at"]
    assert [step["kind"] for step in shown["steps"]] == ["decision", "action"]
    assert (shown["error"], shown["parent_id"], shown["topic"]) == (None, None, "fraction_addition")
    assert (shown["injected"], shown["cited"]) == ([], [])


def test_wrong_usage_is_exit_code_2_and_an_unknown_id_1(ace: Commands) -> None:
    name = ace.ok("trajectory", "start", "x").out.strip()
    assert ace("trajectory", "complete", name, "banana").code == 2
    assert ace("trajectory", "complete", name, "success", "--score", "nan").code == 2
    assert ace("trajectory", "log", name, "thought", "x").code == 2
    assert ace("trajectory", "log", name, "action", "x", "--metadata", "[1]").code == 2
    assert ace("trajectory", "list", "--status", "banana").code == 2
    assert ace("reflect").code == 2
    assert ace("trajectory", "feedback", name, "splendid").code == 2
    assert ace("trajectory", "show", "nowhere").code == 1
    assert _show(ace, name)["status"] == "in_progress"
    ace.ok("trajectory", "complete", name, "success")
    again = ace("trajectory", "complete", name, "failure")
    assert (again.code, _show(ace, name)["status"]) == (1, "success")
    assert "its first outcome stays" in again.err


@pytest.mark.usefixtures("model")
def test_a_worker_drains_what_run_left_and_ends(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_LEARNING", "background")
    name = _asked(ace)
    assert _show(ace, name)["learning"] == "pending"
    doctor = {row["check"]: row for row in ace.ok("doctor", "--json").json["checks"]}
    assert doctor["pending learning"]["found"] == "1 waiting, 0 dead letters"
    done = ace.ok("worker", "--once")
    assert "learned 1" in done.err
    assert _show(ace, name)["learning"] == "learned"
    assert "nothing was pending" in ace.ok("worker", "--once").err


def test_a_worker_without_a_model_says_what_to_set(ace: Commands) -> None:
    _failed(ace)
    done = ace("worker", "--once")
    assert done.code == 1
    assert "GEMINI_API_KEY" in done.err


def test_what_could_not_be_learned_is_shown_and_tried_again(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = _failed(ace)
    pending = _show(ace, name)["pending_id"]
    _kill(ace, pending)
    (listed,) = json.loads(ace.ok("trajectory", "list", "--failed", "--json").out)
    assert (listed["trajectory_id"], listed["learning"]) == (name, "dead")
    assert listed["learning_error"] == "the model was away"
    assert "dead: the model was away" in ace.ok("trajectory", "list", "--failed").out
    monkeypatch.setenv("ACE_MODEL", "offline")
    row = {row["check"]: row for row in ace.ok("doctor", "--json").json["checks"]}["pending learning"]
    assert (row["status"], row["found"]) == ("warn", "0 waiting, 1 dead letters")
    assert "ace-graph reflect ID" in row["fix"]
    assert ace.ok("reflect", name, "--json").json["status"] == "done"
    assert _show(ace, name)["learning"] == "learned"


def _kill(ace: Commands, pending_id: str) -> None:
    """Make a dead letter of pending work, as a worker does when the model fails too often."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(ace.database)) as connection, connection:
        connection.execute(
            "UPDATE ace_pending SET state = 'dead', error = 'the model was away' WHERE pending_id = ?",
            (pending_id,),
        )


@pytest.mark.usefixtures("model")
def test_feedback_moves_counters_and_is_learned_from(ace: Commands) -> None:
    ace.ok("playbook", "add", "Add numerators and denominators of fractions")
    (bullet,) = ace.bullets()
    name = ace.ok("trajectory", "start", "Add fractions").out.strip()
    ace.ok("trajectory", "complete", name, "success", "--score", "1", "--no-learn", "--cited", bullet["id"])
    given = ace.ok("trajectory", "feedback", name, "bad", "it is 5/6", "--json").json
    assert given["tagged"] == [bullet["id"]]
    assert (given["score_before"], given["pending"]) == (1.0, None)
    assert given["score_after"] == pytest.approx(0.5, abs=0.01)
    shown = _show(ace, name)
    assert [(said["verdict"], said["text"]) for said in shown["feedback"]] == [("failure", "it is 5/6")]
    assert shown["learning"] == "learned"


def test_old_steps_go_once_they_were_reflected_on(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [ace.ok("trajectory", "start", f"task {n}").out.strip() for n in range(2)]
    for name in names:
        ace.ok("trajectory", "log", name, "action", "did it")
        ace.ok("trajectory", "complete", name, "failure", "--error", "no")
    monkeypatch.setenv("ACE_MODEL", "offline")
    ace.ok("reflect", names[0])
    done = ace.ok("trajectory", "trim", "--days", "0", "--json").json
    assert (done["trimmed"], done["unreflected"]) == ([names[0]], [names[1]])
    first, second = (_show(ace, name) for name in names)
    assert (first["steps"], first["steps_dropped"], first["status"]) == ([], "retention", "failure")
    assert first["evidence"] == second["evidence"]
    assert len(second["steps"]) == 1


@pytest.mark.parametrize(
    ("sample", "failures", "kept"), [("0", "true", [0, 1]), ("0", "false", [0, 0]), ("1", "true", [1, 1])]
)
def test_the_command_line_samples_as_the_settings_say(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, sample: str, failures: str, kept: list[int]
) -> None:
    monkeypatch.setenv("ACE_TRACE_SAMPLE", sample)
    monkeypatch.setenv("ACE_TRACE_FAILURES", failures)
    found = list[int]()
    for status in ("success", "failure"):
        name = ace.ok("trajectory", "start", "a task").out.strip()
        ace.ok("trajectory", "log", name, "action", "did it")
        ace.ok("trajectory", "complete", name, status, "--no-learn")
        found.append(len(_show(ace, name)["steps"]))
    assert found == kept
