"""Make the weights of the screen's learned scores: `python dev/train_order_score.py [--judge]`.

Reads dev/order_examples/*.tsv (a mark and a text a line: `!` an order to the assistant, `.` none, `~` a
wish about the form of all answers, which only learners may have), texts that stand elsewhere (tables of the
screen's tests, templates, what people say in the quality benchmarks), and Python's docstrings, and writes
memory/screening/data/order_weights.txt. The texts of fresh_orders.tsv and fresh_wishes.tsv measure: nothing
learns from them. `--judge` writes nothing: it prints how much of each file is held by scores that learned
from all others.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ace_graph.memory.screening import order_score
from ace_graph.memory.screening.rules import as_latin, folded

HERE = Path(__file__).parent
EXAMPLES = HERE / "order_examples"
TABLES = HERE.parent / "tests/memory/screening"
TEMPLATES = HERE.parent / "ace_graph/playbooks/data"
QUALITY = HERE.parent / "benchmarks/quality"
"""What people say, tell and ask in the sets of the benchmarks: no orders, in five languages."""
WEIGHTS = HERE.parent / "memory/screening/data/order_weights.txt"
PENALTY, STEPS, LEAST = 1 / 60, 600, 0.1
"""L2, steps of the descent, and the weight below which a feature is left out: it costs more than it tells."""
_FIELDS = re.compile(r"\t| \| |^[A-Za-z0-9?=~+-]{1,2}:? ")
_SENTENCE_OR_PARAGRAPH = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_HEAD = """\
# The weights of the learned scores (ace_graph.memory.screening.order_score), made by dev/train_order_score.py
# of {texts} sentences and texts, with Python's docstrings; the others have the digest {digest}.
#
# Format: a feature, its weight for orders, for wishes, and its inverse document frequency, with tabs between;
# = is the bias, with the frequency of what is not in the table.

"""


class Example(NamedTuple):
    """A labelled text, and the file that it is from."""

    file: str
    mark: str
    text: str


class Vector(NamedTuple):
    """The numbers of a text's features, ascending, and what each is worth: tf-idf, normalized."""

    features: NDArray[np.int_]
    values: NDArray[np.float64]


def main() -> None:
    """Write the weights, or judge how they are learned."""
    examples = [*read_examples(), *(Example("docstrings", ".", text) for text in docstrings())]
    if "--judge" in sys.argv:
        judge(examples)
    else:
        WEIGHTS.write_text(learn(examples), "utf-8")


def read_examples() -> Iterator[Example]:
    """Yield the examples of the folder, and texts that stand elsewhere."""
    for path in sorted(EXAMPLES.glob("*.tsv")):
        yield from (Example(path.stem, *line.split("\t", 1)) for line in lines(path))
    for _, mark, text in rows(TABLES / "standing_orders.tsv"):
        yield Example("standing_orders", mark, text)
    for wish, order in rows(TABLES / "wishes_and_orders.tsv"):
        yield from (Example("wishes_and_orders", "~", wish), Example("wishes_and_orders", "!", order))
    for language, mark, text in rows(TABLES / "orders.tsv"):
        if language == "english":
            yield Example("orders", mark, text)
    for name in ("harmless", "lessons_for_agents"):
        yield from (Example(name, ".", text) for text in lines(TABLES / f"{name}.txt"))
    for half, *_, text in rows(HERE.parent / "benchmarks/redteam/harmless.tsv"):
        if half == "tuning":
            yield Example("red_team_harmless", ".", text)
    for path in sorted(TEMPLATES.glob("*.json")):
        for bullet in json.loads(path.read_text("utf-8"))["bullets"]:
            yield Example("templates", ".", bullet["content"])
    for path in sorted((*QUALITY.glob("*/data/*.t*"), *QUALITY.glob("retrieval/learners/*.txt"))):
        texts = (text.strip() for line in lines(path) for text in _FIELDS.split(line))
        yield from (Example("talk", ".", text) for text in texts if len(text.split()) > 3)


def digest() -> str:
    """Return a digest of the examples, by which a test sees that they have changed."""
    return hashlib.sha256(repr(list(read_examples())).encode()).hexdigest()[:16]


