"""The stored form of the two parts of a memory, of effects, records and reports: canonical JSON.

The same value always gives the same bytes, and reading them gives the same value. A newer format or a broken
text is an error, never an empty playbook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeVar, cast

from pydantic import BaseModel, Field, JsonValue, ValidationError

from ace_graph.base.errors import CorruptPayload, NewerFormat
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import LEFT_OUT, Bullet, Count
from ace_graph.memory.delta.effect import Archived, Effect, Put, Report, Revived
from ace_graph.memory.evidence import EvidenceSource
from ace_graph.memory.playbook import BaseVotes, Consolidations, Playbook, RecentInsight, Vote
from ace_graph.memory.snapshot import Access, ConsolidationNote
from ace_graph.memory.trust import Trial
from ace_graph.memory.turn import RecentTurn, TurnRecord
from ace_graph.memory.usage import PlaybookUsage, recounted_usage
from ace_graph.memory.use_stamps import QuestionTerms

STEPS_FORMAT = 2
"""Of a record with folded steps. Others are as version 0.1 writes them and name no format."""

_AGAIN = "again"
_SAID = ("kind", "text", "metadata")
_Document = dict[str, JsonValue]


def fold_repeats(record: str) -> str:
    """Return the JSON of a record with each repeated step as the place of the first that said so."""
    document: _Document = json.loads(record)
    places: dict[str, int] = {}
    for place, step in enumerate(_steps(document)):
        said = json.dumps([step[name] for name in _SAID])
        first = places.setdefault(said, place)
        if first != place:
            for name in _SAID:
                del step[name]
            step[_AGAIN] = first
    return _compact_json({"format": STEPS_FORMAT, **document})


def unfold_repeats(record: str) -> str:
    """Return the JSON of a record with every step whole.

    Raises ValueError, KeyError or TypeError for what `fold_repeats` did not make.
    """
    if f'"{_AGAIN}":' not in record:
        return record
    document: _Document = json.loads(record)
    if document.get("format") != STEPS_FORMAT:
        return record
    del document["format"]
    steps = _steps(document)
    for place, step in enumerate(steps):
        if _AGAIN in step:
            first = step.pop(_AGAIN)
            if not isinstance(first, int) or not 0 <= first < place:
                raise ValueError(f"step {place} repeats none before it")
            step.update({name: steps[first][name] for name in _SAID})
    return _compact_json(document)


def _steps(document: _Document) -> list[_Document]:
    return cast("list[_Document]", document["steps"])


def _compact_json(document: _Document) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


FORMAT: Final = 2
"""The format of a playbook's content."""

_ACCESS_FORMAT: Final = 3
_EFFECT_FORMAT: Final = 3
_REPORT_FORMAT: Final = 1
_EXAMPLES_SINCE = {"playbook": 2, "effect": 3}
"""The formats from which on bullets name their trajectories in `examples`; before it was in `sources`."""

_TURN_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OFTEN_EQUAL = ("created_at", "updated_at", "importance", "section", "topic", "tags")
M = TypeVar("M", bound=BaseModel)


class _StoredPlaybook(Frozen):
    format: Literal[1, 2] = 1
    next_id: Annotated[int, Field(ge=1)] = 1
    bullets: list[Bullet] = Field(default_factory=list[Bullet])
    aliases: dict[str, str] = Field(default_factory=dict)
    tombstones: dict[str, str] = Field(default_factory=dict)
    reflections: list[RecentInsight] = Field(default_factory=list[RecentInsight])
    votes: dict[str, dict[EvidenceSource, Vote]] = Field(default_factory=dict)
    base_votes: dict[str, BaseVotes] = Field(default_factory=dict)
    consolidations: Annotated[Consolidations, Field(exclude_if=lambda value: not value.number)] = (
        Consolidations()
    )


