"""The OpenAPI document is complete, and the server does what it says (schemathesis).

Responses must be documented, of the documented type and shape; no input makes a 5xx; what the document
forbids is refused, and what it allows is not; no token, no answer.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from typing import Any

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

from ace_graph.server import create_app
from tests.plugins.sizes import HEAVY, sized
from tests.server.serving import bearer, settings_for

Document = dict[str, Any]  # Any: an OpenAPI document
OPEN = {"/healthz", "/readyz", "/metrics"}
ROUTES = {
    "/api/ai/chat": {"post"},
    "/api/ai/chat/stream": {"post"},
    "/api/ai/chat/stream/{stream_id}": {"get"},
    "/api/playbook": {"get"},
    "/api/playbook/{bullet_id}": {"patch", "delete"},
    "/api/playbook/merge": {"post"},
    "/api/playbook/rollback": {"post"},
    "/api/playbook/{bullet_id}/restore": {"post"},
    "/api/playbook/{bullet_id}/supersede": {"post"},
    "/api/playbook/{bullet_id}/tag": {"post"},
    "/api/playbooks": {"get", "post"},
    "/api/playbooks/{playbook_id}": {"get", "put", "delete"},
    "/api/playbooks/{playbook_id}/versions": {"get"},
    "/api/playbooks/{playbook_id}/rollback": {"post"},
    "/api/playbooks/{playbook_id}/curate": {"post"},
    "/api/playbooks/{playbook_id}/consolidate": {"post"},
    "/api/playbooks/{playbook_id}/consolidate/undo": {"post"},
    "/api/templates": {"get"},
    "/api/trajectories": {"get"},
    "/api/feedback": {"post"},
    "/api/learner/export": {"get"},
    "/api/learner": {"delete"},
    **{path: {"get"} for path in OPEN},
}


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """A server with the offline tutor, in a thread of this process."""
    app = create_app(settings_for(model="offline", server_rate=1_000_000))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)


DOCUMENT: Document = create_app(settings_for(model="offline")).openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
load_all_checks()  # before a server's thread runs: Python 3.11 fails when two threads parse source at once


# schemathesis has a format of its own and hides what hypothesis says of it, which fails beside other threads.
@pytest.mark.filterwarnings("ignore:Overriding standard format:hypothesis.errors.HypothesisWarning")
@pytest.mark.filterwarnings("ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning")
@pytest.mark.parametrize(
    ("path", "method"), [(path, each) for path in sorted(ROUTES) for each in sorted(ROUTES[path])]
)
def test_the_server_conforms_to_its_openapi_document(path: str, method: str, address: str) -> None:
    """Made here and not by schemathesis' own decorator, which makes all cases while tests are collected."""

    @settings(
        max_examples=sized(2, 10),
        derandomize=True,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def answered(case: Case) -> None:
        case.call_and_validate(base_url=address, headers=bearer(), timeout=30)

    config = HypothesisTestConfig(project=SCHEMA.config, modes=_modes(path))
    create_test(operation=SCHEMA[path][method], test_func=answered, config=config)()


def _modes(path: str) -> list[HypothesisTestMode]:
    """All kinds of cases; in the gate the body of /api/ai/chat is covered once, not also as a stream."""
    same_body = path == "/api/ai/chat/stream" and not HEAVY
    return [mode for mode in HypothesisTestMode if mode is not HypothesisTestMode.COVERAGE or not same_body]


def test_every_route_is_described() -> None:
    described = {path: set(operations) for path, operations in DOCUMENT["paths"].items()}
    assert described == ROUTES


def test_every_route_of_a_learner_needs_a_token_and_no_other_does() -> None:
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            assert operation.get("security", []) == ([] if path in OPEN else [{"bearer": []}])
            assert ("401" in operation["responses"]) == (path not in OPEN)


def test_every_route_and_every_answer_is_explained() -> None:
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            assert all(answer["description"] for answer in operation["responses"].values())
    chat = DOCUMENT["paths"]["/api/ai/chat"]["post"]["responses"]
    every = {200, 401, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504}
    assert set(chat) == {str(status) for status in every}
