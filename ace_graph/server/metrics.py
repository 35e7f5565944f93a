"""The metrics for Prometheus: requests, turns, tokens, sizes. No label names a learner or holds text."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ace_graph.agent.state import ACEOutput
from ace_graph.base.errors import ConfigurationError, how_to_install
from ace_graph.memory.stores.base import StoreSizes

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_MEASURE_SECONDS = 60.0


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "ace_http_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        time = "Time until a response had ended."
        self._request_seconds = Histogram(
            "ace_http_request_seconds", time, ("route",), buckets=_SECONDS, registry=registry
        )
        self._under_way = Gauge("ace_turns_under_way", "Turns being worked on.", registry=registry)
        self._turns = Counter(
            "ace_turns", "Turns that ended, by how.", ("mode", "outcome"), registry=registry
        )
        self._turn_seconds = Histogram(
            "ace_turn_seconds", "Time that turns took.", buckets=_SECONDS, registry=registry
        )
        self._tokens = Counter(
            "ace_model_tokens", "Tokens of the model.", ("role", "direction"), registry=registry
        )
        waiting = "Turns whose lessons wait to be worked out."
        self._pending = Gauge("ace_learning_pending", waiting, registry=registry)
        self._dead = Gauge("ace_learning_dead", "Turns whose lessons failed for good.", registry=registry)
        rows = "Rows that the memory and the conversations hold."
        self._stored = Gauge("ace_stored", rows, ("what",), registry=registry)
        taken = "Bytes that they take, where it can be told."
        self._stored_bytes = Gauge("ace_stored_bytes", taken, ("where",), registry=registry)
        told = "Deliveries of webhooks, by how they ended."
        self._webhooks = Counter("ace_webhooks", told, ("outcome",), registry=registry)
        self._measured_at: float | None = None

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def turn_began(self) -> None:
        self._under_way.inc()

    def turn_ended(self, outcome: str, seconds: float, out: ACEOutput | None) -> None:
        self._under_way.dec()
        plan = out.get("plan") if out else None
        self._turns.labels(plan["mode"] if plan else "none", outcome).inc()
        self._turn_seconds.observe(seconds)
        for role, cost in (out.get("usage") or {}).items() if out else ():
            self._tokens.labels(role, "input").inc(cost["input_tokens"])
            self._tokens.labels(role, "output").inc(cost["output_tokens"])

    def webhook_ended(self, outcome: Literal["delivered", "failed", "given_up"], number: int = 1) -> None:
        self._webhooks.labels(outcome).inc(number)

    def set_pending(self, pending: int, dead: int) -> None:
        self._pending.set(pending)
        self._dead.set(dead)

    def measurement_due(self, seconds: float) -> bool:
        """Whether the sizes are due to be measured at the time `seconds`: once a minute."""
        if self._measured_at is not None and seconds - self._measured_at < _MEASURE_SECONDS:
            return False
        self._measured_at = seconds
        return True

    def set_stored(self, sizes: StoreSizes, conversations: int, conversation_bytes: int) -> None:
        for what in ("learners", "turns", "deltas"):
            self._stored.labels(what).set(getattr(sizes, what))
        self._stored.labels("conversations").set(conversations)
        if sizes.bytes is not None:
            self._stored_bytes.labels("memory").set(sizes.bytes)
        self._stored_bytes.labels("conversations").set(conversation_bytes)

    def render(self) -> bytes:
        return generate_latest(self.registry)


logger = logging.getLogger("ace_graph")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@contextmanager
def exported_spans(environ: Mapping[str, str] = os.environ) -> Generator[None]:
    """Export spans as the environment says until the block ends; the rest is sent at its end.

    OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_TRACES_EXPORTER=otlp or console) switches it on,
    OTEL_SDK_DISABLED=true off. A program that embeds the application sets its own provider. Raises
    ConfigurationError where the packages are missing.
    """
    kind = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    wanted = kind in ("otlp", "console") or (not kind and any(environ.get(name) for name in _ENDPOINTS))
    if not wanted or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield
        return
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

        exporter: SpanExporter
        if kind == "console":
            exporter = ConsoleSpanExporter()
        else:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            exporter = OTLPSpanExporter()
    except ImportError as error:
        raise ConfigurationError(
            f"OTEL_* asks for traces, which need more packages: {how_to_install('tracing')}"
        ) from error
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over this name.
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "ace-graph"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    logger.info("[ACE Server] spans are exported to %s", "the console" if kind == "console" else "OTLP")
    try:
        yield
    finally:
        provider.shutdown()


@contextmanager
def continued_trace(traceparent: str | None) -> Generator[None]:
    """Make the trace of the request's `traceparent` header, if any, the parent of spans in the block."""
    if traceparent is None:
        yield
        return
    try:
        from opentelemetry import context
        from opentelemetry.propagate import extract
    except ImportError:
        yield
        return
    token = context.attach(extract({"traceparent": traceparent}))
    try:
        yield
    finally:
        context.detach(token)
