"""Which mutants are tried: a seeded random sample, from every module its share."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["GROUPS", "draw", "group_of", "module_of"]

GROUPS = ("memory core", "formats", "stores", "learning")
"""What is scored apart. The drivers for Neo4j are in none: their tests need a server."""


def module_of(mutant: str) -> str:
    """Return the module of a mutant's name, "ace_graph.memory.search.tokenize.x_terms__mutmut_3"."""
    return mutant.rpartition(".")[0]


def group_of(mutant: str) -> str:
    """Return which of GROUPS a mutant belongs to."""
    module = module_of(mutant)
    if not module.startswith("ace_graph.memory"):
        return "learning"
    if module.startswith("ace_graph.memory.stores"):
        return "stores"
    return "formats" if module.startswith("ace_graph.memory.formats") else "memory core"


def draw(mutants: Iterable[str], size: int, seed: int) -> list[str]:
    """Return `size` of the mutants, sorted: from every module in proportion, and at least one.

    The same mutants, size and seed give the same sample, in whatever order the mutants come.
    """
    of_module: defaultdict[str, list[str]] = defaultdict(list)
    for mutant in sorted(set(mutants)):
        of_module[module_of(mutant)].append(mutant)
    total = sum(map(len, of_module.values()))
    if size >= total:
        return sorted(name for names in of_module.values() for name in names)
    chance = random.Random(seed)
    return sorted(
        name
        for module, names in of_module.items()
        for name in chance.sample(names, _shares({m: len(n) for m, n in of_module.items()}, size)[module])
    )


def _shares(counts: dict[str, int], size: int) -> dict[str, int]:
    """Divide `size` by the largest remainders, and give at least one to each."""
    total = sum(counts.values())
    shares = {module: max(1, size * count // total) for module, count in counts.items()}
    by_remainder = sorted(counts, key=lambda module: (-(size * counts[module] % total), module))
    for module in by_remainder[: max(0, size - sum(shares.values()))]:
        shares[module] += 1
    return {module: min(share, counts[module]) for module, share in shares.items()}
