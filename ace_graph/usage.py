"""Calls and tokens per role, as plain JSON in the state.

Does not: count tokens; the models report them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.models import Usage
from ace_graph.state import UsageJSON

__all__ = ["add_usage", "total_usage"]


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
