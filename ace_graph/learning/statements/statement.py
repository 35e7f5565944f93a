"""A statement of a learner or a request to forget: the bullet it becomes, and which kept one it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import compress
from typing import Literal, NamedTuple

from ace_graph.base.prompts import NOT_ASKED
from ace_graph.learning.statements.forms import (
    FILLER,
    SLOTS,
    asks_to_take_back,
    form_of,
    pattern,
    rule_of,
    slots_asked,
)
from ace_graph.learning.statements.sentences import skip
from ace_graph.learning.statements.validity import with_validity
from ace_graph.memory.bullet import STATED_BY_A_PERSON, Bullet, BulletSource, MemoryType, content_hash
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.delta.operations import Add, Operation, Remove
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.relations import relation_of
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, stop_words, words
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import terms

ATTRIBUTION = "Learner says: "
MAX_STATEMENTS = 10

TAKEN_BACK = "the message asks to forget it"
NOT_KNOWN = "no such statement is remembered"

SensitiveFacts = Literal["keep", "ask", "drop"]
"""What becomes of a sensitive statement in passing: the setting ACE_SENSITIVE_FACTS."""


@dataclass(frozen=True)
class Statement:
    """A statement, or a request to forget, and the operation that it asks for; without one, `why` not.

    `asked`: the learner asked for it in so many words; else it was said in passing. `after_yes` is what
    keeps a sensitive statement once the learner has said yes to it. Of kind `which` are the statements that a
    request may mean which names none: `words` lists them. `request` are the words of the message that ask to
    forget, where `words` are those of what is forgotten.
    """

    kind: Literal["keep", "forget", "which"]
    words: str
    operation: Operation | None = None
    why: str = ""
    asked: bool = True
    after_yes: Add | None = None
    request: str = ""


def keep(words: str, section: str, memory_type: MemoryType, slot: str | None, source: str) -> Add:
    """Return the operation that keeps a statement; `source` names the turn. Links and wishes are allowed."""
    return Add(
        content=ATTRIBUTION + words,
        section=section,
        memory_type=memory_type,
        polarity="observation",
        slot=slot,
        topic=infer_topic(words),
        importance=STATED_BY_A_PERSON,
        examples=(source,),
        sources=(BulletSource.LEARNER,),
        vouched=("link", "answers"),
    )


def dated(statement: Statement, today: date) -> Statement:
    """Return a statement that was made on this day, with the days on which it says that it is true."""
    kept, later = statement.operation, statement.after_yes
    if isinstance(kept, Add):
        return replace(statement, operation=with_validity(kept, statement.words, today))
    return (
        statement
        if later is None
        else replace(statement, after_yes=with_validity(later, statement.words, today))
    )


def part_only(words: str, said: str) -> Statement:
    """Return a request to forget what is a part of a statement that says more: nothing is forgotten."""
    why = f'it is a part of "{said}"; to have all of that forgotten, say "forget that ..." with these words'
    return Statement("forget", words, why=why, request=words)


def sensitive_statement(words: str, source: str, sensitive: SensitiveFacts) -> Statement:
    """Return what becomes of a sensitive statement that was said in passing."""
    operation = keep(words, "profile", "semantic", None, source)
    if sensitive == "keep":
        return Statement("keep", words, operation, asked=False)
    after_yes = operation if sensitive == "ask" else None
    return Statement("keep", words, why=NOT_ASKED, asked=False, after_yes=after_yes)


# Reads what a learner wants forgotten, such as "forget my name", and which bullet is meant.
#
# "Forget that" means what the turn before has stored. The request becomes an operation in explicit.py.
# Forgetting everything needs a confirmation (reading.py).


_COVERAGE = 0.6
"""Share of a request's words that a bullet must hold to be the one that is meant."""

FORGET = pattern("forget")
_NO_LONGER = re.compile(r"i (?P<no_longer>no longer|don'?t|do not) (?=\w)", re.IGNORECASE)
_ANY_MORE = re.compile(r" any ?more$| any longer$", re.IGNORECASE)
_OWN_WORD = re.compile(r"\b(?:i|i'?m|i'?ve|me|my|mine)\b", re.IGNORECASE)
_PARTS = re.compile(r",? and |, ", re.IGNORECASE)
_THAT = pattern("forget_that")
"""A request to forget that names nothing."""
_MOST_SHOWN = 8
NOTHING_KNOWN = "nothing that you said is remembered"
_MOST_PARTS = 5
_MOST_DENIALS = 20
_VALUE = re.compile(
    r"(?:^|(?<=\bmy )|(?<=\bown )|(?<=\bfirst )|(?<=\blast )|(?<=\bfull )|(?<=\bold )|(?<=\bnew )"
    r"|(?<=\band ))(\w+)\b(?! (?:of|for)\b)"
)
"""What may name a value of the learner: not "the name of my dog", "my dog's name", "my best language"."""
_EDGES = ".!?;,。！ "
_ALL_BUT = re.compile(
    r"(?:all|everything|anything)\b[^.]{0,80} (?:but|except|apart from|besides) ", re.IGNORECASE
)