class _StoredAccess(Frozen):
    format: Literal[1, 2, 3] = 1
    access_clock: Count = 0
    stamps: dict[str, Count] = Field(default_factory=dict)
    recent_turns: list[RecentTurn] = Field(default_factory=list[RecentTurn])
    trial: Trial = Trial()
    earlier: dict[str, Count] = Field(default_factory=dict)
    days: list[tuple[Count, date]] = Field(default_factory=list[tuple[Count, date]])
    usage: Annotated[dict[str, PlaybookUsage], LEFT_OUT] = Field(default_factory=dict)
    analyzed: Annotated[Count, LEFT_OUT] = 0
    consolidation: Annotated[ConsolidationNote, Field(exclude_if=lambda value: not any(value))] = (
        ConsolidationNote()
    )
    questions: Annotated[Count, LEFT_OUT] = 0
    asked: Annotated[dict[str, Count], LEFT_OUT] = Field(default_factory=dict)


_ALL_FIELDS = set(Bullet.model_fields)
"""One set for all bullets that are read; a copy of a bullet gets a copy of it."""


def dump_playbook(playbook: Playbook) -> str:
    """Return the canonical JSON of the content."""
    return _StoredPlaybook(
        format=FORMAT,
        next_id=playbook.next_id,
        bullets=list(playbook.entries.values()),
        aliases=dict(playbook.aliases),
        tombstones=dict(playbook.tombstones),
        reflections=list(playbook.reflections),
        votes={turn: dict(votes) for turn, votes in playbook.votes.items()},
        base_votes=dict(playbook.base_votes),
        consolidations=playbook.consolidations,
    ).model_dump_json()


def _share_values(bullets: Iterable[Bullet]) -> None:
    """Let new bullets that are nobody's yet share equal values, which take a sixth of a learner's memory."""
    one: dict[object, object] = {}
    for bullet in bullets:
        # Which fields the text named nobody asks; pydantic's set of them is larger than the bullet.
        object.__setattr__(bullet, "__pydantic_fields_set__", _ALL_FIELDS)
        values = vars(bullet)
        for name in _OFTEN_EQUAL:
            values[name] = one.setdefault(values[name], values[name])


def load_playbook(text: str | None, known: Playbook | None = None) -> Playbook:
    """Return the playbook; None and `{}` (a learner without a playbook yet) give an empty one.

    Equal bullets are taken from `known`, with its index if it has one, so that only bullets that another
    process changed are indexed again. Raises NewerFormat, CorruptPayload.
    """
    if text is None:
        return Playbook()
    stored = read_stored(_StoredPlaybook, text, "playbook", FORMAT)
    current = stored.format >= _EXAMPLES_SINCE["playbook"]
    bullets = stored.bullets if current else map(_with_examples, stored.bullets)
    entries = {bullet.id: bullet for bullet in bullets}
    _share_values(entries.values())
    if len(entries) != len(stored.bullets):
        raise CorruptPayload(_broken("playbook", "two bullets have one id"))
    if known is not None:
        held = known.entries
        entries = {key: held[key] if held.get(key) == bullet else bullet for key, bullet in entries.items()}
    playbook = Playbook(
        entries=MappingProxyType(entries),
        next_id=stored.next_id,
        aliases=MappingProxyType(stored.aliases),
        tombstones=MappingProxyType(stored.tombstones),
        reflections=tuple(stored.reflections),
        votes=MappingProxyType({turn: MappingProxyType(votes) for turn, votes in stored.votes.items()}),
        base_votes=MappingProxyType(stored.base_votes),
        consolidations=stored.consolidations,
    )
    if known is not None:
        playbook.inherit(known)
    return playbook


def dump_access(access: Access) -> str:
    """Return the canonical JSON of the access part."""
    return _StoredAccess(
        format=_ACCESS_FORMAT,
        access_clock=access.access_clock,
        stamps=dict(access.stamps),
        recent_turns=list(access.recent_turns),
        trial=access.trial,
        earlier=dict(access.earlier),
        days=list(access.days),
        usage=dict(access.usage),
        analyzed=access.analyzed,
        consolidation=access.consolidation,
        questions=access.asked.questions,
        asked=dict(access.asked.counts),
    ).model_dump_json()


