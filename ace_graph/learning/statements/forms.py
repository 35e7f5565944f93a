"""The forms in which learners state something about themselves, from the tables of the languages.

A form matches the beginning of a clause, or all of it. English has rules of its own, at the end of this file,
and forms for sensitive statements alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, cast
from unicodedata import combining

from ace_graph.memory.bullet import PROFILE_SLOTS, MemoryType
from ace_graph.memory.languages.detection import nearly_likely
from ace_graph.memory.languages.forms import any_of, form_pattern
from ace_graph.memory.languages.tables import (
    FIRST,
    SPACELESS,
    first_names,
    languages,
    phrases,
    raw_table,
    table,
    words,
)
from ace_graph.memory.search.tokenize import normal_form

FormKind = Literal[
    "name",
    "named",
    "age",
    "grade",
    "home",
    "language",
    "native_language",
    "wishes",
    "liked",
    "remember",
    "forget",
]
KINDS: tuple[FormKind, ...] = (
    *("remember", "forget", "name", "named", "age", "grade", "home"),
    *("language", "native_language", "wishes", "liked"),
)
REQUESTS: tuple[FormKind, ...] = ("remember", "forget")
SLOTS = PROFILE_SLOTS - {"persona"}
"""Kinds of statements of which a learner has one value at a time."""
SENSITIVE = ("health", "belief", "origin", "sexuality", "politics", "money")

_MAX_YES_CHARS = 80
_ABOUT_WORDS = 14
"""A statement of more words than that is a story, and not asked about by rules."""
_ABOUT_CHARS = 60
_TAKE_BACK_CHARS = 120
_STEM = 3
"""A verb known by its ending alone has more letters than that."""
_WORD = re.compile(r"\w+")
_FIRST_WORD = re.compile(r"\s*\S*")
_NAMED = re.compile(r"\{[^{}]*\}")
_EDGES = " .!,;。！，"
_SOME_WORDS = r"[^\s,]{1,30}(?: [^\s,]{1,30}){0,5}?"


class Form(NamedTuple):
    """What a clause states, and where that begins: behind "remember that", else at the start.

    `value` is where a value of a slot begins, or ends, as the form has it.
    """

    kind: FormKind
    begin: int
    value: int


def form_of(clause: str, language: str, *, shortened: bool = False) -> Form | None:
    """Return the form that a clause has, None for none.

    `shortened`: only forms in which the learner is not named again ("Ich heiße Sam und *bin 12*").
    """
    for kind, pattern in _forms(language, shortened=shortened):
        match = pattern.match(clause)
        if match is not None and not _is_nothing(kind, clause[match.end() :], language):
            begin = match.end() if kind in ("remember", "forget") else 0
            return Form("name" if kind == "named" else kind, begin, match.end())
    return None


def stated_language(sentence: str) -> str:
    """Return the language of a sentence, where English is likely another one in which it states something."""
    likely = nearly_likely(sentence)
    if likely[0] != FIRST:
        return likely[0]
    return next((each for each in likely[1:] if form_of(sentence, each) is not None), FIRST)


def asks_to_clear(sentence: str) -> bool:
    """Whether a sentence in another language than English asks to forget everything, and no more."""
    return any(
        _begins(language, "clear").match(sentence)
        for language in languages("statements")
        if language != FIRST
    )


def asks_to_take_back(sentence: str) -> bool:
    """Whether a sentence in another language than English asks to forget what was said just before."""
    if len(sentence) > _TAKE_BACK_CHARS:
        return False
    return _take_back().match(sentence.rstrip(" ?？")) is not None  # "Kannst du das vergessen?"


def takes_back_wish(clause: str, language: str) -> bool:
    """Whether a clause takes back a wish for the answers: "no more examples", "lass die Beispiele weg"."""
    return _begins(language, "withdrawn").match(clause) is not None


def as_sentence(request: str, begin: int, language: str) -> str:
    """Return what a request to remember is about, from `begin` in it, as a sentence of its own.

    "merk dir, dass ich einen Test habe" is about "ich habe einen Test". Where the order of its words is not
    certain, the request itself is the sentence.
    """
    before = _WORD.findall(request[:begin].casefold())
    if not before or before[-1] not in _listed(language, "subordinate"):
        return request[begin:].strip()
    return verb_second(request[begin:], language) or request.strip()


def verb_second(said: str, language: str) -> str | None:
    """Return a clause whose verb stands last ("weil ich ADHS habe") as a sentence, None for others."""
    clause, comma, rest = said.strip().partition(",")
    spoken = clause.strip(_EDGES).split()
    if spoken and spoken[0].casefold() in _listed(language, "subordinate"):
        spoken = spoken[1:]
    for line in _lines(language, "verb_last") if spoken else ():
        subjects, verbs = (part.split() for part in line.split(":"))
        if spoken[0].casefold() in subjects:
            # Where the noun of "meine kleine Schwester" ends, by its capital letter
            nouns = (at for at, word in enumerate(spoken, 1) if at > 1 and word[:1].isupper())
            sizes = (1,) if "*" not in subjects else (next(nouns, 2), 2)
            ordered = (_verb_second(spoken, size, verbs, language) for size in sizes)
            sentence = next((each for each in ordered if each is not None), None)
            if sentence is not None:
                return sentence + comma + rest
    return None


def _verb_second(spoken: Sequence[str], size: int, verbs: Sequence[str], language: str) -> str | None:
    """Return the words of a clause whose verb stands last with the verb behind its first `size` words.

    None where the last word is no verb for sure, or a verb stands before it, too.
    """
    *middle, last = spoken[size:] or [""]
    known = frozenset(verbs)
    endings = tuple(each[1:] for each in verbs if each.startswith("*"))
    joints = words(language, "persons", "joints")
    pairs = zip(middle, middle[1:], [*middle[2:], last], strict=False)
    if not known.isdisjoint(map(str.casefold, middle)) or any(
        joint in joints and _ends_as(before, endings) and not _ends_as(behind, endings)
        for before, joint, behind in pairs
    ):
        return None
    if not middle and size > 1:
        return None
    if last.casefold() in known:
        return " ".join((*spoken[:size], last, *middle))
    if not _ends_as(last, endings) or last.startswith(_listed(language, "unsure_prefixes")):
        return None
    prefixes = (each for each in _listed(language, "prefixes") if last.startswith(each))
    prefix = max(prefixes, key=len, default="")
    verb = last.removeprefix(prefix)
    return " ".join((*spoken[:size], verb, *middle, *filter(None, (prefix,)))) if len(verb) > _STEM else None


def _ends_as(word: str, endings: tuple[str, ...]) -> bool:
    """Whether a word may be a verb by how it ends; nouns have a capital letter."""
    return len(word) > _STEM and word.islower() and bool(endings) and word.endswith(endings)


def _listed(language: str, name: str) -> tuple[str, ...]:
    return tuple(words(language, "statements", name)) if name in table(language, "statements") else ()


def request_at_end(clause: str, language: str) -> tuple[FormKind, str] | None:
    """Return a request whose verb stands last, and the words before it; None for none."""
    said = clause.rstrip(_EDGES).removesuffix("ください")
    for kind in REQUESTS:
        ends = (each for each in _lines(language, f"{kind}_ends") if said.endswith(each))
        ending = max(ends, key=len, default="")
        if ending:
            return kind, said.removesuffix(ending)
    return None


def slot_stated(clause: str, language: str) -> str | None:
    """Return the slot whose value a clause states, None for none."""
    found = form_of(clause, language)
    return found.kind if found is not None and found.kind in SLOTS else None


def slots_named(request: str, language: str) -> tuple[str, ...]:
    """Return the slots that a request to forget names, as "age" is named in "vergiss mein Alter"."""
    said = frozenset(_WORD.findall(request.casefold()))
    found = list[str]()
    for line in phrases(language, "statements", "slots"):
        slot, _, named = line.partition(":")
        anywhere = language in SPACELESS and any(each in request for each in named.split())
        if anywhere or not said.isdisjoint(named.split()):
            found.append(slot)
    return tuple(found)


def slots_asked(words: str) -> frozenset[str]:
    """Return the slots that a question in any language asks for: "where I live"."""
    said = words.strip(_EDGES + "?？")
    found = (each for language in languages("statements") for each in _asked(language))
    return frozenset(slot for slot, pattern in found if slot in SLOTS and pattern.fullmatch(said))


def is_sensitive(clause: str, language: str) -> bool:
    """Whether a statement has a word of health, belief, origin, sexuality, politics or money in it."""
    return any(_holds_sensitive(clause, each) for each in dict.fromkeys((language, FIRST)))


def is_sensitive_place(clause: str, value: int, language: str) -> bool:
    """Whether what is stated as a home, an age or a grade tells something sensitive ("a refugee camp").

    The first word of the value, which begins at `value`, does not count: it may be a name ("Roma").
    """
    rest = clause if language in SPACELESS else _FIRST_WORD.sub("", clause[value:], count=1)
    return is_sensitive(rest, language)


def is_private_wish(clause: str, wish: int, language: str) -> bool:
    """Whether a wish, which begins at `wish`, tells something sensitive of who says it.

    "I prefer large print because of my dyslexia" does, "I prefer examples about the church" does not.
    """
    named = any(holds_word(clause[wish:], language, role) for role in ("own", "mine"))
    return named and is_sensitive(clause, language)


def holds_word(text: str, language: str, name: str, file: str = "persons") -> bool:
    """Whether a text holds a word that the table `file` has under `name`."""
    wanted = words(language, file, name)
    if language in SPACELESS:
        return any(word in text for word in wanted)
    return not wanted.isdisjoint(_WORD.findall(text.casefold()))


def tells_more(clause: str, language: str) -> bool:
    """Whether a clause behind a value tells more of the learner: "... und mein Test ist am Freitag"."""
    if not _lines(language, "beside"):
        return False
    asked = words(language, "statements", "not_beside")
    return _begins(language, "beside").match(clause) is not None and asked.isdisjoint(
        _WORD.findall(clause.casefold())
    )


def states_sensitive(clause: str, language: str, *, shortened: bool = False) -> bool:
    """Whether a short clause says of the learner that they are or have something sensitive.

    `shortened`: as in `form_of`.
    """
    match = _begins(language, "about", shortened=shortened).match(clause)
    if match is None:
        return False
    short = len(clause) <= _ABOUT_CHARS if language in SPACELESS else len(clause.split()) <= _ABOUT_WORDS
    about_schoolwork = holds_word(clause, language, "topics", "sensitive")
    return short and is_sensitive(clause, language) and not about_schoolwork


def is_yes(message: str) -> bool:
    """Whether a message is nothing but a yes, in any language."""
    said = message.strip()
    return len(said) <= _MAX_YES_CHARS and " ".join(_WORD.findall(said.casefold())) in _yes()


def is_plain_yes(message: str) -> bool:
    """Whether a message is the one word for yes of a language, whatever its accents ("ja", "si")."""
    said = message.strip().rstrip(_EDGES)
    return len(said) <= _MAX_YES_CHARS and _plain(said) in _plain_yes()


def question_text(language: str, statements: str) -> str:
    """Return the question whether statements are to be remembered."""
    return table(language, "statements")["question"].replace("{words}", statements)


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    yield _take_back()
    for language in languages("statements"):
        yield from (pattern for short in (False, True) for _, pattern in _forms(language, shortened=short))
        yield from (_begins(language, "about", shortened=short) for short in (False, True))
        yield from (pattern for _, pattern in _asked(language))
        yield instead(language)
        yield from (_begins(language, name) for name in ("clear", "beside", "withdrawn"))


def _lines(language: str, name: str) -> tuple[str, ...]:
    return phrases(language, "statements", name) if name in table(language, "statements") else ()


@cache
def _forms(language: str, *, shortened: bool) -> tuple[tuple[FormKind, re.Pattern[str]], ...]:
    found = list[tuple[FormKind, re.Pattern[str]]]()
    for kind in KINDS:
        lines = _lines(language, kind)
        if shortened:
            lines = tuple(_NAMED.sub("", line) for line in lines if "{" in line)
        if lines:
            found.append((kind, _pattern(language, lines)))
    return tuple(found)


@cache
def _begins(language: str, name: str, *, shortened: bool = False) -> re.Pattern[str]:
    """Return the pattern of the forms that a language has under a name, which matches nothing without any."""
    lines = _lines(language, name)
    return _pattern(language, [_NAMED.sub("", line) for line in lines] if shortened else lines)


@cache
def _asked(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    lines = (line.partition(": ") for line in phrases(language, "statements", "asked"))
    return tuple((value, form_pattern((form,))) for value, _, form in lines)


@cache
def _take_back() -> re.Pattern[str]:
    return form_pattern(line for each in languages("statements") for line in _lines(each, "take_back"))


@cache
def instead(language: str) -> re.Pattern[str]:
    """Return the pattern of how a learner begins who corrects what they said: "I meant Mara"."""
    return form_pattern(_lines(language, "meant"))


def _is_nothing(kind: FormKind, value: str, language: str) -> bool:
    """Whether what a form would keep is none: no value of a slot, nothing that somebody likes."""
    if kind == "named":  # a listed first name, alone or before a family name
        first, *family = value.rstrip(_EDGES).split() or [""]
        alone = len(family) <= 1 and all(each[0].isupper() for each in family)
        return first not in first_names() or not alone
    if kind == "wishes":
        refused = (
            phrases(language, "statements", "not_wished")
            if "not_wished" in table(language, "statements")
            else ()
        )
        return f"{value} ".casefold().startswith(tuple(f"{each} " for each in refused))
    if kind == "liked":
        return _first_word(value) in words(language, "statements", "not_liked")
    if kind not in SLOTS:
        return False
    # It begins as no value does: "ich heiße nicht Sam", "ich wohne in einer Wohnung".
    never = words(language, "statements", "no_value") if language != FIRST else frozenset[str]()
    if language in SPACELESS and value.startswith(tuple(never)):
        return True
    return _first_word(value) in _negations(language) | never


def _first_word(text: str) -> str:
    first = _WORD.search(text)
    return first[0].casefold() if first is not None else ""


@cache
def _negations(language: str) -> frozenset[str]:
    if language not in languages("claims"):
        return frozenset()
    return frozenset(table(language, "claims").get("negations", "").split())


def _pattern(language: str, lines: Sequence[str]) -> re.Pattern[str]:
    numbers = words(language, "statements", "numbers") if language != FIRST else frozenset[str]()
    number = rf"\d{{1,2}}|{any_of(numbers)}"
    return form_pattern(lines, number=number, signs={"{": "", "}": "", "~": _SOME_WORDS})


@cache
def _yes() -> frozenset[str]:
    spoken = (line for language in languages("statements") for line in phrases(language, "statements", "yes"))
    return frozenset(" ".join(_WORD.findall(line.casefold())) for line in spoken)


@cache
def _plain_yes() -> frozenset[str]:
    return frozenset(
        _plain(line)
        for language in languages("statements")
        for line in phrases(language, "statements", "yes")[: 2 if language in SPACELESS else 1]
    )


def _plain(text: str) -> str:
    apart = normal_form("NFD", text.casefold())
    return "".join(char for char in apart if not combining(char))


def _holds_sensitive(clause: str, language: str) -> bool:
    whole, stems = _sensitive(language)
    if language in SPACELESS:
        return any(word in clause for word in whole)
    said = _WORD.findall(clause.casefold())
    if not whole.isdisjoint(said) or any(word.startswith(stems) for word in said):
        return True
    together = f"-{'-'.join(said)}-"
    return any(f"-{phrase}" in together for phrase in _sensitive_phrases(language))


@cache
def _sensitive(language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    listed = frozenset[str]().union(*(words(language, "sensitive", kind) for kind in SENSITIVE))
    stems = tuple(sorted(word[:-1] for word in listed if word.endswith("*")))
    return frozenset(word for word in listed if not word.endswith("*")), stems


@cache
def _sensitive_phrases(language: str) -> tuple[str, ...]:
    """What is sensitive as several words, with the hyphen behind that ends the last one of them."""
    whole, stems = _sensitive(language)
    return tuple(sorted(f"{each}-" for each in whole if "-" in each)) + tuple(
        each for each in stems if "-" in each
    )


# How a learner says something about themselves in English, by the rules of the table `statement_rules`.
#
# A rule matches how a clause begins. `STATEMENTS` are what a learner asks the assistant to keep (a name, a
# wish, "remember that ..."). `PLAIN_FACTS` are harmless facts that are kept when mentioned in passing, one
# value each (age, school year, home). `FACT` is kept only beside one of these in the same message, `STYLE`
# beside one in the same sentence.


_ENGLISH = cast("Mapping[str, Any]", raw_table(FIRST, "statement_rules"))  # Any: texts, and tables of rules
_OTHER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class StatementRule:
    """A clause that begins with `pattern` is kept in `section`, from there to its end.

    With `fact` only what comes after the pattern is kept. Of a `slot` there is one value at a time.
    """

    pattern: re.Pattern[str]
    section: str
    memory_type: MemoryType
    slot: str | None = None
    fact: bool = False


def _text(written: str | Sequence[str]) -> str:
    whole = written if isinstance(written, str) else "".join(written)
    return _OTHER.sub(lambda other: _text(_ENGLISH[other[1]]), whole)


def _english(written: str | Sequence[str]) -> re.Pattern[str]:
    return re.compile(_text(written), re.IGNORECASE)


def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of this name."""
    return _english(_ENGLISH[name])


