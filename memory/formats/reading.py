"""The protocol of a file format of playbooks: recognise, read, write.

Reading gives Add operations, which the import commits. A bad bullet is reported with the reason, and the
others are read.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ace_graph.base.errors import FormatError
from ace_graph.base.text import clean_line, encodable, truncate
from ace_graph.memory.bullet import AVOID, MAX_DISTINCT, MAX_EXAMPLES, MAX_KEYWORDS, Bullet
from ace_graph.memory.delta.merge import MAX_SOURCES, MAX_TAGS
from ace_graph.memory.delta.operations import Add, check_days
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.source_words import MAX_SOURCE_WORDS

# Parses untrusted JSON. A name that occurs twice in one object is reported, not silently overwritten.
#
# NaN and infinities are parsed, and refused where a bullet would hold them.


Fields = dict[str, object]


class _WithRepeatedNames(Fields):
    """An object with a repeated name: it has the first value, `later` has the others."""

    later: tuple[tuple[str, object], ...] = ()


def parse(text: str) -> object:
    """Return the value of a JSON text. Raises FormatError."""
    try:
        return cast(object, json.loads(text, object_pairs_hook=_object))
    except RecursionError as error:
        raise FormatError("it is JSON nested too deep to be a playbook") from error
    except ValueError as error:
        raise FormatError(f"it is not valid JSON ({error}): fix it, or name its --format") from error


def as_fields(value: object) -> Fields | None:
    """Return `value` where it is a JSON object, else None."""
    return cast(Fields, value) if isinstance(value, dict) else None


def pairs_of(fields: Fields) -> Iterator[tuple[str, object]]:
    """Yield all names and values of an object, with repeated names."""
    yield from fields.items()
    if isinstance(fields, _WithRepeatedNames):
        yield from fields.later


def _object(pairs: list[tuple[str, object]]) -> Fields:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    first = _WithRepeatedNames()
    later: list[tuple[str, object]] = []
    for name, value in pairs:
        if name in first:
            later.append((name, value))
        else:
            first[name] = value
    first.later = tuple(later)
    return first


_JSON = re.compile(r"\s*(?:\{|\[\s*(?:[{\[\"\]\d-]|null\b))")
_BULLET_LINE = re.compile(r"\s*\[[\w.-]{1,100}-\d{1,9}\]\s")


@dataclass(frozen=True)
class Refusal:
    """A bullet of a file that was refused: its name or beginning, and the reason."""

    what: str
    why: str


@dataclass(frozen=True)
class Reading:
    """The bullets of a file, in its order: those that can be added, and those that were refused.

    `left_out` maps the name of an unknown field to the number of bullets that had it.
    """

    bullets: tuple[Add, ...] = ()
    refused: tuple[Refusal, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self.bullets) + len(self.refused)


@dataclass(frozen=True)
class Document:
    """The text of a file; its JSON is parsed once for all formats."""

    text: str

    @property
    def is_json(self) -> bool:
        """Whether the text begins like a JSON object or list, not like a link or an id in brackets."""
        return _JSON.match(self.text) is not None and _BULLET_LINE.match(self.text) is None

    @cached_property
    def value(self) -> object:
        """The JSON value. Raises FormatError where the text is no valid JSON."""
        return parse(self.text)


class Format(Protocol):
    """One way to write a playbook as text."""

    @property
    def name(self) -> str:
        """The name that `--format` takes."""
        ...

    @property
    def summary(self) -> str:
        """What it is for, in a few words; `ace-graph playbook export --help` lists it."""
        ...

    def recognises(self, document: Document) -> bool:
        """Whether the file looks like this format. Raises FormatError for broken JSON."""
        ...

    def read(self, document: Document) -> Reading:
        """Return the bullets in a file. Raises FormatError where it is not this format, NewerFormat."""
        ...

    def write(self, playbook: Playbook) -> str:
        """Return the playbook in this format, ending with a line break unless it is empty."""
        ...


# Converts the fields of a file's bullet into an Add, and keeps the fields that a foreign format lacks.
#
# A file's bullet is validated as strictly as a stored one, so nothing that can be read is refused later.
# Fields that another program's format lacks travel in an object named `ace_graph` beside its own fields;
# those programs keep or drop it, and this reader restores them.


EXTENSION = "ace_graph"
MAX_COUNT = 999_999_999
MAX_BULLETS = 20_000
"""The most bullets in one file: twice the largest playbook in the benchmarks."""
NAME_CHARS = 60
MAX_NAMED = 30
_COUNTS = ("helpful", "harmful", "neutral", "setbacks", "seen", "evidence_count", "consolidation_version")
_LONGEST = {
    "tags": MAX_TAGS,
    "keywords": MAX_KEYWORDS,
    "sources": MAX_SOURCES,
    "examples": MAX_EXAMPLES,
    "consolidated_from": 1_000,
    "distinct_from": MAX_DISTINCT,
    "source_words": MAX_SOURCE_WORDS,
}
READ_FIELDS = frozenset(Bullet.model_fields) - {"vouched"}
"""The fields of a bullet that a file may set. No file can vouch for its own text."""
_OF_THE_TURN = frozenset({"turn_id", "conversation_id", "source_words"})
"""Where a bullet came from, in the learner's words: only our own JSON has these."""
_SAID = frozenset(name for name, field in Bullet.model_fields.items() if field.exclude_if is None) - {
    *("id", "memory_type", "created_at", "updated_at")
}
_ALWAYS_GIVEN = {"id": "new", "section": "general"}


