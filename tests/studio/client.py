"""What Studio asks of the server, as plain HTTP.

Does not: hide what came back; answers are the server's JSON.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx

GRAPH = "ace_graph"
Json = Mapping[str, Any]  # Any: the server takes and answers with free JSON


class Studio:
    """One client of one server; `http` has its address."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def assistant(self) -> str:
        [found] = await self._post("/assistants/search", {"graph_id": GRAPH})
        return str(found["assistant_id"])

    async def drawing(self) -> Json:
        return await self._get(f"/assistants/{await self.assistant()}/graph")

    async def schemas(self) -> Json:
        return await self._get(f"/assistants/{await self.assistant()}/schemas")

    async def thread(self) -> str:
        return str((await self._post("/threads", {}))["thread_id"])

    async def values(self, thread: str) -> Json:
        return (await self._get(f"/threads/{thread}"))["values"]

    async def next_nodes(self, thread: str) -> list[str]:
        return (await self._get(f"/threads/{thread}/state"))["next"]

    async def state_before(self, thread: str, node: str) -> Json:
        """The checkpoint that a run of `node` started from."""
        history = await self._get(f"/threads/{thread}/history?limit=50")
        [found] = [state["checkpoint"] for state in history if state["next"] == [node]]
        return found

    async def fork(
        self, thread: str, checkpoint: Json, values: Json | None = None, as_node: str | None = None
    ) -> Json:
        """Branch off at `checkpoint`, with `values` changed; returns the new checkpoint."""
        body = {"checkpoint": checkpoint, "values": values, "as_node": as_node}
        return (await self._post(f"/threads/{thread}/state", body))["checkpoint"]

    async def run(
        self,
        thread: str,
        question: Json | None,
        *,
        checkpoint: Json | None = None,
        interrupt_before: Sequence[str] | None = None,
        **context: object,
    ) -> Json:
        """Run to the end, or to the interrupt, and return the output."""
        body = {
            "input": question,
            "context": context,
            "checkpoint": checkpoint,
            "interrupt_before": interrupt_before,
        }
        return await self._post(f"/threads/{thread}/runs/wait", {"assistant_id": GRAPH, **body})

    async def stream(
        self, thread: str, question: Json, *modes: str, **context: object
    ) -> AsyncIterator[tuple[str, Any]]:  # Any: what an event holds depends on its mode
        """Run and give every event with its data."""
        body = {"assistant_id": GRAPH, "input": question, "context": context, "stream_mode": modes}
        async with self._http.stream("POST", f"/threads/{thread}/runs/stream", json=body) as reply:
            event = ""
            async for line in reply.raise_for_status().aiter_lines():
                name, _, rest = line.partition(": ")
                if name == "event":
                    event = rest
                elif name == "data":
                    yield event, json.loads(rest)

    async def _get(self, path: str) -> Any:  # Any: free JSON
        return (await self._http.get(path)).raise_for_status().json()

    async def _post(self, path: str, body: Json) -> Any:  # Any: free JSON
        given = {name: value for name, value in body.items() if value is not None}
        return (await self._http.post(path, json=given)).raise_for_status().json()