def texts(name: str) -> str:
    """Return the text of this name."""
    return _text(_ENGLISH[name])


def _rule(name: str) -> StatementRule:
    rule: dict[str, Any] = dict(_ENGLISH["rules"][name])
    return StatementRule(_english(rule.pop("pattern")), **rule)


DENIALS = tuple((_english(denial["pattern"]), str(denial["affirmed"])) for denial in _ENGLISH["denials"])
"""How a clause begins that denies something, and how one begins that says it."""
FILLER = pattern("filler")
"""What may stand before any statement or request."""
LEAD = pattern("lead")
"""How every rule here, and every request to forget, begins."""
NEGATED = pattern("negated")
STATEMENTS = (
    *map(
        _rule, ("name", "persona", "language", "native_language", "misconception", "preference", "remember")
    ),
)
LIKES = _rule("likes")
"""What somebody likes, and not "I like this one"."""
NAMED = _rule("named")
"""A name that is told by its capital letter alone: "I'm Tom"."""
TASTES = (*(rule for rule in STATEMENTS if rule.section == "preferences"), LIKES)
"""What somebody would rather have, likes or can't stand."""
PLAIN_FACTS = (*map(_rule, ("age", "grade", "home")), NAMED, LIKES)
FACT = _rule("fact")
"""A plain clause about the learner. In passing it is not kept: it may be about health, belief, origin."""
BESIDE = _rule("beside")
"""What else a learner tells of themselves in a sentence with a name, a home: "and my test is on Friday"."""
STYLE = _rule("style")
"""A wish on how to answer, as it stands behind another one: "answer in German and keep it short"."""


Found = tuple[StatementRule, re.Match[str]]
"""A rule, and how a clause begins by it."""


@lru_cache(256)
def rule_of(clause: str, position: int = 0) -> Found | None:
    """Return the first rule that the clause at `position` begins with, and the match."""
    for rule in (*STATEMENTS, *PLAIN_FACTS):
        match = rule.pattern.match(clause, position)
        if match is not None and not (rule is NAMED and is_sensitive(match[0], FIRST)):  # "I'm Muslim"
            return rule, match
    return None
