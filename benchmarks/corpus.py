"""Bullets, questions and lessons as a tutor's memory would hold them; the same for the same seed.

Words follow Zipf's law: a few terms are in one bullet of five, most are in one or two bullets. Texts have
25 to 500 characters, 180 on average; 10,000 of them hold about 3,200 different terms.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import TypeVar

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.playbook import mint_id
from benchmarks.words import CLAUSES, FACTS, FIELDS, FRAMES, LEARNERS, QUESTIONS, SYLLABLES, VERBS, Field

__all__ = ["START", "bullets", "lessons", "questions", "with_facts"]

START = datetime(2026, 1, 1, 8, tzinfo=UTC)
"""When the first bullet was learned."""

T = TypeVar("T")
_FACT_EVERY = 20
_RARE_NAMES = 12_000
_FLATTENED = 2.7
"""How much less frequent than Zipf's law says the first words are; 2.7 fits English."""

_MEMORY_TYPES: tuple[MemoryType, ...] = ("semantic", "procedural", "episodic")
_SECTIONS = ("strategies", "lessons", "mistakes", "facts", "examples")
_PROFILE = (
    ("profile", "The learner's name is Mina", "name"),
    ("preferences", "Prefers pictures and number lines to rules", None),
    ("preferences", "Wants short answers with one example", None),
    ("misconceptions", "Mixes up numerator and denominator when in a hurry", None),
    ("profile", "Prepares for the mathematics exam in June", None),
    ("profile", "Has a sister who studies chemistry", None),
)


class _Writer:
    """Fills sentence frames with words drawn by Zipf's law."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._weights: dict[int, list[float]] = {}

    def pick(self, ranked: Sequence[T]) -> T:
        """Draw one; the further behind, the less often (Zipf's law in Mandelbrot's form)."""
        size = len(ranked)
        weights = self._weights.get(size)
        if weights is None:
            weights = self._weights[size] = list(
                accumulate(1 / (rank + _FLATTENED) for rank in range(1, size + 1))
            )
        return ranked[min(size - 1, bisect(weights, self.random.random() * weights[-1]))]

    def fill(self, frame: str, field: Field) -> str:
        things = [self.pick(field.things) for _ in range(3)]
        verbs = [self.pick(VERBS) for _ in range(3)]
        return frame.format(
            **dict(zip(("thing", "thing2", "thing3"), things, strict=True)),
            **dict(zip(("verb", "verb2", "verb3"), verbs, strict=True)),
            quality=self.pick(field.qualities),
            who=self.pick(LEARNERS),
            number=self.random.choice((2, 3, 4, 5, 6, 8, 10, 12, 25, 40, 144)),
            rare=self.rare(),
            rare2=self.rare(),
            code=f"{self.pick(VERBS)}_{self.pick(field.things)}()",
        )

    def rare(self) -> str:
        """A proper name of two or three syllables, one of some thousands."""
        name = Random(self.pick(range(_RARE_NAMES)))
        return "".join(name.choices(SYLLABLES, k=name.choice((2, 3, 3, 4)))).capitalize()

    def text(self, field: Field) -> str:
        """A bullet's text: a sentence, often with a clause behind it, sometimes followed by more."""
        sentences: list[str] = []
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3))):
            parts = [self.random.choice(FRAMES)]
            parts += self.random.sample(CLAUSES, k=self.random.choice((0, 0, 1, 1, 2)))
            sentences.append(", ".join(self.fill(part, field) for part in parts))
        return ". ".join(sentences) + "."


def bullets(count: int, seed: int = 1) -> tuple[Bullet, ...]:
    """Return `count` bullets, no two with the same text; the first six are the learner's profile."""
    writer = _Writer(seed)
    made = [_profile(n, *part) for n, part in enumerate(_PROFILE[:count], 1)]
    seen: set[str] = set()
    while len(made) < count:
        field = writer.pick(FIELDS)
        text = writer.text(field)
        if text not in seen:
            seen.add(text)
            made.append(_learned(len(made) + 1, text, field, writer))
    return tuple(made)


def _profile(number: int, section: str, content: str, slot: str | None) -> Bullet:
    at = START + timedelta(minutes=number)
    return Bullet(
        id=mint_id(section, number), section=section, content=content, slot=slot, created_at=at, updated_at=at
    )


def _learned(number: int, text: str, field: Field, writer: _Writer) -> Bullet:
    at, section = START + timedelta(minutes=number), writer.pick(_SECTIONS)
    used = writer.random.choice((0, 0, 1, 2, 5))
    return Bullet(
        id=mint_id(section, number),
        section=section,
        content=text,
        helpful=used,
        harmful=writer.random.choice((0, 0, 0, 1)) if used > 1 else 0,
        memory_type=writer.pick(_MEMORY_TYPES),
        topic=writer.random.choice((field.topic, field.topic, None)),
        tags=(field.things[0],) if used else (),
        sources=(f"{writer.random.getrandbits(128):032x}",),
        created_at=at,
        updated_at=at,
    )


def with_facts(count: int, seed: int) -> tuple[Bullet, ...]:
    """Return bullets of which one in twenty is a fact about somebody, in one of seven languages."""
    writer = _Writer(seed)
    found = list(bullets(count, seed))
    for n, place in enumerate(range(_FACT_EVERY - 1, count, _FACT_EVERY)):
        fact = FACTS[n % len(FACTS)].format(writer.rare(), writer.rare())
        found[place] = found[place].model_copy(update={"content": fact})
    return tuple(found)


def questions(count: int, seed: int = 2) -> tuple[str, ...]:
    """Return `count` questions about what the bullets are about, in other words than theirs."""
    writer = _Writer(seed)
    return tuple(writer.fill(writer.random.choice(QUESTIONS), writer.pick(FIELDS)) for _ in range(count))


def lessons(count: int, seed: int = 3) -> tuple[str, ...]:
    """Return `count` new texts, each with a name that no other text has."""
    writer = _Writer(seed)
    return tuple(
        f"{writer.text(writer.pick(FIELDS))} See note {_letters(n)} by {writer.rare()}." for n in range(count)
    )


def _letters(number: int) -> str:
    """The number as a word: 0 is xa, 1 is xb, 26 is xba."""
    digits = chr(97 + number % 26)
    while number := number // 26:
        digits = chr(97 + number % 26) + digits
    return f"x{digits}"
