"""The offline tutor: a rule-based chat model that needs no key and no network."""

from __future__ import annotations

from ace_graph.agent.offline_tutor.tutor import OfflineTutor

__all__ = [
    "OfflineTutor",
]
