"""Whether a pattern can take time that grows faster than the text it is searched in.

Two tests on the automaton of the pattern, after Weber and Seidl ("On the degree of ambiguity of finite
automata", 1991): a loop that can be walked in two ways over one text makes the time exponential; two loops in
a row that read one text, of which the second may fail, make it quadratic. A search is a loop itself: it tries
every place of the text. Every finding names a text that, repeated, shows it.

What cannot fail costs nothing: a loop whose end is accepted wherever it stops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from dev.regexes.automaton import Automaton, Condition, Edge, automaton_of, has_loops

__all__ = ["Use", "slow_text"]

Use = Literal["search", "match", "fullmatch"]
_TOO_MANY = 1_000_000
T = TypeVar("T")


class Node(NamedTuple):
    """An edge with the character that was read on it."""

    edge: int
    letter: int


class Triple(NamedTuple):
    """Three walks over the same text."""

    first: Node
    second: Node
    third: Node


@dataclass(frozen=True)
class _Way:
    """How the end of one edge leads on: to which edge (None: to the pattern's end), under what condition."""

    target: int | None
    condition: Condition | None
    twice: bool


def slow_text(pattern: str, flags: int = 0, use: Use = "search") -> str | None:
    """Return a text whose repetition takes more than linear time, None where there is none."""
    if not has_loops(pattern, flags):  # each place of a text then takes what the pattern takes at most
        return None
    walks = _Walks(automaton_of(pattern, flags), use)
    for found in (walks.walked_twice(), walks.loops_in_a_row()):
        if found is not None:
            return found
    return None


class _Walks:
    """The edges of an automaton, what follows what, and its loops."""

    def __init__(self, automaton: Automaton, use: Use) -> None:
        self._letters = automaton.letters
        self._use = use
        self._edges = [edge for edges in automaton.edges.values() for edge in edges]
        self._from = dict[int, list[int]]()
        number = 0
        for state, edges in automaton.edges.items():
            self._from[state] = list(range(number, number + len(edges)))
            number += len(edges)
        self._automaton = automaton
        self._ways = [self._ways_from(edge.target) for edge in self._edges]
        begin = self._ways_from(automaton.start)
        self._search = -1
        if use == "search":
            self._search = len(self._edges)
            self._edges.append(Edge((1 << len(self._letters)) - 1, -1))
            self._ways.append([_Way(self._search, None, twice=False), *begin])
        self._conditions = [
            [way.condition for way in ways if way.condition is not None] for ways in self._ways
        ]
        self._next = dict[Node, tuple[dict[int, list[Node]], list[Node]]]()
        self._shared = dict[tuple[int, tuple[int, ...]], tuple[dict[int, list[Node]], list[Node]]]()
        self._loops = self._find_loops(begin)

    def _ways_from(self, state: int) -> list[_Way]:
        counts: dict[tuple[int, Condition | None], int] = {(state, None): 1}
        waiting: list[tuple[int, Condition | None, int]] = [(state, None, 1)]
        while waiting:
            at, held, more = waiting.pop()
            for target, condition in self._automaton.jumps.get(at, ()):
                both = _both(held, condition)
                key = (target, both)
                known = counts.get(key, 0)
                counts[key] = min(2, known + more)
                if counts[key] > known:
                    waiting.append((target, both, counts[key] - known))
        ways = [
            _Way(edge, condition, count > 1)
            for (at, condition), count in counts.items()
            for edge in self._from.get(at, ())
        ]
        end = self._automaton.end
        return ways + [_Way(None, condition, twice=False) for (at, condition) in counts if at == end]

    def _following(self, node: Node) -> dict[int, list[Node]]:
        """The nodes behind a node, by their letter."""
        return self._behind(node)[0]

    def _all_following(self, node: Node) -> list[Node]:
        return self._behind(node)[1]

    def _behind(self, node: Node) -> tuple[dict[int, list[Node]], list[Node]]:
        """The nodes behind a node by their letter, and in one list.

        A letter matters to the conditions only: letters that these do not tell apart share one answer.
        """
        known = self._next.get(node)
        if known is None:
            edge, letter = node
            told = tuple(condition[letter] for condition in self._conditions[edge])
            known = self._shared.get((edge, told))
            if known is None:
                known = self._shared[edge, told] = self._found_behind(node)
            self._next[node] = known
        return known

    def _found_behind(self, node: Node) -> tuple[dict[int, list[Node]], list[Node]]:
        found = defaultdict[int, list[Node]](list)
        for way in self._ways[node.edge]:
            if way.target is None:
                continue
            letters = self._edges[way.target].letters
            if way.condition is not None:
                letters &= way.condition[node.letter]
            for letter in _bits(letters):
                found[letter].append(Node(way.target, letter))
        return dict(found), [each for nodes in found.values() for each in nodes]

    def _find_loops(self, begin: list[_Way]) -> list[frozenset[Node]]:
        roots = list[Node]()
        for way in begin:
            if way.target is not None:
                letters = self._edges[way.target].letters & (way.condition[-1] if way.condition else -1)
                roots += [Node(way.target, letter) for letter in _bits(letters)]
        if self._search >= 0:
            roots += [Node(self._search, letter) for letter in range(len(self._letters))]
        return [loop for loop in _components(roots, self._all_following) if self._is_loop(loop)]

    def _is_loop(self, component: frozenset[Node]) -> bool:
        if len(component) > 1:
            return True
        (node,) = component
        return node in self._following(node).get(node.letter, ())

    def walked_twice(self) -> str | None:
        """A text that leads around one loop in two ways."""
        for loop in self._loops:
            inside = {node.edge for node in loop}
            if self._search in inside:
                continue
            for node in loop:
                for way in self._ways[node.edge]:
                    if way.twice and way.target in inside:
                        return self._letters[node.letter]
            start = next(iter(loop))
            found = self._two_walks(start, loop)
            if found is not None:
                return found
        return None

    def _two_walks(self, start: Node, loop: frozenset[Node]) -> str | None:
        """A way from (start, start) to (start, start) through two different nodes."""
        origin: tuple[Node, Node, bool] = (start, start, False)
        came: dict[tuple[Node, Node, bool], tuple[Node, Node, bool] | None] = {origin: None}
        waiting: list[tuple[Node, Node, bool]] = [origin]
        while waiting:
            at = waiting.pop()
            left, right, parted = at
            for letter, lefts in self._following(left).items():
                for a in lefts:
                    for b in self._following(right).get(letter, ()):
                        if a not in loop or b not in loop:
                            continue
                        step = (a, b, parted or a != b)
                        if step == (start, start, True):
                            return self._read([x[0] for x in _back(came, at)] + [a])
                        if step not in came:
                            came[step] = at
                            waiting.append(step)
        return None

    def loops_in_a_row(self) -> str | None:
        """A text that can be divided between two loops, the second of which may fail."""
        behind = {loop: _reached(loop, self._all_following) for loop in self._loops}
        for first in self._loops:
            for second in self._loops:
                if first is second or not behind[first] & second:
                    continue
                if self._kept_back(first, second):
                    continue
                for part in self._failing(second):
                    found = self._divided(first, part)
                    if found is not None:
                        return found
        return None

    def _kept_back(self, first: frozenset[Node], second: frozenset[Node]) -> bool:
        """Whether the first loop, once left, is not walked again: it stands in an atomic group."""
        groups = {self._edges[node.edge].atomic for node in first}
        return 0 not in groups and not groups & {self._edges[node.edge].atomic for node in second}

    def _failing(self, loop: frozenset[Node]) -> list[frozenset[Node]]:
        """The loops within a loop that go on without a step at which the pattern might as well be over."""
        if all(self._ends_well(node, loop) for node in loop):
            return []

        def following(node: Node) -> Iterable[Node]:
            return (step for step in self._all_following(node) if step in loop and self._goes_on(node, step))

        parts = _components(loop, following)
        return [part for part in parts if any(step in part for node in part for step in following(node))]

    def _ends_well(self, node: Node, loop: frozenset[Node]) -> bool:
        """Whether the pattern is over, and content, wherever the loop can't go on behind this node."""
        going_on = sum(1 << letter for letter, nodes in self._following(node).items() if loop & {*nodes})
        return not ((1 << len(self._letters) + 1) - 1) & ~going_on & ~self._over(node)

    def _goes_on(self, node: Node, step: Node) -> bool:
        """Whether the pattern can't be over between two nodes."""
        return not self._over(node) >> step.letter & 1

    def _over(self, node: Node) -> int:
        """The letters before which the pattern may be over behind a node."""
        if self._use == "fullmatch":
            return 0
        over = 0
        for way in self._ways[node.edge]:
            if way.target is None:
                over |= -1 if way.condition is None else way.condition[node.letter]
        return over

    def _divided(self, first: frozenset[Node], second: frozenset[Node]) -> str | None:
        by_letter = defaultdict[int, list[Node]](list)
        for node in second:
            by_letter[node.letter].append(node)
        origins = [Triple(p, p, q) for p in first for q in by_letter[p.letter]]
        came: dict[Triple, Triple | None] = {}

        def following(at: Triple) -> Iterable[Triple]:
            if len(came) > _TOO_MANY:
                raise ValueError("the pattern is too large to be judged: take it apart")
            for letter, thirds in self._following(at.third).items():
                for c in thirds:
                    if c not in second or not self._goes_on(at.third, c):
                        continue
                    for a in self._following(at.first).get(letter, ()):
                        if a in first:
                            for b in self._following(at.second).get(letter, ()):
                                yield Triple(a, b, c)

        edges = dict[Triple, list[Triple]]()

        def with_return(at: Triple) -> Iterable[Triple]:
            if at not in edges:
                edges[at] = list(dict.fromkeys(following(at)))
                came.setdefault(at, None)
            back = [Triple(at.first, at.first, at.third)] if at.second == at.third else []
            return [*edges[at], *back]

        for component in _components(origins, with_return):
            for at in component:
                home = Triple(at.first, at.first, at.third)
                if at.second == at.third and home in component:
                    return self._shown(home, at, edges)
        return None

    def _shown(self, home: Triple, goal: Triple, edges: dict[Triple, list[Triple]]) -> str:
        came: dict[Triple, Triple | None] = {home: None}
        waiting = [home]
        for at in waiting:
            if at == goal and at is not home:
                break
            for step in edges.get(at, ()):
                if step not in came:
                    came[step] = at
                    waiting.append(step)
        return self._read([each.third for each in _back(came, goal)][1:])

    def _read(self, nodes: Iterable[Node]) -> str:
        return "".join(self._letters[node.letter] for node in nodes)


def _both(held: Condition | None, more: Condition | None) -> Condition | None:
    if held is None or more is None:
        return more if held is None else held
    return tuple(a & b for a, b in zip(held, more, strict=True))


def _bits(letters: int) -> Iterator[int]:
    place = 0
    while letters:
        if letters & 1:
            yield place
        letters >>= 1
        place += 1


def _back(came: dict[T, T | None], at: T) -> list[T]:
    way = [at]
    while (before := came[way[-1]]) is not None:
        way.append(before)
    return way[::-1]


def _reached(start: Iterable[T], following: Callable[[T], Iterable[T]]) -> set[T]:
    seen = set(start)
    waiting = list(seen)
    while waiting:
        for step in following(waiting.pop()):
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return seen


def _components(roots: Iterable[T], following: Callable[[T], Iterable[T]]) -> list[frozenset[T]]:
    """The strongly connected components that are reached from `roots` (Tarjan, without recursion)."""
    order, low = dict[T, int](), dict[T, int]()
    stack, on_stack = list[T](), set[T]()
    found = list[frozenset[T]]()
    for root in roots:
        if root in order:
            continue
        path = [(root, iter(following(root)))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while path:
            at, steps = path[-1]
            step = next(steps, None)
            if step is not None:
                if step not in order:
                    order[step] = low[step] = len(order)
                    stack.append(step)
                    on_stack.add(step)
                    path.append((step, iter(following(step))))
                elif step in on_stack:
                    low[at] = min(low[at], order[step])
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[at])
            if low[at] == order[at]:
                place = stack.index(at)
                members = stack[place:]
                del stack[place:]
                on_stack.difference_update(members)
                found.append(frozenset(members))
    return found
