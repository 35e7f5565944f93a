"""Splits a sentence into clauses that each say one thing: "call me Mia and I have dyslexia" has two.

A sentence is split at "and", "but" or a comma where the rest begins a statement of its own, always behind
a name, and before a reason that is sensitive ("short answers please because I have ADHD"). What goes on
without "I" ("I'm 12 and live in Rome") is completed with it. "Remember that my sister and I share a room"
stays whole, because "my sister" alone says nothing. What a clause asks for is decided in explicit.py.

A question that is joined to a statement or a request ("forget my name and what is 2+2?") is a part of its
own, with a question mark or without, and at times without a joint ("I prefer pictures how do I add 1/2").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ace_graph.learning.statements.denials import denied, new_name
from ace_graph.learning.statements.forget_requests import FORGET
from ace_graph.learning.statements.forms import states_sensitive
from ace_graph.learning.statements.rules import (
    BESIDE,
    FACT,
    FILLER,
    LEAD,
    NEGATED,
    PLAIN_FACTS,
    STYLE,
    Found,
    rule_of,
)
from ace_graph.learning.statements.sentences import Sentence, skip
from ace_graph.memory.languages.tables import FIRST

_JOINT = re.compile(r",? (?:and|but|then|also) |, | [-–—] ", re.IGNORECASE)
_REASON = re.compile(r",? (?:because|since|as) ", re.IGNORECASE)
_BEGINS_REASON = re.compile(r"(?:because|since|as) (?=i\b)", re.IGNORECASE)
_CLAUSE_JOINT = re.compile(f"{_REASON.pattern}|{_JOINT.pattern}", re.IGNORECASE)
_QUESTION = re.compile(
    r"(?:(?:and|then|also|so|now|please)\b,? ){0,3}"
    r"(?:(?:what|who|whom|whose|when|where|which|why|how)(?:'?s|'?re)?"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|shall|may) \S+ \S",
    re.IGNORECASE,
)
"""How a question of three words or more begins; a shorter one ("am I?") belongs to what is before it."""
_PRONOUN = r"(?:i|you|we|he|she|it|they|there|this|that|these|those)"
_SURELY_ASKS = re.compile(
    r"(?:(?:and|then|also|so|now|please|but)\b,? ){0,3}(?:"
    rf"(?:(?:what|who|where|when|why|how|which) (?:\w{{1,20}} )?)?"
    rf"(?:is|are|am|was|were|do|does|did|can|could|would|will|should|shall|may) {_PRONOUN}\b \S"
    r"|how (?:much|many) \S|any ideas? (?:what|how|why|where|which) \S"
    r"|(?:explain|tell)(?: to)? me (?:what|how|why|who|where|when) \S)",
    re.IGNORECASE,
)
"""How a question begins that needs no mark to be one: its verb stands before a pronoun."""
_MAY_ASK = re.compile(
    r"(?:(?:and|then|also|so|now|please|but)\b,? ){0,3}(?:"
    r"(?:what|who|where|when|why|how|which)(?:'?s| is| are| was| were| do| does| did| can| should| about) \S"
    r"|(?:what|which) \w{1,20} (?:is|are|does|do) \S|how to \S|why not \S"
    r"|(?:is|are|does|did|can|could|will|should) (?:my|your|the|an?|\d\S*) \S)",
    re.IGNORECASE,
)
"""How a question may begin, or what somebody mixes up: "what is above and what is below"."""
_WH = re.compile(r"\b(?:what|who|where|when|why|how|which|whether|if)\b", re.IGNORECASE)
_UNJOINED = re.compile(
    r" (?:how are (?:you|things)"
    r"|(?:what|which) \w{1,20} (?:is|are|do|does|can|should) (?:i|it|you|we|there)"
    r"|(?:how|why|what|where) (?:do|does|did|can|could|should|would|will|am) (?:i|you|we)"
    r"|(?:can|could|would|will) you(?: please)? (?:help|tell|explain|show|solve|give|calculate))\b",
    re.IGNORECASE,
)
_EMBEDS = re.compile(
    r"\b(?:know|see|understand|learn|explain|show|tell|ask|forget|forgetting|remember|find|like|prefer|and|or|but"
    r"|than|that|to|of|on|about|for|with|when|me|if|by|at|in|is|are|keep|from)\Z",
    re.IGNORECASE,
)
"""What stands before a question that belongs to the words before it: "I prefer to see how you do it"."""
_POLITE = re.compile(r"(?:\w+,? )?(?:can|could|would) you ", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:i|we|you|they)\b", re.IGNORECASE)
_VERB = re.compile(
    r" (?:am|are|can|can't|had|has|have|is|likes?|lives?|needs?|plays?|prefers?|starts?|wants?|was|were) ",
    re.IGNORECASE,
)
_DONT_FORGET = re.compile(r"don'?t forget|do not forget", re.IGNORECASE)
_SHORTENED = re.compile(
    r"(?:now )?(?:am|live|work|study|play|speak|love|like|go to|have|suffer from|believe in|come from"
    r"|was diagnosed) \S",
    re.IGNORECASE,
)
"""How a plain fact goes on that does not name the learner again: "I'm 12 and live in Rome"."""
_SHORTENED_CHARS = 80
_GOES_ON = frozenset({"name", "age", "grade", "home"})
_COURTESY = frozenset({"please", "thanks", "thank you", "ok", "okay", "bye"})
_NOT_NAMED = "not "
"""How a clause begins that says only which name is wrong: "I'm called Max, not Mia"."""
EDGES = ".!;,:。！ "
"""What is taken off the end of a clause."""


class Clause(NamedTuple):
    """A clause without the fillers before it; `masked` as in a sentence.

    `cut`: its end was not read. `rest`: it stands behind a name. `unsure`: a request in it may be none, since
    it stands in a question, or its verb belongs to somebody ("I get nervous and forget my name"). `told`: it
    stands behind "remember that ..." and another clause.
    """

    text: str
    masked: str
    cut: bool = False
    rest: bool = False
    unsure: bool = False
    told: bool = False

    @property
    def words(self) -> str:
        """The clause without the marks at its end."""
        return self.text.strip().rstrip(EDGES)

    @property
    def plain(self) -> str:
        """Its words as rules read them: with quotations masked and plain apostrophes."""
        return self.masked.strip().rstrip(EDGES)

    @property
    def negated(self) -> bool:
        """Whether it asks not to remember, keep or call."""
        return NEGATED.search(self.masked) is not None and _DONT_FORGET.search(self.masked) is None


def question_apart(sentence: Sentence) -> list[Sentence]:
    """Return a statement or request and the question joined to it as two sentences, others as they are.

    A request to forget in the form of a polite question ("can you forget my name?") does not ask.
    """
    text, masked, _, cut = sentence
    requests = FORGET.match(masked, skip(FILLER, masked)) is not None
    polite = requests and _POLITE.match(masked) is not None
    whole = sentence._replace(asks=False) if sentence.asks and polite else sentence
    if _QUESTION.match(masked) and not polite:
        return [whole]
    asked = _asked_at(masked, surely=sentence.asks or requests)
    if asked is None:
        return [whole]
    end, begin = asked
    return [Sentence(text[:end], masked[:end]), Sentence(text[begin:], masked[begin:], sentence.asks, cut)]


def _asked_at(masked: str, *, surely: bool) -> tuple[int, int] | None:
    """Where a statement or request ends that a question follows, and where that begins; None without one.

    `surely`: a question follows, or what is before it is a request, so that its beginning is enough.
    """
    first = skip(FILLER, masked)
    if LEAD.match(masked, first) is None:
        return (
            next(
                (each.span() for each in _JOINT.finditer(masked) if _QUESTION.match(masked, each.end())), None
            )
            if surely
            else None
        )
    found = rule_of(masked, first)
    mixes_up = found is not None and found[0].section == "misconceptions"
    embeds, read_to = False, first
    for joint in _JOINT.finditer(masked, first):
        embeds, read_to = embeds or _WH.search(masked, read_to, joint.start()) is not None, joint.start()
        if surely and _QUESTION.match(masked, joint.end()):
            return joint.span()
        if _is_asked(masked, joint) and (
            _SURELY_ASKS.match(masked, joint.end())
            or (not mixes_up and (joint[0][0] == "," or not embeds) and _MAY_ASK.match(masked, joint.end()))
        ):
            return joint.span()
    if found is None or mixes_up or found[0].fact:
        return None
    for question in _UNJOINED.finditer(masked, found[1].end()):
        if _EMBEDS.search(masked, 0, question.start()) is None:
            return question.start(), question.start() + 1
    return None


def _is_asked(masked: str, joint: re.Match[str]) -> bool:
    """Whether nothing stands behind a joint that is said or requested ("can you call me Mia")."""
    behind = skip(FILLER, masked, joint.end())
    return rule_of(masked, behind) is None and FORGET.match(masked, behind) is None


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses of `sentence` that may be statements or requests, in order."""
    text, masked = sentence.text, sentence.masked
    begin, rest, unsure, subject = skip(FILLER, masked), False, sentence.asks, ""
    found, found_at, told = None, -1, False
    leading = _BEGINS_REASON.match(masked, begin)  # "because I have ADHD, I want short answers"
    if leading is not None and states_sensitive(masked[leading.end() :], FIRST):
        begin = leading.end()
    for joint in _CLAUSE_JOINT.finditer(masked, begin):
        if found_at != begin:
            found, found_at = rule_of(masked, begin), begin
        behind = skip(FILLER, masked, joint.end())
        named = found is not None and found[0].slot == "name"
        goes_on = (subject or _states_slot(found)) and _goes_on(masked, behind)
        asked, reason = told or (found is not None and found[0].fact), _REASON.fullmatch(joint[0]) is not None
        parts = (reason or rest) and not asked and states_sensitive(masked[behind:], FIRST)
        if not reason:
            parts = parts or named or bool(goes_on)
            parts = parts or _begins(masked, begin, found, joint.start(), behind, stated=bool(subject))
        if parts:
            said, shown = text[begin : joint.start()], masked[begin : joint.start()]
            yield from _said(Clause(subject + said, subject + shown, False, rest, unsure, told))
            told = told or (found is not None and found[0].fact)
            unsure = unsure or _SUBJECT.match(masked, begin) is not None
            begin, rest, subject = behind, named, "I " if goes_on else ""
    last = Clause(subject + text[begin:], subject + masked[begin:], sentence.cut, rest, unsure, told)
    yield from _said(last)


