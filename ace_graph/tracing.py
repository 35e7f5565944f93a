"""Spans of OpenTelemetry, one per turn and one per node, where its packages are installed; nothing elsewhere.

Who collects them is the program's to say (the server reads the standard environment variables, see
`ace_graph.server.telemetry`). A span holds names and ids, never text, and of an error its class.

Does not: configure exporters, or install anything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

__all__ = ["SpanMaker", "span_maker"]

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
    def span(name: str, attributes: Mapping[str, str]) -> Generator[None]:
        with tracer.start_as_current_span(
            name, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
        ) as current:
            try:
                yield
            except BaseException as error:
                # An error's text may hold content.
                current.set_status(trace.StatusCode.ERROR, type(error).__name__)
                raise

    return span


def _no_span(_name: str, _attributes: Mapping[str, str]) -> AbstractContextManager[None]:
    return nullcontext()
