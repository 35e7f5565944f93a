"""All benchmarks of quality, or some: `python -m benchmarks.quality [learning] [duplicates] [retrieval]`.

Each writes its own file of results and leaves the others' alone. QUICK=1 runs a small learning simulation
and writes nothing.

These numbers never fail a build.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from langchain_core.embeddings import Embeddings
from rich.console import Console

from benchmarks.quality import learning_simulation
from benchmarks.quality.duplicates import run as duplicates
from benchmarks.quality.results import replace_section
from benchmarks.quality.retrieval import run as retrieval

NAMES = ("learning", "duplicates", "retrieval")


def main() -> None:
    """Run what is named on the command line, all of it where nothing is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--data", type=Path, help="a folder with playbooks, for a retrieval set made of them")
    parser.add_argument("--embeddings", help="provider:model, as LangChain's init_embeddings takes it")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    chosen = options.names or NAMES
    model = _model(options.embeddings) if options.embeddings else None
    if "duplicates" in chosen:
        _tell(lambda: duplicates.report(model), duplicates.RESULTS, "Near-duplicates")
    if "retrieval" in chosen:
        _tell(lambda: retrieval.report(model, options.data), retrieval.RESULTS, "Retrieval")
    if "learning" in chosen:
        learning_simulation.main()


def _tell(report: Callable[[], str], results: Path, name: str) -> None:
    text = report()
    Console().print(text, markup=False, soft_wrap=True)
    if os.environ.get("QUICK", "") in ("", "0"):
        replace_section(results, name, text)


def _model(name: str) -> Embeddings:
    # Only here, because the package is an extra.
    from langchain.embeddings import init_embeddings

    return init_embeddings(name)


if __name__ == "__main__":
    main()
