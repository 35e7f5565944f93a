"""Whose memory a host agent's run uses: from the context that its program gave to the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import ValidationError

from ace_graph.context import ACEContext
from ace_graph.errors import InvalidContext

__all__ = ["FIELDS", "context_of"]

FIELDS = ("learner_id", "turn_id", "conversation_id", "memory", "learning", "playbooks", "teams")
"""The fields that are read from a context of the host's own; its others may mean something else there."""


def context_of(given: object, defaults: ACEContext) -> ACEContext:
    """Return the context of a run.

    An ACEContext is taken as it is. Of a mapping or any other object, `FIELDS` are read and put over the
    defaults; it must have `learner_id`, which may be None: then nothing is remembered. Raises InvalidContext.
    """
    if given is None:
        return defaults
    if isinstance(given, ACEContext):
        return given
    found = _found(given)
    if "learner_id" not in found:
        raise InvalidContext(
            "the context has no learner_id: pass context=ACEContext(learner_id=...), or give your own "
            "context a field learner_id (None: nothing is remembered)"
        )
    try:
        return ACEContext.model_validate({**defaults.model_dump(exclude_unset=True), **found})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "context"
        raise InvalidContext(f"the context's {where}: {first['msg']}") from error


def _found(given: object) -> dict[str, object]:
    if isinstance(given, Mapping):
        items = cast("Mapping[str, object]", given)
        return {name: items[name] for name in FIELDS if name in items}
    return {name: cast("object", getattr(given, name)) for name in FIELDS if hasattr(given, name)}
