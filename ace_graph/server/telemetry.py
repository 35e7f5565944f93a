"""Where spans go, by OpenTelemetry's own environment variables; and whose trace a request belongs to.

Does not: run in an embedding program, which sets its own provider.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from ace_graph.errors import ConfigurationError

__all__ = ["collected_spans", "within_trace"]

logger = logging.getLogger("ace_graph")

_PLACES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@contextmanager
def collected_spans(environ: Mapping[str, str] = os.environ) -> Generator[None]:
    """Send spans where the environment says until the block ends; the rest is sent at its end.

    OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_TRACES_EXPORTER=otlp or console) switches it on,
    OTEL_SDK_DISABLED=true off. Raises ConfigurationError where the packages are missing.
    """
    kind = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    wanted = kind in ("otlp", "console") or (not kind and any(environ.get(name) for name in _PLACES))
    if not wanted or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield
        return
    stop = _begin(console=kind == "console")
    logger.info("[ACE Server] spans are sent to %s", "the console" if kind == "console" else "OTLP")
    try:
        yield
    finally:
        stop()


def _begin(*, console: bool) -> Callable[[], None]:
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

        exporter: SpanExporter
        if console:
            exporter = ConsoleSpanExporter()
        else:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            exporter = OTLPSpanExporter()
    except ImportError as error:
        raise ConfigurationError(
            "OTEL_* asks for traces, which need more packages: pip install 'ace-graph[tracing]'"
        ) from error
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over this name.
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "ace-graph"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider.shutdown


@contextmanager
def within_trace(traceparent: str | None) -> Generator[None]:
    """Make the caller's trace, where the request names one, the parent of what the block does."""
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