@dataclass(frozen=True)
class ForgetRequest:
    """What is to be forgotten, in the learner's words. `asked`: for certain, so that a failure is told."""

    words: str
    asked: bool

    @property
    def spares(self) -> bool:
        """Whether it names what is to stay ("everything but my name")."""
        return _ALL_BUT.match(self.words) is not None


def forget_request(text: str, masked: str) -> ForgetRequest | None:
    """Return the request that a clause is, None where it is none; `masked` hides what is quoted."""
    match = FORGET.match(masked)
    if match is not None:
        words = text[match.end() :].rstrip(_EDGES)
        verb = match["verb"].casefold()
        certain = verb == "forget" or (not verb.endswith("remember") and _OWN_WORD.search(words) is not None)
        return ForgetRequest(words, certain)
    match = _NO_LONGER.match(masked)
    if match is None:
        return None
    said = text[match.end() :].rstrip(_EDGES)
    words = _ANY_MORE.sub("", said)
    changed = words != said or match["no_longer"].casefold() == "no longer"
    return ForgetRequest(words, asked=False) if changed else None


def values_named(words: str) -> frozenset[str]:
    """Return the words of a request by which it may name a value of the learner ("my age")."""
    return frozenset(_VALUE.findall(words.casefold()))


def points_back(sentence: str) -> bool:
    """Whether all that a sentence asks is to forget what was said just before, in any language."""
    said = skip(FILLER, sentence)
    return _THAT.fullmatch(sentence, said) is not None or asks_to_take_back(sentence)


def pointed_at(words: str, own: Own, last: str | None) -> list[Statement]:
    """Return what a request means that names nothing: what the turn `last` stored, else a question."""
    meant = own.said_in(last) if last is not None else []
    if meant:
        return [
            Statement("forget", own.words(each), Remove(bullet_id=each.id), request=words) for each in meant
        ]
    known = [own.words(each) for each, _ in own.bullets]
    if not known:
        named = words.strip().rstrip(_EDGES)
        return [Statement("forget", named, why=NOTHING_KNOWN, request=named)]
    listed = "; ".join(f'"{each}"' for each in known[-_MOST_SHOWN:])
    return [Statement("which", listed, request=words)]


class Own:
    """The learner's own statements in a playbook, as a request names them."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self._compared = 0

    def says(self, words: str) -> bool:
        """Whether the learner has said exactly this before, case and spacing aside."""
        alike = self._playbook.hashes.get(content_hash(f"{ATTRIBUTION}{words}"), ())
        return any(_is_own(self._playbook.entries[key]) for key in alike if key in self._playbook.index.core)

    def may_deny(self) -> bool:
        """Whether one more denial of this message is compared with the statements: the first 20 are."""
        self._compared += 1
        return self._compared <= _MOST_DENIALS

    @property
    def compares(self) -> bool:
        """Whether there were no more denials than are compared."""
        return self._compared <= _MOST_DENIALS

    def words(self, bullet: Bullet) -> str:
        """Return what the learner said, without who says it."""
        return bullet.content.removeprefix(ATTRIBUTION)

    def said_in(self, turn_id: str) -> list[Bullet]:
        """Return the statements that a turn has stored, or that were said again in it."""
        return [each for each in self._statements if turn_id in (each.turn_id, *each.examples[-1:])]

    def meant(self, words: str) -> list[tuple[str, Bullet | None]]:
        """Return the bullet that is meant, None for none, or one for each part ("my dog and my cat")."""
        split = [part for part in _PARTS.split(words) if part.strip()]
        parts = [(part, self._one(part)) for part in split] if 1 < len(split) <= _MOST_PARTS else []
        if parts and all(bullet is not None for _, bullet in parts):
            return parts
        whole = self._one(words)
        return [(words, whole)] if whole is not None or not parts else parts

    def in_slot(self, slot: str) -> Bullet | None:
        """Return the statement in a slot, None for none."""
        return next((bullet for bullet in self._statements if bullet.slot == slot), None)

    def removal(self, bullet: Bullet) -> Remove:
        """Return the operation that forgets a statement, or one of the values before it."""
        present = self._playbook.entries[bullet.id].content == bullet.content
        return Remove(bullet_id=bullet.id, value=None if present else bullet.content)

    def _one(self, words: str) -> Bullet | None:
        """The statement in the slot that is named, or the one that holds most of the words."""
        named = values_named(words) | slots_asked(words)
        asked, own = set(terms(words)), self.bullets
        for bullet, _ in own:
            if bullet.slot in named:
                return bullet
        before = (
            (value, set(terms(self.words(value)))) for bullet, _ in own for value in bullet.other_values
        )
        every = (*own, *before)
        shares = [(len(asked & known) / len(asked), bullet) for bullet, known in every] if asked else []
        best = max(shares, key=lambda share: share[0], default=None)
        return best[1] if best is not None and best[0] >= _COVERAGE else None

    @cached_property
    def bullets(self) -> list[tuple[Bullet, set[str]]]:
        """The statements, each with its content terms."""
        return [(bullet, set(terms(self.words(bullet)))) for bullet in self._statements]

    @cached_property
    def wishes(self) -> list[Bullet]:
        """The statements that say how the answers are to be."""
        return [each for each in self._statements if each.section == "preferences" or each.slot in _WISHES]

    @cached_property
    def relations(self) -> frozenset[str]:
        """The keys of the relations that the statements state."""
        stated = (relation_of(self.words(each)) for each in self._statements)
        return frozenset(each.key for each in stated if each is not None)

    @cached_property
    def _statements(self) -> list[Bullet]:
        entries, core = self._playbook.entries, self._playbook.index.core
        return list(filter(_is_own, compress(entries.values(), map(core.__contains__, entries))))


def _is_own(bullet: Bullet) -> bool:
    return bullet.content.startswith(ATTRIBUTION)


# Which value of a slot a statement gives, and whether it says more than that.
#
# "I live in Berlin with my cats" says more than where the learner lives. A later home takes its slot and
# leaves it as it is, because what is said of the cats is not withdrawn.


_WISHES = ("persona", "language")
"""Slots whose value may be many words: "talk like a pirate from the Caribbean"."""
_WITHIN = ("age", "grade")
"""Slots whose value lies within the form, so that any word behind it says more."""
_MOST_WORDS = 4
_SHORT = 2
_WHOLE = 0.6
"""Share of a statement's words that a request must hold to be about all of it."""
_WORD = re.compile(r"[^\W_]+")
_ASIDE = re.compile(r"[(;:]| [-–—] ")
_PERSONS = ("own", "mine", "relatives", "joints")