def load_access(text: str | None) -> Access:
    """Return the access part; None and `{}` give one at clock 0. Raises NewerFormat, CorruptPayload.

    The usage of an access part of version 0.1 begins with its recent turns.
    """
    if text is None:
        return Access()
    stored = read_stored(_StoredAccess, text, "access part", _ACCESS_FORMAT)
    usage: Mapping[str, PlaybookUsage] = MappingProxyType(stored.usage)
    if stored.format < _ACCESS_FORMAT:
        usage = recounted_usage(usage, ((None, turn) for turn in stored.recent_turns))
    return Access(
        access_clock=stored.access_clock,
        stamps=MappingProxyType(stored.stamps),
        recent_turns=tuple(stored.recent_turns),
        trial=stored.trial,
        earlier=MappingProxyType(stored.earlier),
        days=tuple(stored.days),
        usage=usage,
        analyzed=stored.analyzed,
        consolidation=stored.consolidation,
        asked=QuestionTerms(stored.questions, MappingProxyType(stored.asked)),
    )


def dump_effect(effect: Effect) -> str:
    """Return the canonical JSON of an effect."""
    return effect.model_dump_json()


def load_effect(text: str) -> Effect:
    """Return the effect. Raises NewerFormat, CorruptPayload."""
    effect = read_stored(Effect, text, "history entry", _EFFECT_FORMAT)
    if effect.format >= _EXAMPLES_SINCE["effect"]:
        return effect
    changes = (
        change.model_copy(update={"bullet": _with_examples(change.bullet)})
        if isinstance(change, Put | Archived | Revived)
        else change
        for change in effect.changes
    )
    return effect.model_copy(update={"changes": tuple(changes)})


def _with_examples(bullet: Bullet) -> Bullet:
    """The bullet of version 0.1 with the turns among its sources as examples; the sources stay."""
    turns = tuple(name for name in bullet.sources if _TURN_ID.fullmatch(name))
    return bullet.model_copy(update={"examples": turns, "evidence_count": len(turns)}) if turns else bullet


def dump_record(record: TurnRecord) -> str:
    """Return the canonical JSON of a turn's record; repeated content of steps is in it once."""
    text = record.model_dump_json()
    different = {(step.kind, step.text, json.dumps(step.metadata)) for step in record.steps}
    return fold_repeats(text) if len(different) < len(record.steps) else text


def load_record(text: str) -> TurnRecord:
    """Return the turn's record. Raises CorruptPayload."""
    try:
        whole = unfold_repeats(text)
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptPayload(_broken("turn record", f"steps: {error}")) from error
    return read_stored(TurnRecord, whole, "turn record", STEPS_FORMAT)


def load_report(text: str) -> Report:
    """Return the report. Raises CorruptPayload."""
    return read_stored(Report, text, "report", _REPORT_FORMAT)


def read_stored(model: type[M], text: str, what: str, newest: int) -> M:
    """Return the value that a stored text holds; `newest` is the newest format of such texts.

    Raises NewerFormat, CorruptPayload.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        newer = _newer_format(text, newest)
        if newer is not None:
            raise NewerFormat(
                f"the stored {what} has format {newer}, this version of ace-graph reads up to {newest}: "
                "upgrade ace-graph"
            ) from error
        first = error.errors(include_input=False, include_url=False)[0]
        detail = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise CorruptPayload(_broken(what, detail)) from error


def _newer_format(text: str, known: int) -> int | None:
    try:
        found: object = json.loads(text)
    except ValueError:
        return None
    number = cast("_Document", found).get("format") if isinstance(found, dict) else None
    return number if isinstance(number, int) and number > known else None


def _broken(what: str, detail: str) -> str:
    return f"the stored {what} can't be read and was left as it is ({detail}): restore it from a backup"
