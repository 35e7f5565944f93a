"""All formats by name, and the detection of a text's format."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from ace_graph.base.errors import FormatError, unknown
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.delta.archive import PLAYBOOK_FULL
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.formats.json import JsonFormat
from ace_graph.memory.formats.kayba import KaybaFormat, KaybaV1Format
from ace_graph.memory.formats.lines import ACE, ACE_PLAIN, TEXT
from ace_graph.memory.formats.lmb import LmbFormat
from ace_graph.memory.formats.markdown import AgentsFormat
from ace_graph.memory.formats.reading import Document, Format, Reading, Refusal
from ace_graph.memory.formats.skill import SkillFormat, checked_skill_folder
from ace_graph.memory.playbook import Playbook, id_number, mint_id

_KAYBA, _KAYBA_V1, _LMB, _JSON = KaybaFormat(), KaybaV1Format(), LmbFormat(), JsonFormat()
_SKILL, _AGENTS = SkillFormat(), AgentsFormat()
FormatName = Literal["json", "text", "ace", "ace-plain", "kayba", "kayba-v1", "lmb", "skill", "agents"]
"""The names of FORMATS, as a type for the schema of the HTTP routes."""
FORMATS: tuple[Format, ...] = (_JSON, TEXT, ACE, ACE_PLAIN, _KAYBA, _KAYBA_V1, _LMB, _SKILL, _AGENTS)
_STRICTEST_FIRST: tuple[Format, ...] = (_KAYBA, _KAYBA_V1, _LMB, _JSON, _SKILL, _AGENTS, ACE, TEXT)


def format_named(name: str) -> Format:
    """Return the format. Raises FormatError naming those there are."""
    for each in FORMATS:
        if each.name == name:
            return each
    raise FormatError(unknown("format", name, [each.name for each in FORMATS]))


def detected(document: Document) -> Format:
    """Return the format of a file, by its content. Raises FormatError where it is in none."""
    found = next((each for each in _STRICTEST_FIRST if each.recognises(document)), None)
    if found is None:
        raise FormatError("no bullet was found: the file is in no known format, name its --format")
    return found


def read_playbook(text: str, name: str = "auto") -> Reading:
    """Return the bullets in `text`, read in the format named or, with `auto`, the one detected.

    An empty playbook is one too. Raises FormatError, NewerFormat.
    """
    document = Document(text.removeprefix("\ufeff"))
    return (detected(document) if name == "auto" else format_named(name)).read(document)


def read_bullets(text: str, name: str = "auto") -> Reading:
    """Return the same as `read_playbook`. Raises FormatError also when there is no bullet in it."""
    reading = read_playbook(text, name)
    if not len(reading):
        raise FormatError("no bullet was found in it: check the file or its --format")
    return reading


# Reads a file with a playbook, and imports its bullets: as deltas, or as a playbook of their own.
#
# A file is UTF-8 text of at most 20 MB. The outcome of an import says what happened to each bullet.


MAX_BYTES = 20_000_000
"""Twice what 10,000 bullets take as JSON; reading and judging a file of this size takes 1 GB at worst."""
_ONLY_OF_ADD = {
    *("op", "ref", "contests", "vouched", "foreign"),
    *("source_text", "source_words", "turn_id", "conversation_id"),
}
"""Fields of an Add that no bullet of a playbook for several learners has."""
_OTHER_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16", codecs.BOM_UTF32_BE: "UTF-32"}


def read_text(path: Path) -> str:
    """Return the text of a file, or of the SKILL.md in a folder, without its byte order mark.

    Raises FormatError, OSError.
    """
    if path.is_dir():
        path = checked_skill_folder(path).file
    elif path.exists() and not path.is_file():
        raise FormatError("it is not a regular file: give a file, or pipe it in and give -")
    with path.open("rb") as file:
        return read_stream(file)


def read_stream(stream: BinaryIO) -> str:
    """Return the text that is left in a stream. Raises FormatError; no more than the limit is ever read."""
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FormatError(f"it is larger than {MAX_BYTES // 1_000_000} MB: split it")
    for mark, encoding in _OTHER_MARKS.items():
        if raw.startswith(mark):
            raise FormatError(f"it is {encoding} text: save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"it is not UTF-8 ({error.reason} at byte {error.start})") from error
    if "\0" in text:
        raise FormatError("it is not text: it contains zero bytes")
    return text


BATCH = 500
"""Bullets in one delta: a file up to this size is imported whole or not at all, a larger one in steps that
take a second or two each."""
BATCH_CHARACTERS = 100_000
"""Characters in one delta. Long texts that hardly differ cost 10 ms each, and the database waits."""


@dataclass(frozen=True)
class ImportOutcome:
    """What an import came to: read = kept + merged + len(refused).

    `renamed` of the kept ones asked for an id and got another. `core` are ids of kept ones that are always
    candidates for the prompt, `quarantined` of those that are none, each with a reason. `displaced` are ids
    of bullets that the learner had before and that made room or were replaced. `left_out` maps fields that
    have no place in a bullet to how many bullets had them.
    """

    read: int
    kept: int
    merged: int
    refused: tuple[Refusal, ...]
    displaced: tuple[str, ...]
    renamed: int
    core: tuple[str, ...]
    quarantined: tuple[str, ...]
    left_out: Mapping[str, int]


def as_playbook(reading: Reading) -> Playbook:
    """Return the bullets of the file, without merging any, and without the turns that they came from.

    Those without an id, or with one that was there before, get the next number.
    """
    bullets: dict[str, Bullet] = {}
    number = 1 + max((_number(each) for each in reading.bullets), default=0)
    for each in reading.bullets:
        name = each.id
        if name is None or name in bullets:
            name, number = mint_id(each.section, number), number + 1
        given = each.model_dump(exclude=_ONLY_OF_ADD, exclude_none=True)
        inferred = each.memory_type or infer_memory_type(each.content)
        bullets[name] = Bullet.model_validate({**given, "id": name, "memory_type": inferred})
    return Playbook.of(bullets.values())


def batches(bullets: Sequence[Add]) -> Iterator[list[Add]]:
    """Yield all of `bullets`: in one delta where they fit, else in several of 500, or of fewer long ones.

    Those then come in the order of the number in the id they ask for, because an id is granted only while
    no delta before gave out a higher number; one number is never torn apart.
    """
    if len(bullets) <= BATCH and sum(len(b.content) for b in bullets) <= BATCH_CHARACTERS:
        if bullets:
            yield list(bullets)
        return
    asking = sorted((b for b in bullets if b.id is not None), key=_number)
    batch: list[Add] = []
    characters = 0
    for bullet in [*asking, *(b for b in bullets if b.id is None)]:
        full = len(batch) >= BATCH or characters >= BATCH_CHARACTERS
        if full and not (bullet.id is not None and _number(bullet) == _number(batch[-1])):
            yield batch
            batch, characters = [], 0
        batch.append(bullet)
        characters += len(bullet.content)
    if batch:
        yield batch


def outcome_of(
    reading: Reading, reports: Iterable[Report], after: Playbook, unread: Iterable[Add] = ()
) -> ImportOutcome:
    """Return what became of the bullets of `reading`, whose refs are unique, by their deltas' reports.

    `unread` are those that were in no delta, because the playbook holds no more; they need no ref.
    """
    reports = tuple(reports)
    given = {ref: name for report in reports for ref, name in report.refs.items()}
    added = {name for report in reports for name in report.added}
    gone: dict[str, str] = {}
    for report in reports:
        gone.update({pruned.id: PLAYBOOK_FULL for pruned in report.pruned})
        gone.update({pair.gone: f"{pair.kept} holds a later value" for pair in report.superseded})
    asked_as = {asked.ref: _asked_as(asked) for asked in reading.bullets}
    adds_rejected = (item for report in reports for item in report.rejected if item.op == "add")
    refused = [
        *reading.refused,
        *(Refusal(asked_as.get(rejected.id, rejected.id), rejected.why) for rejected in adds_rejected),
        *(Refusal(_asked_as(bullet), PLAYBOOK_FULL) for bullet in unread),
    ]
    held = {name for report in reports for name in report.quarantined}
    kept, merged, renamed = dict[str, Bullet | None](), 0, 0
    for asked in reading.bullets:
        name = given.get(asked.ref or "")
        if name is None:
            continue
        if name in kept or name not in added:
            merged += 1
        elif (bullet := after.get_bullet(name)) is None and (name in gone or name not in held):
            refused.append(Refusal(_asked_as(asked), gone.get(name, "it was archived again")))
            added.discard(name)
        else:
            kept[name] = bullet
            renamed += asked.id not in (None, name)
    ours = set(given.values())
    return ImportOutcome(
        read=len(reading),
        kept=len(kept),
        merged=merged,
        refused=tuple(refused),
        displaced=tuple(name for name in gone if name not in ours),
        renamed=renamed,
        core=tuple(name for name, b in kept.items() if b and b.core and b.status == "active"),
        quarantined=tuple(name for name, b in kept.items() if b is None or b.status == "quarantined"),
        left_out=reading.left_out,
    )


def _asked_as(bullet: Add) -> str:
    return bullet.id or bullet.content[:60]


def _number(bullet: Add) -> int:
    return id_number(bullet.id or "")
