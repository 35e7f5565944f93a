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

from ace_graph.memory.bullet import Bullet, MemoryType, clean_line
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
_FILLER = (
    r"(?:(?:hi|hello|hey|ok|okay|well|oh|so|also|and|but|please|actually|by the way|btw|sorry|no)\b[\s,!]*"
    r"|(?:could|can|would) you (?:please )?)*"
)
_KEEP = (
    r"(?:remember|memori[sz]e|keep in mind|bear in mind|note|make a note|don'?t forget|do not forget"
    r"|never forget|for the record)"
)


@dataclass(frozen=True)
class _Rule:
    """A sentence that begins with `pattern` (after fillers) is kept in `section`.

    With `said` only that group's words are kept, else the whole sentence.
    """

    pattern: re.Pattern[str]
    section: str
    memory_type: MemoryType
    slot: str | None = None


def _rule(pattern: str, section: str, memory_type: MemoryType, slot: str | None = None) -> _Rule:
    return _Rule(re.compile(rf"{_FILLER}(?P<said>{pattern})", re.IGNORECASE), section, memory_type, slot)


_RULES = (
    _rule(r"(?:call me|my name is|my name'?s|i am called|i'?m called)\s+\S.*", "profile", "semantic", "name"),
    _rule(
        r"(?:from now on,? |always )?(?:(?:talk|speak|write|answer|reply|respond|sound)(?: to me)? "
        r"(?:like|as) (?:an? |the )?\w.*|be my \w.*|use the (?:voice|persona|style) of \w.*)",
        "profile",
        "procedural",
        "persona",
    ),
    _rule(
        rf"(?:from now on,? |always )?(?:(?:talk|speak|write|answer|reply|respond)(?: to me)? "
        rf"in (?:{_LANGUAGES})\b.*"
        rf"|my (?:native |mother |first )?(?:language|tongue) is (?:{_LANGUAGES})\b.*)",
        "profile",
        "procedural",
        "language",
    ),
    _rule(
        r"i (?:(?:keep|always keep|am always|often|always|usually|sometimes|still) (?:on )?"
        r"(?:mix(?:ing)? up|mess(?:ing)? up|confus(?:e|ing)|forget(?:ting)?|get(?:ting)? \w.* wrong"
        r"|mistak(?:e|ing)|struggl(?:e|ing)"
        r"|(?:add|subtract|multiply|divid|swapp|dropp|miss|misread|los|revers|invert|skipp|misspell|mak)ing)"
        r"|(?:mix up|confuse|struggle with|have trouble with"
        r"|don'?t understand why|never know (?:when|how|which)))\b.*",
        "misconceptions",
        "episodic",
    ),
    _rule(
        r"(?:i (?:really |would |much |also |usually )*"
        r"(?:prefer|like it when|love it when|hate it when|learn best)\b.*"
        r"|i'?d rather\b.*|i (?:don'?t like|dislike|hate) (?:it when\b|long\b|short\b|too\b).*"
        r"|(?:from now on|in future|in the future|always|never)[, ]+(?:please )?"
        r"(?:show|give|use|explain|start|end"
        r"|include|draw|keep|write|avoid|skip|tell|answer|add|put|format)\b.*)",
        "preferences",
        "episodic",
    ),
    _rule(rf"{_KEEP}(?: this| it)?[:,]?(?: that)?[:,]?\s+(?P<fact>\S.*)", "profile", "semantic"),
)
_FORGET = re.compile(
    rf"{_FILLER}(?:(?:please )?"
    r"(?:forget|don'?t remember|do not remember|stop remembering|delete|remove from memory)"
    r"(?: that| about| what i said about)?\s+(?P<fact>\S.*)"
    r"|i (?:no longer|don'?t|do not) (?P<changed>\w.*?)(?: any ?more| any longer)?\W*$)",
    re.IGNORECASE,
)
_CHANGED_MIND = re.compile(r"\b(no longer|any ?more|any longer)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:do not|don'?t|no need to|you needn'?t|never|please not) (?:need to |have to )?"
    r"(?:remember|memori[sz]e|keep|store|save|note|call)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`|(?<!\w)'[^'\n]+'(?!\w)|^\s*>.*$", re.MULTILINE
)
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
_NEXT_STATEMENT = re.compile(
    r",?\s+(?:and|but)\s+(?=(?:please )?(?:call me|i prefer|i keep|remember that|my name is|i'?d rather)\b)",
    re.IGNORECASE,
)


def explicit_operations(text: str, playbook: Playbook, source: str) -> list[Operation]:
    """Return the operations that a learner's message asks for, at most 10.

    `source` names the turn. The playbook is read to find what a request to forget means.
    """
    found = list[Operation]()
    for sentence in _sentences(text):
        forget = _forget(sentence, playbook)
        statement = None if forget else _statement(sentence, source)
        found += [forget] if forget else [statement] if statement else []
    return found[:MAX_STATEMENTS]


def _sentences(text: str) -> Iterator[str]:
    """Sentences that may be statements: no questions; quoted parts are emptied where they may trigger."""
    for sentence in _SENTENCE_END.split(text):
        for part in _NEXT_STATEMENT.split(sentence):
            cleaned = clean_line(part)
            if cleaned and not cleaned.rstrip("\"'”») ").endswith(("?", "？")):
                yield cleaned


def _statement(sentence: str, source: str) -> Add | None:
    masked = _QUOTED.sub(lambda quoted: "\x00" * len(quoted.group()), sentence)
    if _NEGATED.search(masked) and not re.search(r"don'?t forget|do not forget", masked, re.IGNORECASE):
        return None
    for rule in _RULES:
        match = rule.pattern.match(masked)
        if match is None:
            continue
        start, end = match.span("fact") if "fact" in match.groupdict() else match.span("said")
        said = sentence[start:end].strip().rstrip(".!;,。！ ")
        if not said or not said.strip("\"'`“”«» "):
            return None
        return Add(
            content=ATTRIBUTION + said,
            section=rule.section,
            memory_type=rule.memory_type,
            polarity="observation",
            slot=rule.slot,
            topic=infer_topic(said),
            importance=0.8,
            sources=(source, "learner"),
            vouched=("link",),
        )
    return None


def _forget(sentence: str, playbook: Playbook) -> Remove | None:
    match = _FORGET.match(_QUOTED.sub("", sentence))
    if match is None or (match["changed"] and not _CHANGED_MIND.search(sentence)):
        return None
    meant = _meant(match["fact"] or match["changed"], playbook)
    return Remove(bullet_id=meant.id) if meant else None


def _meant(said: str, playbook: Playbook) -> Bullet | None:
    """The learner's own statement that a request to forget is about: the one with most of its words."""
    asked = set(terms(said))
    own = [b for b in playbook.bullets() if b.core and b.content.startswith(ATTRIBUTION)]
    by_slot = [b for b in own if b.slot is not None and b.slot in said.casefold()]
    if by_slot:
        return by_slot[0]
    if not asked:
        return None
    ranked = sorted(
        ((len(asked & set(terms(b.content))) / len(asked), b) for b in own), key=lambda pair: -pair[0]
    )
    return ranked[0][1] if ranked and ranked[0][0] >= _FORGET_COVERAGE else None
