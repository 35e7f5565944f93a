"""What `compare` answered for many pairs, recorded, so that no answer changes unseen.

    python -m tests.memory.similarity.recorded

writes the record anew after a change that is wanted; read the difference before you commit it. Whether an
answer is right is judged elsewhere (other_claims.py, near_duplicates.py, benchmarks/quality/duplicates).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ace_graph.memory import Bullet
from ace_graph.memory.similarity.compare import compare
from benchmarks.quality.duplicates.pairs import read, seed_of
from tests.memory.similarity.near_duplicates import SAME
from tests.memory.similarity.other_claims import APART

PAIRS = Path(__file__).with_name("recorded_pairs.tsv")
VARIANTS = Path(__file__).with_name("recorded_variants.tsv")


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


def _answer(a: str, b: str, *, scored: bool = False) -> str:
    found = compare(_bullet(a), _bullet(b), 0.9)
    answer = f"{found.outcome}:{found.guard or '-'}"
    return f"{answer}:{found.score:.4f}" if scored else answer


def _bullet(content: str) -> Bullet:
    return Bullet(id="str-00001", section="strategies", content=content)


def _write(path: Path, answers: dict[str, str]) -> None:
    path.write_text("".join(f"{key}\t{answer}\n" for key, answer in answers.items()), encoding="utf-8")


if __name__ == "__main__":
    _write(PAIRS, answers_to_pairs(pairs()))
    _write(VARIANTS, answers_to_variants(texts()))
