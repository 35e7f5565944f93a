"""Where work on many items runs: in this process, or on the nodes of a Ray cluster.

A job says what is done for one item. An executor runs it for many, and hands back each result as it comes.
"""

from __future__ import annotations

from ace_graph.executors.base import Executor, InProcess, Job
from ace_graph.executors.choice import open_executor

__all__ = ["Executor", "InProcess", "Job", "open_executor"]
