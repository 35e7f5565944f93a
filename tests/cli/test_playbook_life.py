"""The whole way through the command line.

Ten runs -> what they have in common -> a playbook -> consolidation -> sharing -> another learner's run ->
revoking -> undo.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from ace_graph.testing import GeminiRequest, GeminiServer
from tests.cli.backend import Backend, payload
from tests.cli.commands import Commands, Json

LESSON = "Give the total of a basket in cents, as a whole number"
WORDINGS = (LESSON, LESSON + ".", LESSON.replace("cents, as", "cents as"))
OTHER = "A basket holds at most nine kinds of fruit"
_BASKET = re.compile(r"total of basket (\d+)\?")


def _provider(request: GeminiRequest) -> str:
    """Right with the lesson in the prompt, wrong without it; the reflector says it in several wordings."""
    found = _BASKET.search(request.text)
    number = int(found[1]) if found else 0
    if "<task>reflect</task>" in request.text:
        content = OTHER if number == 4 else WORDINGS[number % 3]
        return json.dumps({"lessons": [{"content": content, "section": "sums"}]})
    return f"<final>{number}00</final>" if LESSON in request.text else f"<final>about {number}</final>"


@pytest.fixture(autouse=True)
def gemini(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    with GeminiServer(_provider) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


def _question(learner: str, number: int, *playbooks: JsonValue) -> str:
    """The question about a basket with its right answer, as `run` reads it."""
    scratch: dict[str, JsonValue] = {
        "learner_id": learner,
        "ground_truth": f"{number}00",
        "reflect_when": "always",
        "playbooks": list(playbooks),
    }
    return payload(f"What is the total of basket {number}?", None, **scratch)


def _asked(backend: Backend, learner: str, number: int, *playbooks: str) -> Json:
    """What a run answers to the question about a basket, judged by the truth."""
    answered = backend.ask(_question(learner, number, *playbooks))
    assert "learning_error" not in answered["scratch"], "the turn is stored"
    return answered["result"]


def _contents(ace: Commands, *where: str) -> dict[str, str]:
    bullets = ace.ok("playbook", "show", "--details", *where, "--json").json["bullets"]
    return {bullet["id"]: bullet["content"] for bullet in bullets}


def _live(ace: Commands, backend: Backend, owner: str) -> None:
    of, shop = ("--learner", owner), ("--name", "shop", "--learner", owner)
    assert [_asked(backend, owner, n)["verdict"] for n in range(1, 11)] == ["failure", *["success"] * 9]
    found = ace.ok("reflect", "--batch", *of, "--json").json
    assert (found["found"], found["unreflected"]) == (10, [])
    first, second = found["patterns"]
    assert (first["frequency"], second["frequency"], second["text"]) == (9, 1, OTHER)

    ace.ok("playbook", "create", "shop", *of)
    named = (first["memory_id"], second["memory_id"])
    done = ace.ok("playbook", "curate", *named, *shop, "--json").json
    assert (done["status"], done["label"], len(done["added"])) == ("curated", "1.1", 2)
    again = ace.ok("playbook", "curate", *named, *shop, "--json").json
    assert (again["status"], again["label"]) == ("repeated", "1.1")

    ace.ok("playbook", "add", "Weigh the fruit first", "--kind", "strategy", *shop)
    (added,) = [name for name, text in _contents(ace, *shop).items() if text.startswith("Weigh")]
    ace.ok("playbook", "edit", added, WORDINGS[1], *shop)
    before = _contents(ace, *shop)
    planned = ace.ok("playbook", "consolidate", *shop, "--dry-run", "--json").json
    assert (planned["merged"], planned["total"], _contents(ace, *shop)) == (2, 3, before)
    merged = ace.ok("playbook", "consolidate", *shop, "--json").json
    (group,) = merged["groups"]
    assert set(group["ids"]) == set(planned["groups"][0]["ids"])
    after = _contents(ace, *shop)
    assert (len(after), after[group["new_id"]]) == (2, group["text"])

    reader, whole = f"{owner}-reader", f"{owner}/shop"
    refused = backend.send(_question(reader, 20, whole))
    assert (refused.code, "there is no playbook" in refused.json["error"]) == (1, True)
    ace.ok("share", "grant", "shop", "--to", f"user:{reader}", *of)
    used = _asked(backend, reader, 20, whole)
    assert used["verdict"] == "success", "the reader's own memory is empty"
    assert f"{whole}:{group['new_id']}" in used["injected"]
    (turn,) = json.loads(ace.ok("trajectory", "list", "--learner", reader, "--json").out)
    shown = ace.ok("trajectory", "show", turn["turn_id"], "--learner", reader).out
    assert re.search(r"^  playbook [0-9a-f-]{36}, version 1\.4$", shown, re.MULTILINE)
    ace.ok("share", "revoke", "shop", "--from", f"user:{reader}", *of)
    assert backend.send(_question(reader, 21, whole)).json == refused.json

    ace.ok("playbook", "consolidate", "undo", merged["run_id"], *shop)
    assert _contents(ace, *shop) == before
    ace.ok("playbook", "rollback", "2", *shop)
    assert _contents(ace, *shop) == {each["id"]: each["text"] for each in done["added"]}


def test_from_ten_runs_to_a_shared_playbook_and_back(ace: Commands, backend: Backend, learner: str) -> None:
    _live(ace, backend, learner)


@pytest.mark.slow
@pytest.mark.heavy
def test_from_ten_runs_to_a_shared_playbook_and_back_on_neo4j(
    shared: Commands, backend: Backend, learner: str
) -> None:
    _live(shared, backend, learner)
