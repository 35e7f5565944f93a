"""Who had everything handed out or deleted, and when: one log line each, without content.

Does not: keep the lines; where logs go is for the operator to say.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Literal

__all__ = ["audit", "shown_learner"]

logger = logging.getLogger("ace_graph")

_PLAIN = re.compile(r"[A-Za-z0-9_.@:+-]+")


def audit(
    action: Literal["export", "forget"], learner_id: str, *, request_id: str | None = None, found: bool
) -> None:
    """Log that everything stored about a learner was exported or deleted. The id is always quoted."""
    logger.info(
        "[ACE Audit] action=%s learner=%s found=%s request=%s",
        action,
        _quoted(learner_id),
        str(found).lower(),
        request_id or "-",
    )


def shown_learner(learner_id: str) -> str:
    """Return a learner's id for a log line, quoted unless it is one plain word: it may say anything."""
    return learner_id if _PLAIN.fullmatch(learner_id) else _quoted(learner_id)


def _quoted(learner_id: str) -> str:
    """The id as a JSON string in ASCII. No bracket can look like the beginning of a record of ours."""
    return json.dumps(learner_id).replace("[", "\\u005b")
