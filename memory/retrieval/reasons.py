"""Why a question got a bullet, or did not: a value for each reason, as plain JSON and in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import isinf
from types import MappingProxyType
from typing import ClassVar, Literal, cast

from ace_graph.memory.retrieval.eligibility import Ineligible
from ace_graph.memory.retrieval.selection import Shortage

__all__ = [
    "BelowCutoff",
    "BeyondLines",
    "GateShut",
    "InCore",
    "NoRoom",
    "NoSharedWord",
    "NotEligible",
    "Outranked",
    "Reason",
    "Retrieved",
    "RivalKept",
    "Superseded",
    "Words",
    "as_json",
    "as_receipt",
    "in_words",
    "is_shown",
]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the question that a bullet has.

    `held` are in its text or its labels, `source` in the words that it keeps of its turn. `compounds` maps
    a word to the one of the bullet that it is part of, or that is part of it (as its stem).
    """

    held: tuple[str, ...] = ()
    compounds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    source: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.held or self.compounds or self.source)


@dataclass(frozen=True, slots=True)
class InCore:
    """Shown whatever the question: it is pinned, or says something about the learner."""

    kind: ClassVar[Literal["core"]] = "core"
    by: Literal["pinned", "profile"]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Shown for this question.

    `neighbour` is the bullet of the same turn, or of one beside it, that lifted this one. `similarity` is by
    meaning (0-1). `topic`: it is about the question's topic. `adds`: it covers a part of the question that no
    better bullet covers. `second_try`: it failed, and is tried once more because nothing else fits.
    """

    kind: ClassVar[Literal["retrieved"]] = "retrieved"
    words: Words = Words()
    neighbour: str = ""
    similarity: float = 0.0
    topic: bool = False
    adds: bool = False
    second_try: bool = False


@dataclass(frozen=True, slots=True)
class NotEligible:
    """Not shown, whatever the question."""

    kind: ClassVar[Literal["not eligible"]] = "not eligible"
    why: Ineligible | Literal["weak"]


@dataclass(frozen=True, slots=True)
class NoSharedWord:
    """It shares no word with the question, and nothing else leads to it."""

    kind: ClassVar[Literal["no shared word"]] = "no shared word"


@dataclass(frozen=True, slots=True)
class GateShut:
    """No bullet has enough to do with the question; this one covers `covered` of it, and `needed` is needed.

    Both are shares of the weight of the question (0-1), or of its `sentence` where the bullet comes nearest
    there (1 for the first); with `similarity` (0-1) they count it, too. `needed` is infinite where everyday
    words are all that it shares with the sentence. Words in `everyday` say little of any subject, those in
    `often_asked` little because this learner asks them often.
    """

    kind: ClassVar[Literal["gate shut"]] = "gate shut"
    covered: float
    needed: float
    words: Words
    everyday: tuple[str, ...] = ()
    often_asked: tuple[str, ...] = ()
    similarity: float = 0.0
    sentence: int = 0


@dataclass(frozen=True, slots=True)
class Outranked:
    """It shares words with the question, but far fewer than others, so it was not ranked."""

    kind: ClassVar[Literal["outranked"]] = "outranked"
    words: Words


@dataclass(frozen=True, slots=True)
class BelowCutoff:
    """Its score is below the least that a line must have beside the best."""

    kind: ClassVar[Literal["below the cutoff"]] = "below the cutoff"
    score: float
    least: float
    words: Words
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class BeyondLines:
    """So many lines are filled by rank, and that many better ones were there."""

    kind: ClassVar[Literal["beyond the lines"]] = "beyond the lines"
    lines: int


@dataclass(frozen=True, slots=True)
class NoRoom:
    """The budget of tokens, or the number of lines that was asked for, is used up by better ones."""

    kind: ClassVar[Literal["no room"]] = "no room"
    of: Shortage


@dataclass(frozen=True, slots=True)
class RivalKept:
    """Of two bullets on one subject with different claims, the other one is better."""

    kind: ClassVar[Literal["rival kept"]] = "rival kept"
    rival: str


@dataclass(frozen=True, slots=True)
class Superseded:
    """It failed last time, and another one on its subject was learned or confirmed since."""

    kind: ClassVar[Literal["superseded"]] = "superseded"
    by: str


Reason = (
    InCore
    | Retrieved
    | NotEligible
    | NoSharedWord
    | GateShut
    | Outranked
    | BelowCutoff
    | BeyondLines
    | NoRoom
    | RivalKept
    | Superseded
)

_INELIGIBLE: Mapping[Ineligible | Literal["weak"], str] = {
    "quarantined": "in quarantine",
    "expired": "expired",
    "harmful": "did harm more often than good",
    "failing": "failed too often since its last success",
    "unproven": "not proven yet, and only proven ones were asked for",
    "type": "of a memory type that was not asked for",
    "weak": "weaker than the policy's threshold",
}
_SHORTAGES: Mapping[Shortage, str] = {
    "budget": "no room: better bullets use up the budget of tokens",
    "lines": "no room: as many bullets as were asked for are better",
}


def is_shown(reason: Reason) -> bool:
    """Whether the prompt holds the bullet."""
    return isinstance(reason, InCore | Retrieved)


def as_json(reason: Reason) -> dict[str, object]:
    """Return the reason as plain JSON: its kind, and the fields that hold something."""
    found: dict[str, object] = {"kind": reason.kind}
    for each in fields(reason):
        value: object = getattr(reason, each.name)
        if isinstance(value, Words):
            found |= _words_json(value)
        elif isinstance(value, float):
            found |= {each.name: None if isinf(value) else round(value, 3)} if value else {}
        elif value:
            found[each.name] = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
    return found


def as_receipt(reason: InCore | Retrieved) -> dict[str, object]:
    """Return the reason as plain JSON that holds words of the question only, none of the bullet."""
    found = as_json(reason)
    if isinstance(reason, Retrieved) and reason.words.compounds:
        found["compounds"] = list(reason.words.compounds)
    return found


def _words_json(words: Words) -> dict[str, object]:
    found: dict[str, object] = {}
    if words.held:
        found["words"] = list(words.held)
    if words.compounds:
        found["compounds"] = dict(words.compounds)
    if words.source:
        found["source_words"] = list(words.source)
    return found


def in_words(reason: Reason) -> str:
    """Return the reason as a phrase in plain words."""
    match reason:
        case InCore(by=by):
            return "always shown: pinned" if by == "pinned" else "always shown: about the learner"
        case Retrieved():
            return _why_retrieved(reason)
        case NotEligible(why=why):
            return f"not eligible: {_INELIGIBLE[why]}"
        case NoSharedWord():
            return "shares no word with the question"
        case GateShut():
            return _why_shut(reason)
        case Outranked(words=words):
            return f"others share far more of the question; this one {_told(words) or 'no word'}"
        case BelowCutoff(score=score, least=least):
            return f"below the cutoff: scores {score:.2f}, and {least:.2f} is needed beside the best"
        case BeyondLines(lines=lines):
            return f"{lines} better bullets fill the lines"
        case NoRoom(of=of):
            return _SHORTAGES[of]
        case RivalKept(rival=rival):
            return f"its rival {rival} is better"
        case Superseded(by=by):
            return f"it failed last time, and {by} on its subject is newer"


def _why_retrieved(reason: Retrieved) -> str:
    told = [_told(reason.words)] if reason.words else []
    if reason.neighbour:
        told.append(f"said beside {reason.neighbour}")
    if reason.similarity:
        told.append(f"similar by meaning ({reason.similarity:.2f})")
    if reason.topic:
        told.append("about the question's topic")
    if reason.adds:
        told.append("covers what no better one covers")
    if reason.second_try:
        told.append("failed, and is tried once more because nothing else fits")
    return "; ".join(told)


def _why_shut(reason: GateShut) -> str:
    where = f"sentence {reason.sentence}" if reason.sentence else "the question"
    if isinf(reason.needed):
        told = [f"everyday words are all that it shares with {where}"]
    else:
        what = "covers and resembles" if reason.similarity else "covers"
        told = [f"{what} {reason.covered:.2f} of {where}, and {reason.needed:.2f} is needed"]
    told += [_told(reason.words)] if reason.words else []
    if reason.everyday:
        told.append(f"of everyday speech: {', '.join(reason.everyday)}")
    if reason.often_asked:
        told.append(f"asked often: {', '.join(reason.often_asked)}")
    return f"nothing fits the question: {'; '.join(told)}"


def _told(words: Words) -> str:
    told = [f"has {_listed(words.held)}"] if words.held else []
    told += [f"has {part} by the compound {whole}" for part, whole in words.compounds.items()]
    told += [f"its turn had {_listed(words.source)}"] if words.source else []
    return ", ".join(told)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
