"""What the page says after a change, and the form that takes it back."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Said"]


class Said(BaseModel):
    """What has just been done: a known word in the address, never a text; `before` and `after` allow undo."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    said: Annotated[str, Field(max_length=16)] = ""
    before: Annotated[int | None, Field(ge=0, le=2_147_483_647)] = None
    after: Annotated[str, Field(max_length=128)] = ""

    @property
    def can_undo(self) -> bool:
        """Whether there is a version to go back to."""
        return self.before is not None and bool(self.after) and self.said != "undone"
