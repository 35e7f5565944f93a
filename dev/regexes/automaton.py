"""A regular expression as an automaton over a few characters that stand for all others.

Python's own parser reads the pattern. An edge of the automaton reads one character of a class; conditions
between two characters (word boundaries, line ends, look-arounds of one character) are tables of which
character may follow which. A look-around of more than one character is a branch that leads nowhere: its work
is done, its outcome is left open. A repetition bounded by 256 or less is no loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["Automaton", "Condition", "Edge", "automaton_of", "has_loops"]

# Any: the parser's modules ship without types.
_parser: Any = import_module("re._parser")
_names: Any = import_module("re._constants")

MOST_REPEATS = 256
"""A repetition of at most so many turns costs a factor, whatever the length of the text."""

_SAMPLES = "azAZ09_ \t\n\r\u2028\u00a0éßİжא漢ก-.,:;!?()[]{}<>'\"“”«»`/\\@#$%&*+=^|~\x00"
_IGNORECASE, _DOTALL, _MULTILINE, _ASCII = map(int, (re.IGNORECASE, re.DOTALL, re.MULTILINE, re.ASCII))

Condition = tuple[int, ...]
"""For each character that may come before (the last entry: none, the text begins) the set of those that may
come behind, as bits (the highest: none, the text ends)."""


@dataclass(frozen=True)
class Edge:
    """Reads one character of `letters` (bits). `atomic` names the group that can't be entered again."""

    letters: int
    target: int
    atomic: int = 0


@dataclass
class Automaton:
    """States with edges that read, and jumps that read nothing."""

    letters: str
    edges: dict[int, list[Edge]] = field(default_factory=dict[int, list[Edge]])
    jumps: dict[int, list[tuple[int, Condition | None]]] = field(
        default_factory=dict[int, list[tuple[int, Condition | None]]]
    )
    start: int = 0
    end: int = 1


def has_loops(pattern: str, flags: int) -> bool:
    """Return whether a part of `pattern` may be read as often as a text is long."""
    return _has_loops(_parser.parse(pattern, flags))


def _has_loops(part: Any) -> bool:  # Any: what the parser makes, nested
    match part:
        case (name, (int(), high, inner)) if str(name).endswith("_REPEAT"):
            return high > MOST_REPEATS or _has_loops(inner)
        case str() | int() | None:
            return False
        case _:
            return any(_has_loops(each) for each in part)


def automaton_of(pattern: str, flags: int) -> Automaton:
    """Return the automaton of `pattern`."""
    tree = _parser.parse(pattern, flags)
    return _Builder(tree, int(tree.state.flags | flags)).built()


