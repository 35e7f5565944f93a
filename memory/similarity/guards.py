"""The guards that keep two similar texts apart: same words, another claim.

Each guard names what differs between two claims: number, unit, negation, antonym, words, subject, direction,
symbol, owner, modality or order. A guard that fires says whether the two are rivals (the same subject,
another claim: one of them is wrong here) or simply different.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.base.tables import groups, word_sets
from ace_graph.memory.languages.tables import FIRST
from ace_graph.memory.similarity.claim import Claim, Quantity, forms_of_one_word, lexicon, root, unit_of
from ace_graph.memory.similarity.typos import (
    Spellings,
    are_swapped,
    is_typo,
    languages_of,
    may_be_a_name,
    same_spelling,
)

# English words that exclude each other: opposites, and words for different things (data/antonyms.toml).
#
# Putting one for the other changes what a text says, so neither is ever taken for a typo. Only opposites
# make two texts contradict: "increase it" and "decrease it" can't both be good advice, while "read the
# file" and "write the file" are two things to do. The tables need not be complete: a word that one text
# alone has keeps two texts apart in any case.


_Groups = Mapping[str, Mapping[int, int]]


def are_contradictory(a: str, b: str) -> bool:
    """Whether two roots are opposites: listed so, or one is the other behind a prefix (valid, invalid)."""
    return _listed_together("contradictory", a, b) or _prefix_between(a, b) in _prefixes("opposing_prefixes")


def are_mutually_exclusive(a: str, b: str) -> bool:
    """Whether two roots name different things, however alike they look: opposites and alternatives."""
    return (
        are_contradictory(a, b)
        or _listed_together("alternative", a, b)
        or _prefix_between(a, b) in _prefixes("altering_prefixes")
    )


def any_exclusive(first: Collection[str], second: Collection[str]) -> bool:
    """Whether a root of the first excludes one of the second, in time linear in their number."""
    others = frozenset(second)
    return any(are_mutually_exclusive(a, b) for a in first for b in others & _candidates(a))


@lru_cache(maxsize=8_192)
def _candidates(word: str) -> frozenset[str]:
    """Return every root that may exclude this one: in a group with it, or with a prefix more or less."""
    found = set[str]()
    for name in ("contradictory", "alternative"):
        for group in _table(name).get(word, {}):
            found |= _members(name)[group]
    for prefix in _prefixes("opposing_prefixes") | _prefixes("altering_prefixes"):
        found |= {f"{prefix}{word}", word.removeprefix(prefix)}
    return frozenset(found - {word})


def _listed_together(name: str, a: str, b: str) -> bool:
    """Whether a group of a table holds both words, and no group as words of one meaning."""
    table = _table(name)
    of_a, of_b = table.get(a, {}), table.get(b, {})
    shared = of_a.keys() & of_b.keys()
    return a != b and bool(shared) and all(of_a[group] != of_b[group] for group in shared)


def _prefix_between(a: str, b: str) -> str | None:
    short, long = sorted((a, b), key=len)
    return long.removesuffix(short) if len(short) > 2 and long != short and long.endswith(short) else None


@cache
def _table(name: str) -> _Groups:
    """Return for each root its groups, and its meaning in each of them."""
    table: dict[str, dict[int, int]] = {}
    for number, group in enumerate(groups(word_sets("ace_graph.memory.similarity", "antonyms.toml")[name])):
        for meaning, words in enumerate(group):
            for word in words.split("="):
                table.setdefault(root(word), {}).setdefault(number, meaning)
    return MappingProxyType(table)


@cache
def _members(name: str) -> Mapping[int, frozenset[str]]:
    """Return for each group of a table its roots."""
    members: dict[int, set[str]] = {}
    for word, groups_of in _table(name).items():
        for group in groups_of:
            members.setdefault(group, set()).add(word)
    return MappingProxyType({group: frozenset(words) for group, words in members.items()})


@cache
def _prefixes(name: str) -> frozenset[str]:
    return frozenset(word_sets("ace_graph.memory.similarity", "antonyms.toml")[name].split())


_LISTED_WORDS = 3


class Verdict(NamedTuple):
    """The guard that fired, None when the claims are the same, and whether they contradict each other.

    `typos` is how many typos were ignored.
    """

    guard: str | None
    rival: bool = False
    typos: int = 0


class _Difference(NamedTuple):
    """The words of each claim that the other lacks, without typos and compounds.

    `respelled` maps words of the second claim to the same words as the first one spells them, `compound` the
    parts of a word to the word. `typos` counts the typos.
    """

    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    respelled: Mapping[str, str] = MappingProxyType({})
    compound: tuple[tuple[str, ...], str] | None = None
    typos: int = 0


def check_claims(a: Claim, b: Claim) -> Verdict:
    """Compare two claims and name the first guard that fires."""
    numbers = _numbers_differ(a, b)
    if numbers is not None and not _about_the_same(a, b):
        return Verdict(numbers)
    difference = _difference(a, b)
    negations = tuple(sorted(_renamed_words(b.negated, difference.respelled))) != a.negated
    words = bool(difference.only_a or difference.only_b)
    if numbers is not None:
        return Verdict(numbers, not negations and not words)
    if negations:
        return Verdict("negation", lexicon().light.issuperset((*difference.only_a, *difference.only_b)))
    if words:
        only_a, only_b = difference.only_a, difference.only_b
        if _opposes_particle(only_a, only_b, b) or _opposes_particle(only_b, only_a, a):
            return Verdict("antonym", rival=True)
        single = len(only_a) == len(only_b) == 1
        in_claim = single and _in_claim(a, only_a[0]) and _in_claim(b, only_b[0])
        if any_exclusive(only_a, only_b):
            about_one = a.copular and b.copular and _same_subject(a, b)
            return Verdict("antonym", in_claim and (about_one or are_contradictory(only_a[0], only_b[0])))
        if any(map(unit_of, only_a)) and any(map(unit_of, only_b)):
            return Verdict("unit", in_claim)
        if single and a.copular and b.copular:
            named = only_a[0] in a.exact and only_b[0] in b.exact
            return Verdict("words", named) if in_claim and _same_subject(a, b) else Verdict("subject", False)
        return Verdict("words")
    if {a.first, b.first} == {"", "inside"}:
        return Verdict("words")
    if a.particles - b.particles and b.particles - a.particles:
        return Verdict("words")
    if a.owners and b.owners and a.owners.isdisjoint(b.owners):
        return Verdict("owner")
    # Whether only one is a choice, or what should have happened
    if not (a.modes ^ b.modes).isdisjoint(("choice", "unreal")):
        return Verdict("modality")
    if _sequence_differs(a, b):
        return Verdict("order")
    return _check_order(a, b, difference)


def _check_order(a: Claim, b: Claim, difference: _Difference) -> Verdict:
    of_a, of_b = Counter(a.bound), Counter((d, difference.respelled.get(t, t)) for d, t in b.bound)
    if of_a != of_b:
        changed = {direction for direction, _ in [*(of_a - of_b), *(of_b - of_a)]}
        balanced = Counter(d for d, _ in a.bound) == Counter(d for d, _ in b.bound)
        reversed_ = balanced and bool(changed & lexicon().sequence)
        swapped = changed <= {"before", "after", "until", "above", "below", "over", "under"}
        return Verdict("direction", reversed_ or swapped)
    if a.symbols != b.symbols:
        return Verdict("symbol")
    first = _compounded(_renamed_words(a.words, difference.respelled), difference.compound)
    second = _compounded(_renamed_words(b.words, difference.respelled), difference.compound)
    if "then" in a.particles & b.particles and first != second:
        return Verdict("direction", rival=True)
    if _directions_exchanged(a, b, difference.respelled, in_place=first == second):
        return Verdict("direction", rival=True)
    moved = _fronted(first, second, a.pauses) or _fronted(second, first, b.pauses)
    # Whether a claim says what comes first and what next
    if first != second and not moved and (a.first == "inside" or not lexicon().ordering.isdisjoint(a.words)):
        return Verdict("direction", rival=True)
    moved = moved or _phrase_moved(first, second, a, b) or _list_reordered(first, second, a.lists)
    joined = [bool(claim.clauses or claim.lists) for claim in (a, b)]
    paused = "english" in (a.language, b.language) and bool(a.pauses or b.pauses)
    free = paused and all(joined) and (a.clauses or b.clauses)
    if not (moved or free or _order_kept(first, second, paused and any(joined))):
        return Verdict("order", rival=True)
    return Verdict(None, typos=difference.typos)


def _directions_exchanged(a: Claim, b: Claim, respelled: Mapping[str, str], *, in_place: bool) -> bool:
    """Whether two directions to one word changed places: read before lunch and sleep after lunch."""
    of_a, of_b = list(a.bound), [(d, respelled.get(t, t)) for d, t in b.bound]
    if of_a == of_b and in_place:
        return False
    targets = Counter(target for _, target in set(of_a) if target)
    if not targets or max(targets.values()) == 1:
        return False
    turned = any(of_a[n:] + of_a[:n] == of_b for n in range(len(of_a)))
    return of_a != of_b if in_place else not turned or of_a == of_b


def _numbers_differ(a: Claim, b: Claim) -> str | None:
    if sorted(q.amount for q in a.numbers) == sorted(q.amount for q in b.numbers):
        return None
    if sorted(q.value for q in a.numbers) != sorted(q.value for q in b.numbers):
        return "number"
    if sorted((q.value, q.unit) for q in a.numbers) != sorted((q.value, q.unit) for q in b.numbers):
        return "unit"
    return None


def _sequence_differs(a: Claim, b: Claim) -> bool:
    """Whether numbers, one-letter names or persons changed places: [0, 1] and [1, 0], "she warned him"."""
    if a.persons != b.persons and min(len(a.persons), len(b.persons)) > 1:
        return True
    if [q.amount for q in a.numbers] != [q.amount for q in b.numbers]:
        of_a, of_b = (sorted((q.amount, q.after) for q in claim.numbers) for claim in (a, b))
        return of_a != of_b
    return [word for word in a.words if len(word) == 1] != [word for word in b.words if len(word) == 1]


def _about_the_same(a: Claim, b: Claim) -> bool:
    """Whether one number differs, and it is an amount: no name, no condition and no part of the subject."""
    if len(a.numbers) != len(b.numbers) or a.copular != b.copular:
        return False
    if a.copular and a.subject != b.subject:
        return False
    pairs = list(enumerate(zip(a.numbers, b.numbers, strict=True)))
    changed = [(place, x, y) for place, (x, y) in pairs if (x.value, x.unit) != (y.value, y.unit)]
    if len(changed) != 1:
        return False
    place, x, y = changed[0]
    if a.copular and place < a.subject_numbers:
        return lexicon().sufficing.issuperset(a.words[a.subject :]) and len(a.words) > a.subject
    return a.copular or not (_names(x) or _names(y))


def _opposes_particle(only: Sequence[str], others: Sequence[str], other: Claim) -> bool:
    """Whether the only word left is the opposite of a particle of the other claim: down where it has up."""
    return len(only) == 1 and not others and lexicon().particles.get(only[0]) in other.particles


def _names(number: Quantity) -> bool:
    return bool(number.label) and not number.unit


def _in_claim(claim: Claim, word: str) -> bool:
    """Whether the word is no part of the subject."""
    return word not in claim.words[: claim.subject]


def _same_subject(a: Claim, b: Claim) -> bool:
    return a.words[: a.subject] == b.words[: b.subject]


def _difference(a: Claim, b: Claim) -> _Difference:
    """Return the words that only one claim has, typos matched to words, compounds to their parts."""
    of_a, of_b = Counter(a.words), Counter(b.words)
    unlike = [word for word in of_a if word in of_b and not _forms_of_one_word(a, b, word)]
    if of_a == of_b and not unlike:
        return _Difference()
    left_a, left_b = [*(of_a - of_b).elements(), *unlike], [*(of_b - of_a).elements(), *unlike]
    if not unlike and _joined(a, left_a) == _joined(b, left_b):
        parts, whole = sorted((tuple(left_a), tuple(left_b)), key=len, reverse=True)
        return _Difference(compound=(parts, whole[0]) if len(whole) == 1 else None, typos=1)
    # The difference of the words that are left, those that are spelt in another way matched
    guessed = (a.language, b.language)
    spoken = languages_of(a.surfaces.values(), b.surfaces.values(), guessed) if left_a and left_b else ()
    spellings = Spellings((b.surfaces[other] for other in left_b), spoken)
    matched: dict[int, str] = {}
    only_a, typos = list[str](), 0
    for word in left_a:
        surface = a.surfaces[word]
        alike = (n for n in spellings.alike(surface) if n not in matched)
        twin = next((n for n in alike if same_spelling(a.surfaces[word], b.surfaces[left_b[n]])), None)
        if twin is None:
            near = (n for n in spellings.near(surface) if n not in matched)
            twin = next((n for n in near if _is_typo(a, word, b, left_b[n], spoken)), None)
            typos += twin is not None
        if twin is None:
            only_a.append(word)
        else:
            matched[twin] = word
    respelled = {left_b[place]: word for place, word in matched.items()}
    only_b = tuple(other for place, other in enumerate(left_b) if place not in matched)
    return _Difference(tuple(only_a), only_b, respelled, typos=typos)


def _forms_of_one_word(a: Claim, b: Claim, word: str) -> bool:
    return forms_of_one_word(a.surfaces[word], b.surfaces[word])


def _joined(claim: Claim, words: Iterable[str]) -> str:
    """Return words as the one word that they may be written as: file name as the root of filename."""
    return root("".join(claim.surfaces[word] for word in words))


def _is_typo(a: Claim, x: str, b: Claim, y: str, languages: tuple[str, ...]) -> bool:
    """Whether one of two words is the other, mistyped; never for names, units and opposites."""
    if are_mutually_exclusive(x, y) or unit_of(x) or unit_of(y):
        return False
    first, second = a.surfaces[x], b.surfaces[y]
    if not is_typo(first, second, languages):
        return False
    if x in a.exact or y in b.exact:
        return not may_be_a_name(first, second, languages, "inside")
    if x != a.opening or y != b.opening or are_swapped(first, second):
        return True
    subject = languages == (FIRST,) and _is_subject_alone(a, x)
    return not may_be_a_name(first, second, languages, "subject" if subject else "opening")


def _is_subject_alone(claim: Claim, word: str) -> bool:
    """Whether a first word may be the name of who does it: Kenneth prefers pictures, Paris is a city."""
    behind = claim.surfaces[claim.words[1]] if len(claim.words) > 1 else ""
    subject = claim.copular and claim.subject == 1
    return subject or (behind.endswith("s") and not claim.surfaces[word].endswith("s"))


def _compounded(words: tuple[str, ...], compound: tuple[tuple[str, ...], str] | None) -> tuple[str, ...]:
    """Return the words with adjacent parts of a compound as one word."""
    if compound is None:
        return words
    parts, whole = compound
    places = range(len(words) - len(parts) + 1)
    place = next((n for n in places if words[n : n + len(parts)] == parts), None)
    return words if place is None else (*words[:place], whole, *words[place + len(parts) :])


def _fronted(a: Sequence[str], b: Sequence[str], pauses: Iterable[int]) -> bool:
    """Whether `b` is `a` with what comes before a comma put at the end."""
    return any((*a[pause:], *a[:pause]) == tuple(b) for pause in pauses)


def _phrase_moved(a: Sequence[str], b: Sequence[str], first: Claim, second: Claim) -> bool:
    """Whether `b` is `a` with a phrase behind a preposition put from one end to the other."""
    for cut in range(1, len(a)):
        if (*a[cut:], *a[:cut]) == tuple(b):
            from_start = 0 in first.prepositions and len(a) - cut in second.prepositions
            from_end = cut in first.prepositions and 0 in second.prepositions
            if from_start or from_end:
                return True
    return False


def _list_reordered(a: Sequence[str], b: Sequence[str], lists: Iterable[int]) -> bool:
    """Whether `b` is `a` with what stands before and behind an "and" or "or" exchanged."""
    return any(
        (*a[: place - before], *a[place : place + behind], *a[place - before : place], *a[place + behind :])
        == tuple(b)
        for place in lists
        for before in range(1, min(place, _LISTED_WORDS) + 1)
        for behind in range(1, _LISTED_WORDS + 1)
    )


def _order_kept(a: Sequence[str], b: Sequence[str], clauses: bool) -> bool:
    """Whether the words have the same order; where clauses may have moved, whether over a third of the
    adjacent pairs do.

    "The cat sees the dog" and its reverse share none; "the parent process ends the child process" many.
    """
    if tuple(a) == tuple(b):
        return True
    if not clauses:
        return False
    of_a, of_b = Counter(pairwise(a)), Counter(pairwise(b))
    return (of_a & of_b).total() * 3 > of_a.total()


def _renamed_words(words: Sequence[str], respelled: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(respelled.get(word, word) for word in words)
