"""Decides which facts that a model found in a learner's message are kept: those that the learner really says.

The model only proposes. A fact needs a quote that stands in the message, in a sentence of the learner's own
that states it of themselves (both in sentences.py). What is kept are the clauses around the quote, in
the learner's words, as a bullet of the profile; the model's own words are kept nowhere. A fact of which there
is one value (a name, an age) replaces the one before only where its words state a new value. What is
sensitive is kept, asked about or dropped by the setting ACE_SENSITIVE_FACTS.

The work is linear in the message's length, for each of at most ten facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ace_graph.base.prompts import preview
from ace_graph.learning.feedback import JudgedExchange, turn_before
from ace_graph.learning.reflection import LearnerFact, Told
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.forms import (
    FILLER,
    SENSITIVE,
    SLOTS,
    holds_word,
    is_sensitive,
    is_yes,
    question_text,
    stated_language,
)
from ace_graph.learning.statements.sentences import (
    HANDED_OVER,
    NOT_THEMSELVES,
    SOMEBODY_ELSE,
    Sentence,
    Stretch,
    asks_not_to_keep,
    clause_around,
    doubt,
    order_in,
    own_sentences,
    skip,
)
from ace_graph.learning.statements.statement import (
    ATTRIBUTION,
    MAX_STATEMENTS,
    Own,
    SensitiveFacts,
    Statement,
    keep,
    points_back,
    slot_of,
    sparing,
)
from ace_graph.learning.statements.validity import days_named, with_validity
from ace_graph.memory.bullet import StatedClaim
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.relations import SPEAKER, claimed, is_self, relation_of
from ace_graph.memory.languages.tables import FIRST
from ace_graph.memory.numbers import normalize, numerals
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import is_spaceless, normal_form
from ace_graph.memory.snapshot import Snapshot

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

MAX_QUOTE_CHARS = 300
MAX_FACT_CHARS = 300
NOT_SAID = "the message does not hold these words"
TOO_LONG = f"it is longer than {MAX_FACT_CHARS} characters"
ASKED_NOT_TO = "the message asks not to keep it"
AN_ORDER = "the message holds an order to the agent"
IN_A_PROBLEM = "its number may be one of a problem"
SENSITIVE_DROPPED = "it is sensitive, and such facts are not kept here (ACE_SENSITIVE_FACTS)"
SENSITIVE_ASKED = 'it is sensitive and was said in passing; to have it kept, say "remember that ..."'
NEWER_KNOWN = "a newer statement says otherwise"
_NUMBERED = frozenset({"age", "grade", "birthday", "family", "goal"})
_WISHES = frozenset({"preference", "wish"})
_MARKS = " \t\n\"'“”„«»‘’「」『』.,;:!?。！？，；：…"


@dataclass(frozen=True)
class WantedFacts:
    """The facts of one message to keep, those that wait for a yes, and why others are not kept."""

    operations: tuple[Add, ...] = ()
    asked: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class ReadMessage(NamedTuple):
    """A message as it was read before: its statements, and the day of it where the learner is."""

    said: Sequence[Statement] | None = None
    day: date | None = None


_UNREAD = ReadMessage()


def learner_facts(
    message: str,
    facts: Sequence[LearnerFact],
    playbook: Playbook,
    source: str,
    sensitive: SensitiveFacts,
    newer: frozenset[str] = frozenset(),
    reading: ReadMessage = _UNREAD,
) -> WantedFacts:
    """Return what becomes of the facts that a model found in `message`; what is kept already is left out.

    `source` names the turn. A value of a slot in `newer` was stated after the message, and stays.
    """
    if not facts:
        return WantedFacts()
    said, today = reading
    said = read_statements(message, playbook, source) if said is None else said
    stated = [each.operation.content for each in said if isinstance(each.operation, Add)]
    room = max(0, MAX_STATEMENTS - len(stated))
    kept, asked, problems = dict[str, Add](), list[str](), list[str]()
    own, read = Own(playbook), _Message(message)
    for fact in facts:
        if own.says(fact.quote) or any(_covers(known, fact.quote) for known in stated):
            continue
        decided = _fact_in(read, fact, source, sensitive, own)
        if isinstance(decided, str):
            asked += [fact.quote] if decided == SENSITIVE_ASKED else []
            problems.append(_told(fact, decided))
        elif any(_covers(known, decided.content) for known in (*stated, *kept)):
            continue
        elif decided.slot in newer:
            problems.append(_told(fact, NEWER_KNOWN))
        elif len(kept) < room:
            words = decided.content.removeprefix(ATTRIBUTION)
            timed = decided if today is None else with_validity(decided, words, today)
            told = fact if fact.subject else fact.model_copy(update={"subject": SPEAKER})
            kept[decided.content] = sparing(with_told(timed, told, message, today), own)
        else:
            problems.append(_told(fact, f"more than {MAX_STATEMENTS} statements in one message"))
    return WantedFacts(tuple(kept.values()), tuple(asked), tuple(problems))


def stated_later(turn_id: str, snapshot: Snapshot) -> frozenset[str]:
    """Return the slots whose value comes from a turn after this one: a worker may learn from it late."""
    turns = [turn.turn_id for turn in snapshot.access.recent_turns]
    if turn_id not in turns:
        return frozenset()
    later = frozenset(turns[turns.index(turn_id) + 1 :])
    own = (bullet for bullet in snapshot.playbook.bullets() if bullet.slot is not None)
    return frozenset(bullet.slot for bullet in own if bullet.slot and not later.isdisjoint(bullet.examples))


def fact_of(message: str, fact: LearnerFact, source: str, sensitive: SensitiveFacts) -> Add | str:
    """Return the operation that keeps a fact about the learner, or why it is not kept."""
    return _fact_in(_Message(message), fact, source, sensitive, Own(Playbook()))


class _Message:
    """A message, read once for all facts: its text without case, and the learner's own sentences."""

    def __init__(self, message: str) -> None:
        text = normal_form("NFC", message)
        self.folded = _folded(text)
        self.sentences = [(each, _folded(each.text)) for each in own_sentences(text)]
        self.asks = any(each.asks for each, _ in self.sentences)
        back = any(points_back(each.masked) for each, _ in self.sentences)
        self._text = text
        self.unwanted = back or asks_not_to_keep(text)

    @cached_property
    def orders(self) -> bool:
        """Whether the message holds an order to the agent."""
        return order_in(self._text) is not None