class _Builder:
    """Walks the parser's tree once."""

    def __init__(self, tree: Sequence[Any], flags: int) -> None:  # Any: nodes of the parser
        self._tree, self._flags = tree, flags
        self._letters = _distinct(tree, flags)
        self._alphabet = _Alphabet(self._letters)
        self._all = (1 << len(self._letters)) - 1
        self._made = Automaton(self._letters)
        self._states, self._atomic, self._atomic_groups = 2, 0, 0

    def built(self) -> Automaton:
        last = self._sequence(self._tree, 0, self._flags)
        self._jump(last, 1)
        return self._made

    def _new(self) -> int:
        self._states += 1
        return self._states - 1

    def _jump(self, source: int, target: int, condition: Condition | None = None) -> None:
        self._made.jumps.setdefault(source, []).append((target, condition))

    def _sequence(self, nodes: Iterable[Any], state: int, flags: int) -> int:  # Any: nodes of the parser
        for name, argument in nodes:
            state = self._node(str(name), argument, state, flags)
        return state

    def _node(self, name: str, argument: Any, state: int, flags: int) -> int:  # Any: a node's argument
        letters = self._alphabet.read_by(name, argument, flags)
        if letters is not None:
            after = self._new()
            self._made.edges.setdefault(state, []).append(Edge(letters, after, self._atomic))
            return after
        match name:
            case "SUBPATTERN":
                _, add, remove, inner = argument
                return self._sequence(inner, state, (flags | add) & ~remove)
            case "BRANCH":
                after = self._new()
                for branch in argument[1]:
                    self._jump(self._sequence(branch, state, flags), after)
                return after
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(name, argument, state, flags)
            case "ATOMIC_GROUP":
                return self._in_atomic(argument, state, flags)
            case "AT":
                after = self._new()
                for condition in _place(str(argument), flags, self._letters):
                    self._jump(state, after, condition)
                return after
            case "ASSERT" | "ASSERT_NOT":
                return self._look(name, argument, state, flags)
            case _:  # a reference to a group, a conditional: what it reads is left open
                after = self._new()
                self._jump(state, after)
                return after

    def _repeat(self, name: str, argument: tuple[int, int, Any], state: int, flags: int) -> int:
        low, high, inner = argument
        if name == "POSSESSIVE_REPEAT":
            whole = [(_names.MAX_REPEAT, (low, high, inner))]
            return self._in_atomic(whole, state, flags)
        for _ in range(min(low, 2)):
            state = self._sequence(inner, state, flags)
        if high > MOST_REPEATS:
            before, after = self._new(), self._new()
            self._jump(state, before)
            self._jump(self._sequence(inner, before, flags), before)
            self._jump(before, after)
            return after
        after = self._new()
        self._jump(state, after)
        if high > low:
            self._jump(self._sequence(inner, state, flags), after)
        return after

    def _in_atomic(self, inner: Iterable[Any], state: int, flags: int) -> int:
        outer = self._atomic
        self._atomic_groups += 1
        self._atomic = outer or self._atomic_groups
        after = self._sequence(inner, state, flags)
        self._atomic = outer
        return after

    def _look(self, name: str, argument: Any, state: int, flags: int) -> int:
        direction, inner = argument
        after = self._new()
        nearest = inner[0 if direction > 0 else -1] if len(inner) else ("", None)
        single = self._alphabet.read_by(str(nearest[0]), nearest[1], flags)
        if len(inner) > 1 and direction > 0:
            self._sequence(inner, self._fork(state), flags)
        if single is None or (len(inner) > 1 and name == "ASSERT_NOT"):
            if len(inner) == 1 and direction > 0:
                self._sequence(inner, self._fork(state), flags)
            self._jump(state, after)
            return after
        allowed = single if name == "ASSERT" else self._all & ~single
        at_edge = name == "ASSERT_NOT"
        count = len(self._letters)
        if direction > 0:
            following = allowed | (1 << count if at_edge else 0)
            self._jump(state, after, (following,) * (count + 1))
        else:
            anything = self._all | 1 << count
            before = [anything if allowed >> a & 1 else 0 for a in range(count)]
            self._jump(state, after, (*before, anything if at_edge else 0))
        return after

    def _fork(self, state: int) -> int:
        aside = self._new()
        self._jump(state, aside)
        return aside


def _distinct(tree: Sequence[Any], flags: int) -> str:
    """One character for each set of characters that the pattern does not tell apart."""
    classes = dict[tuple[str, str, int], Any]()
    chars = set(_SAMPLES)
    _collect(tree, flags, classes, chars)
    letters = "".join(sorted(chars))
    alphabet = _Alphabet(letters)
    read = [alphabet.read_by(name, argument, inner) or 0 for (name, _, inner), argument in classes.items()]
    read.append(_words(letters, flags))
    kept = dict[tuple[object, ...], str]()
    for place, char in enumerate(letters):
        signature: tuple[object, ...] = (char == "\n", *(mask >> place & 1 for mask in read))
        kept.setdefault(signature, char)
    return "".join(kept.values())


# Any: nodes of the parser.
def _collect(
    nodes: Iterable[Any], flags: int, classes: dict[tuple[str, str, int], Any], chars: set[str]
) -> None:
    for name, argument in nodes:
        match str(name):
            case "LITERAL" | "NOT_LITERAL":
                chars.update(_cases(chr(argument)))
                classes[str(name), repr(argument), flags] = argument
            case "IN":
                classes[str(name), repr(argument), flags] = argument
                for kind, value in argument:
                    for code in _codes(str(kind), value):
                        chars.update(_cases(chr(code)))
            case "SUBPATTERN":
                _collect(argument[3], (flags | argument[1]) & ~argument[2], classes, chars)
            case "BRANCH":
                for branch in argument[1]:
                    _collect(branch, flags, classes, chars)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                _collect(argument[2], flags, classes, chars)
            case "ATOMIC_GROUP":
                _collect(argument, flags, classes, chars)
            case "ASSERT" | "ASSERT_NOT":
                _collect(argument[1], flags, classes, chars)
            case "ANY":
                classes[str(name), repr(argument), flags] = argument
            case _:
                pass


