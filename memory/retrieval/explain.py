"""Why a question gets a bullet, or does not: read from what each step of `retrieve` decided.

No rule is written here a second time. A retrieval keeps the decisions of its steps (`Decisions`), and the
functions that decided say by what.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from itertools import islice
from math import isinf
from types import MappingProxyType
from typing import ClassVar, Literal, TypedDict, Unpack, cast

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.gate import MOST_LINES, OPENS, Retrievable
from ace_graph.memory.retrieval.relevance import Hit, Matched
from ace_graph.memory.retrieval.retrieve import Decisions, Ineligible, Retrieval, Scored, Shortage, retrieve
from ace_graph.memory.search.tokenize import is_spaceless
from ace_graph.memory.snapshot import Access

# Why a question got a bullet, or did not: a value for each reason, as plain JSON and in plain words.


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
    `named_by` is the bullet of the prompt that named what this one is about.
    """

    kind: ClassVar[Literal["retrieved"]] = "retrieved"
    words: Words = Words()
    neighbour: str = ""
    similarity: float = 0.0
    topic: bool = False
    adds: bool = False
    second_try: bool = False
    named_by: str = ""


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
class EarlierValue:
    """A newer fact, or wish, is considered in its place; its line tells this value, too."""

    kind: ClassVar[Literal["earlier value"]] = "earlier value"
    newest: str


