"""ace_graph.agent.reasoning"""

from __future__ import annotations