class Collector:
    """Collects the bullets of one file, and counts fields that were left out."""

    def __init__(self) -> None:
        self._found: list[Add] = []
        self._refused: list[Refusal] = []
        self._left_out: Counter[str] = Counter()

    def take(self, fields: Mapping[str, object], name: str) -> None:
        """Add a bullet with these fields, or refuse it under this `name` with the reason.

        The fields of a bullet that are missing get their defaults; `None` counts as missing.
        """
        given = {key: value for key, value in fields.items() if value is not None}
        self._check_room()
        self._shorten(given)
        checked = _checked(given)
        if isinstance(checked, str):
            self.refuse(name, checked)
        else:
            values = {name: getattr(checked, name) for name in given}
            asked = {name: value for name, value in values.items() if value or name in _SAID}
            add = Add(**asked, foreign=bool(checked.examples))
            # A bullet of a file is whole: what is not there is said to be at its default
            add.model_fields_set.update(_SAID)
            self._found.append(add)

    def objects(self, items: Iterable[tuple[str, object]]) -> Iterator[tuple[str, Fields]]:
        """Yield those of the named `items` that are valid JSON objects; refuse the others."""
        for name, item in items:
            fields = as_fields(item)
            why = "it is not a JSON object" if fields is None else _repeated(fields)
            if fields is None or why:
                self.refuse(name, why or "")
            else:
                yield name, fields

    def refuse(self, name: str, why: str) -> None:
        """Count a bullet that can't be added."""
        self._check_room()
        line = clean_line(name)
        self._refused.append(Refusal(truncate(line, NAME_CHARS), why))

    def leave_out(self, names: Iterable[str]) -> None:
        """Count fields that a bullet does not have."""
        self._left_out.update(clean_line(name)[:NAME_CHARS] for name in names)

    def leave_out_all_but(self, known: frozenset[str], fields: Fields) -> None:
        """Count the fields that are not empty and not `known`."""
        self.leave_out(sorted(key for key, value in fields.items() if key not in known and not _empty(value)))

    def extended(self, fields: Mapping[str, object], source: Fields) -> Fields:
        """Return `fields`, overridden by those in the `ace_graph` object of `source`."""
        more = as_fields(source.get(EXTENSION))
        if more is None:
            return dict(fields)
        read = READ_FIELDS - _OF_THE_TURN
        self.leave_out_all_but(read, more)
        return {**fields, **{key: value for key, value in more.items() if key in read - {"id"}}}

    def reading(self) -> Reading:
        """Return the collected bullets, refusals and counts."""
        most = self._left_out.most_common()
        others = sum(count for _, count in most[MAX_NAMED:])
        left_out = dict(most[:MAX_NAMED]) | ({"other fields": others} if others else {})
        return Reading(tuple(self._found), tuple(self._refused), left_out)

    def _check_room(self) -> None:
        if len(self._found) + len(self._refused) >= MAX_BULLETS:
            raise FormatError(f"it holds more than {MAX_BULLETS} bullets: split it")

    def _shorten(self, given: Fields) -> None:
        """Cut lists that are longer than a bullet of ours can have."""
        for name, longest in _LONGEST.items():
            value = given.get(name)
            if isinstance(value, list | tuple) and len(cast("list[object]", value)) > longest:
                given[name] = list(cast("list[object]", value))[-longest:]
                self.leave_out([name])


