"""The labels that a playbook uses already (topics, concepts, tags), and which of them a new text is about.

A text is about a label if it has all words of it: "Run the unit tests first" about `unit_tests`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.search.tokenize import language_and_terms, terms

_MOST_TAGS = 5


@dataclass(frozen=True)
class Vocabulary:
    """Each label once, the most used first."""

    topics: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def topic_of(self, text: str) -> str | None:
        """Return the topic with the most words that a text has all words of, None where there is none."""
        return next(iter(_about(self.topics, text)), None)

    def concept_of(self, text: str) -> str | None:
        """Return the concept with the most words that a text has all words of, None where there is none."""
        return next(iter(_about(self.concepts, text)), None)

    def tags_of(self, text: str) -> tuple[str, ...]:
        """Return at most five tags that a text has all words of, those of the most words first."""
        return tuple(_about(self.tags, text)[:_MOST_TAGS])


NO_LABELS = Vocabulary()


def vocabulary_of(bullets: Iterable[Bullet]) -> Vocabulary:
    """Return the labels of the bullets that prompts may show and that are no part of a profile."""
    shown = [bullet for bullet in bullets if bullet.status == "active" and not bullet.profile]
    return Vocabulary(
        _by_use(bullet.topic for bullet in shown),
        _by_use(bullet.concept for bullet in shown),
        _by_use(tag for bullet in shown for tag in bullet.tags),
    )


def _by_use(labels: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(label for label, _ in Counter(filter(None, labels)).most_common())


def _about(labels: Sequence[str], text: str) -> list[str]:
    language, found = language_and_terms(text)
    said = frozenset(found)
    words = {label: frozenset(terms(label.replace("_", " "), language)) for label in labels}
    fitting = [label for label in labels if words[label] and words[label] <= said]
    return sorted(fitting, key=lambda label: -len(words[label]))
