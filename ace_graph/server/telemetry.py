"""OpenTelemetry: exports spans as its environment variables say, and continues the trace of a request.

Used by `ace-graph serve`; a program that embeds the application sets its own provider.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from ace_graph.errors import ConfigurationError, how_to_install

logger = logging.getLogger("ace_graph")

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@contextmanager
def exported_spans(environ: Mapping[str, str] = os.environ) -> Generator[None]:
    """Export spans as the environment says until the block ends; the rest is sent at its end.

    OTEL_EXPORTER_OTLP_ENDPOINT (or OTEL_TRACES_EXPORTER=otlp or console) switches it on,
    OTEL_SDK_DISABLED=true off. Raises ConfigurationError where the packages are missing.
    """
    kind = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    wanted = kind in ("otlp", "console") or (not kind and any(environ.get(name) for name in _ENDPOINTS))
    if not wanted or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield
        return
    stop = _start_export(console=kind == "console")
    logger.info("[ACE Server] spans are exported to %s", "the console" if kind == "console" else "OTLP")
    try:
        yield
    finally:
        stop()


def _start_export(*, console: bool) -> Callable[[], None]:
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
            f"OTEL_* asks for traces, which need more packages: {how_to_install('tracing')}"
        ) from error
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over this name.
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "ace-graph"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider.shutdown


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