def _said(clause: Clause) -> Iterator[Clause]:
    plain = clause.text.strip(EDGES).casefold()
    beside_name = clause.rest and plain and plain not in _COURTESY and not plain.startswith(_NOT_NAMED)
    if LEAD.match(clause.masked) or beside_name:
        yield clause


def _states_slot(found: Found | None) -> bool:
    return found is not None and found[0].slot in _GOES_ON


def _goes_on(masked: str, behind: int) -> bool:
    """Whether a plain fact stands at `behind` that leaves out "I"."""
    if _SHORTENED.match(masked, behind) is None:
        return False
    said = "I " + masked[behind : behind + _SHORTENED_CHARS]
    found = rule_of(said)
    if found is not None or said.startswith("I live"):
        return found is not None and found[0] in PLAIN_FACTS
    if states_sensitive(said, FIRST):
        return True
    return FACT.pattern.match(said) is not None or BESIDE.pattern.match(said) is not None


def _begins(masked: str, begin: int, found: Found | None, end: int, behind: int, *, stated: bool) -> bool:
    """Whether a clause of its own begins at `behind`, and the one before it is complete at `end`.

    `stated`: the one before it is known to state something.
    """
    if LEAD.match(masked, behind) is None or (found is not None and not _complete(masked, found, end)):
        return False
    if rule_of(masked, behind) is not None or FORGET.match(masked, behind) is not None:
        return True
    if denied(masked[begin:end]) is not None and new_name(masked[behind:].rstrip(EDGES)) is not None:
        return True  # "I'm not called Mimi any more, I'm Max"
    states = (
        stated
        or found is not None
        or denied(masked[begin:end]) is not None
        or FACT.pattern.match(masked, begin) is not None
    )
    return states and any(rule.pattern.match(masked, behind) for rule in (FACT, BESIDE, STYLE))


def _complete(masked: str, found: Found, end: int) -> bool:
    rule, match = found
    if match.end() > end:
        return False
    if not rule.fact:
        return True
    fact = masked[match.end() : end]
    return any(say(fact) is not None for say in (FACT.pattern.match, rule_of, _VERB.search))
