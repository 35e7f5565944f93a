"""A local HTTP server that speaks Gemini's REST, so that tests drive the real client without the internet.

    with GeminiServer() as server:
        server.answer("four")
        model = ChatGoogleGenerativeAI(model="any", api_key="any", base_url=server.url)

Replies are given in the order in which they were queued, whole or streamed as the client asks. A request
without a reply left is answered with status 400 and fails `assert_done()`. Keys are not checked and tokens
not counted; the requests are recorded in `requests`.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from pydantic import JsonValue

Json = dict[str, JsonValue]
_CHUNK = 7


@dataclass(frozen=True, slots=True)
class GeminiRequest:
    """One request: the model and the method of its path, its JSON body, and the key it was sent with."""

    model: str
    method: str
    body: Json
    api_key: str | None

    @property
    def text(self) -> str:
        """The body as JSON text, for looking up what a prompt held."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int = 200
    parts: tuple[Json, ...] = ()
    finish_reason: str | None = None
    block_reason: str | None = None
    tokens: tuple[int, int] = (10, 5)
    message: str = ""
    hangs: bool = False
    breaks_off: bool = False


class GeminiServer:
    """Serves on 127.0.0.1 while the `with` block runs; `url` is what the client's base_url must be.

    `default` is the text of every answer once the queue is empty, or a function of the request that gives the
    text, or the status of an error; without one, that is a failure.
    """

    def __init__(self, default: str | Callable[[GeminiRequest], str | int] | None = None) -> None:
        self._default = default
        self._lock = threading.Lock()
        self._replies: deque[_Reply] = deque()
        self._requests: list[GeminiRequest] = []
        self._unexpected = 0
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def requests(self) -> list[GeminiRequest]:
        """Every request so far, oldest first."""
        with self._lock:
            return list(self._requests)

    def answer(
        self,
        text: str = "",
        *,
        thoughts: str = "",
        call: tuple[str, Json] | None = None,
        finish_reason: str = "STOP",
        tokens: tuple[int, int] = (10, 5),
    ) -> None:
        """Queue a reply: thoughts, text and a tool call (name, arguments); `tokens` are (input, output)."""
        parts: list[Json] = []
        if thoughts:
            parts.append({"text": thoughts, "thought": True})
        if text:
            parts.append({"text": text})
        if call is not None:
            parts.append({"functionCall": {"name": call[0], "args": call[1]}})
        self._queue(_Reply(parts=tuple(parts), finish_reason=finish_reason, tokens=tokens))

    def block(self, reason: str = "SAFETY") -> None:
        """Queue a refusal of the prompt: no candidate, only the reason."""
        self._queue(_Reply(block_reason=reason))

    def fail(self, status: int, message: str = "scripted failure", *, times: int = 1) -> None:
        """Queue an error status, `times` times."""
        for _ in range(times):
            self._queue(_Reply(status=status, message=message))

    def hang(self, *, times: int = 1) -> None:
        """Queue a request that gets no reply until the server closes."""
        for _ in range(times):
            self._queue(_Reply(hangs=True))

    def break_off(self, text: str) -> None:
        """Queue a stream that ends in the middle, after `text`."""
        self._queue(_Reply(parts=({"text": text},), breaks_off=True))

    def assert_done(self) -> None:
        """Raise AssertionError when queued replies are left, or when a request came that had none."""
        with self._lock:
            left, unexpected = len(self._replies), self._unexpected
        if left or unexpected:
            raise AssertionError(f"{left} replies were not asked for, {unexpected} requests had no reply")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def take(self, request: GeminiRequest) -> _Reply:
        """Record `request` and return what it gets. For the handler."""
        with self._lock:
            self._requests.append(request)
            if self._replies:
                return self._replies.popleft()
            if self._default is None:
                self._unexpected += 1
                return _Reply(status=400, message="no reply is queued for this request")
        given = self._default(request) if callable(self._default) else self._default
        if isinstance(given, int):
            return _Reply(status=given, message="scripted failure")
        return _Reply(parts=({"text": given},), finish_reason="STOP")

    def wait_for_close(self) -> None:
        """Return when the server closes. For the handler."""
        self._closing.wait()

    def _queue(self, reply: _Reply) -> None:
        with self._lock:
            self._replies.append(reply)


def _handler(server: GeminiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            model, _, method = path.rpartition("/")[2].partition(":")
            reply = server.take(GeminiRequest(model, method, body, self.headers.get("x-goog-api-key")))
            if reply.hangs:
                server.wait_for_close()
                return
            self._send(reply, streamed=method == "streamGenerateContent")

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on stderr."""

        def _send(self, reply: _Reply, *, streamed: bool) -> None:
            if reply.status != 200:
                return self._write(reply.status, "application/json", json.dumps(_error(reply)))
            if not streamed:
                return self._write(200, "application/json", json.dumps(_response(reply, list(reply.parts))))
            events = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in _events(reply))
            # A length that is never reached: the client sees the connection end too early.
            missing = 1000 if reply.breaks_off else 0
            return self._write(200, "text/event-stream", events, missing=missing)

        def _write(self, status: int, kind: str, text: str, *, missing: int = 0) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data) + missing))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _events(reply: _Reply) -> Iterator[Json]:
    for part in reply.parts:
        text = part.get("text")
        if not isinstance(text, str):
            yield _response(reply, [part], last=False)
            continue
        for start in range(0, len(text), _CHUNK):
            yield _response(reply, [{**part, "text": text[start : start + _CHUNK]}], last=False)
    if not reply.breaks_off:
        yield _response(reply, [])


def _response(reply: _Reply, parts: list[Json], *, last: bool = True) -> Json:
    given, taken = reply.tokens
    body: Json = {
        "modelVersion": "scripted",
        "usageMetadata": {
            "promptTokenCount": given,
            "candidatesTokenCount": taken,
            "totalTokenCount": given + taken,
        },
    }
    if reply.block_reason:
        return {**body, "promptFeedback": {"blockReason": reply.block_reason}}
    content: Json = {"role": "model", "parts": list[JsonValue](parts)}
    candidate: Json = {"index": 0, "content": content}
    if last and reply.finish_reason:
        candidate["finishReason"] = reply.finish_reason
    return {**body, "candidates": [candidate]}


def _error(reply: _Reply) -> Mapping[str, JsonValue]:
    names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
    status = names.get(reply.status, "RESOURCE_EXHAUSTED" if reply.status == 429 else "UNAVAILABLE")
    return {"error": {"code": reply.status, "message": reply.message, "status": status}}
