"""Spans of a turn: one per node, in the caller's trace, without content."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from ace_graph.base import ConfigurationError
from ace_graph.server import exported_spans
from tests.plugins.warm_python import WarmPython

# A tracer provider is set once per process, so this runs in one of its own.
PROGRAM = """
import asyncio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.server.serving import bearer, serving, settings_for
from tests.server.test_chat import NO_LESSON

async def main():
    scripted = ScriptedModel(
        solver=["<final>zebra</final>", ValueError("zebra")], reflector=[NO_LESSON]
    )
    async with serving(settings_for(), Overrides(model=scripted)) as served:
        parent = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        for question in ("What is a zebra?", "What is another zebra?"):
            asked = {"message": question}
            await served.client.post("/api/ai/chat", json=asked, headers={**bearer(), **parent})
        await served.client.get("/api/trajectories", params={"agent": "zebra", "limit": 0})

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
asyncio.run(main())
print(json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""
NODES = ["router", "planner", "solver", "critic", "ace_learning"]


def test_a_turn_adds_a_span_per_node_without_content(warm_python: WarmPython) -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        warm_python("-c", PROGRAM),
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    spans = [span for span in told if span["name"].startswith("ace_graph.")]
    assert spans == told, "a web framework's own spans hold queries, and one for every health check"
    assert [span["name"].removeprefix("ace_graph.") for span in spans[:6]] == [*NODES, "turn"]
    assert {span["context"]["trace_id"] for span in spans} == {"0x0af7651916cd43dd8448eb211c80319c"}
    assert {span["parent_id"] for span in spans[:5]} == {spans[5]["context"]["span_id"]}
    failed = [span["name"] for span in spans if span["status"]["status_code"] == "ERROR"]
    assert failed == ["ace_graph.solver", "ace_graph.turn"]
    assert "zebra" not in done.stdout
    said = spans[5]["attributes"]
    assert said["gen_ai.operation.name"] == "invoke_agent"
    assert said["gen_ai.agent.name"] == "ace_graph"
    assert said["gen_ai.conversation.id"]
    published = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for span in spans for name in span["attributes"] if name.startswith("gen_ai.")} <= published


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"},
    ],
)
def test_spans_are_collected_only_where_the_environment_says_so(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with exported_spans(environ):
        pass


def test_traces_that_are_asked_for_and_can_not_be_made_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    wanted = {"OTEL_TRACES_EXPORTER": "otlp"}
    with pytest.raises(ConfigurationError, match="tracing"), exported_spans(wanted):
        pass
