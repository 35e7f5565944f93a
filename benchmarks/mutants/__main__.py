"""`python -m benchmarks.mutants`: a sample of all mutants, or all of some files.

    python -m benchmarks.mutants                                    # writes RESULTS.md
    python -m benchmarks.mutants --files memory/window.py --tests tests/memory

A low score fails nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

from rich.console import Console

from benchmarks.machine import describe_machine
from benchmarks.mutants.mutation import (
    CONTROL,
    Verdict,
    change_of,
    mutants_of,
    prepare,
    try_mutants,
    verdicts,
)
from benchmarks.mutants.reasons import read_reasons
from benchmarks.mutants.report import UNSEEN, page
from benchmarks.mutants.sample import draw
from benchmarks.mutants.tree import MUTATED, ROOT, TESTS, make_copy, mutated_paths

RESULTS = Path(__file__).with_name("RESULTS.md")
CONTROLS = 20
"""So many of the sample's functions are tested without a mutant, too."""
WORK = ROOT / ".local" / "mutants"


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--files", nargs="*", default=[], help="all mutants of these files; writes no page")
    parser.add_argument("--tests", nargs="*", default=[], help="only these tests; writes no page")
    parser.add_argument("--sample", type=int, default=600, help="how many mutants are tried")
    parser.add_argument("--children", type=int, default=1, help="how many are tried at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=WORK, help="where the copy is")
    options = parser.parse_args()
    partly = bool(options.files or options.tests)
    only = mutated_paths(options.files) or MUTATED
    tree = make_copy(options.work / "some" if partly else options.work / "all", only, options.tests or TESTS)
    console = Console()
    console.print(
        "Making mutants and measuring the tests; then every mutant takes a second or a few minutes."
    )
    prepare(tree, options.tests or TESTS, options.children)
    every = mutants_of(tree)
    sample = every if options.files else draw(every, options.sample, options.seed)
    controls = [
        f"{CONTROL}{name}" for name in Random(options.seed).sample(sample, min(CONTROLS, len(sample)))
    ]
    console.print(f"{len(every)} mutants, {len(sample)} of them are tried.")
    try_mutants(tree, [*controls, *sample], options.children)
    known = verdicts(tree)
    tried: dict[str, Verdict] = {name: known[name] for name in sample}
    changes = {name: change_of(tree, name) for name in sample if tried[name] in UNSEEN}
    text = page(tried, changes, read_reasons(), every, describe_machine(), options.seed)
    console.print(text, markup=False, soft_wrap=True)
    if not partly:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
