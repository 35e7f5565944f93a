"""What of a prompt is ours: all of it but the data blocks. An attack that moves it has broken out."""

from __future__ import annotations

import re
from collections.abc import Iterable

from langchain_core.messages import SystemMessage

from ace_graph.agent.models.local import ModelCall

__all__ = ["skeletons"]

_BLOCK = re.compile(r"^<(\w+)>\n.*?\n</\1>$", re.DOTALL | re.MULTILINE)
_HEADING = "## Recent reflections"


def skeletons(calls: Iterable[ModelCall]) -> set[str]:
    """Return the system messages of the calls without their data blocks."""
    return {
        _bare(message.text)
        for call in calls
        for message in call.messages
        if isinstance(message, SystemMessage)
    }


def _bare(text: str) -> str:
    lines = _BLOCK.sub("", text).splitlines()
    return "\n".join(line for line in lines if line.strip() and line != _HEADING)
