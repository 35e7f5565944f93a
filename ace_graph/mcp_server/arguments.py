"""The arguments of the tools: types with their bounds, as the schema of each tool shows them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded
from ace_graph.memory.catalogue.name import MAX_NAME_CHARS
from ace_graph.memory.text import without_surrogates

__all__ = [
    "BulletId",
    "Cursor",
    "Id",
    "Outcome",
    "PageSize",
    "PlaybookName",
    "SearchWords",
    "Statement",
    "Text",
]


def _storable(value: object) -> object:
    """Without what a store can't hold: NUL, and halves of characters."""
    return without_surrogates(value).replace("\x00", " ") if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_storable)]
Id = Annotated[Text, Field(min_length=1, max_length=128)]
BulletId = Annotated[Text, Field(min_length=1, max_length=128, description="Such as les-00042.")]
Statement = Annotated[
    Text,
    Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="One sentence that stands alone."),
    Bounded,
]
PlaybookName = Annotated[
    Text,
    Field(
        min_length=1,
        max_length=2 * MAX_NAME_CHARS + 1,
        description="A playbook of playbook_list; default is the learner's own memory.",
    ),
]
Cursor = Annotated[
    Text | None, Field(max_length=300, description="The next_cursor of the page before; leave it out first.")
]
PageSize = Annotated[int, Field(ge=1, le=200, description="Most rows of one page.")]
SearchWords = Annotated[Text, Field(min_length=1, max_length=500, description="One word or more.")]
Outcome = Literal["success", "failure", "partial"]
