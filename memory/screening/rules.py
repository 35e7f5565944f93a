"""Rules of the screening: read from TOML tables, and matched with what excuses a match.

A rule has words of which a text must hold one, a pattern, and what excuses a match. All of them are folded as
the readings of a text are (`disguise.folded`), so that a file may be written with accents. A pattern is
compiled when a text first holds one of the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import cast

from ace_graph.memory.screening.disguise import folded
from ace_graph.tables import read_toml

__all__ = ["Rule", "Rules", "first_kind", "patterns_of", "read_rules", "rules_in"]

_PACKAGE = "ace_graph.memory.screening"
_CONTEXT = 60
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_PART = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Rule:
    """What kind of danger it is, what a text must hold one of, and the texts of the patterns.

    `before` is looked for at the end of what stands before a match, `after` at the start of what follows it:
    either excuses the match. `beside` must stand in the same sentence, in whatever order, and `unless_beside`
    must not: so a rule names what a sentence speaks of, not how it says it. "" stands for no pattern.
    """

    kind: str
    needs: tuple[str, ...]
    text: str
    before: str = ""
    after: str = ""
    beside_text: str = ""
    unless_beside_text: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the rule looks for."""
        return re.compile(self.text)

    @cached_property
    def unless_before(self) -> re.Pattern[str] | None:
        """What excuses a match that it stands before."""
        return re.compile(rf"(?:{self.before})$") if self.before else None

    @cached_property
    def unless_after(self) -> re.Pattern[str] | None:
        """What excuses a match that it follows."""
        return re.compile(self.after) if self.after else None

    @cached_property
    def beside(self) -> re.Pattern[str] | None:
        """What must stand in the same sentence."""
        return re.compile(self.beside_text) if self.beside_text else None

    @cached_property
    def unless_beside(self) -> re.Pattern[str] | None:
        """What must not stand in the same sentence."""
        return re.compile(self.unless_beside_text) if self.unless_beside_text else None

    def matches(self, text: str) -> bool:
        """Whether a short text that holds one of the words meets the rule somewhere without an excuse."""
        if self.beside is None and self.unless_beside is None:
            return self._found(text)
        return any(self._suits(each) and self._found(each) for each in _SENTENCE_END.split(text))

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text, excused ones too."""
        return self.pattern.finditer(text) if self._applies(text) else iter(())

    def _found(self, text: str) -> bool:
        return any(not self._excused(each) for each in self.pattern.finditer(text))

    def _suits(self, sentence: str) -> bool:
        named = self.beside is None or self.beside.search(sentence) is not None
        return named and not (self.unless_beside and self.unless_beside.search(sentence))

    def _applies(self, text: str) -> bool:
        return not self.needs or any(need in text for need in self.needs)

    def _excused(self, match: re.Match[str]) -> bool:
        before = match.string[max(0, match.start() - _CONTEXT) : match.start()]
        after = match.string[match.end() : match.end() + _CONTEXT]
        return bool(
            (self.unless_before and self.unless_before.search(before))
            or (self.unless_after and self.unless_after.match(after))
        )


class Rules(tuple[Rule, ...]):
    """Rules in their order. Each word is looked for once in a text, however many rules need it."""

    @cached_property
    def _by_word(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        numbers = dict[str, list[int]]()
        for n, rule in enumerate(self):
            for word in rule.needs or ("",):
                numbers.setdefault(word, []).append(n)
        return tuple((word, tuple(of)) for word, of in numbers.items())

    def applying(self, text: str) -> Iterator[Rule]:
        """Yield the rules of which a text holds one of the words, in order."""
        found = [numbers for word, numbers in self._by_word if word in text]
        return (self[n] for n in sorted({n for numbers in found for n in numbers}))


@cache
def read_rules(path: str, table: str = "rule") -> Rules:
    """Return the rules of a file in data: the entries of `[[rule]]`, or of another table."""
    return rules_in(read_toml(_PACKAGE, path), table)


def rules_in(data: Mapping[str, object], table: str = "rule") -> Rules:
    """Return the rules of a table: the entries of `[[rule]]`, or of another name."""
    parts: dict[str, str] = {}
    for name, text in cast("Mapping[str, str]", data.get("parts", {})).items():
        parts[name] = _expanded(text, parts)
    return Rules(_rule(entry, parts) for entry in cast("Sequence[Mapping[str, str]]", data.get(table, ())))


def first_kind(rules: Rules, text: str) -> str | None:
    """Return the kind of the first rule that `text` meets, None where it meets none."""
    return next((each.kind for each in rules.applying(text) if each.matches(text)), None)


def patterns_of(rules: Iterable[Rule]) -> Iterator[re.Pattern[str]]:
    """Yield every pattern of the rules."""
    for each in rules:
        yield each.pattern
        excuses = (each.unless_before, each.unless_after)
        yield from filter(None, (*excuses, each.beside, each.unless_beside))


def _rule(entry: Mapping[str, str], parts: Mapping[str, str]) -> Rule:
    names = ("pattern", "unless_before", "unless_after", "beside", "unless_beside")
    texts = (folded(_expanded(entry.get(name, ""), parts)) for name in names)
    return Rule(entry["kind"], tuple(folded(entry.get("needs", "")).split()), *texts)


def _expanded(text: str, parts: Mapping[str, str]) -> str:
    """Return a text as one line, with the parts that it names."""
    lines = text.splitlines()
    joined = text if len(lines) < 2 else "".join(map(str.strip, lines))
    return _PART.sub(lambda part: parts[part[1]], joined)
