"""One conversation as it is written in `data`, and the memory that its facts make.

A line of a file is `turn`, `fact` or a kind of question, an id, and a text, separated by tabs. A turn's id is
session.number, `2.7`; a fact has the id of the turn that it was extracted from and a letter, `2.7a`. In place
of an id a question has those of the facts that answer it, its evidence, or `-`:

- `ask` paraphrases one fact, `cross` needs all of several;
- `absent` asks the same people for something that nobody said;
- `other` is the question of somebody else, which has nothing to do with the conversation.

The name of a file begins with its language, and its hash says which half it is of (`part_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal, get_args

from ace_graph.memory.commit import plan
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from benchmarks.quality.duplicates.pairs import Part, part_of
from benchmarks.quality.retrieval.cases import Case, Question

__all__ = [
    "DATA",
    "Asked",
    "Conversation",
    "Fact",
    "Kind",
    "Turn",
    "as_case",
    "read_conversation",
    "read_half",
]

DATA = Path(__file__).parent / "data"
Kind = Literal["ask", "cross", "absent", "other"]
_START = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Turn:
    """What one person said; the part of the id before the point is the session."""

    id: str
    text: str


@dataclass(frozen=True)
class Fact:
    """A line that was extracted from a turn."""

    id: str
    text: str

    @property
    def turn(self) -> str:
        """The id of the turn."""
        return self.id[:-1]


@dataclass(frozen=True)
class Asked:
    """A question and the ids of the facts that answer it."""

    kind: Kind
    evidence: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Conversation:
    """A conversation of two people over several sessions."""

    name: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Asked, ...]

    @property
    def language(self) -> str:
        """The language of all of it."""
        return self.name.partition("_")[0]

    @property
    def part(self) -> Part:
        """The half that it is of."""
        return part_of(self.name)


def read_half(part: Part, folder: Path = DATA) -> list[Conversation]:
    """Return the conversations of one half; the files of the other are not opened."""
    return [read_conversation(file) for file in sorted(folder.glob("*.tsv")) if part_of(file.stem) == part]


def read_conversation(file: Path) -> Conversation:
    """Return the conversation of a file. Raises ValueError for a line that is none of the kinds."""
    turns, facts, questions = list[Turn](), list[Fact](), list[Asked]()
    for line in file.read_text("utf-8").splitlines():
        match line.split("\t"):
            case ["turn", key, text]:
                turns.append(Turn(key, text))
            case ["fact", key, text]:
                facts.append(Fact(key, text))
            case ["ask" | "cross" | "absent" | "other" as kind, "-", text]:
                questions.append(Asked(kind, (), text))
            case ["ask" | "cross" | "absent" | "other" as kind, evidence, text]:
                questions.append(Asked(kind, tuple(evidence.split(",")), text))
            case _:
                raise ValueError(
                    f"{file.name}: neither turn nor fact nor one of {get_args(Kind)}, each with an id and a "
                    f"text after tabs: {line!r}"
                )
    return Conversation(file.stem, tuple(turns), tuple(facts), tuple(questions))


def as_case(conversation: Conversation, *, turns: bool = False) -> Case:
    """Return the playbook of a learner who had this conversation, and the questions about its bullets.

    The bullets are the facts, one commit a turn as the graph makes it, or the `turns` as they were said. Each
    names its turn, and the session as the conversation; the words are those of the turn.
    """
    said = {turn.id: turn.text for turn in conversation.turns}
    texts = [(fact.id, fact.turn, fact.text) for fact in conversation.facts]
    if turns:
        texts = [(turn.id, turn.id, turn.text) for turn in conversation.turns]
    snapshot = Snapshot()
    for number, (turn, group) in enumerate(groupby(texts, key=lambda text: text[1])):
        adds = tuple(_add(key, text, turn, said[turn]) for key, _, text in group)
        delta = Delta(op_id=turn, now=_START + timedelta(hours=number), operations=adds)
        snapshot = plan(snapshot, delta, Policy(), None, lambda: "token").snapshot
    ids = {bullet.content: bullet.id for bullet in snapshot.playbook.bullets()}
    # A fact that was merged into another, or refused, can't be found: its own id stays as evidence.
    stored = {key: ids.get(text, key) for key, _, text in texts}
    foreign = conversation.language != "english"
    questions = [
        Question(asked.text, frozenset(stored[_place(key, turns=turns)] for key in asked.evidence), foreign)
        for asked in conversation.questions
    ]
    return Case(conversation.name, snapshot.playbook, tuple(questions))


def _add(key: str, text: str, turn: str, said: str) -> Add:
    session = turn.partition(".")[0]
    return Add(content=text, ref=key, source_text=said, turn_id=turn, conversation_id=session)


def _place(fact: str, *, turns: bool) -> str:
    return fact[:-1] if turns else fact