def named(items: Iterable[object]) -> Iterator[tuple[str, object]]:
    """Yield items with their names for a report: id, else text or pattern, else the number in the file."""
    for number, item in enumerate(items, start=1):
        fields = as_fields(item) or {"content": item}
        names = (fields.get(each) for each in ("id", "content", "pattern"))
        yield next((n for n in names if isinstance(n, str) and n.strip()), f"bullet {number}"), item


def _repeated(fields: Fields) -> str | None:
    """Return why an object with a repeated name is refused, else None."""
    names = Counter(name for name, _ in pairs_of(fields))
    twice = next((name for name, count in names.items() if count > 1), None)
    return None if twice is None else f"{clean_line(twice)[:NAME_CHARS]} occurs twice in it"


def split_advice(content: object) -> Fields:
    """Return content and polarity from an `advice`, for formats without a polarity."""
    if isinstance(content, str) and clean_line(content).startswith(AVOID):
        return {"content": clean_line(content).removeprefix(AVOID), "polarity": "anti_pattern"}
    return {"content": content}


def extension_of(bullet: Bullet, shown: Mapping[str, object]) -> Fields:
    """Return the `ace_graph` object that restores the bullet, of which `shown` is read without it."""
    whole = _dumped(bullet)
    checked = _checked({key: value for key, value in shown.items() if value is not None})
    read: Fields = {} if isinstance(checked, str) else _dumped(checked)
    missing = {name: value for name, value in whole.items() if read.get(name, object()) != value}
    # Without a memory type it would be inferred again.
    return {
        k: v
        for k, v in {"memory_type": bullet.memory_type, **missing}.items()
        if k not in {"id", *_OF_THE_TURN}
    }


def _dumped(bullet: Bullet) -> Fields:
    return cast(Fields, bullet.model_dump(mode="json"))


def _checked(given: Mapping[str, object]) -> Bullet | str:
    """Return the bullet, or why there is none."""
    for name, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name}: {value} is not a number"
        if name in _COUNTS and isinstance(value, int) and value > MAX_COUNT:
            return f"{name}: more than {MAX_COUNT}"
    try:
        # Validated as JSON, so that lists become tuples and texts moments, and "5" stays a text.
        text = json.dumps({name: _encodable(value) for name, value in {**_ALWAYS_GIVEN, **given}.items()})
        bullet = Bullet.model_validate_json(text, strict=True)
        check_days(bullet.valid_from, bullet.valid_until)
    except RecursionError:
        return "it is nested too deeply"
    except ValidationError as error:
        return _reason(error.errors(include_input=False, include_url=False)[0])
    except ValueError as error:
        return str(error)
    return bullet


def _encodable(value: object) -> object:
    """Return a text, or the texts of a list, without lone surrogates."""
    if isinstance(value, list):
        return [encodable(each) for each in cast("list[object]", value)]
    return encodable(value)


def _reason(error: ErrorDetails) -> str:
    """Return one clause of what pydantic found."""
    where = ".".join(map(str, error["loc"])) or "value"
    kind, limits = error["type"].removeprefix("string_"), error.get("ctx", {})
    if where == "content" and kind in ("too_short", "missing"):
        return "empty text"
    why = f"longer than {limits.get('max_length')} characters" if kind == "too_long" else error["msg"]
    return why if where == "content" and kind == "too_long" else f"{where}: {why}"


def _empty(value: object) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)
