"""What model calls cost: a value that adds up.

Does not: know prices, or which role a call was made for.
"""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.messages import AIMessage

__all__ = ["Usage", "usage_of"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls that were answered, and the tokens they took in and gave out. `Usage()` is neutral to `+`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

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
