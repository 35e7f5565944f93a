"""What `retrieve` found for many questions in many playbooks, recorded, so that nothing changes unseen.

    python -m tests.memory.retrieval.recorded

writes the record anew after a change that is wanted; read the difference before you commit it. Whether what
is found is right is judged elsewhere (test_retrieve.py, test_cutoff.py, benchmarks/quality/retrieval).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

from ace_graph.memory import Access, Bullet, Playbook, Policy
from tests.memory.retrieval.queries import NOW, THEN, ask, bullet
from tests.memory.retrieval.questions import LESSONS, NEEDED, UNRELATED

RECORD = Path(__file__).with_name("recorded.tsv")
PLAYBOOKS = 8
_TYPES = ("semantic", "procedural", "episodic")


def found(number: int) -> Iterator[str]:
    """Yield for each question what it gets of a playbook: the core, what is retrieved with scores, tokens."""
    chance = Random(number)
    playbook = Playbook.of(_bullet(chance, key, text) for key, text in LESSONS.items())
    base = Playbook.of(
        _bullet(chance, f"b-{key}", f"{text} at first") for key, text in [*LESSONS.items()][::5]
    )
    access = Access(access_clock=400, stamps={key: chance.randint(1, 400) for key in [*LESSONS][::2]})
    policy = Policy(prune_threshold=0.35 if number % 2 else 0.0)
    for question in _questions():
        got = ask(
            playbook,
            question,
            access=access,
            policy=policy,
            budget_tokens=chance.choice((60, 2_000, 2_000)),
            max_bullets=chance.choice((None, 3)),
            topic=chance.choice((None, "fractions")),
            memory_types=("procedural",) if chance.random() < 0.1 else None,
            base=chance.choice((None, base)),
            proven_only=chance.random() < 0.1,
        )
        core = " ".join(f"{each.bullet.id}:{each.score:.4f}" for each in got.core)
        others = " ".join(
            f"{each.bullet.id}:{each.score:.4f}:{each.relevance:.4f}:{each.strength:.4f}"
            for each in got.retrieved
        )
        yield f"{question}\t{core}\t{others}\t{got.tokens}"


def read_record() -> list[list[str]]:
    """Return the recorded lines of each playbook."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    size = len(lines) // PLAYBOOKS
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def _questions() -> list[str]:
    asked = [question for question, _ in NEEDED]
    both = [f"{one} {other}" for one, other in pairwise(asked[::3])]
    return [*asked, *both, *UNRELATED[::4]]


def _bullet(chance: Random, key: str, text: str) -> Bullet:
    changed = THEN + timedelta(days=chance.randint(0, 29))
    return bullet(
        key,
        text,
        section="preferences" if chance.random() < 0.05 else "strategies",
        memory_type=chance.choice(_TYPES),
        topic=chance.choice((None, None, "fractions", "decimals")),
        keywords=chance.choice(((), ("denominator",), ("memory", "service"))),
        helpful=chance.choice((0, 0, 1, 9)),
        harmful=2 if chance.random() < 0.1 else 0,
        setbacks=1 if chance.random() < 0.1 else 0,
        pinned=chance.random() < 0.05,
        ttl_days=20.0 if chance.random() < 0.1 else None,
        updated_at=min(changed, NOW),
    )


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for n in range(PLAYBOOKS) for line in found(n)), encoding="utf-8")
