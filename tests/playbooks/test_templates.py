"""The playbooks that come with the package are read by our own importers and say nothing twice."""

from __future__ import annotations

import itertools
from importlib.resources import files

import pytest

from ace_graph import playbooks
from ace_graph.base import UsageError, utc_now
from ace_graph.learning import is_platitude
from ace_graph.memory import Access, Policy
from ace_graph.memory.formats import as_playbook, read_bullets
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks import TEMPLATES, template


def _file(name: str) -> str:
    return files("ace_graph.playbooks").joinpath("data", f"{name}.json").read_text(encoding="utf-8")


def test_every_file_is_a_template() -> None:
    folder = files("ace_graph.playbooks").joinpath("data")
    assert sorted(each.name for each in folder.iterdir()) == sorted(f"{name}.json" for name in TEMPLATES)


def test_an_unknown_template_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="api_client, data_analysis or tutoring"):
        template("cooking")


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_read_by_the_importer_without_loss(name: str) -> None:
    reading = read_bullets(_file(name), "auto")
    assert (reading.refused, set(reading.left_out)) == ((), {"description"})
    assert reading.bullets == template(name).bullets
    assert 15 <= len(reading.bullets) <= 25
    assert {each.polarity for each in reading.bullets} == {"strategy", "anti_pattern", "observation"}
    assert all(40 <= len(each.content) <= 160 for each in reading.bullets), "one sentence each"


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_line_of_a_template_is_suspicious_or_empty(name: str) -> None:
    texts = [each.content for each in template(name).bullets]
    assert [(text, screen(text)) for text in texts if screen(text) is not None] == []
    assert [text for text in texts if is_platitude(text)] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_two_lines_of_a_template_repeat_or_contradict(name: str) -> None:
    bullets = as_playbook(read_bullets(_file(name), "auto")).bullets()
    pairs = list(itertools.combinations(bullets, 2))
    found = {(a.id, b.id): compare(a, b, Policy().similarity) for a, b in pairs}
    assert [names for names, each in found.items() if each.outcome != "different"] == []


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_playbook_from_a_template_holds_all_of_it(name: str) -> None:
    async with SQLiteStore() as store:
        await playbooks.create(store, "new", template(name).bullets, owner="ada")
        held = (await playbooks.get_playbook(store, "new", "ada")).playbook.bullets()
    assert {each.content for each in held} == {each.content for each in template(name).bullets}
    assert [each.id for each in held if each.status != "active" or each.core] == []


@pytest.mark.parametrize(
    ("name", "question", "wanted"),
    [
        ("api_client", "Our POST timed out, may I repeat it?", "idempotency key"),
        ("api_client", "The list is empty, was that the last page?", "missing cursor"),
        ("data_analysis", "Why does the table have more rows after the join?", "not unique"),
        ("data_analysis", "How do I deal with this outlier?", "Trace an outlier"),
        ("tutoring", "How should I show worked examples to a beginner?", "Worked examples"),
        ("tutoring", "The pupil gives a wrong answer, what mistakes are behind it?", "wrong answer right"),
    ],
)
def test_a_question_finds_its_line(name: str, question: str, wanted: str) -> None:
    playbook = as_playbook(read_bullets(_file(name), "auto"))
    found = retrieve(question, playbook, Access(), Policy(), now=utc_now())
    assert wanted in " ".join(scored.bullet.content for scored in found.retrieved[:3])
    assert not retrieve("Hello!", playbook, Access(), Policy(), now=utc_now()).retrieved
