"""How a learner wants to be answered, as their playbook and their own message say it.

A preference is recognised by a few words. The later of two that contradict each other wins, and the message
at hand comes last. An item that no rule knows is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ace_graph.numerals import Form
from ace_graph.offline_tutor.number_forms import requested_form
from ace_graph.offline_tutor.prompt_reader import Item

__all__ = ["Preferences", "read_preferences"]


class Voice(NamedTuple):
    """A greeting with a place for a name, what to call a learner without one, and a farewell."""

    opening: str
    friend: str
    closing: str


_VOICES: Mapping[str, Voice] = {
    "pirate": Voice("Arr, {name}!", "matey", "Fair winds to ye!"),
    "robot": Voice("Beep. Input received, {name}.", "human", "Computation complete."),
    "wizard": Voice("By my staff, {name}!", "young apprentice", "Such is the magic of numbers."),
}
_NAMED = re.compile(rf"\b({'|'.join(_VOICES)})s?\b", re.IGNORECASE)


def _voice_in(text: str) -> Voice | None:
    found = _NAMED.search(text)
    return _VOICES[found[1].lower()] if found is not None else None


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


_PICTURES = _words(
    r"pictures?|drawings?|draw|diagrams?|visuals?|visually|sketch\w*|illustrat\w+|fraction bars?|bar models?"
)
_AGAINST = _words("no|not|never|don'?t|without|dislikes?|hates?|avoid|stop|less|fewer")
_SHORT = _words(
    r"short(?:er)? (?:answers?|repl\w+|explanations?|sentences?)",
    "brief|briefly|concise|concisely|to the point",
    "(?:just|only) (?:give |show |tell )?(?:me )?the (?:answer|result)",
    "keep (?:it|answers?|them) short",
    r"(?:no|without|hates?|dislikes?) long \w+",
)
_STEPS = _words("step[- ]by[- ]step|in steps|(?:every|each|all|all the|the|show) steps?|in detail|detailed")
_VOICE = _words("like|as|be|voice|persona|style|talks?|speak|sound|answers?|characters?")
_NAME = re.compile(
    r"\b(?i:calls? me|called me|my name(?: is|'s)|i am called|i'?m called|goes by|name (?:is|:)|name:"
    r"|(?:wants|likes|prefers) to be called)\s+[\"'“]?([^\W\d_][\w'’-]*(?:\s[A-Z][\w'’-]*)?)"
)
_NO_NAMES = {"a", "an", "back", "by", "if", "in", "later", "not", "on", "that", "the", "this", "when"}
_MISCONCEPTION = _words(
    r"mix(?:es|ing|ed)?(?: them)? up|confus\w+|mess(?:es|ing|ed)? up|struggl\w+|trouble with",
    r"forget(?:s|ting)?|get(?:s|ting)? \w+(?: \w+){0,3} wrong|mistak\w+|misconception|wrongly",
    "add(?:s|ing) (?:the |both )?(?:denominators|bottoms|numerators and denominators|tops and bottoms)",
)
_NEVER_ADD = _words("(?:never|don'?t|do not|avoid:?) add(?:ing)? (?:the )?(?:denominators|bottoms)")
_LANGUAGES = (
    "arabic|bengali|chinese|czech|danish|dutch|finnish|french|german|greek|hebrew|hindi|italian|japanese"
    "|korean|norwegian|polish|portuguese|russian|spanish|swedish|turkish|ukrainian|urdu|vietnamese"
)
_LANGUAGE = re.compile(
    r"\b(?:(?:talk|speak|write|answer|reply|respond)s?(?: to me)? in|(?:language|tongue)(?: is|:)|prefers?)"
    rf"\s+({_LANGUAGES})\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Preferences:
    """How the learner wants to be answered.

    `sources` holds, for name, voice, pictures, short, steps and form, the id of the playbook item that says
    so; a wish of the message at hand has none.
    """

    name: str | None = None
    voice: Voice | None = None
    pictures: bool = False
    short: bool = False
    language: str | None = None
    form: Form | None = None
    misconceptions: list[Item] = field(default_factory=list[Item])
    sources: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, item: Item) -> None:
        """Take up what `item` says."""
        text = item.text
        name, picture, language = (pattern.search(text) for pattern in (_NAME, _PICTURES, _LANGUAGE))
        if name is not None and name[1].casefold() not in _NO_NAMES:
            self.name = name[1].strip()
            self._set_source("name", item)
        if _VOICE.search(text) and (voice := _voice_in(text)) is not None:
            self.voice = None if _AGAINST.search(text) else voice
            self._set_source("voice", item)
        if picture is not None:
            self.pictures = _AGAINST.search(text[: picture.start()]) is None
            self._set_source("pictures", item)
        if _SHORT.search(text):
            self.short = True
            self._set_source("short", item)
        elif _STEPS.search(text):
            self.short = False
            self._set_source("steps", item)
        if (form := requested_form(text)) is not None:
            self.form = form
            self._set_source("form", item)
        if language is not None:
            self.language = language[1].capitalize()
        if _MISCONCEPTION.search(text) or _NEVER_ADD.search(text):
            self.misconceptions.append(item)

    def source_of(self, wish: str) -> tuple[str, ...]:
        """Return the id of the item that says so, nothing where there is none."""
        return (self.sources[wish],) if wish in self.sources else ()

    def _set_source(self, wish: str, item: Item) -> None:
        self.sources.pop(wish, None)
        if item.id is not None:
            self.sources[wish] = item.id


def read_preferences(items: Iterable[Item], voice_asked: str = "") -> Preferences:
    """Return the preferences in `items`, the newest last. `voice_asked` names a voice, or is empty."""
    preferences = Preferences()
    for item in items:
        preferences.read(item)
    asked = _voice_in(voice_asked)
    if asked is not None:
        preferences.voice = asked
        preferences.sources.pop("voice", None)
    return preferences
