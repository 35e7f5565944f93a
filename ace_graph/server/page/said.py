"""What the page says after a change, and the form that takes it back."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Done = Literal[
    "added",
    "edited",
    "held",
    "pinned",
    "unpinned",
    "off",
    "on",
    "removed",
    "restored",
    "merged",
    "undone",
    "back",
    "voted",
    "distinct",
    "accepted",
]
"""A change of a playbook that was made."""

_Word = Literal[Done, "judged", "deleted", "refused", "queued", "stale", "nothing", "few", "some", ""]
_WORDS = frozenset[str](each for part in get_args(_Word) for each in (get_args(part) or (part,)))


class Said(BaseModel):
    """What has just been done, a known word in the address; `before` and `after` allow undo.

    `of` is the playbook that was changed, where the view is not about it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    said: Annotated[_Word, BeforeValidator(lambda word: word if word in _WORDS else "")] = ""
    before: Annotated[int | None, Field(ge=0, le=2_147_483_647)] = None
    after: Annotated[str, Field(max_length=128)] = ""
    of: Annotated[str, Field(max_length=128, pattern=r"^[\w.-]*$")] = ""

    @property
    def can_undo(self) -> bool:
        """Whether there is a version to go back to."""
        return self.before is not None and bool(self.after) and self.said != "undone"