def docstrings() -> Iterator[str]:
    """Yield the sentences of Python's own docstrings: technical texts that nobody wrote for this."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                said = _SENTENCE_OR_PARAGRAPH.split(ast.get_docstring(node) or "")
                yield from (" ".join(text.split()) for text in said if 4 < len(text.split()) <= 40)


def rows(path: Path) -> list[list[str]]:
    """Return the lines of a table, each as its fields."""
    return [line.split("\t") for line in lines(path)]


def lines(path: Path) -> list[str]:
    """Return the lines of a file but comments and empty ones."""
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def judge(examples: Sequence[Example]) -> None:
    """Print what share of each file's marks scores at least so much, when the others teach."""
    thresholds = (0.0, 0.25, 0.5, 1.0, 1.25, 1.5, 2.5)
    print("file mark texts score", *thresholds, sep="\t")
    for file in dict.fromkeys(each.file for each in examples):
        table = learn([each for each in examples if each.file != file])
        score = order_score.scorer(line for line in table.splitlines() if line[:1] not in ("", "#"))
        for mark in "!.~":
            scores = [score(plain(each.text)) for each in examples if (each.file, each.mark) == (file, mark)]
            for kind, of_kind in zip(order_score.OrderScore._fields, zip(*scores, strict=True), strict=False):
                shares = (f"{sum(one >= least for one in of_kind) / len(scores):.2f}" for least in thresholds)
                print(f"{file} {mark} {len(scores)} {kind}", *shares, sep="\t", flush=True)


def plain(text: str) -> str:
    """Return a text as the screen reads it."""
    return as_latin(folded(text)).casefold()


def learn(examples: Sequence[Example]) -> str:
    """Return the table of two logistic regressions over the tf-idf of the features of two texts or more.

    Wishes are no orders; whether an order is a wish, too, is not asked. What is neither is neither in each of
    its sentences, which is what the screen reads.
    """
    examples = [one for each in examples for one in sentences(each)]
    bags = [set(order_score.features(plain(each.text))) for each in examples]
    seen = Counter(feature for bag in bags for feature in bag)
    names = sorted(name for name, texts in seen.items() if texts > 1)
    idf = np.array([1 + np.log((1 + len(bags)) / (1 + seen[name])) for name in names])
    number = {name: n for n, name in enumerate(names)}
    rarest = 1 + np.log((1 + len(bags)) / 2)
    rows = [np.array(sorted(number[name] for name in bag if name in number), dtype=int) for bag in bags]
    lengths = [
        float(np.sqrt((idf[row] ** 2).sum() + (len(bag) - len(row)) * rarest**2))
        for bag, row in zip(bags, rows, strict=True)
    ]
    vectors = [Vector(row, idf[row] / length) for row, length in zip(rows, lengths, strict=True)]
    marks = [each.mark for each in examples]
    orders = regression(vectors, [mark == "!" for mark in marks], len(names))
    no_orders = [vector for vector, mark in zip(vectors, marks, strict=True) if mark != "!"]
    wishes = regression(no_orders, [mark == "~" for mark in marks if mark != "!"], len(names))
    kept = zip(names, orders.tolist(), wishes.tolist(), idf.tolist(), strict=False)
    table = [
        f"{name}\t{order:.2f}\t{wish:.2f}\t{rarity:.2f}\n"
        for name, order, wish, rarity in kept
        if max(abs(order), abs(wish)) >= LEAST
    ]
    head = _HEAD.format(texts=len(bags), digest=digest())
    return f"{head}{order_score.BIAS}\t{orders[-1]:.2f}\t{wishes[-1]:.2f}\t{rarest:.2f}\n{''.join(table)}"


def sentences(example: Example) -> Iterator[Example]:
    """Yield the sentences of a text that is no order and no wish, or the example itself."""
    parts = order_score.SENTENCE_END.split(example.text) if example.mark == "." else [example.text]
    yield from (example._replace(text=part) for part in parts)


def regression(vectors: Sequence[Vector], wanted: Sequence[bool], features: int) -> NDArray[np.float64]:
    """Return the weights of the features and, last, the bias: logistic, with an L2 penalty."""
    values = np.concatenate([vector.values for vector in vectors])
    columns = np.concatenate([vector.features for vector in vectors])
    sizes = np.array([len(vector.features) for vector in vectors])
    starts = np.cumsum(sizes) - sizes
    goal = np.array(wanted, dtype=float)

    def descent(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = at[-1] + np.add.reduceat(at[columns] * values, starts)
        loss = (np.logaddexp(0, odds) - goal * odds).sum() + PENALTY / 2 * (at[:-1] ** 2).sum()
        error = np.exp(-np.logaddexp(0, -odds)) - goal
        slope = np.bincount(columns, np.repeat(error, sizes) * values, minlength=len(at)).astype(float)
        return loss, slope + np.append(PENALTY * at[:-1], error.sum())

    # accelerated gradient (Nesterov 1983), with a step that shrinks until the loss goes down as it should
    weights = ahead = np.zeros(features + 1)
    pace = step = 1.0
    for _ in range(STEPS):
        loss, slope = descent(ahead)
        while descent(ahead - step * slope)[0] > loss - step / 2 * slope @ slope:
            step /= 2
        following = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        new = ahead - step * slope
        ahead, weights = new + (pace - 1) / following * (new - weights), new
        pace = following
    return weights


if __name__ == "__main__":
    main()
