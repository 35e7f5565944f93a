"""What the table of readers is made of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from ace_graph.base.errors import AceError

__all__ = ["Reader", "refused"]


@dataclass(frozen=True)
class Reader:
    """A function of a text, under a name; `modules` are those of the package whose rules it runs.

    `of_message`: it reads a learner's message in a turn. `most` is how long a text it is ever given.
    """

    name: str
    read: Callable[[str], object]
    modules: tuple[str, ...] = ()
    of_message: bool = False
    most: int | None = None


def refused(read: Callable[[str], object]) -> Callable[[str], object]:
    """The same, where refusing the text is as good as reading it."""

    def reader(text: str) -> object:
        with suppress(AceError, ValidationError, ValueError):
            return read(text)
        return None

    return reader