def _codes(kind: str, value: Any) -> Iterable[int]:
    if kind == "LITERAL":
        return (value,)
    if kind == "RANGE":
        low, high = value
        return (low, (low + high) // 2, high)
    return ()


@lru_cache(maxsize=4096)
def _cases(char: str) -> frozenset[str]:
    return frozenset(each for each in (char, char.lower(), char.upper()) if len(each) == 1)


class _Alphabet:
    """Which of some characters a node reads, as bits; each class is worked out once."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self._all = (1 << len(letters)) - 1
        self._plain, self._folded = dict[int, int](), dict[int, int]()
        for place, char in enumerate(letters):
            self._plain[ord(char)] = 1 << place
            for each in _cases(char):
                self._folded[ord(each)] = self._folded.get(ord(each), 0) | 1 << place
        self._sets = dict[tuple[str, int], int]()

    def read_by(self, name: str, argument: Any, flags: int) -> int | None:  # Any: a node's argument
        """Return the characters that a node reads; None for a node that is no class."""
        match name:
            case "ANY":
                return self._all if flags & _DOTALL else self._all & ~self._one("\n", 0)
            case "LITERAL":
                return self._one(chr(argument), flags)
            case "NOT_LITERAL":
                return self._all & ~self._one(chr(argument), flags)
            case "IN":
                key = (repr(argument), flags)
                if key not in self._sets:
                    self._sets[key] = self._set(argument, flags)
                return self._sets[key]
            case _:
                return None

    def _one(self, char: str, flags: int) -> int:
        return (self._folded if flags & _IGNORECASE else self._plain).get(ord(char), 0)

    def _set(self, items: Sequence[Any], flags: int) -> int:
        folded = bool(flags & _IGNORECASE)
        found = 0
        for place, char in enumerate(self.letters):
            variants = _cases(char) if folded else (char,)
            found |= any(_in(items, each, flags) for each in variants) << place
        return found


def _in(items: Sequence[Any], char: str, flags: int) -> bool:
    negated, hit = False, False
    for kind, value in items:
        match str(kind):
            case "NEGATE":
                negated = True
            case "LITERAL":
                hit |= ord(char) == value
            case "RANGE":
                hit |= value[0] <= ord(char) <= value[1]
            case _:
                hit |= _category(str(value), char, flags & _ASCII)
    return hit != negated


@lru_cache(maxsize=65536)
def _category(name: str, char: str, flags: int) -> bool:
    kind = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[
        name.removeprefix("CATEGORY_").removeprefix("NOT_")
    ]
    return bool(re.match(kind, char, flags)) != ("NOT_" in name)


def _words(letters: str, flags: int) -> int:
    return sum(bool(re.match(r"\w", char, flags & _ASCII)) << place for place, char in enumerate(letters))


def _place(name: str, flags: int, letters: str) -> list[Condition]:
    """The conditions of an anchor; any one of them is enough."""
    count = len(letters)
    nothing = 1 << count
    anything = (nothing << 1) - 1
    newline = 1 << letters.index("\n")
    words = _words(letters, flags)
    match name:
        case "AT_BEGINNING" if flags & _MULTILINE:
            return [(*(anything if newline >> a & 1 else 0 for a in range(count)), anything)]
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return [(*(0 for _ in range(count)), anything)]
        case "AT_END":
            return [(nothing | newline,) * (count + 1)]
        case "AT_END_STRING":
            return [(nothing,) * (count + 1)]
        case _:
            others = anything & ~words
            inside = name == "AT_NON_BOUNDARY"
            behind_word, behind_other = (words, others) if inside else (others, words)
            table = [behind_word if words >> a & 1 else behind_other for a in range(count)]
            return [(*table, behind_other)]
