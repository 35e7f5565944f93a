"""A playbook as files, and edited files as operations: nothing that was not edited is lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.base import FormatError
from ace_graph.memory import Bullet, Playbook, Policy, Snapshot, apply, resolve
from ace_graph.memory.delta import Add, Delta, Operation, Remove, Update
from ace_graph.memory.formats import MemoryFile, edit_of, file_name, files_of, section_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORDS = [
    *("glacier", "violin", "harbour", "pepper", "lantern", "meadow", "copper", "walnut"),
    *("orchid", "saddle", "tunnel", "velvet", "anchor", "bamboo", "cactus", "desert"),
    *("engine", "falcon", "guitar", "hammer", "island", "jacket", "kettle", "ladder"),
    *("magnet", "needle", "oyster", "parrot", "quartz", "ribbon", "sponge", "temple"),
]
SECTIONS = ("general", "lessons", "notes.txt", "team/rules", "Brüche: 50 % #1")


def bullet(place: int, section: str, text: str, **more: object) -> Bullet:
    return Bullet.model_validate({"id": f"gen-{place:05}", "section": section, "content": text, **more})


def after(playbook: Playbook, operations: Sequence[Operation], op_id: str = "x") -> Playbook:
    delta = Delta(op_id=op_id, now=NOON, operations=tuple(operations))
    effect = resolve(Snapshot(playbook), delta, Policy())
    assert not effect.report.rejected
    return apply(playbook, effect)


lines = st.text(min_size=1, max_size=60).filter(lambda text: any(c.isalnum() for c in text))
contents = lines | st.sampled_from(["# A heading", "- an item", "1. one", "AVOID: it", "[gen-1] x", "a\tb"])
bullets = st.tuples(
    st.sampled_from(SECTIONS) | lines,
    contents,
    st.none() | contents,
    st.sampled_from(["strategy", "anti_pattern"]),
)


@given(st.lists(bullets, max_size=8))
def test_a_file_that_was_not_edited_changes_nothing(given_: list[tuple[str, str, str | None, str]]) -> None:
    playbook = Playbook.of(
        bullet(n, section, text, context=context, polarity=polarity)
        for n, (section, text, context, polarity) in enumerate(given_)
    )
    files = files_of(playbook)
    assert len(files) == 1 + len({each.section for each in playbook.bullets()})
    for name, file in files.items():
        edit = edit_of(file, file.text, playbook)
        assert (edit.operations, edit.conflicts, edit.left_out) == ((), (), ()), name
        blind = edit_of(MemoryFile(name), file.text, Playbook())
        assert len(blind.operations) == len(file.lines)


@given(st.sets(lines, min_size=1, max_size=6))
def test_each_section_has_a_file_of_its_own(sections: set[str]) -> None:
    named = {bullet(0, section, "x").section for section in sections}
    names = {section: file_name(section) for section in named}
    assert len({name.casefold() for name in names.values()}) >= len({s.casefold() for s in named})
    for section, name in names.items():
        assert section_of(name) == section
        assert not name.startswith(("/", "."))
        assert ".." not in name.split("/")


@pytest.mark.parametrize("name", ["", ".md", "notes", "../x.md", "/x.md", "a//b.md", "x" * 200 + ".md"])
def test_a_name_that_no_section_has_is_refused(name: str) -> None:
    with pytest.raises(FormatError, match=r"name|characters"):
        section_of(name)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Playbook, dict[int, str], list[str], dict[int, str], list[str]]:
    """A playbook; what the agent does to its lines by place, and adds; and what another process does."""
    words = draw(st.permutations(WORDS))
    count = draw(st.integers(1, 8))
    places, acts = st.integers(0, count - 1), ["change", "remove", "move"]
    own_acts = st.dictionaries(places, st.sampled_from(acts[:2]), max_size=count)
    other_acts = st.dictionaries(places, st.sampled_from(acts), max_size=count)
    sections = [draw(st.sampled_from(SECTIONS)) for _ in range(count)]
    playbook = Playbook.of(
        bullet(n, sections[n], f"Keep the {words[n]} beside every {words[n + 8]}") for n in range(count)
    )
    mine = [f"Paint one {word} today" for word in words[16 : 16 + draw(st.integers(0, 2))]]
    theirs = [f"Order more of {word} soon" for word in words[20 : 20 + draw(st.integers(0, 2))]]
    return playbook, draw(own_acts), mine, draw(other_acts), theirs


@settings(max_examples=40)
@given(edits(), st.booleans())
def test_edits_beside_those_of_others_are_merged_or_reported(
    drawn: tuple[Playbook, dict[int, str], list[str], dict[int, str], list[str]], whole: bool
) -> None:
    playbook, mine, added, theirs, others = drawn
    held = list(playbook.bullets())
    there = list[Operation]()
    for n, act in theirs.items():
        name, changed = held[n].id, f"{held[n].content} on Monday"
        update = {"section": "elsewhere"} if act == "move" else {"content": changed}
        there.append(
            Remove(bullet_id=name)
            if act == "remove"
            else Update.model_validate({"bullet_id": name, **update})
        )
    present = after(playbook, [*there, *(Add(content=text, section="general") for text in others)], "theirs")
    section = held[0].section
    file = files_of(playbook)["AGENTS.md" if whole else file_name(section)]
    text = file.text
    edited = {n: act for n, act in mine.items() if whole or held[n].section == section}
    for n, act in edited.items():
        line = f"- {held[n].content}\n"
        text = text.replace(line, "" if act == "remove" else f"- {held[n].content} at home\n")
    edit = edit_of(file, text + "".join(f"- {each}\n" for each in added), present)
    final = after(present, edit.operations)
    said = {each.content for each in final.bullets()}
    for n, old in enumerate(held):
        now = present.get_bullet(old.id)
        if n not in edited:
            assert final.get_bullet(old.id) == now, "what the agent did not edit is as it was"
        elif edited[n] == "change":
            assert f"{old.content} at home" in said or any(old.content in each for each in edit.conflicts)
        elif now is not None and (now.content, now.section) != (old.content, old.section):
            assert final.get_bullet(old.id) == now
            assert any(old.content in each for each in edit.conflicts)
        else:
            assert old.content not in said
    assert said >= {*added, *others}
    for name, again in files_of(final).items():
        assert not edit_of(again, again.text, final).operations, name


def test_headings_are_contexts_and_what_no_bullet_can_hold_is_said() -> None:
    text = "# Project\n\n1. Use tabs\n\n## When a build fails\n* Read the log\n---\n```\n## Empty\n"
    edit = edit_of(MemoryFile("notes.md"), text, Playbook())
    playbook = after(Playbook(), edit.operations)
    assert [(each.content, each.context, each.section) for each in playbook.bullets()] == [
        ("Use tabs", "Project", "notes"),
        ("Read the log", "Project / When a build fails", "notes"),
    ]
    assert edit.left_out == ("---", "```", "## Empty")
    shown = files_of(playbook)["notes.md"]
    assert shown.text == ("## Project\n\n- Use tabs\n\n## Project / When a build fails\n\n- Read the log\n")
    moved = edit_of(shown, "- Use tabs\n- Read the log\n", playbook)
    assert [each.context for each in after(playbook, moved.operations).bullets()] == ["", ""]
