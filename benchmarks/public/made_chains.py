"""A made-up world in the form of FactConsolidation: `python -m benchmarks.public.made_chains FACTS SEED`.

Facts of 32 relations in the words of `made_chains.toml`, a third of them contradicted later, and 200
questions that take two to four facts. It is what chains are tuned on, so that the published set is not. A
third argument tells the facts in other words: `turned`, the value first, or `mixed`, each in any form.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

_TABLE = Path(__file__).with_name("made_chains.toml")
_QUESTIONS = 200
_CHANGED = 1 / 3
_FACTS_A_NAME = 2
FORMS = {"plain": (0,), "turned": (1,), "mixed": (0, 1, 2)}


class _Relation(NamedTuple):
    subject: str
    value: str
    forms: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]


class _Fact(NamedTuple):
    relation: _Relation
    subject: str
    value: str


def made(facts: int, seed: int, told: str = "plain") -> dict[str, object]:
    """Return a file of so many facts, and questions about them with their answers."""
    random = Random(seed)
    table = tomllib.loads(_TABLE.read_text("utf-8"))
    relations = [_relation(line) for line in table["relations"]["lines"].strip().splitlines()]
    names = _names(table["names"], facts // _FACTS_A_NAME, random)
    stated = _facts(facts, relations, names, random)
    current = {(fact.relation, fact.subject): fact.value for fact in stated}
    asked = dict(_chains(current, random))
    lines = [
        f"{number}. {_told(random.choice([fact.relation.forms[n] for n in FORMS[told]]), fact)}."
        for number, fact in enumerate(stated)
    ]
    return {
        "context": "\n".join(["Here is a list of facts:", *lines]),
        "questions": [*asked],
        "answers": [[answer] for answer in asked.values()],
    }


def _relation(line: str) -> _Relation:
    kinds, *rest = line.split(" | ")
    subject, value = kinds.split(" > ")
    return _Relation(subject, value, *(tuple(part.split("; ")) for part in rest))


def _told(form: str, fact: _Fact) -> str:
    words = (
        word.replace("S", fact.subject) if word in ("S", "S's") else fact.value if word == "V" else word
        for word in form.split()
    )
    text = " ".join(words)
    return text[0].upper() + text[1:]


def _names(held: Mapping[str, str], most: int, random: Random) -> dict[str, list[str]]:
    """Return the names of each kind: few towns and lands, many persons, so that some are in many facts."""
    words = {kind: text.split("," if "," in text else None) for kind, text in held.items()}
    slots = {"T": "town", "L": "last", "A": "adjective", "B": "noun"}
    found = {k: words[k] for k in ("town", "land", "sea", "tongue", "pastime", "trade", "tool", "dish")}
    words["last"] = [f"{begin}{end}" for begin in words["last"] for end in words["ending"]]
    found["person"] = sorted(
        {f"{random.choice(words['first'])} {random.choice(words['last'])}" for _ in range(most)}
    )
    for kind in ("school", "club", "book", "firm", "ship"):
        made = {
            " ".join(_filled(word, slots, words, random) for word in random.choice(words[kind]).split())
            for _ in range(most // 10)
        }
        found[kind] = sorted(made)
    return found


def _filled(word: str, slots: Mapping[str, str], words: Mapping[str, list[str]], random: Random) -> str:
    bare = word.removesuffix("'s")
    return random.choice(words[slots[bare]]) + word[len(bare) :] if bare in slots else word


def _facts(
    count: int, relations: list[_Relation], names: Mapping[str, list[str]], random: Random
) -> list[_Fact]:
    pairs = [(relation, subject) for relation in relations for subject in names[relation.subject]]
    chosen = random.sample(pairs, min(len(pairs), int(count / (1 + _CHANGED))))
    said = [*chosen, *random.sample(chosen, count - len(chosen))]
    latest: dict[tuple[_Relation, str], str] = {}
    found = list[_Fact]()
    for relation, subject in said:
        before = latest.get((relation, subject))
        others = [value for value in names[relation.value] if value not in (before, subject)]
        latest[relation, subject] = random.choice(others)
        found.append(_Fact(relation, subject, latest[relation, subject]))
    order = list(range(len(found)))
    random.shuffle(order)
    # What changes a value stays behind what it changes.
    places: dict[tuple[_Relation, str], list[int]] = {}
    for number in sorted(order, reverse=True):
        places.setdefault((found[number].relation, found[number].subject), []).append(number)
    return [found[places[found[number].relation, found[number].subject].pop()] for number in order]


def _chains(current: Mapping[tuple[_Relation, str], str], random: Random) -> Iterator[tuple[str, str]]:
    """Yield questions of two to four facts, and their answers."""
    by_subject: dict[str, list[_Relation]] = {}
    for relation, subject in current:
        by_subject.setdefault(subject, []).append(relation)
    subjects = sorted(by_subject)
    made = 0
    while made < _QUESTIONS:
        subject = random.choice(subjects)
        length, phrase, seen = random.choice((2, 2, 2, 3, 3, 4)), subject, [subject]
        for step in range(length):
            options = [r for r in by_subject.get(seen[-1], ()) if current[r, seen[-1]] not in seen]
            if not options:
                break
            relation = random.choice(options)
            seen.append(current[relation, seen[-1]])
            last = step + 1 == length
            form = random.choice(relation.questions if last else relation.phrases)
            phrase = form.replace("X's", f"{phrase}'s").replace("X", phrase)
        else:
            made += 1
            yield phrase, seen[-1]


if __name__ == "__main__":
    count, number, *rest = sys.argv[1:]
    print(json.dumps(made(int(count), int(number), *rest), ensure_ascii=False))
