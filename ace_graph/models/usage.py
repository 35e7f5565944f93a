"""Calls and tokens per role: values that can be added, and their JSON in the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.messages import AIMessage

from ace_graph.state import UsageJSON

__all__ = ["Usage", "add_usage", "total_usage", "usage_of"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls that were answered, and the tokens they took in and gave out. `Usage()` is neutral to `+`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def usage_of(message: AIMessage) -> Usage:
    """Return the cost of the one call that gave `message`; no tokens where the provider reports none."""
    counts = message.usage_metadata
    if counts is None:
        return Usage(calls=1)
    return Usage(1, max(0, counts["input_tokens"]), max(0, counts["output_tokens"]))


def add_usage(usage: Mapping[str, UsageJSON], role: str, more: Usage) -> dict[str, UsageJSON]:
    """Return `usage` with one role's cost added; a role that made no call is left out."""
    if not more.calls:
        return dict(usage)
    old = usage.get(role) or UsageJSON(calls=0, input_tokens=0, output_tokens=0)
    return {
        **usage,
        role: {
            "calls": old["calls"] + more.calls,
            "input_tokens": old["input_tokens"] + more.input_tokens,
            "output_tokens": old["output_tokens"] + more.output_tokens,
        },
    }


def total_usage(usage: Mapping[str, UsageJSON]) -> Usage:
    """Return the sum over all roles."""
    return sum(
        (Usage(part["calls"], part["input_tokens"], part["output_tokens"]) for part in usage.values()),
        Usage(),
    )
