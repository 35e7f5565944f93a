"""Files that other projects published, where they are at hand: read whole, counted, merged with care.

Those files stay out of this repository; see tests/plugins/shared_data.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.delta import Delta, apply
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.formats import (
    FORMATS,
    Document,
    as_playbook,
    detected,
    format_named,
    public_lessons,
    read_bullets,
    read_text,
)
from tests.memory.formats.playbooks import NOW

FILES = {
    "playbook_ace_appworld_318.txt": ("ace", 318),
    "playbook_ace_appworld_8.txt": ("ace", 8),
    "skillbook_kayba_v1_6.json": ("kayba-v1", 6),
}
FOR_OTHERS = {"skill", "agents"}
"""These formats leave out what speaks of a person, here lessons with words such as "user" or "my"."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_project_is_read_whole(shared_data: Path, name: str) -> None:
    written_as, bullets = FILES[name]
    text = read_text(shared_data / name)
    reading = read_bullets(text)
    assert detected(Document(text)).name == written_as
    assert (len(reading.bullets), reading.refused) == (bullets, ())


def test_only_copies_are_merged(shared_data: Path) -> None:
    """The nine are copies but for capitals and, once, the brackets behind a function's name."""
    reading = read_bullets(read_text(shared_data / "playbook_ace_appworld_318.txt"))
    numbered = tuple(b.model_copy(update={"ref": f"b{n}"}) for n, b in enumerate(reading.bullets))
    effect = resolve(Snapshot(), Delta(op_id="x", now=NOW, operations=numbered), Policy())
    after = apply(Playbook(), effect)
    for bullet in numbered:
        survivor = after.entries[effect.report.refs[bullet.ref or ""]]
        assert _bare(survivor.content) == _bare(bullet.content)


@pytest.mark.parametrize("written_as", [each.name for each in FORMATS])
@pytest.mark.parametrize("name", FILES)
def test_it_survives_every_format(shared_data: Path, name: str, written_as: str) -> None:
    playbook = as_playbook(read_bullets(read_text(shared_data / name)))
    if written_as in FOR_OTHERS:
        playbook = public_lessons(playbook)
        assert len(playbook) >= 0.6 * FILES[name][1]
    written = format_named(written_as).write(playbook)
    again = as_playbook(read_bullets(written))
    assert [(b.id, b.section, b.content) for b in again.bullets()] == [
        (b.id, b.section, b.content) for b in playbook.bullets()
    ]
    assert format_named(written_as).write(again) == written


def _bare(text: str) -> str:
    return re.sub(r"\(\)", "", text).casefold()
