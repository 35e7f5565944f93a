"""`ace-graph adapt`: on a provider that speaks Gemini's REST, with errors mixed in, and counted apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ace_graph.testing import GeminiServer
from tests.cli.adaptation_runs import (
    Json,
    apprentice,
    counts,
    expected,
    provider,
    reflecting,
    results,
    write_rows,
)
from tests.cli.commands import Commands

CONTROLS = ("no_playbook", "empty_playbook", "last_transcripts")


def use(server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "any")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)


@pytest.fixture
def gemini(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    with GeminiServer(provider) as server:
        use(server, monkeypatch)
        yield server


@pytest.fixture
def learning(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    with GeminiServer(apprentice) as server:
        use(server, monkeypatch)
        yield server


def steps(folder: Path, phase: str) -> list[Json]:
    found = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    return [step for step in found if step["phase"] == phase]


def test_online_accuracy_equals_an_independent_count(
    ace: Commands, gemini: GeminiServer, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 17)
    done = ace.ok("adapt", "online", "--task", "formula", "--data", rows, "--out", "run")
    found = results(tmp_path / "run")
    assert counts(found) == expected(range(17)) == (9, 17, 3)
    assert found["accuracy"] == pytest.approx(9 / 17)
    assert 0 < found["interval"][0] < 9 / 17 < found["interval"][1] < 1
    for control in CONTROLS:
        assert counts(found[control]) == (9, 17, 3)
        assert found["compared_with"][control]["gain"] == 0
        assert f"gain over {control}: +0.0%" in done.out
    assert "9 of 17 right, 3 failed" in done.out
    answered = [request for request in gemini.requests if not reflecting(request)]
    replays = 17 - 3 - 9  # of every wrong answer
    assert found["calls"] == 4 * (17 - 3) + (17 - 3) + replays, "the calls of every control are counted"
    assert len(answered) == 4 * 17 + replays
    assert found["tokens"] == {"input": found["calls"] * 10, "output": found["calls"] * 5}
    assert "online: 17 of 17, accuracy 52.9%, 3 failed" in done.err


def test_offline_keeps_the_best_and_tests_it(ace: Commands, learning: GeminiServer, tmp_path: Path) -> None:
    train, val, test = (write_rows(tmp_path / f"{n}.jsonl", 4, n * 100) for n in (1, 2, 3))
    ace.ok(
        *("adapt", "offline", "--task", "formula", "--train", train, "--val", val, "--test", test),
        *("--epochs", "2", "--seed", "3", "--concurrency", "2", "--out", "run"),
        *("--input-price", "2", "--output-price", "4"),
    )
    found = results(tmp_path / "run")
    assert (found["measured_on"], found["best_epoch"]) == ("test", 1)
    assert counts(found) == (4, 4, 0)
    assert [counts(found[control]) for control in CONTROLS] == [(0, 4, 0)] * 3
    assert [(e["epoch"], counts(e["train"]), counts(e["validation"])) for e in found["epochs"]] == [
        (1, (3, 4, 0), (4, 4, 0)),
        (2, (4, 4, 0), (4, 4, 0)),
    ]
    assert found["cost"]["total"] == pytest.approx(
        (found["tokens"]["input"] * 2 + found["tokens"]["output"] * 4) / 1e6
    )
    assert sum(reflecting(request) for request in learning.requests) == 8, "nothing else is reflected on"
    answer = ace.ok("chat", "--base", "run/playbook.json", stdin="What is the total of basket 7?\n")
    assert answer.out.splitlines()[0] == "7"


def test_the_users_own_store_is_not_touched(ace: Commands, gemini: GeminiServer, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 3)
    ace.ok("adapt", "online", "--task", "formula", "--data", rows, "--out", "run")
    assert not ace.database.exists()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "playbook.json",
        "results.json",
        "run.json",
        "steps.jsonl",
    ]


def test_labels_are_counted_one_by_one(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [
        {"context": f"Tag text {n}.", "target": "Revenues, Goodwill, SharePrice, Leases"} for n in range(4)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def tagger(request: object) -> str | int:
        text = str(getattr(request, "text", ""))
        if "<task>reflect</task>" in text:
            return '{"lessons": []}'
        if "Tag text 2." in text:
            return 400
        return (
            "<final>revenues,goodwill</final>"
            if "Tag text 1." in text
            else "<final>Revenues,Goodwill,SharePrice,Leases</final>"
        )

    with GeminiServer(tagger) as server:
        use(server, monkeypatch)
        done = ace.ok("adapt", "online", "--task", "finer", "--data", "rows.jsonl", "--out", "run")
    found = results(tmp_path / "run")
    assert found["accuracy"] == (4 + 2 + 0 + 4) / 16
    assert counts(found) == (2, 4, 1)
    assert found["units"] == {"unit": "label", "right": 10, "all": 16}
    gains = {name: (each["gain"], each["difference"]) for name, each in found["compared_with"].items()}
    assert gains["empty_playbook"] == (0, 0)
    assert gains["last_transcripts"] == (2 / 16, 1 / 4), "row 3 tells of text 1 in a transcript"
    # Of 4 rows with 4 labels each one gains 2: half of the interval is 1.96 * sqrt(4 / 3 * 3) / 16.
    assert [line for line in done.out.splitlines() if line.startswith("gain over")] == [
        "gain over no_playbook: +0.0% (-35.0% to +35.0%), p = 1",
        "gain over empty_playbook: +0.0% (-35.0% to +35.0%), p = 1",
        "gain over last_transcripts: +12.5% (-12.0% to +37.0%), p = 1",
    ]


def test_unusable_rows_are_reported_and_stay_in_the_results(
    ace: Commands, gemini: GeminiServer, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 3)
    rows.write_text(rows.read_text() + '{"context": "no target"}\n{"context": "to\n')
    done = ace.ok("adapt", "online", "--task", "formula", "--data", rows, "--out", "run")
    assert "2 of 5 rows can't be used: line 4: the target is missing; line 5: it is not JSON" in done.err
    assert results(tmp_path / "run")["data"]["data"] == {
        "file": "rows.jsonl",
        "rows": 3,
        "skipped": 2,
        "problems": ["line 4: the target is missing", "line 5: it is not JSON"],
    }


def test_without_a_model_it_is_an_error_and_no_calculator(ace: Commands, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 2)
    done = ace("adapt", "online", "--task", "formula", "--data", rows, "--out", "run")
    assert done.code == 1
    assert "set GEMINI_API_KEY" in done.err
    assert "ACE_MODEL=offline" in done.err


def test_the_offline_tutor_may_be_asked_for(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACE_MODEL", "offline")
    sums = [("What is 1/2 + 1/3?", "5/6"), ("What is 1/4 + 1/6?", "5/12"), ("What is 2/3 + 1/4?", "1")]
    text = "".join(json.dumps({"context": q, "target": t}) + "\n" for q, t in sums)
    (tmp_path / "rows.jsonl").write_text(text)
    ace.ok("adapt", "online", "--task", "qa", "--data", "rows.jsonl", "--out", "run")
    assert counts(results(tmp_path / "run")) == (2, 3, 0)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--task", "appworld"), 2, "appworld"),
        (("--task", "formula", "--limit", "0"), 2, "limit"),
        (("--task", "formula", "--data", "nowhere.jsonl"), 1, "check the path"),
        (("--task", "formula", "--data", "empty.jsonl"), 1, "no row that can be used"),
    ],
)
def test_wrong_arguments_are_explained(
    args: tuple[str, ...], code: int, said: str, ace: Commands, gemini: GeminiServer, tmp_path: Path
) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    rows = write_rows(tmp_path / "rows.jsonl", 2)
    given = args if "--data" in args else (*args, "--data", str(rows))
    done = ace("adapt", "online", *given, "--out", "run")
    assert done.code == code
    assert said in done.err


def test_a_folder_with_a_run_is_not_begun_again(ace: Commands, gemini: GeminiServer, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 3)
    command = ("adapt", "online", "--task", "formula", "--data", rows, "--out", "run")
    first = ace.ok(*command)
    again = ace(*command)
    assert again.code == 2
    assert "resume it (--resume), or choose another folder" in again.err
    calls = len(gemini.requests)
    assert ace.ok(*command, "--resume").out == first.out
    assert len(gemini.requests) == calls, "a finished run is read again, not asked again"


def test_a_terminal_gets_a_bar_with_the_accuracy(ace: Commands, gemini: GeminiServer, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 3)
    with ace.terminal(
        "adapt", "online", "--task", "formula", "--data", str(rows), "--out", "run"
    ) as terminal:
        shown = terminal.expect("run/playbook.json")
        assert terminal.end() == 0
    assert "3/3" in shown
    assert "accuracy 66.7%" in shown


@pytest.mark.parametrize(
    ("task", "file", "limit"), [("formula", "formula_val_300", 12), ("finer", "finer_val_60", 4)]
)
def test_real_rows_are_scored_as_an_independent_count_scores_them(
    task: str, file: str, limit: int, shared_data: Path, ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (shared_data / f"{file}.jsonl").read_text().splitlines()[:limit]
    rows = [(row["context"], row["target"]) for row in map(json.loads, lines)]

    def solver(request: object) -> str | int:
        text = str(getattr(request, "text", ""))
        if "<task>reflect</task>" in text:
            return '{"lessons": []}'
        body: Json = getattr(request, "body", {})
        asked = body["contents"][-1]["parts"][0]["text"]
        n = next(n for n, (context, _) in enumerate(rows) if context == asked)
        target = rows[n][1]
        return 400 if n % 4 == 3 else f"<final>{target if n % 2 else target.split(',')[0]}</final>"

    with GeminiServer(solver) as server:
        use(server, monkeypatch)
        ace.ok(
            *("adapt", "online", "--task", task, "--data", shared_data / f"{file}.jsonl"),
            *("--limit", str(limit), "--out", "run"),
        )
    parts = [len(target.split(",")) if task == "finer" else 1 for _, target in rows]
    right = [0 if n % 4 == 3 else parts[n] if n % 2 else 1 for n in range(limit)]
    found = results(ace.folder / "run")
    assert found["accuracy"] == pytest.approx(sum(right) / sum(parts))
    assert counts(found) == (sum(r == p for r, p in zip(right, parts, strict=True)), limit, limit // 4)
