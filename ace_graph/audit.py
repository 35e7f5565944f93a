"""Who had everything handed out or deleted, and when: one log line each, without content.

Does not: keep the lines; where logs go is for the operator to say.
"""

from __future__ import annotations

import logging
from typing import Literal

__all__ = ["audit"]

logger = logging.getLogger("ace_graph")


def audit(
    action: Literal["export", "forget"], learner_id: str, *, request_id: str | None = None, found: bool
) -> None:
    """Log that everything stored about a learner was exported or deleted."""
    logger.info(
        "[ACE Audit] action=%s learner=%s found=%s request=%s",
        action,
        learner_id.encode("unicode_escape").decode(),
        str(found).lower(),
        request_id or "-",
    )
