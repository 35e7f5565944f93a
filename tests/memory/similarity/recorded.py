"""What `compare` answered for many pairs, and what it read, recorded, so that no answer changes unseen.

    python -m tests.memory.similarity.recorded

writes the record anew after a change that is wanted; read the difference before you commit it. Whether an
answer is right is judged elsewhere (other_claims.py, near_duplicates.py, benchmarks/quality/duplicates).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ace_graph.memory import Bullet
from ace_graph.memory.similarity import (
    are_contradictory,
    are_mutually_exclusive,
    is_typo,
    may_be_a_name,
    parse_claim,
    same_spelling,
)
from ace_graph.memory.similarity.compare import compare
from benchmarks.quality.duplicates.pairs import read, seed_of
from tests.memory.similarity.near_duplicates import SAME
from tests.memory.similarity.other_claims import APART

PAIRS = Path(__file__).with_name("recorded_pairs.tsv")
VARIANTS = Path(__file__).with_name("recorded_variants.tsv")
WORDS = Path(__file__).with_name("recorded_words.tsv")
CLAIMS = Path(__file__).with_name("recorded_claims.tsv")
_EVERY = 12
"""Every twelfth word is mistyped in all ways."""
_PUT_IN = "aensz"
_ENDINGS = ("ly", "ily", "ing", "ed", "s", "e", "ise", "ize", "our", "or", "ate", "ite", "er", "ee")
_BEGINNINGS = ("in", "un", "dis", "re", "pre", "hyper", "hypo", "mis", "non", "over", "under")


def pairs() -> Iterator[tuple[str, str]]:
    """Yield the labelled pairs, but those that are kept to measure with."""
    for pair in read():
        if pair.part == "tuning":
            yield pair.a, pair.b
    for group in (SAME, APART):
        for few in group.values():
            yield from few


def answers_to_pairs(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the answers by a hash of the two texts, and what was asked."""
    return {seed_of(f"{a}\n{b}"): f"{_answer(a, b, scored=True)}\t{a} || {b}" for a, b in given}


def answers_to_variants(texts: Iterable[str]) -> dict[str, str]:
    """Return for each text the answers where a word is missing, and where two neighbours are exchanged."""
    return {text: f"{' '.join(_dropped(text))}\t{' '.join(_exchanged(text))}" for text in texts}


def texts() -> list[str]:
    """Return the first texts of the labelled pairs, each once."""
    return sorted({" ".join(a.split()) for a, _ in pairs()})


def words() -> list[str]:
    """Return some of the words of those texts in lower case, of four letters or more."""
    found = {word for text in texts() for word in text.casefold().split() if word.isalpha() and len(word) > 3}
    return sorted(found)[::_EVERY]


def answers_to_words(given: Iterable[str]) -> dict[str, str]:
    """Return for each word which of its misspellings and derived words are taken for what.

    One character a form: t a typo, T a typo in English alone, b another spelling, c its opposite, x excluded,
    S a typo though it begins a sentence, "." none of them.
    """
    return {word: "".join(map(partial(_relation, word), _forms(word))) for word in given}


def claims(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return by a hash of the two texts a hash of what each of them claims."""
    return {seed_of(f"{a}\n{b}"): f"{_claim(a)}\t{_claim(b)}" for a, b in given}


def read_record(path: Path) -> dict[str, str]:
    """Return what was recorded: a line's first field, and the rest."""
    record = dict[str, str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, answer = line.partition("\t")
        record[key] = answer
    return record


def _dropped(text: str) -> Iterator[str]:
    words = text.split()
    for place in range(len(words) if len(words) > 1 else 0):
        yield _answer(text, " ".join([*words[:place], *words[place + 1 :]]))


def _exchanged(text: str) -> Iterator[str]:
    words = text.split()
    for place in range(len(words) - 1):
        yield _answer(text, " ".join([*words[:place], words[place + 1], words[place], *words[place + 2 :]]))


def _forms(word: str) -> Iterator[str]:
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
        yield word[:place] + word[place + 1 : place + 2] + word[place] + word[place + 2 :]
        for letter in _PUT_IN:
            yield word[:place] + letter + word[place + 1 :]
            yield word[:place] + letter + word[place:]
    for ending in _ENDINGS:
        yield from (word + ending, word[:-1] + ending, word[:-2] + ending)
    for beginning in _BEGINNINGS:
        yield from (beginning + word, beginning + word[1:], beginning + word[2:])


def _relation(word: str, form: str) -> str:
    if is_typo(word, form) and not may_be_a_name(word, form, ("english",), "opening"):
        return "S"
    if is_typo(form, word, ("english", "german")):
        return "t"
    if is_typo(form, word):
        return "T"
    if same_spelling(word, form):
        return "b"
    if are_contradictory(word, form):
        return "c"
    return "x" if are_mutually_exclusive(word, form) else "."


def _answer(a: str, b: str, *, scored: bool = False) -> str:
    found = compare(_bullet(a), _bullet(b), 0.9)
    answer = f"{found.outcome}:{found.guard or '-'}"
    return f"{answer}:{found.score:.4f}" if scored else answer


def _claim(text: str) -> str:
    return seed_of(json.dumps(asdict(parse_claim(text)), default=sorted, sort_keys=True))


def _bullet(content: str) -> Bullet:
    return Bullet(id="str-00001", section="strategies", content=content)


def _write(path: Path, answers: dict[str, str]) -> None:
    path.write_text("".join(f"{key}\t{answer}\n" for key, answer in answers.items()), encoding="utf-8")


if __name__ == "__main__":
    _write(PAIRS, answers_to_pairs(pairs()))
    _write(CLAIMS, claims(pairs()))
    _write(VARIANTS, answers_to_variants(texts()))
    _write(WORDS, answers_to_words(words()))
