"""One fault: where in a turn it strikes, and how."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass, field
from typing import Literal, get_args

__all__ = ["BOUNDARIES", "KINDS", "POINTS", "Boundary", "Fault", "Kind", "Point"]

Kind = Literal["raises", "cancels", "kills"]
Point = Literal[
    "load",
    "after router",
    "after planner",
    "model call",
    "tool",
    "model stream",
    "after solver",
    "evaluator",
    "after critic",
    "reflector",
    "before commit",
    "after commit",
    "after ace_learning",
]
Boundary = Literal[
    "router begins",
    "router ends",
    "planner begins",
    "planner ends",
    "solver begins",
    "solver ends",
    "critic begins",
    "critic ends",
    "ace_learning begins",
    "ace_learning ends",
    "turn ends",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
POINTS: tuple[Point, ...] = get_args(Point)
"""In the order in which a turn comes by. "after commit": it is stored, the answer is not yet given."""
BOUNDARIES: tuple[Boundary, ...] = get_args(Boundary)
"""Of the spans of a server's turn. A node begins when the checkpoint before it is written, where one is."""


@dataclass
class Fault:
    """Strikes once, at `point`. `task` is what a cancellation cancels."""

    point: Point | Boundary | None = None
    kind: Kind = "raises"
    struck: bool = False
    task: asyncio.Task[object] | None = field(default=None, repr=False)

    def strike(self, point: Point | Boundary) -> None:
        """Strike where `point` is the one. Raises RuntimeError for the kind that raises."""
        if self.struck or point != self.point:
            return
        self.struck = True
        if self.kind == "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "raises":
            raise RuntimeError(f"injected at {point}")
        if self.task is not None:
            self.task.cancel()