def _fact_in(
    message: _Message, fact: LearnerFact, source: str, sensitive: SensitiveFacts, own: Own
) -> Add | str:
    quote = normal_form("NFC", fact.quote).strip(_MARKS)
    if len(quote) > MAX_QUOTE_CHARS:
        return TOO_LONG
    wanted = _folded(quote).text
    if not wanted or _find(wanted, message.folded) is None:
        return NOT_SAID
    decided: Add | str = HANDED_OVER
    for sentence, folded in message.sentences:
        found = None if isinstance(decided, Add) else _find(wanted, folded)
        if found is not None:
            decided = _decide(sentence, found, fact, source, sensitive, own)
    if isinstance(decided, str):
        return decided
    may_be_of_a_problem = message.asks and fact.kind not in _NUMBERED and decided.slot is None
    if may_be_of_a_problem and numerals(normalize(decided.content)):
        return IN_A_PROBLEM
    if fact.kind in _WISHES and message.orders:
        return AN_ORDER
    return ASKED_NOT_TO if message.unwanted else decided


def _decide(
    sentence: Sentence, quoted: Stretch, fact: LearnerFact, source: str, sensitive: SensitiveFacts, own: Own
) -> Add | str:
    language = stated_language(sentence.masked)
    clause = clause_around(sentence, quoted, language)
    begin = skip(FILLER, sentence.masked, clause.start) if language == FIRST else clause.start
    clause = clause._replace(start=min(begin, clause.end))
    words = sentence.text[clause.start : clause.end]
    private = fact.kind in SENSITIVE or is_sensitive(words, language)
    why = doubt(sentence, clause, language, sensitive=private)
    if why in (NOT_THEMSELVES, SOMEBODY_ELSE) and not private and _is_own_relation(words, own):
        why = None
    if why is not None:
        return why
    if len(words) > MAX_FACT_CHARS:
        return TOO_LONG
    if private and sensitive != "keep":
        return SENSITIVE_ASKED if sensitive == "ask" else SENSITIVE_DROPPED
    wish = fact.kind in _WISHES
    quote = () if _covers(fact.quote, words) else (f"quote: {preview(fact.quote, 200)}",)
    slot = _slot(words, fact, language)
    kept = (
        keep(words, "preferences", "episodic", slot, source)
        if wish
        else keep(words, "profile", "semantic", slot, source)
    )
    return kept.model_copy(update={"sources": ("learner", *quote), "vouched": ()})


def _slot(words: str, fact: LearnerFact, language: str) -> str | None:
    """The slot of a fact: of its words where they state one, or of its kind where they tell of a change."""
    stated = slot_of(words, language)
    if stated is not None or fact.kind not in SLOTS:
        return stated
    return fact.kind if holds_word(words, language, "changes") else None


def _is_own_relation(words: str, own: Own) -> bool:
    """Whether a statement names a value of the learner, or one of what they have told: "the exam ..."."""
    relation = relation_of(words)
    return relation is not None and (relation.subject == SPEAKER or relation.key in own.relations)


class _Folded(NamedTuple):
    """A text without case and with single spaces, and the place of each character in the text before."""

    text: str
    places: list[int]