class _Value(NamedTuple):
    slot: str
    begin: int


def slot_of(text: str, language: str) -> str | None:
    """Return the slot whose value a statement gives, None for none."""
    value = _value(text, language)
    return value.slot if value is not None else None


def says_more(text: str) -> bool:
    """Whether a statement says more than the value of its slot."""
    read = dict.fromkeys(
        (spoken_language(text), FIRST, *languages("statements"))
    )  # few words tell no language
    for language in read:
        value = _value(text, language)
        if value is not None:
            return _goes_on(text[value.begin :], value.slot, language)
    return True


def _goes_on(rest: str, slot: str, language: str) -> bool:
    roles = (*_PERSONS, "others") if slot == "home" else _PERSONS
    persons = frozenset[str]().union(*(words(language, "persons", name) for name in roles))
    if _ASIDE.search(rest):
        return True
    if language in SPACELESS:
        return any(each in rest for each in persons)
    found = _WORD.findall(rest)
    joints = words(language, "persons", "joints")
    if len(found) > _SHORT and found[-1][0].isupper() and found[-2].casefold() in joints:
        found = found[:-2]  # "Trinidad and Tobago"
    said = [each.casefold() for each in found]
    if not persons.isdisjoint(said):
        return True
    return slot not in _WISHES and _links(said, stop_words(language), within=slot in _WITHIN)


def _links(said: Sequence[str], stops: frozenset[str], *, within: bool) -> bool:
    """Whether words of content stand behind the value, as by a preposition: "Berlin with two cats"."""
    told = [at for at, word in enumerate(said) if word not in stops]
    if within or not told:
        return bool(told)
    between = said[told[0] : told[-1]]
    return len(told) > _MOST_WORDS or any(word in stops and len(word) > _SHORT for word in between)


def sparing(add: Add, own: Own) -> Add:
    """Return the operation; it spares the statement in its slot if that says more than a value."""
    known = own.in_slot(add.slot) if add.slot is not None else None
    if known is None or not says_more(known.content.removeprefix(ATTRIBUTION)):
        return add
    return add.model_copy(update={"spares": known.id})


def forgotten(
    meant: Sequence[tuple[str, Bullet | None]],
    own: Own,
    *,
    told: bool,
    named: Callable[[str], Collection[str]] = lambda _: (),
) -> Iterator[Statement]:
    """Yield what becomes of requests to forget, each with the bullet that it means.

    `told`: where none is meant, that is said. `named` returns the slots that a request names beside English.
    """
    for request, bullet in meant:
        said = own.words(bullet) if bullet is not None else ""
        if bullet is None:
            if told:
                yield Statement("forget", request, why=NOT_KNOWN, request=request)
        elif bullet.slot not in named(request) and is_part(request, said, bullet.slot):
            yield part_only(request, said)
        else:
            yield Statement("forget", said, own.removal(bullet), request=request)


def is_part(request: str, said: str, slot: str | None) -> bool:
    """Whether a request to forget is about a part of a statement that says more than its value."""
    if slot is None or slot in values_named(request) or not says_more(said):
        return False
    known = set(terms(said))
    return len(known & set(terms(request))) < _WHOLE * len(known)


def _value(text: str, language: str) -> _Value | None:
    if language == FIRST:
        found = rule_of(text)
        slot = found[0].slot if found is not None else None
        return _Value(slot, found[1].end() - (slot not in _WITHIN)) if found is not None and slot else None
    form = form_of(text, language)
    return _Value(form.kind, form.value) if form is not None and form.kind in SLOTS else None
