"""Templates: playbooks that come with the package, advice on one subject to begin a playbook with.

    await playbooks.create(store, "shop", playbooks.template("api_client").bullets, owner="ada")

Each is a file of the folder `data`, in the JSON format of `playbook export` with a description.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, cast, get_args

from ace_graph.base.errors import UsageError, unknown
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.formats.json import JsonFormat
from ace_graph.memory.formats.registry import read_bullets

TemplateName = Literal["api_client", "data_analysis", "tutoring"]

TEMPLATES: tuple[TemplateName, ...] = get_args(TemplateName)


@dataclass(frozen=True)
class Template:
    """A playbook to begin with: its name, what it is about, and the operations that fill it."""

    name: TemplateName
    description: str
    bullets: tuple[Add, ...]


def template(name: str) -> Template:
    """Return the template of this name. Raises UsageError, which lists those there are."""
    for known in TEMPLATES:
        if known == name:
            text = files("ace_graph.playbooks").joinpath("data", f"{known}.json").read_text(encoding="utf-8")
            about = cast("dict[str, object]", json.loads(text))["description"]
            return Template(known, str(about), read_bullets(text, JsonFormat.name).bullets)
    raise UsageError(unknown("template", name, TEMPLATES))
