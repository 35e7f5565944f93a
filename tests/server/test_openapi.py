"""The OpenAPI document is complete, and the server does what it says (schemathesis).

Responses must be documented, of the documented type and shape; no input makes a 5xx; what the document
forbids is refused, and what it allows is not; no token, no answer.
"""

from __future__ import annotations

import copy
import re
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from functools import cache
from typing import Any, get_args

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import load_all_checks
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,  # pyright: ignore[reportUnknownVariableType]  # schemathesis leaves it open
)
from schemathesis.schemas import BaseSchema

from ace_graph.server import create_app
from ace_graph.server.turns import EventName
from tests.packaging.repository import ROOT
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import LONG, PATIENT, sized
from tests.server.serving import bearer, settings_for

Document = dict[str, Any]  # Any: an OpenAPI document
OPEN = {"/healthz", "/readyz", "/metrics"}
PLAYBOOK = ("/api/playbook", "/api/playbooks/{playbook_id}")
BULLETS = ("/api/playbook", "/api/playbooks/{playbook_id}/bullets")
READINGS = ("history", "diff", "archived", "versions", "search", "audit")
ENDLESS = ("/api/playbook/changes", "/api/playbooks/{playbook_id}/changes")
"""Streams that go on; `test_changes.py` reads them."""
RECORDING = ("steps", "complete", "reflect")
SHARED = {"If-Match", "Idempotency-Key"}
CURATIONS = ("restore", "supersede", "tag", "quarantine", "release")
ROUTES = {
    "/api/ai/chat": {"post"},
    "/api/ai/chat/stream": {"post"},
    "/api/ai/chat/stream/{stream_id}": {"get"},
    "/api/playbook": {"get", "post"},
    "/api/playbook/{bullet_id}": {"patch", "delete"},
    "/api/playbooks": {"get", "post"},
    "/api/playbooks/{playbook_id}": {"get", "put", "patch", "delete"},
    "/api/playbooks/{playbook_id}/bullets": {"get", "post"},
    "/api/playbooks/{playbook_id}/bullets/{bullet_id}": {"get", "patch", "delete"},
    **{f"{place}/{name}": {"get"} for place in PLAYBOOK for name in READINGS},
    **{f"{place}/{name}": {"post"} for place in PLAYBOOK for name in ("merge", "rollback")},
    **{f"{place}/{{bullet_id}}/{name}": {"post"} for place in BULLETS for name in CURATIONS},
    **{f"{PLAYBOOK[1]}/{name}": {"get"} for name in ("stats", "export")},
    **{f"{PLAYBOOK[1]}/{name}": {"post"} for name in ("import", "clear", "rescreen", "distinct")},
    "/api/playbooks/{playbook_id}/curate": {"post"},
    "/api/playbooks/{playbook_id}/grants": {"get", "post", "delete"},
    "/api/playbooks/{playbook_id}/proposals": {"get", "post"},
    "/api/playbooks/{playbook_id}/proposals/collect": {"post"},
    "/api/playbooks/{playbook_id}/proposals/{proposal_id}/accept": {"post"},
    "/api/playbooks/{playbook_id}/proposals/{proposal_id}/refuse": {"post"},
    "/api/playbooks/{playbook_id}/withdraw": {"post"},
    "/api/playbooks/{playbook_id}/dream": {"get", "post"},
    "/api/playbooks/{playbook_id}/dream/accept": {"post"},
    "/api/playbooks/{playbook_id}/dream/refuse": {"post"},
    "/api/playbooks/{playbook_id}/consolidate": {"post"},
    "/api/playbooks/{playbook_id}/consolidate/undo": {"post"},
    "/api/templates": {"get"},
    "/api/memories": {"get", "post"},
    "/api/memories/consolidate": {"post"},
    "/api/memories/search": {"get"},
    "/api/playbooks/{playbook_id}/leave": {"post"},
    "/api/playbooks/{playbook_id}/show-use": {"post"},
    "/api/proposals": {"get"},
    "/api/playbooks/{playbook_id}/consolidations/{run_id}": {"get"},
    "/api/trajectories": {"get", "post"},
    "/api/trajectories/trim": {"post"},
    "/api/trajectories/{trajectory_id}": {"get", "delete"},
    **{f"/api/trajectories/{{trajectory_id}}/{name}": {"post"} for name in RECORDING},
    "/api/trajectories/reflect": {"post"},
    "/api/conversations": {"get"},
    "/api/conversations/{conversation_id}": {"get", "patch", "delete"},
    "/api/feedback": {"post"},
    "/api/learner/export": {"get"},
    "/api/learner/stats": {"get"},
    "/api/learner": {"delete"},
    "/api/learners": {"get"},
    **{path: {"get"} for path in (*OPEN, *ENDLESS)},
}


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """A server with the offline tutor, in a thread of this process."""
    _schema()
    load_all_checks()  # before the thread runs: Python 3.11 fails when two threads parse source at once
    app = create_app(settings_for(model="offline", server_rate=1_000_000))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)


