"""JSON: the stored form of a playbook, so what is exported is also what `base_playbook` takes.

Read are the export, the output of `ace-graph playbook show --json`, and a bare list of bullets.

Does not: carry votes, reflections or the access part; those belong to one learner's life.
"""

from __future__ import annotations

import json
from typing import cast

from pydantic import ValidationError

from ace_graph.errors import FormatError, NewerFormat
from ace_graph.memory.bullet import clean_line
from ace_graph.memory.delta import Add
from ace_graph.memory.formats.base import Reading, Refusal
from ace_graph.memory.payload import FORMAT, dump_playbook
from ace_graph.memory.playbook import Playbook

__all__ = ["JsonFormat"]

_NAME_CHARS = 60


class JsonFormat:
    """All fields of every bullet."""

    name = "json"

    def recognises(self, text: str) -> bool:
        """Whether the text begins like a JSON object or list."""
        return text.lstrip("\ufeff \t\r\n").startswith(("{", "["))

    def read(self, text: str) -> Reading:
        """Return the bullets. Raises FormatError, NewerFormat."""
        found, refused = list[Add](), list[Refusal]()
        for item in _items(text):
            read = _bullet(item)
            if isinstance(read, Add):
                found.append(read)
            else:
                refused.append(read)
        return Reading(tuple(found), tuple(refused))

    def write(self, playbook: Playbook) -> str:
        """Return the bullets with their ids, those in quarantine too."""
        stored = json.loads(dump_playbook(Playbook.of(playbook.bullets())))
        kept = {"format": stored["format"], "next_id": stored["next_id"], "bullets": stored["bullets"]}
        return json.dumps(kept, ensure_ascii=False, indent=2) + "\n"


def _items(text: str) -> list[object]:
    try:
        document: object = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is no valid JSON ({error}): mend it, or say which --format it has") from error
    if isinstance(document, dict):
        fields = cast("dict[str, object]", document)
        number = fields.get("format")
        if isinstance(number, int) and number > FORMAT:
            raise NewerFormat(
                f"it has format {number}, this ace-graph reads up to {FORMAT}: upgrade ace-graph"
            )
        document = fields.get("bullets")
    if not isinstance(document, list):
        raise FormatError('it is JSON, but no playbook: "bullets" with a list of bullets is missing')
    return cast("list[object]", document)


def _bullet(item: object) -> Add | Refusal:
    if not isinstance(item, dict):
        return Refusal(_short(item), "it is no JSON object")
    fields = cast("dict[str, object]", item)
    named = _short(fields.get("id") or fields.get("content") or fields)
    try:
        # Validated as JSON, so that lists become tuples and texts moments.
        return Add.model_validate_json(json.dumps({**fields, "op": "add", "ref": None}))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "value"
        return Refusal(named, f"{where}: {first['msg']}")


def _short(value: object) -> str:
    text = clean_line(str(value))
    return text if len(text) <= _NAME_CHARS else f"{text[:_NAME_CHARS]}…"
