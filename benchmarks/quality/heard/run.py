"""What learners say of themselves: speaks one half of the messages to a memory and writes RESULTS_HEARD.md.

`wishes.toml` has standing instructions, and messages that only look like one; `asides.toml` has longer ones,
which say an instruction or a preference beside a question, `later.toml` more of them; `changes.toml` has
dialogues in which a fact changes. Rules read them all. Facts that rules leave to a reflector are quoted by
one that copies every message which asks nothing, and says no more of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path

from langchain_core.embeddings import Embeddings

from ace_graph import playbooks
from ace_graph.agent.context import ACEContext
from ace_graph.base.settings import Settings
from ace_graph.hosts.functions import build_memory, learn, recall
from ace_graph.memory.stores.store import Store
from ace_graph.stores import open_store
from ace_graph.testing import ScriptedModel
from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.duplicates.tables import table

__all__ = [
    "RESULTS",
    "Change",
    "Harmless",
    "Heard",
    "Wish",
    "hear_asides",
    "hear_changes",
    "hear_wishes",
    "report",
]

RESULTS = Path(__file__).parents[1] / "RESULTS_HEARD.md"
_DATA = Path(__file__).parent / "data"
_YEAR = 2026
_LINE = re.compile(r"^\d+\. \[[\w-]+\] .*$", re.MULTILINE)
_ASIDE = re.compile(r" \((?:[^()]|\([^()]*\))*\)$")
_PAST = "(was true"


@dataclass(frozen=True)
class Wish:
    """An instruction or a preference: what is said, what is kept of it, and where a prompt holds it."""

    language: str
    message: str
    kept: str
    later: str
    earlier: str = ""
    without: str = ""
    gone: str = ""
    elsewhere: str = ""
    when: str = ""
    kind: str = "instruction"


@dataclass(frozen=True)
class Harmless:
    """A message of which nothing is kept."""

    language: str
    message: str


@dataclass(frozen=True)
class Change:
    """A dialogue in which a fact changes, and what a prompt says of it today."""

    language: str
    said: tuple[tuple[date, str], ...]
    asked: date
    question: str
    now: str
    old: str
    as_of: date
    then: str
    since: str = ""


@dataclass(frozen=True)
class Heard:
    """What went wrong with a message or dialogue, by what was looked at; {} where nothing did."""

    text: str
    wrong: dict[str, str] = field(default_factory=dict[str, str])
    looked_at: frozenset[str] = frozenset()


def read_wishes(part: Part, name: str = "wishes") -> tuple[list[Wish], list[Harmless]]:
    """Return the instructions and preferences of one half, and the messages that are none."""
    text = tomllib.loads((_DATA / part / f"{name}.toml").read_text("utf-8"))
    return [Wish(**each) for each in text["wish"]], [Harmless(**each) for each in text["harmless"]]


def read_changes(part: Part) -> list[Change]:
    """Return the dialogues of one half."""
    found = list[Change]()
    for each in tomllib.loads((_DATA / part / "changes.toml").read_text("utf-8"))["dialogue"]:
        said = tuple((_day(day), text) for day, text in each.pop("said"))
        days = {name: _day(each.pop(name)) for name in ("asked", "as_of")}
        found.append(Change(said=said, **days, **each))
    return found


def _day(text: str) -> date:
    return date.fromisoformat(f"{_YEAR}-{text}")


class _Learner:
    """A learner with an empty memory, who speaks on given days, each time in a new conversation."""

    def __init__(self, store: Store, *, quotes: bool) -> None:
        self._store, self._quotes = store, quotes
        self._today = date(_YEAR, 1, 1)

    def _clock(self) -> datetime:
        return datetime.combine(self._today, time(12), UTC)

    async def say(self, message: str, on: date | None = None) -> str:
        """Return the prompt's part of a turn with this message, which is learned from."""
        self._today = on or self._today
        facts = [{"quote": each} for each in _quoted(message)] if self._quotes else []
        model = ScriptedModel(reflector=[json.dumps({"lessons": [], "learner_facts": facts})] * 4)
        memory = build_memory(
            self._store, model=model, clock=self._clock, settings=Settings(sensitive_facts="keep")
        )
        context = ACEContext(learner_id="ada", reflect_when="always" if facts else "never")
        recalled = await recall(memory, message, context)
        done = await learn(memory, recalled, "So be it.")
        if done["error"]:
            raise RuntimeError(f"nothing was learned of {message!r}: {done['error']}")
        return recalled.text

    async def known(self, as_of: date | None = None) -> list[str]:
        """Return what is known, or was at the end of a day, without what is held back."""
        handle = await playbooks.open_playbook(self._store, "default", "ada")
        held = await (handle.load_as_of(as_of) if as_of is not None else handle.load())
        return [bullet.content for bullet in held.playbook.bullets() if bullet.status == "active"]


def _quoted(message: str) -> list[str]:
    return [] if message.endswith("?") else [message]


