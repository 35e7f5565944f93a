"""Public test sets, without a model: `python -m benchmarks.public NAME --data FILE [FILE ...]`.

Nothing is downloaded, and no data is in the repository: FILE is what the authors of a set publish. Every
system that is installed is asked the same questions about the same lines. Prints tables, and writes nothing.

    fact-consolidation  MIT: a file of facts and questions of MemoryAgentBench
    locomo              CC BY-NC 4.0: locomo10.json; --corrections: errors.json of dial481/locomo-audit
    beam                no licence named: the folder of a chat, of several (chats/100K), or a parquet file
    longmemeval         MIT: longmemeval_s.json and the like

langmem and mem0 take part where benchmarks/quality/others/requirements.txt is installed, and get the word
vectors of the extra `embeddings`; `ours-vectors` is this project with them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.machine import describe_machine
from benchmarks.public import beam, fact_consolidation, locomo, longmemeval
from benchmarks.public.reading import first_questions
from benchmarks.public.systems import SYSTEMS, Part, Shown, System, find_systems
from benchmarks.quality.others.no_network import no_network

SETS = {
    "fact-consolidation": fact_consolidation,
    "locomo": locomo,
    "beam": beam,
    "longmemeval": longmemeval,
}


def main() -> None:
    """Ask the questions of a set, and print what each system showed."""
    given = _arguments()
    chosen, out = SETS[given.name], Console()
    parts = first_questions(_read(given), given.limit)
    systems, missing = find_systems(chosen.TOP, given.systems)
    with no_network() as attempts:
        shown = asyncio.run(ask_all(parts, systems))
        kept = asyncio.run(_kept(parts)) if given.name == "beam" else []
    for table in chosen.tables(parts, shown):
        table.show(out)
    if kept:
        beam.statement_table(kept).show(out)
    if given.show:
        for question, message, bullets in kept:
            told = "\n  kept: ".join((f"{question.kind}: {message}", *bullets))
            out.print(f"\n{told}", markup=False, soft_wrap=True)
    notes = [f"Licence of the data: {chosen.LICENCE}.", f"{'; '.join(describe_machine())}."]
    if missing:
        notes.append(f"Not installed, so not asked: {', '.join(missing)}.")
    if attempts.made:
        notes.append(f"Connections that were tried and refused: {', '.join(sorted(set(attempts.made)))}.")
    for note in notes:
        out.print(note, markup=False, soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.public",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=tuple(SETS), help="the test set")
    parser.add_argument(
        "--data", type=Path, nargs="+", required=True, help="published files of the set, or folders"
    )
    parser.add_argument("--limit", type=int, help="ask the first so many questions of the files only")
    parser.add_argument(
        "--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, help="which systems to ask; default: all"
    )
    parser.add_argument(
        "--corrections", type=Path, nargs="+", default=(), help="locomo: files that correct its key"
    )
    parser.add_argument(
        "--reworded", type=int, metavar="SEED", help="fact-consolidation: tell the facts in other words, too"
    )
    parser.add_argument(
        "--show", action="store_true", help="beam: print the messages that state something, and what is kept"
    )
    given = parser.parse_args()
    if given.limit is not None and given.limit < 1:
        parser.error("--limit is at least 1")
    if given.corrections and given.name != "locomo":
        parser.error("--corrections are for locomo only")
    if given.show and given.name != "beam":
        parser.error("--show is for beam only")
    if given.reworded is not None and given.name != "fact-consolidation":
        parser.error("--reworded is for fact-consolidation only")
    return given


def _read(given: argparse.Namespace) -> list[Part]:
    try:
        if given.name == "locomo":
            corrections = locomo.read_corrections(given.corrections)
            return [part for path in given.data for part in locomo.read(path, corrections)]
        if given.name == "fact-consolidation":
            return [part for path in given.data for part in fact_consolidation.read(path, given.reworded)]
        return [part for path in given.data for part in SETS[given.name].read(path)]
    except (OSError, ValueError) as error:
        sys.exit(f"benchmarks.public: {error}")


async def ask_all(parts: Sequence[Part], systems: dict[str, System]) -> dict[str, list[list[Shown]]]:
    """Return what each system shows for the questions of each part."""
    total = sum(len(part.questions) for part in parts)
    shown = dict[str, list[list[Shown]]]()
    with Progress(console=Console(stderr=True)) as progress:
        for name, ask in systems.items():
            bar = progress.add_task(name, total=total)
            shown[name] = [await ask(part, lambda bar=bar: progress.advance(bar)) for part in parts]
    return shown


async def _kept(parts: Sequence[Part]) -> list[beam.Kept]:
    return [one for part in parts for one in await beam.kept_statements(part)]


if __name__ == "__main__":
    main()
