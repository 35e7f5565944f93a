"""ace_graph.agent.tools"""

from __future__ import annotations
