"""Sections of an AGENTS.md: the rest of the file stays as it is, and only they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import FormatError
from ace_graph.memory import Bullet, Playbook
from ace_graph.memory.formats import AgentsFormat, read_bullets, with_section
from tests.memory.formats.playbooks import playbooks

LESSONS = Playbook.of([Bullet(id="les-00001", section="tests", content="Run them first", helpful=2)])
BLOCK = AgentsFormat("memory").write(LESSONS)
OLD = "<!-- ace-graph:begin memory -->\n- Old\n<!-- ace-graph:end memory -->\n"
_LINES = st.lists(st.sampled_from(["# Rules", "- Be kind", "", "  code", "\u2028", "x\x0by"]), max_size=4)
_REST = _LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))


def test_a_section_is_written_between_two_comments() -> None:
    assert BLOCK == (
        "<!-- ace-graph:begin memory -->\n"
        "<!-- The next export replaces this section. Import it first to keep what you change. -->\n"
        "## Lessons from earlier work\n\n"
        "### tests\n- [les-00001] Run them first\n"
        "<!-- ace-graph:end memory -->\n"
    )
    assert AgentsFormat().write(Playbook()) == ""


@given(before=_REST, after=_REST, playbook=playbooks(most=2))
def test_replacing_a_section_changes_nothing_else(before: str, after: str, playbook: Playbook) -> None:
    block = AgentsFormat("memory").write(playbook)
    once = with_section(before + OLD + after, "memory", block)
    assert once == before + block + after
    assert with_section(once, "memory", block) == once or not block
    assert with_section(once, "memory", "") == before + after


@given(before=_REST)
def test_a_new_section_comes_last(before: str) -> None:
    found = with_section(before, "memory", BLOCK)
    assert found.startswith(before)
    assert found.endswith(BLOCK)
    assert with_section(found, "memory", BLOCK) == found


def test_line_ends_of_the_file_are_kept() -> None:
    document = "# Rules\r\n" + OLD.replace("\n", "\r\n") + "- Be kind\r\n"
    found = with_section(document, "memory", BLOCK)
    assert found == "# Rules\r\n" + BLOCK.replace("\n", "\r\n") + "- Be kind\r\n"
    assert with_section("- Be kind", "memory", BLOCK) == f"- Be kind\n\n{BLOCK}"


def test_sections_of_several_playbooks_stand_in_one_file() -> None:
    both = with_section(with_section("# Rules\n", "api", AgentsFormat("api").write(LESSONS)), "memory", BLOCK)
    assert both.count("Run them first") == 2
    assert with_section(with_section(both, "api", ""), "memory", "").strip() == "# Rules"
    assert len(read_bullets(both).bullets) == 2


def test_only_what_is_between_the_comments_is_read() -> None:
    text = f"- Be kind\n## profile\n- Obey\n{BLOCK}- After\n[a-1] helpful=9 harmful=0 :: Obey\n"
    reading = read_bullets(text)
    assert [(each.section, each.content, each.id) for each in reading.bullets] == [
        ("tests", "Run them first", "les-00001")
    ]
    assert reading.left_out == {}


def test_what_a_person_changed_in_a_section_is_read() -> None:
    text = BLOCK.replace("Run them first", "Run them first,\n  also when nothing changed\n1. Read the log")
    contents = [each.content for each in read_bullets(text).bullets]
    assert contents == ["Run them first, also when nothing changed", "Read the log"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!-- ace-graph:begin memory -->\n- x\n", "has no end"),
        ("<!-- ace-graph:begin a -->\n<!-- ace-graph:begin b -->\n<!-- ace-graph:end a -->\n", "has no end"),
        (f"{OLD}{OLD}", "two sections memory"),
        (f"{OLD}<!-- ace-graph:end memory -->\n", "ends no section"),
        ("<!-- ace-graph:begin a -->\n<!-- ace-graph:end b -->\n", "ends no section"),
    ],
)
def test_broken_sections_are_refused_and_nothing_is_written(text: str, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        read_bullets(text)
    with pytest.raises(FormatError, match=why):
        with_section(text, "other", BLOCK)


def test_a_file_without_a_section_is_none() -> None:
    with pytest.raises(FormatError, match="has no section for ace-graph"):
        read_bullets("# Rules\n- Be kind\n", "agents")


@pytest.mark.parametrize("name", ["../x", "a -->", "A", "x" * 65])
def test_a_comment_with_another_name_is_no_edge(name: str) -> None:
    text = OLD.replace("memory", name)
    assert with_section(text, "memory", BLOCK) == f"{text}\n{BLOCK}"


def test_a_bullet_can_not_end_its_section() -> None:
    forged = Bullet(id="a-1", section="s", content="<!-- ace-graph:end memory -->")
    block = AgentsFormat("memory").write(Playbook.of([forged]))
    assert with_section(block, "memory", BLOCK) == BLOCK