@cache
def _document() -> Document:
    """Made when a test first asks for it: it takes as long as collecting a thousand tests."""
    return create_app(settings_for(model="offline")).openapi()


# No schema can say which ETag is that of the present content.
_STALE = {"positive_data_acceptance": {"expected-statuses": ["2xx", 401, 403, 404, 409, 412, "5xx"]}}


def _tested() -> Document:
    """The document; in the gate the headers that all changes share are tested with one change only."""
    document: Document = copy.deepcopy(_document())
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if not LONG and (path, method) != ("/api/playbooks/{playbook_id}", "put"):
                kept = [each for each in operation.get("parameters", []) if each["name"] not in SHARED]
                operation["parameters"] = kept
    for described in document["components"]["schemas"].values():  # nor which zones the machine knows
        if (zone := described.get("properties", {}).get("timezone")) is not None:
            zone["anyOf"][0] = {"type": "string", "enum": ["UTC", "Europe/Berlin"]}
    return document


@cache
def _schema() -> BaseSchema:
    config = schemathesis.Config.from_dict({"checks": _STALE})
    return schemathesis.openapi.from_dict(_tested(), config=config)


def _same_function(path: str) -> bool:
    """Whether the path of the own memory does what that of any playbook does."""
    return not ROUTES.keys().isdisjoint({path.replace(*PLAYBOOK), path.replace(*BULLETS)} - {path})


OPERATIONS = [
    (path, each)
    for path in sorted(ROUTES)
    for each in sorted(ROUTES[path])
    if path not in ENDLESS and (LONG or not _same_function(path))
]


NOTHING_ASKED = {
    ("/api/ai/chat/stream/{stream_id}", "get"),
    ("/api/conversations/{conversation_id}", "delete"),
    ("/api/learner", "delete"),
    ("/api/learner/export", "get"),
    ("/api/playbooks/{playbook_id}", "delete"),
    ("/api/playbooks/{playbook_id}", "get"),
    ("/api/playbooks/{playbook_id}/bullets/{bullet_id}", "delete"),
    ("/api/playbooks/{playbook_id}/bullets/{bullet_id}", "get"),
    ("/api/playbooks/{playbook_id}/bullets/{bullet_id}/release", "post"),
    ("/api/playbooks/{playbook_id}/bullets/{bullet_id}/restore", "post"),
    ("/api/playbooks/{playbook_id}/audit", "get"),
    ("/api/playbooks/{playbook_id}/clear", "post"),
    ("/api/playbooks/{playbook_id}/consolidations/{run_id}", "get"),
    ("/api/playbooks/{playbook_id}/dream", "get"),
    ("/api/playbooks/{playbook_id}/dream", "post"),
    ("/api/playbooks/{playbook_id}/leave", "post"),
    ("/api/playbooks/{playbook_id}/proposals/collect", "post"),
    ("/api/playbooks/{playbook_id}/stats", "get"),
    ("/api/playbooks/{playbook_id}/versions", "get"),
    ("/api/proposals", "get"),
    ("/api/templates", "get"),
    ("/api/trajectories/{trajectory_id}", "delete"),
    ("/api/trajectories/{trajectory_id}", "get"),
    ("/api/trajectories/{trajectory_id}/reflect", "post"),
    ("/healthz", "get"),
    ("/metrics", "get"),
    ("/readyz", "get"),
}
"""Operations without a body and a query; written down, so that collecting the tests needs no document."""


def _asks(operation: tuple[str, str]) -> bool:
    """Whether there are kinds of bodies and queries to go through; in the gate those of a stream are not."""
    path, _ = operation
    return LONG or (operation not in NOTHING_ASKED and path != "/api/ai/chat/stream")


# schemathesis has a format of its own and hides what hypothesis says of it, which fails beside other threads.
QUIET = (
    pytest.mark.filterwarnings("ignore:Overriding standard format:hypothesis.errors.HypothesisWarning"),
    pytest.mark.filterwarnings("ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning"),
)
DRAWN = (HypothesisTestMode.EXAMPLES, HypothesisTestMode.FUZZING)
EVERY_KIND = (HypothesisTestMode.COVERAGE,)
A_SAMPLE = {
    ("/api/conversations/{conversation_id}", "patch"),
    ("/api/learners", "get"),
    ("/api/playbooks/{playbook_id}", "put"),
}
A_SMALL_SAMPLE = A_SAMPLE - {("/api/playbooks/{playbook_id}", "put")}
"""Without the one that has the headers of all changes, and so hundreds of cases."""


