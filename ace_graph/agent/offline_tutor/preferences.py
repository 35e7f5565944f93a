"""How a learner wants to be answered, as their playbook and their own message say it.

A preference is recognised by a few words. The later of two that contradict each other wins, and the message
at hand comes last. An item that no rule knows is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TypeVar

from ace_graph.agent.offline_tutor.prompt_reader import Item
from ace_graph.agent.offline_tutor.solver import format_mixed
from ace_graph.agent.offline_tutor.teaching import Voice, teaching
from ace_graph.memory.arithmetic import format_number
from ace_graph.memory.languages.forms import form_pattern, form_value, form_wished
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, phrases, table, words
from ace_graph.memory.numbers import Form, Numeral, numerals

_T = TypeVar("_T")


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
_WORD = re.compile(r"\w+")
_NAME = re.compile(
    r"\b(?i:calls? me|called me|my name(?: is|'s)|i am called|i'?m called|goes by|name (?:is|:)|name:"
    r"|(?:wants|likes|prefers) to be called)\s+[\"'“]?([^\W\d_][\w'’-]*(?:\s[A-Z][\w'’-]*)?)"
)
_CALLED = re.compile(r"[\"'“„«]?([^\W\d_][\w'’-]*(?:\s[A-Z][\w'’-]*)?)")
_HAN = re.compile(r"([^\W\d_]{1,10})")
_SELF = re.compile(rf"\b(?i:i'?m|i am|it'?s)\s+{_CALLED.pattern}")
_FORM = re.compile(
    r"\b(?:as|prefers?|wants?)\s+(?:an?\s+)?(?:plain |improper )?(mixed|decimal|percent|fraction)"
    r"(?:\s+number|age)?s?\b(?! (?:circle|bar|strip))",
    re.IGNORECASE,
)
_FORM_NAMES: dict[Form, str] = {"percent": "percentage"}
_FORMS: tuple[Form, ...] = ("decimal", "percent", "mixed", "fraction")
_NO_NAMES = {"a", "an", "back", "by", "if", "in", "later", "not", "on", "that", "the", "this", "when"}
_MISCONCEPTION = _words(
    r"mix(?:es|ing|ed)?(?: them)? up|confus\w+|mess(?:es|ing|ed)? up|struggl\w+|trouble with",
    r"forget(?:s|ting)?|get(?:s|ting)? \w+(?: \w+){0,3} wrong|mistak\w+|misconception|wrongly",
    "add(?:s|ing)? (?:the |both )?(?:denominators|bottoms|numerators and denominators|tops and bottoms)",
)
_LANGUAGE = re.compile(
    r"\b(?:(?:talk|speak|write|answer|reply|respond)s?(?: to me)? in|(?:language|tongue)(?: is|:)|prefers?)"
    r"\s+([a-z]+)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Preferences:
    """How the learner wants to be answered.

    `unknown_form`: the message asks for a form of the result that there is none of here.

    `sources` holds, for name, voice, pictures, short, steps and form, the id of the playbook item that says
    so; a wish of the message at hand has none.
    """

    name: str | None = None
    voice: Voice | None = None
    pictures: bool = False
    short: bool = False
    language: str | None = None
    form: Form | None = None
    unknown_form: bool = False
    misconceptions: list[Item] = field(default_factory=list[Item])
    sources: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, item: Item) -> None:
        """Take up what `item` says."""
        text = item.text
        if (name := _name_in(item)) is not None:
            self.name = self._from(item, "name", name)
        if _VOICE.search(text) and (voice := _voice_in(text)) is not None:
            self.voice = self._from(item, "voice", None if _AGAINST.search(text) else voice)
        if (picture := _PICTURES.search(text)) is not None:
            self.pictures = self._from(item, "pictures", _AGAINST.search(text[: picture.start()]) is None)
        if _SHORT.search(text):
            self.short = self._from(item, "short", True)
        elif _STEPS.search(text):
            self.short = self._from(item, "steps", False)
        if (form := requested_form(text)) is not None:
            self.form = self._from(item, "form", form)
        if item.id is None and (wished := form_wished(text)) is not None:
            self.form = self._from(item, "form", next((form for form in _FORMS if form == wished), None))
            self.unknown_form = self.form is None
        named = (word.capitalize() for word in _LANGUAGE.findall(text))
        language = next((word for word in named if word in teaching().languages), None)
        if language is not None:
            self.language = self._from(item, "language", language)
        if _MISCONCEPTION.search(text):
            self.misconceptions.append(item)

    def source_of(self, wish: str) -> tuple[str, ...]:
        """Return the id of the item that says so, nothing where there is none."""
        return (self.sources[wish],) if wish in self.sources else ()

    def _from(self, item: Item, wish: str, value: _T) -> _T:
        """Return the value of a wish, and note the item that it is from."""
        self.sources.pop(wish, None)
        if item.id is not None:
            self.sources[wish] = item.id
        return value


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


def _name_in(item: Item) -> str | None:
    """The name that an item states, in the words of any language; None for none."""
    patterns = (_NAME, _SELF) if item.slot == "name" else (_NAME,)
    said = next(filter(None, (pattern.search(item.text) for pattern in patterns)), None)
    if said is not None:
        return said[1].strip() if said[1].casefold() not in _NO_NAMES else None
    for language in languages("statements"):
        value = form_value(_name_forms(language), item.text)
        name = (_HAN if language in SPACELESS else _CALLED).match(value) if value is not None else None
        if name is not None and name[1].casefold() not in _no_names(language):
            return name[1]
    return None


@cache
def _name_forms(language: str) -> re.Pattern[str]:
    lines = phrases(language, "statements", "name") if language != FIRST else ()
    return form_pattern(lines, signs={"{": "", "}": ""})


@cache
def _no_names(language: str) -> frozenset[str]:
    denials = table(language, "statements").get("denials", "").split()
    return words(language, "statements", "no_value") | frozenset(denials)


def _voice_in(text: str) -> Voice | None:
    voices = teaching().voices
    words = (word.casefold().removesuffix("s") for word in _WORD.findall(text))
    return next((voices[word] for word in words if word in voices), None)


def requested_form(text: str) -> Form | None:
    """Return the form that an item of the playbook, or a sentence, asks for; None where it asks for none."""
    wish = _FORM.search(text)
    if wish is None or _AGAINST.search(text[: wish.start()]):
        return None
    return next(form for form in teaching().forms if form == wish[1].casefold())


def format_as(value: Fraction, form: Form | None) -> str | None:
    """Return `value` in that form; None where it has none of its own: a whole number, an endless decimal."""
    if value.denominator == 1:
        return None
    match form:
        case "mixed":
            return format_mixed(value) if abs(value) > 1 else None
        case "decimal":
            text = format_number(value, decimal=True)
            return text if "/" not in text else None
        case "percent":
            text = format_number(value * 100, decimal=True)
            return f"{text}%" if "/" not in text else None
        case "fraction":
            return str(value)
        case "whole" | None:
            return None


def why_no_form(value: Fraction, form: Form | None, *, wished_now: bool) -> str | None:
    """Return why a value can't be written in the form that is wanted; None where nothing has to be said.

    A lasting wish is only answered where the form would never end.
    """
    if value.denominator != 1 and form in ("decimal", "percent"):
        number, sign = (value * 100, "%") if form == "percent" else (value, "")
        name = _FORM_NAMES.get(form, form)
        return f"I can't write {value} as a {name}: it never ends. It is about {float(number):.4g}{sign}."
    if not wished_now or form is None:
        return None
    if value.denominator == 1:
        return f"{value} is a whole number, so it stays as it is."
    return f"I can't write {value} as a mixed number: it is less than one." if form == "mixed" else None


def find_restatement(text: str, value: Fraction) -> Numeral | None:
    """Return the first number of a text that is this value, which is no whole number, in some form."""
    if value.denominator == 1:
        return None
    return next((number for number in numerals(text) if number.value == value), None)
