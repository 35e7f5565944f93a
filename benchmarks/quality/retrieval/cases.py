"""The playbooks and their questions, as hand-written files and as sets made of a foreign playbook.

A line of a learner's file is `- bullet`, `? question` about the bullet before it (`?2` about the two before
it), or `0 question` that no bullet of the learner is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from ace_graph.base.errors import FormatError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.classify import infer_memory_type, infer_topic
from ace_graph.memory.formats.registry import as_playbook, read_playbook
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import content_words

__all__ = ["LEARNERS", "Case", "Question", "foreign_cases", "read_case", "read_cases", "united"]

LEARNERS = Path(__file__).parent / "learners"
START = datetime(2026, 1, 1, tzinfo=UTC)
FOREIGN = ("german", "french", "spanish", "chinese")
_CHATTY_WORDS = 22
_MOST_FOREIGN = 150
_SMALLEST_PLAYBOOK = 50
_LINE = re.compile(r"(-|\?[0-9]*|0) (.+)")
_CHAT = (
    "Hi, I have been at this since this morning and can't see the wood for the trees. It is about {}. "
    "Could you tell me what I should pay attention to before I go on?",
    "Okay, so here is the thing. My colleague asked me for help with {} and I promised to have a look today. "
    "What do we know about that?",
    "Sorry to bother you again! I started with {} and it isn't going anywhere. What would you do next?",
)


@dataclass(frozen=True)
class Question:
    """A question and the ids of the bullets that answer it, none where there are none.

    `foreign` is one in another language than English.
    """

    text: str
    relevant: frozenset[str]
    foreign: bool = False

    @property
    def chatty(self) -> bool:
        """Whether most of its words are about something else."""
        return len(self.text.split()) >= _CHATTY_WORDS


@dataclass(frozen=True)
class Case:
    """One learner's playbook and questions."""

    name: str
    playbook: Playbook
    questions: tuple[Question, ...]


def read_cases() -> list[Case]:
    """Return the hand-written cases. Raises ValueError for a line that is none."""
    return [read_case(file) for file in sorted(LEARNERS.glob("*.txt"))]


def read_case(file: Path) -> Case:
    """Return the case of one file."""
    bullets: list[Bullet] = []
    questions: list[Question] = []
    for line in file.read_text("utf-8").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{file.name}: neither a bullet nor a question: {line!r}")
        mark, text = match[1], match[2]
        if mark == "-":
            bullets.append(_bullet(text, len(bullets) + 1))
        else:
            about = 0 if mark == "0" else int(mark[1:] or "1")
            relevant = frozenset(b.id for b in bullets[len(bullets) - about :])
            questions.append(Question(text, relevant, file.stem.startswith(FOREIGN)))
    return Case(file.stem, Playbook.of(bullets), tuple(questions))


def united(cases: Sequence[Case]) -> Case:
    """Return one learner with the bullets of all, and the questions that have an answer."""
    bullets: list[Bullet] = []
    questions: list[Question] = []
    for case in cases:
        start = len(bullets)
        renamed = {b.id: f"str-{n:05d}" for n, b in enumerate(case.playbook.bullets(), start + 1)}
        bullets.extend(b.model_copy(update={"id": renamed[b.id]}) for b in case.playbook.bullets())
        questions.extend(
            replace(question, relevant=frozenset(renamed[key] for key in question.relevant))
            for question in case.questions
            if question.relevant
        )
    return Case("all", Playbook.of(bullets), tuple(questions))


def foreign_cases(folder: Path) -> list[Case]:
    """Return a case for each larger playbook in `folder`, in any format that can be read.

    Its questions are made of words of a bullet, as a few of them and wrapped in talk; those with nothing to
    find are the hand-written ones of all learners that write English.
    """
    nothing = [
        question
        for case in read_cases()
        for question in case.questions
        if not question.foreign and not question.relevant
    ]
    found = [(file.name, _playbook(file)) for file in sorted(folder.iterdir()) if file.is_file()]
    return [
        Case(name, playbook, (*_asked(playbook), *nothing))
        for name, playbook in found
        if playbook is not None and len(playbook.entries) >= _SMALLEST_PLAYBOOK
    ]


def _bullet(text: str, number: int) -> Bullet:
    return Bullet(
        id=f"str-{number:05d}",
        section="strategies",
        content=text,
        topic=infer_topic(text),
        memory_type=infer_memory_type(text),
        created_at=START,
        updated_at=START,
    )


def _playbook(file: Path) -> Playbook | None:
    try:
        return as_playbook(read_playbook(file.read_text("utf-8")))
    except (FormatError, UnicodeDecodeError):
        return None  # the folder may hold files of other kinds


def _asked(playbook: Playbook) -> Iterator[Question]:
    """Yield for some bullets five of their words as a question, and the same words within talk."""
    bullets = playbook.bullets()
    for bullet in bullets[:: max(1, len(bullets) // _MOST_FOREIGN)]:
        words = _drawn(list(content_words(bullet.content).values()), bullet.content)
        same = frozenset(b.id for b in bullets if b.content_hash == bullet.content_hash)
        if words:
            asked = " ".join(words)
            yield Question(asked, same)
            yield Question(_CHAT[_number(asked) % len(_CHAT)].format(asked), same)


def _drawn(words: Sequence[str], seed: str) -> list[str]:
    """Return five of the words, chosen by a hash, in their order."""
    chosen = set(sorted(words, key=lambda word: _number(seed + word))[:5])
    return [word for word in words if word in chosen]


def _number(text: str) -> int:
    return int(sha256(text.encode()).hexdigest()[:12], 16)
