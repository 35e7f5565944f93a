"""Audit lines in the log, and OpenTelemetry spans.

An audit line says who exported or deleted everything about a learner, who shared a playbook with whom, or who
was refused, and when, without content. There is one span a turn and one a node where OpenTelemetry is
installed; a span holds names and ids, never text, and of an error its class. The program decides where spans
go (`ace_graph.server.metrics` reads the standard environment variables).
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

SpanMaker = Callable[[str, Mapping[str, str]], AbstractContextManager[None]]
"""Makes a span with a name and attributes, around a block."""


def span_maker() -> SpanMaker:
    """Return what makes spans; what it makes does nothing where OpenTelemetry is not installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        return _no_span
    # A proxy until the program sets a provider, so it may do that before or after.
    tracer = trace.get_tracer("ace_graph")

    @contextmanager
    def recorded(name: str, attributes: Mapping[str, str]) -> Generator[None]:
        with tracer.start_as_current_span(
            name, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
        ) as current:
            try:
                yield
            except BaseException as error:
                # An error's text may hold content.
                current.set_status(trace.StatusCode.ERROR, type(error).__name__)
                raise

    def span(name: str, attributes: Mapping[str, str]) -> AbstractContextManager[None]:
        unset = isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        return _no_span(name, attributes) if unset else recorded(name, attributes)

    return span


def turn_attributes(run_id: str, conversation_id: str | None) -> Mapping[str, str]:
    """Return the attributes of a turn's span: ours, and those of OpenTelemetry's conventions for agents."""
    known = {
        "ace.run_id": run_id,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "ace_graph",
    }
    return known if conversation_id is None else {**known, "gen_ai.conversation.id": conversation_id}


def _no_span(_name: str, _attributes: Mapping[str, str]) -> AbstractContextManager[None]:
    return nullcontext()


logger = logging.getLogger("ace_graph")
_MOST_LOGGED = 300
_PLAIN = re.compile(r"[A-Za-z0-9_.@:+-]+")


def audit(
    action: Literal["export", "forget"], learner_id: str, *, request_id: str | None = None, found: bool
) -> None:
    """Log that everything stored about a learner was exported or deleted. The id is always quoted."""
    logger.info(
        "[ACE Audit] action=%s learner=%s found=%s request=%s",
        action,
        _quoted(learner_id),
        str(found).lower(),
        request_id or "-",
    )


def audit_operator(
    operator: str, learner_id: str, *, allowed: bool, asked: str, request_id: str | None
) -> None:
    """Log that an operator reached a learner's memory, or was refused. `asked` is the method and the path."""
    logger.info(
        "[ACE Audit] action=operate operator=%s learner=%s allowed=%s asked=%s request=%s",
        _quoted(operator),
        _quoted(learner_id[:_MOST_LOGGED]),
        str(allowed).lower(),
        _quoted(asked[:_MOST_LOGGED]),
        request_id or "-",
    )


SharingAction = (
    Literal["denied", "grant", "revoke", "leave", "team_add", "team_remove"]
    | Literal["show_use", "hide_use", "propose", "pending", "accepted", "refused", "withdraw"]
)


def audit_sharing(action: SharingAction, user: str | None, **details: str) -> None:
    """Log that something was shared, or not any more, or that somebody was refused.

    `details` are ids, subjects and relations, never content; all are quoted. Without a user it was the host.
    """
    told = " ".join(f"{name}={_quoted(value)}" for name, value in details.items())
    logger.info("[ACE Audit] action=%s learner=%s %s", action, _quoted(user or ""), told)


def shown_learner(learner_id: str) -> str:
    """Return a learner's id for a log line, quoted unless it is one plain word: it may say anything."""
    return learner_id if _PLAIN.fullmatch(learner_id) else _quoted(learner_id)


def _quoted(learner_id: str) -> str:
    """The id as a JSON string in ASCII. No bracket can look like the beginning of a record of ours."""
    return json.dumps(learner_id).replace("[", "\\u005b")
