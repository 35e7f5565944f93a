"""Explicit memory: what a learner says about themselves, or asks to be remembered or forgotten.

Found by the rules in this file, sentence by sentence, without a model; kept in the learner's own words as
core bullets of their profile. A link in such a statement is the learner's own and stays; an order to the
agent or a secret is kept back like anybody's (memory.screen). Only the beginning of a sentence counts, so a
story about somebody who said "call me Tom" stores nothing. Never stored: a question, a quotation, a negated
request.

Does not: interpret. What no rule covers is left to the reflector.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ace_graph.learning.sentences import Sentence, sentences, skip
from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.delta import Add, Operation, Remove
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.taxonomy import infer_topic
from ace_graph.memory.text import terms

__all__ = ["ATTRIBUTION", "MAX_STATEMENTS", "explicit_operations"]

ATTRIBUTION = "Learner says: "
MAX_STATEMENTS = 10
_FORGET_COVERAGE = 0.6
"""Share of a forget request's words that a bullet must hold to be the one that is meant."""

_LANGUAGES = (
    "arabic|bengali|chinese|czech|danish|dutch|english|finnish|french|german|greek|hebrew|hindi|hungarian"
    "|indonesian|italian|japanese|korean|norwegian|persian|polish|portuguese|romanian|russian|spanish"
    "|swahili|swedish|thai|turkish|ukrainian|urdu|vietnamese"
)
_KEEP = (
    r"(?:remember|memori[sz]e|keep in mind|bear in mind|note|make a note|don'?t forget|do not forget"
    r"|never forget|for the record)"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class _Rule:
    """A sentence that begins with `pattern` (after fillers) is kept in `section`, from there to its end.

    With `fact` only what comes after the pattern is kept.
    """

    pattern: re.Pattern[str]
    section: str
    memory_type: MemoryType
    slot: str | None = None
    fact: bool = False


_FILLER = _pattern(
    r"(?:hi|hello|hey|ok|okay|well|oh|so|also|and|but|please|actually|by the way|btw|sorry|no)\b[ ,!]*"
    r"|(?:could|can|would) you (?:please )?"
)
_LEAD = _pattern(
    r"(?:always|answer|be|bear|call|delete|do|don'?t|for|forget|from|i|i'?d|i'?m|in|keep|make"
    r"|memori[sz]e|my|never|note|remember|remove|reply|respond|sound|speak|stop|talk|use|write)\b[:,]? \S"
)
"""How every rule of this file begins."""

_RULES = (
    _Rule(
        _pattern(r"(?:call me|my name is|my name'?s|i am called|i'?m called) \S"),
        "profile",
        "semantic",
        "name",
    ),
    _Rule(
        _pattern(
            r"(?:from now on,? |always )?(?:(?:talk|speak|write|answer|reply|respond|sound)(?: to me)? "
            r"(?:like|as) (?:an? |the )?\w|be my \w|use the (?:voice|persona|style) of \w)"
        ),
        "profile",
        "procedural",
        "persona",
    ),
    _Rule(
        _pattern(
            rf"(?:from now on,? |always )?(?:(?:talk|speak|write|answer|reply|respond)(?: to me)? "
            rf"in (?:{_LANGUAGES})\b|my (?:native |mother |first )?(?:language|tongue) is (?:{_LANGUAGES})\b)"
        ),
        "profile",
        "procedural",
        "language",
    ),
    _Rule(
        _pattern(
            r"i (?:(?:keep|always keep|am always|often|always|usually|sometimes|still) (?:on )?"
            r"(?:mix(?:ing)? up|mess(?:ing)? up|confus(?:e|ing)|forget(?:ting)?"
            r"|get(?:ting)? [^,;:]{1,200} wrong|mistak(?:e|ing)|struggl(?:e|ing)"
            r"|(?:add|subtract|multiply|divid|swapp|dropp|miss|misread|los|revers|invert|skipp|misspell|mak)"
            r"ing)"
            r"|mix up|confuse|struggle with|have trouble with"
            r"|don'?t understand why|never know (?:when|how|which))\b"
        ),
        "misconceptions",
        "episodic",
    ),
    _Rule(
        _pattern(
            r"i (?:really |would |much |also |usually ){0,5}"
            r"(?:prefer|like it when|love it when|hate it when|learn best)\b"
            r"|i'?d rather\b|i (?:don'?t like|dislike|hate) (?:it when\b|long\b|short\b|too\b)"
            r"|(?:from now on|in future|in the future|always|never)[, ]{1,2}(?:please )?"
            r"(?:show|give|use|explain|start|end"
            r"|include|draw|keep|write|avoid|skip|tell|answer|add|put|format)\b"
        ),
        "preferences",
        "episodic",
    ),
    _Rule(_pattern(rf"{_KEEP}(?: this| it)?[:,]?(?: that)?[:,]? (?=\S)"), "profile", "semantic", fact=True),
)
_FORGET = _pattern(
    r"(?:forget|don'?t remember|do not remember|stop remembering|delete|remove from memory)"
    r"(?: that| about| what i said about)? (?=\S)"
)
_CHANGED = _pattern(r"i (?P<no_longer>no longer|don'?t|do not) (?=\w)")
_ANY_MORE = _pattern(r" any ?more$| any longer$")
_NEGATED = _pattern(
    r"(?:do not|don'?t|no need to|you needn'?t|never|please not) (?:need to |have to )?"
    r"(?:remember|memori[sz]e|keep|store|save|note|call)\b"
)
_NOT_NEGATED = _pattern(r"don'?t forget|do not forget")
_NEXT_STATEMENT = _pattern(
    r",? (?:and|but) (?=(?:please )?(?:call me|i prefer|i keep|remember that|my name is|i'?d rather)\b)"
)


def explicit_operations(text: str, playbook: Playbook, source: str) -> list[Operation]:
    """Return the operations that a learner's message asks for, of its first 10 statements.

    `source` names the turn. The playbook is read to find what a request to forget means.
    """
    found, meant = list[Operation](), 0
    own = _Own(playbook)
    for said in _statements(text):
        request = _asked_to_forget(said)
        operation: Operation | None = own.removed(request) if request is not None else None
        if operation is None:
            operation = _statement(said, source)
        if operation is not None:
            found.append(operation)
        meant += request is not None or operation is not None
        if meant == MAX_STATEMENTS:
            break
    return found


def _statements(text: str) -> Iterator[Sentence]:
    """Parts of sentences that may be statements: each begins as a rule does, and asks nothing."""
    for sentence in sentences(text):
        if sentence.asks:
            continue
        for part in _parts(sentence):
            begin = skip(_FILLER, part.masked)
            if _LEAD.match(part.masked, begin):
                yield Sentence(part.text[begin:], part.masked[begin:], cut=part.cut)


def _parts(sentence: Sentence) -> Iterator[Sentence]:
    text, masked, begin = sentence.text, sentence.masked, 0
    for match in _NEXT_STATEMENT.finditer(masked):
        yield Sentence(text[begin : match.start()], masked[begin : match.start()])
        begin = match.end()
    yield Sentence(text[begin:], masked[begin:], cut=sentence.cut)


def _statement(said: Sentence, source: str) -> Add | None:
    if _NEGATED.search(said.masked) and not _NOT_NEGATED.search(said.masked):
        return None
    for rule in _RULES:
        match = rule.pattern.match(said.masked)
        if match is None:
            continue
        words = said.text[match.end() if rule.fact else 0 :].strip().rstrip(".!;,。！ ")
        if not words.strip("\"'`“”«» "):
            return None
        return Add(
            content=ATTRIBUTION + words,
            section=rule.section,
            memory_type=rule.memory_type,
            polarity="observation",
            slot=rule.slot,
            topic=infer_topic(words),
            importance=0.8,
            sources=(source, "learner"),
            vouched=("link",),
        )
    return None


def _asked_to_forget(said: Sentence) -> str | None:
    """What the learner wants forgotten, in their words; None where they ask nothing like it."""
    match = _FORGET.match(said.masked)
    if match is not None:
        return said.text[match.end() :]
    match = _CHANGED.match(said.masked)
    if match is None:
        return None
    words = said.text[match.end() :].rstrip(".!;,。！ ")
    kept = _ANY_MORE.sub("", words)
    return kept if kept != words or match["no_longer"].casefold() == "no longer" else None


class _Own:
    """The learner's own statements, as a request to forget names them."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self._read: list[tuple[Bullet, set[str]]] | None = None

    def removed(self, request: str) -> Remove | None:
        """Return the removal of the statement that holds most of the request's words, if one is meant."""
        found = self._meant(request)
        return Remove(bullet_id=found.id) if found else None

    def _meant(self, request: str) -> Bullet | None:
        asked, own = set(terms(request)), self._bullets()
        for bullet, _ in own:
            if bullet.slot is not None and bullet.slot in request.casefold():
                return bullet
        shares = [(len(asked & words) / len(asked), bullet) for bullet, words in own] if asked else []
        best = max(shares, key=lambda share: share[0], default=None)
        return best[1] if best is not None and best[0] >= _FORGET_COVERAGE else None

    def _bullets(self) -> list[tuple[Bullet, set[str]]]:
        if self._read is None:
            own = (b for b in self._playbook.bullets() if b.core and b.content.startswith(ATTRIBUTION))
            self._read = [(bullet, set(terms(bullet.content))) for bullet in own]
        return self._read