@dataclass(frozen=True, slots=True)
class Waits:
    """A standing instruction whose condition does not hold; "" where as many newer ones are shown."""

    kind: ClassVar[Literal["waits"]] = "waits"
    condition: str


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
    | EarlierValue
    | Waits
    | Superseded
)
_INELIGIBLE: Mapping[Ineligible | Literal["weak"], str] = {
    "quarantined": "in quarantine",
    "expired": "expired",
    "harmful": "did harm more often than good",
    "failing": "failed too often since its last success",
    "unproven": "not proven yet, and only proven ones were asked for",
    "type": "of a memory type that was not asked for",
    "unknown": "learned later than the day that was asked for",
    "untrue": "not true on the day that was asked for",
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
    for name in reason.__slots__:
        value: object = getattr(reason, name)
        if isinstance(value, Words):
            found |= _words_json(value)
        elif isinstance(value, float):
            found |= {name: None if isinf(value) else round(value, 3)} if value else {}
        elif value:
            found[name] = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
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
            told = [_told(reason.words)] if reason.words else []
            if reason.neighbour:
                told.append(f"said beside {reason.neighbour}")
            if reason.similarity:
                told.append(f"similar by meaning ({reason.similarity:.2f})")
            if reason.topic:
                told.append("about the question's topic")
            if reason.adds:
                told.append("covers what no better one covers")
            if reason.named_by:
                told.append(f"about what {reason.named_by} names")
            if reason.second_try:
                told.append("failed, and is tried once more because nothing else fits")
            return "; ".join(told)
        case NotEligible(why=why):
            return f"not eligible: {_INELIGIBLE[why]}"
        case NoSharedWord():
            return "shares no word with the question"
        case GateShut():
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
        case EarlierValue(newest=newest):
            return f"{newest} has a newer value of the same, and tells this one"
        case Waits(condition=""):
            return "as many newer instructions are shown as may be"
        case Waits(condition=condition):
            return f"its condition does not hold: {condition}"
        case Superseded(by=by):
            return f"it failed last time, and {by} on its subject is newer"


def _told(words: Words) -> str:
    told = [f"has {_listed(words.held)}"] if words.held else []
    told += [f"has {part} by the compound {whole}" for part, whole in words.compounds.items()]
    told += [f"its turn had {_listed(words.source)}"] if words.source else []
    return ", ".join(told)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


_WORDS, _WORD_CHARS = 12, 40
"""Of the words of a question that a bullet has, so many are named, and so much of each."""


class RetrieveOptions(TypedDict, total=False):
    """The optional arguments of `retrieve`."""

    budget_tokens: int
    max_bullets: int | None
    topic: str | None
    memory_types: Collection[MemoryType] | None
    count_tokens: Callable[[str], int]
    base: Playbook | None
    semantic: Mapping[str, float] | None
    proven_only: bool
    as_of: datetime | None
    valid_on: date | None


def explain(
    question: str,
    playbook: Playbook,
    access: Access,
    policy: Policy,
    *,
    now: datetime,
    bullet_id: str | None = None,
    **options: Unpack[RetrieveOptions],
) -> dict[str, Reason]:
    """Return why `retrieve`, called with the same arguments, shows or does not show each bullet, by its id.

    The bullets that are shown come first, in the order of the prompt. With `bullet_id` only that one is in
    the result, and nothing is if there is no such bullet. Takes longer than `retrieve`, in proportion to the
    number of bullets.
    """
    found = retrieve(question, playbook, access, policy, now=now, **options)
    return reasons_of(found, None if bullet_id is None else {bullet_id})


def reasons_of(found: Retrieval, wanted: Collection[str] | None = None) -> dict[str, Reason]:
    """Return why the bullets of these ids, by default all, were shown by a retrieval or not, by id."""
    shown = why_shown(found)
    if found.decisions is None:
        return {}
    why = _Why(found.decisions)
    reasons: dict[str, Reason] = {key: why for key, why in shown.items() if wanted is None or key in wanted}
    for key, of_base in _ids(found.decisions):
        if key not in shown and (wanted is None or key in wanted):
            reasons[key] = why.left_out(key, of_base=of_base)
    return reasons


def why_shown(found: Retrieval) -> dict[str, InCore | Retrieved]:
    """Return why each bullet of a prompt is in it, by id, in the order of the prompt."""
    if found.decisions is None:
        return {}
    why = _Why(found.decisions)
    reasons: dict[str, InCore | Retrieved] = {scored.bullet.id: why.in_core(scored) for scored in found.core}
    for scored in found.retrieved:
        reasons[scored.bullet.id] = why.retrieved(scored.bullet.id)
    return reasons


def _ids(decisions: Decisions) -> Iterator[tuple[str, bool]]:
    scope = decisions.scope
    yield from ((key, False) for key in scope.playbook.entries)
    if scope.base is not None:
        yield from ((key, True) for key in scope.base.entries if key not in scope.playbook.entries)


class _Why:
    """The reasons for the bullets of one retrieval."""

    def __init__(self, decisions: Decisions) -> None:
        self._made = decisions

    @cached_property
    def _hits(self) -> Mapping[str, Hit]:
        return {hit.key: hit for hit in self._made.relevance.hits}

    @cached_property
    def _retrievable(self) -> Mapping[str, Retrievable]:
        return {item.hit.key: item for item in self._made.retrievable}

    @cached_property
    def _named_by(self) -> Mapping[str, str]:
        return {link.bullet.id: link.named_by for link in self._made.chain}

    def in_core(self, scored: Scored) -> InCore:
        """Return why a line is in the core: a newer fact is where it tells what is pinned."""
        scope = self._made.scope
        told = (
            scope.voted(key, of_base=of_base)
            for key in self._told(scored.bullet.id)
            for of_base in (False, True)
        )
        pinned = scored.bullet.pinned or any(bullet is not None and bullet.pinned for bullet in told)
        return InCore("pinned" if pinned else "profile")

    def _told(self, newest: str) -> list[str]:
        return [key for key, by in self._made.told_by.items() if by == newest]

    def retrieved(self, key: str) -> Retrieved:
        """Return why a bullet was retrieved, by its own words or by those of an older one that it tells."""
        if key in self._named_by:
            return Retrieved(named_by=self._named_by[key])
        item, cutoff = self._retrievable[key], self._made.cutoff
        hit = item.hit
        matched = self._matched(of_base=hit.of_base)
        words = (self._words(each, matched) for each in (key, *self._told(key)))
        return Retrieved(
            words=next(filter(None, words), Words()),
            neighbour=matched.lifted[key].neighbour if key in matched.lifted else "",
            similarity=hit.near,
            topic=cutoff.is_on_topic(hit),
            adds=key in cutoff.adding,
            second_try=item.second_try,
        )

    def left_out(self, key: str, *, of_base: bool) -> Reason:
        """Return why a bullet that is not in the prompt is not."""
        made = self._made
        bullet = made.scope.voted(key, of_base=of_base)
        item = self._retrievable.get(key)
        if bullet is not None and item is None and (barred := self._barred(bullet)):
            return barred
        if key in made.told_by:
            return EarlierValue(made.told_by[key])
        if key in made.waiting and item is None:
            return Waits(made.waiting[key])
        if key in made.selection.rivals:
            return RivalKept(made.selection.rivals[key])
        if key in made.selection.missed:
            return NoRoom(made.selection.missed[key])
        if key in made.cutoff.superseded:
            return Superseded(made.cutoff.superseded[key])
        return self._irrelevant(key, item, self._matched(of_base=of_base))

    def _barred(self, bullet: Bullet) -> NotEligible | None:
        scope = self._made.scope
        why = scope.barred(bullet)
        if why is not None:
            return NotEligible(why)
        return NotEligible("weak") if scope.is_weak(bullet) else None

    def _irrelevant(self, key: str, item: Retrievable | None, matched: Matched) -> Reason:
        cutoff = self._made.cutoff
        words = self._words(key, matched)
        if item is None and not words and not matched.shared(key):
            return NoSharedWord()
        if not cutoff.is_open:
            query, hit = self._made.query, self._hits.get(key)
            part, covered, needed = matched.coverage(key)
            if hit is not None and self._made.cutoff.by_meaning:
                part, covered, needed = 0, hit.evidence, OPENS
            held = [term for term in matched.shared(key) if term in query.parts[part].weights]
            return GateShut(
                covered,
                needed,
                words,
                everyday=self._said(term for term in held if term in query.everyday - query.often_asked),
                often_asked=self._said(term for term in held if term in query.often_asked),
                similarity=hit.near if hit is not None else 0.0,
                sentence=part,
            )
        if item is None:
            return Outranked(words)
        reach = cutoff.too_low(item.hit)
        if reach is not None:
            return BelowCutoff(reach.score, reach.least, words, item.hit.near)
        if all(key != kept.hit.key for kept in cutoff.kept):
            return BeyondLines(MOST_LINES)
        # The search ends where many did not fit.
        return NoRoom(next(reversed(self._made.selection.missed.values())))

    def _matched(self, *, of_base: bool) -> Matched:
        return self._made.relevance.matched[of_base]

    @cached_property
    def _named(self) -> Mapping[str, str]:
        """The question's terms with the word of each, the weightiest first."""
        query = self._made.query
        named = dict[str, str]()
        for term in sorted(query.weights, key=query.weights.__getitem__, reverse=True):
            if term != query.topic:
                named[term] = (term if is_spaceless(term) else query.words.get(term, term))[:_WORD_CHARS]
        return named

    def _words(self, key: str, matched: Matched) -> Words:
        held, source, compounds = dict[str, None](), dict[str, None](), dict[str, str]()
        for term, word in self._named.items():
            if not matched.holds(key, term):
                continue
            if matched.holds_itself(key, term):
                held[word] = None
                continue
            if key in matched.index.source.of(term):
                source[word] = None
            if wholes := matched.compounds(key, term):
                compounds[word] = wholes[0]
        return Words(_first(held), dict(islice(compounds.items(), _WORDS)), _first(source))

    def _said(self, terms: Iterable[str]) -> tuple[str, ...]:
        """Return the words of these terms as the question has them."""
        return _first(dict.fromkeys(self._named[term] for term in terms if term in self._named))


def _first(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(words, _WORDS))
