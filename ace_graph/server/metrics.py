"""The metrics for Prometheus: requests, turns, tokens, sizes. No label names a learner or holds text."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ace_graph.memory.stores.base import StoreSizes
from ace_graph.state import ACEOutput

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

_MEASURE_SECONDS = 60.0


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "ace_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._request_seconds = Histogram(
            "ace_http_request_seconds",
            "Time until a response had ended.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._under_way = Gauge("ace_turns_under_way", "Turns being worked on.", registry=self.registry)
        self._turns = Counter(
            "ace_turns", "Turns that ended, by how.", ("mode", "outcome"), registry=self.registry
        )
        self._turn_seconds = Histogram(
            "ace_turn_seconds", "Time that turns took.", buckets=_SECONDS, registry=self.registry
        )
        self._tokens = Counter(
            "ace_model_tokens", "Tokens of the model.", ("role", "direction"), registry=self.registry
        )
        self._pending = Gauge(
            "ace_learning_pending", "Turns whose lessons wait to be worked out.", registry=self.registry
        )
        self._dead = Gauge(
            "ace_learning_dead", "Turns whose lessons failed for good.", registry=self.registry
        )

        self._stored = Gauge(
            "ace_stored",
            "Rows that the memory and the conversations hold.",
            ("what",),
            registry=self.registry,
        )
        self._stored_bytes = Gauge(
            "ace_stored_bytes",
            "Bytes that they take, where it can be told.",
            ("where",),
            registry=self.registry,
        )
        self._measured_at: float | None = None

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def turn_began(self) -> None:
        """Count a turn that begins."""
        self._under_way.inc()

    def turn_ended(self, outcome: str, seconds: float, out: ACEOutput | None) -> None:
        """Count a turn that has ended, and what it cost."""
        self._under_way.dec()
        plan = out.get("plan") if out else None
        self._turns.labels(plan["mode"] if plan else "none", outcome).inc()
        self._turn_seconds.observe(seconds)
        for role, cost in (out.get("usage") or {}).items() if out else ():
            self._tokens.labels(role, "input").inc(cost["input_tokens"])
            self._tokens.labels(role, "output").inc(cost["output_tokens"])

    def set_pending(self, pending: int, dead: int) -> None:
        """Set how many turns wait to be learned from."""
        self._pending.set(pending)
        self._dead.set(dead)

    def measurement_due(self, seconds: float) -> bool:
        """Whether the sizes are due to be measured at the time `seconds`: once a minute."""
        if self._measured_at is not None and seconds - self._measured_at < _MEASURE_SECONDS:
            return False
        self._measured_at = seconds
        return True

    def set_stored(self, sizes: StoreSizes, conversations: int, conversation_bytes: int) -> None:
        """Set how much is stored."""
        rows = {
            "learners": sizes.learners,
            "turns": sizes.turns,
            "deltas": sizes.deltas,
            "conversations": conversations,
        }
        for what, count in rows.items():
            self._stored.labels(what).set(count)
        if sizes.bytes is not None:
            self._stored_bytes.labels("memory").set(sizes.bytes)
        self._stored_bytes.labels("conversations").set(conversation_bytes)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