def _find(wanted: str, folded: _Folded) -> Stretch | None:
    """Where a text holds the words, at the edges of words where it has spaces; None where it does not."""
    text, at = folded.text, folded.text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        begins = is_spaceless(wanted[0]) or not text[max(0, at - 1) : at].isalnum()
        ends = is_spaceless(wanted[-1]) or not text[end : end + 1].isalnum()
        if begins and ends:
            return Stretch(folded.places[at], folded.places[end - 1] + 1)
        at = text.find(wanted, end)
    return None


def _folded(text: str) -> _Folded:
    chars, places = list[str](), list[int]()
    for at, char in enumerate(text):
        if not char.isspace():
            plain = "'" if char in "’‘" else char.casefold()
            chars += plain
            places += (at,) * len(plain)
        elif chars and chars[-1] != " ":
            chars.append(" ")
            places.append(at)
    return _Folded("".join(chars), places)


def _covers(known: str, content: str) -> bool:
    """Whether one of two statements holds the other, case and marks aside."""
    one, other = (
        " ".join(each.removeprefix(ATTRIBUTION).casefold().split()).strip(_MARKS) for each in (known, content)
    )
    return one in other or other in one


def _told(fact: LearnerFact, why: str) -> str:
    return f'not kept of the learner: "{preview(fact.quote, 80)}" ({why})'


# Asks once whether a sensitive statement is to be remembered, and recognises the yes.
#
# The question ends the answer to the message that held the statement, in its language. Nothing is stored
# before the yes, not even what was asked: the yes is recognised without a checkpointer, because the answer
# before it is one of ours (its hash is among the learner's recent turns), and that answer ends with the
# question that follows from the message before it.


def consent_question(found: Sequence[Statement], messages: Sequence[BaseMessage]) -> str:
    """Return the question that the answer to a message with these statements ends with, '' for none.

    `messages` is the conversation: what was asked in it before is not asked again.
    """
    question = _question(_waiting(found))
    if not question:
        return ""
    from langchain_core.messages import AIMessage

    answers = (each.text for each in messages if isinstance(each, AIMessage))
    return "" if any(question in answer for answer in answers) else question


def confirmed_statements(message: str, before: JudgedExchange | None, snapshot: Snapshot) -> list[Statement]:
    """Return the statements that the learner's yes to our question keeps; none for other messages."""
    if before is None or not is_yes(message):
        return []
    known = turn_before(before, snapshot.access)
    if known is None:
        return []
    waiting = _waiting(read_statements(before.question, snapshot.playbook, known.turn_id, "ask"))
    question = _question(waiting)
    if not question or not before.answer.endswith(question):
        return []
    return [Statement("keep", each.words, each.after_yes) for each in waiting]


def _waiting(found: Sequence[Statement]) -> list[Statement]:
    return [each for each in found if each.after_yes is not None]


def _question(waiting: Sequence[Statement]) -> str:
    if not waiting:
        return ""
    words = ", ".join(f'"{each.words}"' for each in waiting)
    return question_text(spoken_language(waiting[0].words), words)


# A fact in parts, as a reflector tells it: what of it the message bears out, and when it is true.
#
# The model only proposes. A subject and a value count where the message has these words, a relation where it
# has them too or a table knows it, and a day where the message names it. The rest stays unknown.


_MOST_CHARS = 100


def with_told(add: Add, told: Told, message: str, today: date | None) -> Add:
    """Return what keeps a fact, with what the rules can't read of it and the message bears out."""
    changed: dict[str, object] = {}
    if relation_of(add.content) is None and (claim := _claim(told, message)) is not None:
        changed["claim"] = claim
    if today is not None and add.valid_from is None and add.valid_until is None:
        first = _day(told.since, message, today, ahead=False)
        last = _day(told.until, message, today, ahead=True)
        if first is None or last is None or first <= last:
            changed |= {"valid_from": first, "valid_until": last}
    return add.model_copy(update=changed) if changed else add


def _claim(told: Told, message: str) -> StatedClaim | None:
    subject, relation, value = (_plain(text) for text in (told.subject, told.relation, told.value))
    said = _plain(message)
    about = is_self(subject) or _stands_in(subject, said)
    if not (about and _stands_in(value, said) and 0 < len(relation) <= _MOST_CHARS):
        return None
    known = claimed(relation, subject, value)
    if known is None or not (known.holds_one or _stands_in(relation, said)):
        return None
    return StatedClaim(subject=subject, relation=relation, value=" ".join(told.value.split()))


def _day(text: str, message: str, today: date, *, ahead: bool) -> date | None:
    """Return the day that a text names: one of the message's days, or a date in words of the message."""
    if not text or len(text) > _MOST_CHARS:
        return None
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        named = days_named(text, today, ahead=ahead) if _stands_in(_plain(text), _plain(message)) else []
        return named[0][ahead] if len(named) == 1 else None
    return day if any(day in days for days in days_named(message, today, ahead=ahead)) else None


def _stands_in(text: str, said: str) -> bool:
    return 0 < len(text) <= _MOST_CHARS and text in said


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
