"""`playbook search --explain`: why a question gets a bullet, and why it does not get another one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from ace_graph import open_store
from ace_graph.base import utc_now
from ace_graph.memory import Add, Delta
from tests.cli.commands import Commands

PLACE, DOUGH, CHOIR = (
    "The learner has a flat by the river",
    "Der Sauerteig braucht zwei Tage",
    "The learner sings in a choir",
)
REGATTA, DRESS = "The regatta of the cousin is in Bergen", "The dress is borrowed"
EVENTS = ("The christening was loud", "The wedding was wet", "The funeral was in May")


@pytest.fixture
def told(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """A memory of bullets that came from turns, searched by words alone."""
    monkeypatch.setenv("ACE_EMBEDDINGS", "off")
    adds = [
        Add(content=PLACE, source_text="I rent a flat from a landlord", turn_id="t1"),
        Add(content=REGATTA, turn_id="t2", conversation_id="c"),
        Add(content=DRESS, turn_id="t2", conversation_id="c"),
        *(Add(content=text) for text in (DOUGH, CHOIR, *EVENTS)),
    ]

    async def commit() -> None:
        async with open_store(f"sqlite:///{ace.database}") as store:
            delta = Delta(op_id="told", now=utc_now(), operations=tuple(adds))
            await store.commit("local", delta, await store.load("local"))

    asyncio.run(commit())
    return ace


def _explained(ace: Commands, question: str, *more: str) -> Mapping[str, Mapping[str, Any]]:
    done = ace.ok("playbook", "search", question, "--explain", "--json", *more)
    return {bullet["content"]: bullet for bullet in done.json["bullets"]}


def test_a_line_is_found_by_a_source_word_a_neighbour_or_a_compound_alone(told: Commands) -> None:
    landlord = _explained(told, "Who is my landlord?")
    assert landlord[PLACE]["why"] == {"kind": "retrieved", "source_words": ["landlord"]}
    assert landlord[CHOIR]["why"] == {"kind": "no shared word"}
    events = _explained(told, "Was the regatta of the cousin in Oslo?")
    assert events[REGATTA]["why"] == {"kind": "retrieved", "words": ["regatta", "cousin"]}
    assert events[DRESS]["why"] == {"kind": "retrieved", "neighbour": events[REGATTA]["id"]}
    dough = _explained(told, "Was ist mit dem Teig?")
    assert dough[DOUGH]["why"] == {"kind": "retrieved", "compounds": {"teig": "sauerteig"}}
    for found, lines in ((landlord, [PLACE]), (dough, [DOUGH])):
        assert [content for content, bullet in found.items() if bullet["shown"]] == lines


def test_people_read_the_reason_in_plain_words(told: Commands) -> None:
    done = told.ok("playbook", "search", "Who is my landlord?", "--explain")
    name = next(bullet["id"] for bullet in told.bullets() if bullet["content"] == PLACE)
    assert done.out == f"[{name}] shown: its turn had landlord: {PLACE}\n"
    assert done.err.startswith("7 more bullets: no word shared")
    other = next(bullet["id"] for bullet in told.bullets() if bullet["content"] == CHOIR)
    done = told.ok("playbook", "search", "Who is my landlord?", "--explain", "--id", other)
    assert done.out == f"[{other}] not shown: shares no word with the question: {CHOIR}\n"


def test_a_wrong_use_is_an_error_that_says_what_to_do(told: Commands) -> None:
    for more, hint in (
        (("--explain", "--id", "gone-1"), "playbook show lists the ids"),
        (("--explain", "--tag", "exam"), "does not filter by tag"),
        (("--id", "gone-1"), "--id needs --explain"),
    ):
        done = told("playbook", "search", "river", *more)
        assert done.code != 0
        assert hint in done.err
