"""The few voices the tutor can speak in. A voice changes the greeting and the farewell, never the numbers.

Does not: rewrite sentences; rules that try to do so make nonsense.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["VOICES", "Voice", "find_voice"]


@dataclass(frozen=True, slots=True)
class Voice:
    """`opening` has a place for a name; `friend` is used where none is known."""

    opening: str
    friend: str
    closing: str

    def greet(self, name: str | None) -> str:
        """Return the opening with the name in it."""
        return self.opening.format(name=name or self.friend)


VOICES: Mapping[str, Voice] = {
    "pirate": Voice("Arr, {name}!", "matey", "Fair winds to ye!"),
    "robot": Voice("Beep. Input received, {name}.", "human", "Computation complete."),
    "wizard": Voice("By my staff, {name}!", "young apprentice", "Such is the magic of numbers."),
    "cowboy": Voice("Howdy, {name}!", "partner", "Happy trails!"),
    "detective": Voice("The case is open, {name}.", "colleague", "Case closed."),
    "coach": Voice("Let's go, {name}!", "champ", "Well played!"),
    "knight": Voice("Well met, {name}!", "good squire", "Onward!"),
}

_NAMED = re.compile(rf"\b({'|'.join(VOICES)})s?\b", re.IGNORECASE)


def find_voice(text: str) -> Voice | None:
    """Return the first voice that `text` names, or None."""
    found = _NAMED.search(text)
    return VOICES[found[1].lower()] if found is not None else None
