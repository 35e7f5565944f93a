"""What `playbook export` and `playbook import` do: a playbook as a file, and back.

A file of up to 500 bullets with 100,000 characters is imported in one delta, a larger one in several, with a
progress bar.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ace_graph.cli.app import print_notice
from ace_graph.cli.commands.playbook_documents import write_agents_section, write_skill, write_text
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import by_command, on_playbook
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import FormatError
from ace_graph.memory.formats.agents import AgentsFormat
from ace_graph.memory.formats.base import Reading
from ace_graph.memory.formats.importing import ImportOutcome, read_stream, read_text
from ace_graph.memory.formats.markdown import public_lessons
from ace_graph.memory.formats.registry import format_named, read_bullets
from ace_graph.memory.formats.skill import SkillFormat
from ace_graph.memory.formats.skill_folder import checked_skill_folder
from ace_graph.memory.sharing.outgoing import outgoing_text
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.playbooks.handle import PlaybookHandle

__all__ = ["export_playbook", "import_playbook", "text_of"]

_SHOWN_REFUSALS = 20


def export_playbook(url: str | None, which: Which, name: str, file: Path | None) -> None:
    """Write the learner's bullets to `file`, or to stdout."""
    chosen = format_named(name)

    async def job(_: Store, target: PlaybookHandle) -> tuple[Snapshot, str]:
        about = outgoing_text(target.entry.description) if target.entry is not None else ""
        return await target.load(), about

    snapshot, about = on_playbook(url, which, job)
    written = whole = len(snapshot.playbook)
    if isinstance(chosen, SkillFormat | AgentsFormat):
        written = len(public_lessons(snapshot.playbook))
    if isinstance(chosen, SkillFormat):
        file = write_skill(snapshot.playbook, which.name, about, file)
    elif isinstance(chosen, AgentsFormat):
        write_agents_section(snapshot.playbook, which.name, file)
    else:
        write_text(chosen.write(snapshot.playbook), file)
    if file is not None:
        print_notice(f"{counted(written, 'bullet')} of {which} written to {file}")
        if written < whole:
            print_notice(f"{whole - written} left out, as not for others: `--format json` writes all")


def import_playbook(url: str | None, which: Which, file: Path, name: str, *, as_json: bool) -> None:
    """Add the bullets of `file` to the learner's, and say what became of each."""
    try:
        reading = read_bullets(text_of(file), name)
    except FormatError as error:
        raise FormatError(f"{file}: {error}") from error
    if file.is_dir() and (unread := checked_skill_folder(file).others):
        print_notice(f"{counted(len(unread), 'other file')} of {file} not read, such as {unread[0]!a}")

    async def job(_: Store, target: PlaybookHandle) -> tuple[ImportOutcome, Snapshot]:
        return await _add_all(target, reading, f"playbook import {file.name}")

    outcome, after = on_playbook(url, which, job)
    if as_json:
        print_json(
            {
                "read": outcome.read,
                "kept": outcome.kept,
                "merged": outcome.merged,
                "refused": len(outcome.refused),
                "reasons": [{"what": each.what, "why": each.why} for each in outcome.refused],
                "renamed": outcome.renamed,
                "core": outcome.core,
                "quarantined": outcome.quarantined,
                "left_out": dict(outcome.left_out),
                "version": None if after.absent else after.version.n,
            }
        )
    else:
        _print_import(outcome)
    if outcome.read and len(outcome.refused) == outcome.read:
        raise FormatError(f"{file}: every bullet was refused, nothing was changed: correct the file")


def text_of(file: Path) -> str:
    """Return the text of a file, or of stdin for -. Raises FormatError, OSError."""
    return read_stream(sys.stdin.buffer) if str(file) == "-" else read_text(file)


async def _add_all(target: PlaybookHandle, reading: Reading, reason: str) -> tuple[ImportOutcome, Snapshot]:
    base = await target.load()
    bar = Progress(
        TextColumn("importing"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console(error=True),
        disable=not sys.stderr.isatty(),
    )
    task = bar.add_task("importing", total=len(reading.bullets))
    try:
        with bar:
            return await target.import_bullets(
                base, reading, by_command(reason), lambda count: bar.advance(task, count)
            )
    except BaseException:
        if bar.tasks[0].completed:
            print_notice(f"stopped half way: playbook rollback {base.version.n} undoes what was imported")
        raise


def _print_import(outcome: ImportOutcome) -> None:
    out = console()
    counts = f"kept {outcome.kept}, merged {outcome.merged}, refused {len(outcome.refused)}"
    out.print(f"read {counted(outcome.read, 'bullet')}: {counts}", soft_wrap=True)
    for each in outcome.refused[:_SHOWN_REFUSALS]:
        out.print(f"  refused {printable(each.what)}: {printable(each.why)}", soft_wrap=True)
    if len(outcome.refused) > _SHOWN_REFUSALS:
        out.print(f"  … and {len(outcome.refused) - _SHOWN_REFUSALS} more: --json lists all", soft_wrap=True)
    if outcome.renamed:
        out.print(f"  new ids for {counted(outcome.renamed, 'bullet')}: theirs were taken", soft_wrap=True)
    if outcome.left_out:
        fields = ", ".join(f"{printable(name)} ({count})" for name, count in outcome.left_out.items())
        out.print(f"  left out, a bullet has no place for it: {fields}", soft_wrap=True)
    if outcome.core:
        out.print(f"  always in the prompt: {', '.join(outcome.core)}", soft_wrap=True)
    if outcome.quarantined:
        held = ", ".join(outcome.quarantined)
        out.print(f"  in quarantine, playbook show --quarantined says why: {held}", soft_wrap=True)
    if outcome.displaced:
        out.print(f"  made room or were replaced: {', '.join(outcome.displaced)}", soft_wrap=True)