def _quiet(test: Callable[..., None]) -> Callable[..., None]:
    for mark in QUIET:
        test = mark(test)
    return test


@_quiet
@pytest.mark.parametrize(
    ("path", "method"), some_heavy(OPERATIONS, lambda each: each in A_SAMPLE or each[1] == "get")
)
def test_the_server_conforms_to_its_openapi_document(
    path: str, method: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _conforms(path, method, DRAWN, address, monkeypatch)


@_quiet
@pytest.mark.parametrize(
    ("path", "method"), some_heavy(filter(_asks, OPERATIONS), A_SMALL_SAMPLE.__contains__)
)
def test_the_server_conforms_to_it_with_every_kind_of_body_and_query(
    path: str, method: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _conforms(path, method, EVERY_KIND, address, monkeypatch)


def _conforms(
    path: str,
    method: str,
    modes: Sequence[HypothesisTestMode],
    address: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Made here and not by schemathesis' own decorator, which makes all cases while tests are collected."""
    # Any value is a string in a path, a query or a header: schemathesis draws 459 to find one that is none.
    monkeypatch.setattr("hypothesis.internal.conjecture.engine.INVALID_THRESHOLD_BASE", sized(60, 458))

    @settings(
        max_examples=sized(2, 10),
        derandomize=True,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def answered(case: Case) -> None:
        case.call_and_validate(base_url=address, headers=bearer(), timeout=PATIENT)

    config = HypothesisTestConfig(project=_schema().config, modes=[*modes])
    create_test(operation=_schema()[path][method], test_func=answered, config=config)()


def test_what_asks_for_nothing_is_told_apart() -> None:
    def asks(described: Document) -> bool:
        parameters: list[Document] = described.get("parameters", [])
        return "requestBody" in described or any(each["in"] == "query" for each in parameters)

    tested = [each for each in OPERATIONS if not _same_function(each[0])]
    assert {each for each in tested if not asks(_document()["paths"][each[0]][each[1]])} == NOTHING_ASKED


def test_every_route_is_described() -> None:
    described = {path: set(operations) for path, operations in _document()["paths"].items()}
    assert described == ROUTES


def test_every_route_of_a_learner_needs_a_token_and_no_other_does() -> None:
    for path, operations in _document()["paths"].items():
        for operation in operations.values():
            assert operation.get("security", []) == ([] if path in OPEN else [{"bearer": []}])
            assert ("401" in operation["responses"]) == (path not in OPEN)


def test_every_route_and_every_answer_is_explained() -> None:
    for operations in _document()["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            assert all(answer["description"] for answer in operation["responses"].values())
    chat = _document()["paths"]["/api/ai/chat"]["post"]["responses"]
    every = {200, 401, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504}
    assert set(chat) == {str(status) for status in every}


def test_a_field_that_is_always_sent_is_required() -> None:
    """Else a typed client would have to ask for what is always there."""
    schemas = _document()["components"]["schemas"]
    absent = {
        "ChangeReply": set[str](),
        "ChatReply": {"conversationId", "stayed"},
        "LearnedIntoReply": {"proposalId", "why"},
        "Metadata": {"learnedInto", "version"},
        "Scratch": {"ace_delta", "learning_error"},
        "StartEvent": {"conversationId"},
    }
    for name, left_out in absent.items():
        assert schemas[name]["properties"].keys() - set(schemas[name].get("required", ())) == left_out


def test_no_body_may_be_anything() -> None:
    """Generators take `anyOf` beside properties for another body, of any shape."""
    schemas = _document()["components"]["schemas"]
    assert [name for name, each in schemas.items() if {"anyOf", "properties"} <= each.keys()] == []


def test_the_typescript_client_names_what_there_is() -> None:
    """`.ci/long typescript` lets the compiler check all of it."""
    files = [ROOT.joinpath("clients", "typescript", name) for name in ("src", "examples")]
    text = "".join(path.read_text("utf-8") for folder in files for path in folder.rglob("*.ts"))
    document = _document()
    called = re.findall(r'\.(GET|POST|PUT|PATCH|DELETE)\("([^"]+)"', text)
    assert {path for _, path in called} >= {"/api/ai/chat", "/api/ai/chat/stream", "/api/playbook"}
    assert [call for call in called if call[0].lower() not in document["paths"].get(call[1], {})] == []
    schemas = document["components"]["schemas"]
    assert set(re.findall(r'Schemas\["(\w+)"\]', text)) <= schemas.keys()
    events = set(re.findall(r'\.event [!=]== "(\w+)"', text))
    assert (
        {"start", "token", "result", "error", "done"} <= events <= schemas["ChatEvents"]["properties"].keys()
    )
    assert set(schemas["ChatEvents"]["properties"]) == set(get_args(EventName))
