"""What tracers are told of runs: every run with its tokens, and text only where a setting says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.tracers import BaseTracer, LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import Client

from ace_graph import ACEContext
from ace_graph.base import ModelError, Settings
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

SECRETS = ("asthma", "flour in grams", "17/34", "five sixths", "keep an eye", "trains run")
ALICE = ACEContext(learner_id="alice", reflect_when="always")
QUESTION = "I have asthma. Which facts do you know? What is 17/34 + 1/3?"


class Recorder(BaseTracer):
    """Keeps every run, with what it began and ended with."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = list[Run]()

    def _persist_run(self, run: Run) -> None:
        self.kept.append(run)

    def runs(self) -> Iterator[Run]:
        waiting = list(self.kept)
        while waiting:
            run = waiting.pop()
            waiting += run.child_runs
            yield run


def _model() -> ScriptedModel:
    call = {"name": "calculator", "args": {"expression": "17/34 + 1/3"}, "id": "1", "type": "tool_call"}
    usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
    solver = [AIMessage(content="", tool_calls=[call], usage_metadata=usage), "<final>five sixths</final>"]
    return ScriptedModel(solver=solver, reflector=['{"lessons": [{"content": "keep an eye on units"}]}'])


async def _seed(store: CountingStore) -> None:
    await store.seed("alice", Add(content="Learner weighs flour in grams", section="profile"))
    await store.seed("alice", Add(content="Facts: trains run on 17/34 of the days", section="lessons"))


def _leaked(found: object) -> set[str]:
    return {each for each in SECRETS if each in (found if isinstance(found, str) else repr(found))}


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_tracers_see_runs_and_tokens_and_no_text(build: Build, store: CountingStore, way: str) -> None:
    await _seed(store)
    tracer, usage = Recorder(), UsageMetadataCallbackHandler()
    graph = build(_model()).with_config({"callbacks": [usage]})
    if way == "ainvoke":
        out = await graph.ainvoke(ask(QUESTION, "react"), {"callbacks": [tracer]}, context=ALICE)
    else:
        out = graph.invoke(ask(QUESTION, "react"), {"callbacks": [tracer]}, context=ALICE)
    assert out["messages"][-1].text.startswith("five sixths")
    runs = list(tracer.runs())
    names = {run.name for run in runs}
    assert names >= {"ace_graph", "router", "solver", "ace_learning", "reflector", "calculator"}
    assert {run.run_type for run in runs} == {"chain", "llm", "tool"}
    assert _leaked([run.model_dump() for run in runs]) == set()
    assert "'total_tokens': 12" in repr([run.model_dump() for run in runs if run.run_type == "llm"])
    assert len(tracer.kept) == 1, "all of it is one tree"


async def test_the_setting_lets_tracers_see_everything(build: Build, store: CountingStore) -> None:
    await _seed(store)
    tracer = Recorder()
    graph = build(_model(), settings=Settings(tracer_content=True))
    await graph.ainvoke(ask(QUESTION, "react"), {"callbacks": [tracer]}, context=ALICE)
    assert _leaked([run.model_dump() for run in tracer.runs()]) == set(SECRETS)


async def test_an_error_is_told_by_its_class(build: Build, store: CountingStore) -> None:
    tracer = Recorder()
    model = ScriptedModel([ValueError("asthma")])
    with pytest.raises(ModelError):
        await build(model).ainvoke(ask(QUESTION), {"callbacks": [tracer]}, context=ALICE)
    failed = [run.error for run in tracer.runs() if run.error]
    assert any("ValueError" in each for each in failed)
    assert _leaked(failed) == set()


async def test_what_reads_the_stream_still_sees_it(build: Build, store: CountingStore) -> None:
    events = [
        event
        async for event in build(_model()).astream_events(ask(QUESTION, "react"), context=ALICE, version="v2")
    ]
    assert "five sixths" in repr(events[-1])


async def test_langsmith_is_sent_no_text(build: Build, store: CountingStore) -> None:
    await _seed(store)
    sent = list[bytes]()

    class LangSmith(BaseHTTPRequestHandler):
        def _take(self) -> None:
            sent.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.send_response(202)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_PATCH = do_POST = _take

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), LangSmith) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        client = Client(f"http://127.0.0.1:{server.server_port}", api_key="x", auto_batch_tracing=False)
        tracer = LangChainTracer(client=client)
        await build(_model()).ainvoke(ask(QUESTION, "react"), {"callbacks": [tracer]}, context=ALICE)
        client.flush()
        server.shutdown()
        thread.join()
    told = b"\n".join(sent).decode()
    assert {"ace_graph", "reflector"} <= {json.loads(each).get("name") for each in sent if each}
    assert _leaked(told) == set()