async def hear_wish(wish: Wish) -> Heard:
    """Say an instruction, then ask about other things."""
    wrong, looked_at = dict[str, str](), {"kept", "shown"}
    async with open_store("memory://") as store:
        learner = _Learner(store, quotes=False)
        if wish.earlier:
            await learner.say(wish.earlier)
        before = await learner.known()
        await learner.say(wish.message)
        known = await learner.known()
        new = " / ".join(each for each in known if each not in before)
        if wish.kept.lower() not in new.lower() or (wish.without and wish.without in new):
            wrong["kept"] = new or "nothing"
        if wish.when:
            looked_at.add("with its condition")
            if wish.when.lower() not in new.lower():
                wrong["with its condition"] = new or "nothing"
        prompt = await learner.say(wish.later)
        if wish.kept.lower() not in prompt.lower():
            wrong["shown"] = wish.later
        if wish.gone:
            looked_at.add("withdrawn")
            if wish.gone in prompt or not any(wish.gone in each for each in before):
                wrong["withdrawn"] = " / ".join((*before, *known))
        if wish.elsewhere:
            looked_at.add("only where it holds")
            if wish.kept.lower() in (await learner.say(wish.elsewhere)).lower():
                wrong["only where it holds"] = wish.elsewhere
    return Heard(wish.message, wrong, frozenset(looked_at))


async def hear_harmless(harmless: Harmless) -> Heard:
    """Say a message of which nothing is to be kept."""
    async with open_store("memory://") as store:
        learner = _Learner(store, quotes=False)
        await learner.say(harmless.message)
        known = await learner.known()
    wrong = {"nothing kept": " / ".join(known)} if known else {}
    return Heard(harmless.message, wrong, frozenset({"nothing kept"}))


async def hear_change(change: Change, *, quotes: bool) -> Heard:
    """Say the messages of a dialogue on their days, and ask."""
    wrong, looked_at = dict[str, str](), {"now", "nothing outdated", "as of"}
    async with open_store("memory://") as store:
        learner = _Learner(store, quotes=quotes)
        for day, message in change.said:
            await learner.say(message, day)
        prompt = await learner.say(change.question, change.asked)
        lines = _LINE.findall(prompt)
        heads = [_ASIDE.sub("", line) for line in lines if _PAST not in line]
        told = " / ".join(lines) or "nothing"
        if not any(_holds(head, change.now) for head in heads):
            wrong["now"] = told
        if any(_holds(head, change.old) for head in heads):
            wrong["nothing outdated"] = told
        if change.since:
            looked_at.add("since when")
            if f"since {change.since}" not in prompt:
                wrong["since when"] = told
        known = await learner.known(change.as_of)
        later = " ".join(text for day, text in change.said if day > change.as_of)
        said_later = any(each.removeprefix("Learner says: ") in later for each in known)
        if said_later or not any(_holds(each, change.then) for each in known):
            wrong["as of"] = " / ".join(known) or "nothing"
    return Heard(" ".join(text for _, text in change.said), wrong, frozenset(looked_at))


def _holds(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


def hear_wishes(part: Part) -> tuple[list[Heard], list[Heard]]:
    """Return what was heard of the instructions of one half, and of the messages that are none."""
    return asyncio.run(_hear(*read_wishes(part)))


def hear_asides(part: Part, name: str = "asides") -> tuple[list[Heard], list[Heard], list[Heard]]:
    """Return what was heard beside questions: instructions, preferences, and messages that have neither."""
    wishes, harmless = read_wishes(part, name)

    async def heard() -> tuple[list[Heard], list[Heard], list[Heard]]:
        instructions, none = await _hear([each for each in wishes if each.kind == "instruction"], harmless)
        preferences, _ = await _hear([each for each in wishes if each.kind == "preference"], [])
        return instructions, preferences, none

    return asyncio.run(heard())


async def _hear(wishes: Iterable[Wish], harmless: Iterable[Harmless]) -> tuple[list[Heard], list[Heard]]:
    return [await hear_wish(each) for each in wishes], [await hear_harmless(each) for each in harmless]


def hear_changes(part: Part, *, quotes: bool) -> list[Heard]:
    """Return what was heard of the dialogues of one half; `quotes`: a reflector copies what is said."""

    async def heard() -> list[Heard]:
        return [await hear_change(each, quotes=quotes) for each in read_changes(part)]

    return asyncio.run(heard())


def report(part: Part, embeddings: Embeddings | None = None) -> str:
    """Return the figures of one half in Markdown, and all that went wrong."""
    wishes, harmless = hear_wishes(part)
    instructions, preferences, without = hear_asides(part)
    names = ("instructions, written later", "preferences, written later", "look like one, written later")
    later = dict(zip(names, hear_asides(part, "later"), strict=True)) if part == "held-out" else {}
    by_rules, quoted = (hear_changes(part, quotes=each) for each in (False, True))
    rows = {
        "standing instructions": wishes,
        "messages that look like one": harmless,
        "standing instructions beside a question": instructions,
        "preferences beside a question": preferences,
        "messages with a question that look like one": without,
        **later,
        "facts that change, by rules alone": by_rules,
        "facts that change, with a reflector that quotes": quoted,
    }
    figures = [[name, *_figures(found)] for name, found in rows.items()]
    wrong = [f"- {each.text}: {_told(each)}" for found in rows.values() for each in found if each.wrong]
    return "\n\n".join((table("Right, of all", ("messages", "all of it", "each"), figures), "\n".join(wrong)))


def _figures(found: Sequence[Heard]) -> tuple[str, str]:
    names = sorted(frozenset[str]().union(*(each.looked_at for each in found)))
    right = sum(not each.wrong for each in found)
    return f"{right} of {len(found)}", ", ".join(f"{name} {count(found, name)}" for name in names)


def count(found: Iterable[Heard], name: str) -> str:
    """Return how many were right where this was looked at: "9 of 10"."""
    looked = [each for each in found if name in each.looked_at]
    return f"{sum(name not in each.wrong for each in looked)} of {len(looked)}"


def _told(heard: Heard) -> str:
    return "; ".join(f"{name}: {what}" for name, what in heard.wrong.items())
