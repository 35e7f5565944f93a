"""All benchmarks of quality, or some: `python -m benchmarks.quality [learning] [duplicates] [retrieval] ...`.

Each writes its own section of results and leaves the others' alone. QUICK=1 runs a small learning simulation
and writes nothing.

Some sets (`SPLIT`) have a half for tuning, which is looked at by default, and a held-out half: `--held-out`
looks at that one instead and writes a section with the time of the look, so that a page shows every look.

Two run only where they are named: `rewriting` takes some 20 minutes of processor, and `others` compares with
langmem and mem0, which are installed by hand (`others/requirements.txt`).

These numbers never fail a build.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from langchain_core.embeddings import Embeddings
from rich.console import Console

from ace_graph.agent.embeddings.static_vectors import INSTALL, find_static_vectors
from ace_graph.base.errors import ConfigurationError
from benchmarks.quality import bill_table, learning_simulation, rewriting, two_worlds
from benchmarks.quality.conversations import run as conversations
from benchmarks.quality.duplicates import run as duplicates
from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.heard import run as heard
from benchmarks.quality.others import run as others
from benchmarks.quality.results import looks, replace_section
from benchmarks.quality.retrieval import run as retrieval
from benchmarks.quality.rewordings import run as rewordings

Report = Callable[[Part, Embeddings | None], str]
OTHERS = "others"
REWRITING = "rewriting"

SPLIT: dict[str, tuple[Report, Path, str]] = {
    "worlds": (two_worlds.report, learning_simulation.RESULTS, "Two worlds"),
    "conversations": (conversations.report, conversations.RESULTS, "Conversations"),
    "rewordings": (rewordings.report, rewordings.RESULTS, "Rewordings"),
    "heard": (heard.report, heard.RESULTS, "Heard"),
    OTHERS: (others.report, others.RESULTS, "Others"),
}
"""For each set with halves: its report, the page, and the section of the half for tuning."""

NAMES = ("learning", "bill", "duplicates", "retrieval", *SPLIT, REWRITING)
_ONLY_NAMED = (OTHERS, REWRITING)


def main() -> None:
    """Run what is named on the command line, all of it where nothing is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"of {', '.join(NAMES)}; default: all but {' and '.join(_ONLY_NAMED)}",
    )
    parser.add_argument("--data", type=Path, help="a folder with playbooks, for a retrieval set made of them")
    parser.add_argument(
        "--embeddings",
        help="off, static, or provider:model of init_embeddings; default: static where installed",
    )
    parser.add_argument(
        "--held-out", action="store_true", help=f"look at the held-out half of {', '.join(SPLIT)}"
    )
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if options.held_out and set(options.names) - set(SPLIT):
        parser.error(f"only {', '.join(SPLIT)} have a held-out half")
    every = SPLIT if options.held_out else NAMES
    chosen = options.names or [name for name in every if name not in _ONLY_NAMED]
    model = _model(options.embeddings)
    if "duplicates" in chosen:
        _tell(lambda: duplicates.report(model), duplicates.RESULTS, "Near-duplicates")
    if "retrieval" in chosen:
        _tell(lambda: retrieval.report(model, options.data), retrieval.RESULTS, "Retrieval")
    if "learning" in chosen:
        learning_simulation.main()
    if "bill" in chosen:
        _tell(bill_table.report, learning_simulation.RESULTS, "The bill of learning")
    if REWRITING in chosen:
        rewriting.main()
    for name in (name for name in SPLIT if name in chosen):
        report, results, section = SPLIT[name]
        try:
            _tell_half(lambda part, of=report: of(part, model), results, section, held_out=options.held_out)
        except ConfigurationError as error:
            parser.exit(2, f"{name}: {error}\n")


def _tell_half(report: Callable[[Part], str], results: Path, section: str, *, held_out: bool) -> None:
    if held_out:
        look = f"{section}: the held-out half, looked at on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        _tell(lambda: report("held-out"), results, look)
    else:
        _tell(lambda: f"{report('tuning')}\n\n{looks(results, section)}", results, section)


def _tell(report: Callable[[], str], results: Path, name: str) -> None:
    text = report()
    Console().print(text, markup=False, soft_wrap=True)
    if os.environ.get("QUICK", "") in ("", "0"):
        replace_section(results, name, text)


def _model(name: str | None) -> Embeddings | None:
    if name == "off":
        return None
    if name in (None, "static"):
        found = find_static_vectors()
        if found is None and name is not None:
            raise SystemExit(INSTALL)
        return found
    # Only here, because the package is an extra.
    from langchain.embeddings import init_embeddings

    return init_embeddings(name)


if __name__ == "__main__":
    main()
