"""The commands `ace-graph playbook ...`: look at what is remembered, change it, go back, curate it.

Without `--name` a command works on a learner's memory, the playbook `default`. Each change is one commit; one
that the memory refuses is an error, and nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from ace_graph import playbooks
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, FormatError, UsageError, unknown
from ace_graph.cli.adapt import CompareOptions
from ace_graph.cli.command import (
    AUTHOR,
    DEFAULT_NAME,
    LEARNER,
    PLAYBOOK,
    Bounds,
    Call,
    CommandGroup,
    DryRun,
    Everybody,
    On,
    as_utc,
    by_command,
    check_all,
    command,
    refused,
    to_its_end,
)
from ace_graph.cli.terminal import (
    console,
    counted,
    picked,
    print_aside,
    print_line,
    print_notice,
    printable,
    progress_bar,
)
from ace_graph.memory.bullet import AVOID, Bullet, BulletSource, BulletTag, MemoryType
from ace_graph.memory.catalogue import Lessons, PlaybookEntry, Scope, Visibility
from ace_graph.memory.delta import operations as ops
from ace_graph.memory.delta.operations import Operation
from ace_graph.memory.views import (
    BulletFilter,
    BulletStatus,
    Kind,
    content_of,
    entry_of,
    fields_of,
    is_bullet_kind,
    kind_of,
)
from ace_graph.memory.views import diff as bullet_diff
from ace_graph.playbooks.listing import all_playbooks

if TYPE_CHECKING:
    from rich.table import Table

    from ace_graph.agent.retriever import ExplainedBullet
    from ace_graph.memory.commit import Commit, HistoryEntry
    from ace_graph.memory.formats.reading import Reading
    from ace_graph.memory.formats.registry import ImportOutcome
    from ace_graph.memory.playbook import Playbook
    from ace_graph.memory.policy import Policy
    from ace_graph.memory.snapshot import Snapshot
    from ace_graph.memory.stores.base import StoredVersion
    from ace_graph.memory.stores.store import KeyedStore, Store
    from ace_graph.playbooks.content import Rescreened
    from ace_graph.playbooks.handle import NamedPlaybook, PlaybookHandle
    from ace_graph.playbooks.memories import MemoryItem
    from ace_graph.playbooks.templates import Template
    from ace_graph.playbooks.worth import Worth

_MOST_FOUND = 100
_OF_A_TURN = {"task", "agent", "task_type", "status", "verdict", "score", "started_at", "completed_at"}
_LOOK, _CHANGE, _VERSIONS, _MANY = "Look", "Change", "Versions", "Many runs"

commands = typer.Typer(cls=CommandGroup, no_args_is_help=True)


class MemoryChoice(StrEnum):
    """The memory types, as a choice of which several can be made: typer knows no list of literals."""

    semantic = "semantic"
    episodic = "episodic"
    procedural = "procedural"


BulletId = Annotated[str | None, "ID", "A bullet's id, such as fil-00042."]
Tags = Annotated[list[str] | None, "--tag", "Only bullets with this tag; several: with all of them."]
Types = Annotated[list[MemoryChoice] | None, "--type", "Only this memory type; several: any of them."]


ScopeOption = Annotated[
    Scope | None,
    "--scope",
    (
        "agent: what --agent made; user: all that is the learner's own; tenant: what a team may read; "
        "global: all that is shared."
    ),
]
AgentOption = Annotated[str | None, "--agent NAME", "The label of an agent."]


@command(commands, *LEARNER, panel=_LOOK, name="list")
def list_(
    call: Call,
    templates: Annotated[bool, "The templates that come with ace-graph instead."] = False,
    figures: Annotated[bool, "Size, use and success of each."] = False,
) -> None:
    """The playbooks of a learner; `default` is the memory that turns read and write.

    \b
    ace-graph playbook list --learner ada
    ace-graph playbook list --figures
    ace-graph playbook list --templates

    Use by others counts, without their names.
    """

    if templates:
        from ace_graph.playbooks.templates import TEMPLATES, template

        known = [template(name) for name in TEMPLATES]
        call.answer(
            {"templates": [_template_json(each) for each in known]},
            [f"{each.name}  {counted(len(each.bullets), 'bullet')}  {each.description}" for each in known],
        )
        return

    async def job(store: Store) -> list[PlaybookEntry]:
        return [entry async for entry in all_playbooks(store, call.learner)]

    entries = call.on_store(job)
    if figures and entries:
        _answer_figures(call, entries)
        return
    call.answer(
        {"playbooks": [entry_json(entry) for entry in entries]},
        [
            f"{entry.name}  {entry.version.label}  {entry.updated_at:%Y-%m-%d %H:%M}"
            + (f"  {entry.description}" if entry.description else "")
            for entry in entries
        ],
        None if entries else f"Learner {call.learner} has no playbook yet.",
    )


def _answer_figures(call: Call, entries: Sequence[PlaybookEntry]) -> None:
    from ace_graph.playbooks.worth import active_bullets, read_worth

    async def job(store: Store) -> list[Worth]:
        opened = [await playbooks.open_playbook(store, each.name, call.learner) for each in entries]
        return [await read_worth(store, each, call.learner, lambda _: ()) for each in opened]

    found = list(zip(entries, call.on_store(job), strict=True))
    rows = [
        {
            **entry_json(entry),
            "bullets": len(active_bullets(worth.snapshot)),
            **worth.effectiveness.model_dump(mode="json"),
            **worth.metadata.model_dump(mode="json"),
        }
        for entry, worth in found
    ]
    call.answer({"playbooks": rows}, [_figures_line(*each) for each in found])


def _figures_line(entry: PlaybookEntry, worth: Worth) -> str:
    from ace_graph.playbooks.worth import active_bullets

    use, analyzed = worth.effectiveness, worth.metadata.total_trajectories_analyzed
    parts = (
        f"{entry.name}  {entry.version.label}",
        counted(len(active_bullets(worth.snapshot)), "bullet"),
        f"{counted(use.usage_count, 'turn')} of {counted(use.used_by, 'learner')}",
        "not judged" if use.success_rate is None else f"success {use.success_rate:.0%}",
        f"last used {use.last_used_at:%Y-%m-%d}" if use.last_used_at else "never used",
        f"{counted(analyzed, 'run')} analysed",
    )
    return "  ".join(parts)


@command(commands, *PLAYBOOK, panel=_LOOK)
def show(
    call: Call,
    bullet_id: Annotated[
        str | None, "ID", "A bullet: the confidence in it, and the runs behind it; else all of them."
    ] = None,
    limit: Annotated[int, "Bullets to print.", Bounds(0)] = 50,
    everything: Annotated[bool, "--all", "Include those in quarantine."] = False,
    quarantined: Annotated[bool, "Only those in quarantine, each with the reason."] = False,
    archived: Annotated[bool, "Bullets that have left it: when, and why."] = False,
    tag: Tags = None,
    memory_type: Types = None,
    kind: Annotated[Kind | None, "Only memories of this kind, including trajectories."] = None,
    details: Annotated[bool, "Everything stored about the playbook, and what it was worth."] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    of_template: Annotated[str | None, "--template NAME", "A template instead; list names them."] = None,
    as_of: Annotated[
        datetime | None, "--as-of DATE", "As it was known at the end of this day, or at this time (UTC)."
    ] = None,
    valid_on: Annotated[
        datetime | None, "--valid-on DATE", "Only what was true on this day, or has no dates."
    ] = None,
) -> None:
    """Totals, sections, and the bullets, the strongest first; or one bullet.

    \b
    ace-graph playbook show --learner ada
    ace-graph playbook show str-00002
    ace-graph playbook show --kind strategy
    ace-graph playbook show --scope tenant
    ace-graph playbook show --tag fractions --type procedural
    ace-graph playbook show --name api_client --details
    ace-graph playbook show --as-of 2026-11-01
    ace-graph playbook show --valid-on 2026-05-01
    ace-graph playbook show --json | jq '.bullets[].content'
    """

    from ace_graph.memory.retrieval.current_values import filtered
    from ace_graph.playbooks.memories import memories
    from ace_graph.playbooks.templates import template

    if of_template is not None:
        found = template(of_template)
        bullets = [bullet.model_dump(mode="json", exclude_defaults=True) for bullet in found.bullets]
        sections: dict[str, list[str]] = {}
        for bullet in found.bullets:
            advice = f"- {AVOID if bullet.polarity == 'anti_pattern' else ''}{bullet.content}"
            sections.setdefault(bullet.section, [f"## {bullet.section}"]).append(advice)
        lines = chain.from_iterable(sections.values())
        call.answer({**_template_json(found), "bullets": bullets}, lines)
        return
    if bullet_id is not None:
        _show_bullet(call, bullet_id)
        return
    if scope is not None or agent is not None:
        _show_memories(
            call, lambda store: memories(store, call.learner, kind, limit, scope=scope, agent=agent)
        )
        return
    if archived:
        _show_archived(call, limit)
        return
    if details:
        _show_details(call)
        return
    statuses: tuple[BulletStatus, ...] = ("active", "quarantined") if everything else ("active",)
    shown = BulletFilter(
        frozenset(("quarantined",) if quarantined else statuses),
        tuple(tag or ()),
        _types(memory_type),
        valid_on=_day(valid_on),
    )
    if kind is not None:
        if not is_bullet_kind(kind):
            _show_records(call, kind, limit)
            return
        shown = replace(shown, kinds=frozenset({kind}))
    snapshot, policy = _load(call, to_its_end(as_utc(as_of)))
    wanted = filtered(shown, snapshot.playbook.bullets())
    if call.as_json:
        call.answer(bullets_json(snapshot, wanted), ())
        return
    totals = snapshot.playbook.stats()
    version = "nothing stored yet" if snapshot.absent else f"version {snapshot.version.n}"
    kept_back = f", {totals.quarantined} in quarantine (--quarantined)" if totals.quarantined else ""
    title = str(call)
    held = counted(totals.bullets, "bullet")
    print_line(f"{title[0].upper()}{title[1:]}: {version}, {held}{kept_back}")
    if totals.sections:
        print_line(f"Sections: {_as_text(dict(totals.sections))}")
    ranked = _ranked(wanted, snapshot, policy)
    print_bullets(ranked[:limit], snapshot, policy)
    if len(ranked) > limit:
        console().print(f"… and {len(ranked) - limit} more: --limit {len(ranked)} shows all", style="dim")


def _types(types: list[MemoryChoice] | None) -> frozenset[MemoryType]:
    return frozenset(each.value for each in types or ())


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.date()


def _load(call: Call, as_of: datetime | None = None) -> tuple[Snapshot, Policy]:
    async def job(store: Store, target: PlaybookHandle) -> tuple[Snapshot, Policy]:
        held = await (target.load() if as_of is None else target.load_as_of(as_of))
        return held, store.policy

    return call.on_playbook(job)


def _template_json(found: Template) -> dict[str, object]:
    return {"name": found.name, "description": found.description, "count": len(found.bullets)}


def _show_bullet(call: Call, bullet_id: str) -> None:
    from ace_graph.playbooks.worth import bullet_named

    worth = _worth(call, lambda snapshot: [bullet_named(snapshot, bullet_id)])
    bullet = bullet_named(worth.snapshot, bullet_id)
    entry = entry_of(bullet, worth.evidence, utc_now())
    lines = list[str]()
    for name, value in (("kind", kind_of(bullet)), *entry):
        if value not in (None, ()):
            shown = ", ".join(entry.examples) if name == "examples" else _as_text(value)
            lines.append(f"{name.replace('_', ' ')}: {shown}")
    for turn in worth.turns:
        when = turn.completed_at or turn.started_at
        lines.append(f"  {turn.verdict} {when:%Y-%m-%d} {turn.turn_id}: {turn.task}")
    call.answer(
        {
            "version": worth.snapshot.version.n,
            "kind": kind_of(bullet),
            "importance": bullet.importance,
            **entry.model_dump(mode="json"),
            "trajectories": [
                {"trajectory_id": turn.turn_id, **turn.model_dump(mode="json", include=_OF_A_TURN)}
                for turn in worth.turns
            ],
            "bullet": bullet_json(bullet),
        },
        lines,
    )


def _show_archived(call: Call, limit: int) -> None:
    archive = call.on_playbook(lambda _, target: target.archived_bullets())[:limit]
    rows = [
        {**bullet_json(left.bullet), "left": {"version": left.n, **picked(left, "at", "why", "into")}}
        for left in archive
    ]
    lines = [
        f"[{left.bullet.id}] version {left.n}, {left.at:%Y-%m-%d}, "
        f"{left.why}{f' (now {left.into})' if left.into else ''}: {left.bullet.content}"
        for left in archive
    ]
    call.answer({"bullets": rows}, lines, None if lines else f"No bullet of {call} has left its playbook.")


def _show_details(call: Call) -> None:
    from ace_graph.playbooks.worth import read_worth

    async def job(store: Store, target: PlaybookHandle) -> tuple[NamedPlaybook, Worth]:
        return await target.read(), await read_worth(store, target, call.learner)

    held, worth = call.on_playbook(job)
    fields, now = entry_json(held.entry), utc_now()
    effectiveness, metadata = (part.model_dump(mode="json") for part in (worth.effectiveness, worth.metadata))
    if call.as_json:
        strategies = content_of(worth.snapshot, worth.turns, now)
        by_category = {
            category: [entry.model_dump(mode="json") for entry in getattr(strategies, category)]
            for category in ("helpful", "harmful", "neutral")
        }
        bullets = [bullet_json(bullet) for bullet in held.playbook.bullets()]
        known = {"strategies": by_category, "metadata": metadata, "effectiveness": effectiveness}
        call.answer({**fields, **known, "bullets": bullets}, ())
        return
    measured = {name: value for name, value in {**effectiveness, **metadata}.items() if value is not None}
    for name, value in {**fields, **measured}.items():
        print_line(f"{name.replace('_', ' ')}: {value}")
    print_bullets(held.playbook.bullets(), held.snapshot, worth.policy)


def _show_records(call: Call, kind: str, limit: int) -> None:
    from ace_graph.playbooks.memories import memories

    async def job(store: Store) -> tuple[Snapshot, tuple[MemoryItem, ...]]:
        return await store.load(call.learner), await memories(store, call.learner, kind, limit)

    snapshot, records = call.on_store(job)
    rows = [picked(each, "id", "kind", "content", "at") for each in records]
    plural = "trajectories" if kind == "trajectory" else f"{kind}s"
    call.answer(
        {**bullets_json(snapshot, ()), plural: rows},
        [f"[{each.id}] {each.at:%Y-%m-%d %H:%M} {each.content}" for each in records],
        None if records else f"Nothing of the kind {kind} is stored for learner {call.learner}.",
    )


def _show_memories(call: Call, found: Callable[[Store], Awaitable[tuple[MemoryItem, ...]]]) -> None:
    """Print memories of a scope, each with the playbook that it is in. `--name` has no part in it."""
    if call.name != DEFAULT_NAME:
        raise UsageError("--scope can't be combined with --name: use one")
    items = call.on_store(found)
    call.answer(
        {"memories": [asdict(each) for each in items]},
        [f"{each.playbook} [{each.id}] {each.kind}: {each.content}" for each in items],
        None if items else f"Learner {call.learner} has no such memory in this scope.",
    )


@command(commands, *PLAYBOOK, panel=_LOOK)
def stats(call: Call) -> None:
    """Counts, votes, reliability and strength; how often the playbook was used, and what it was worth."""

    from ace_graph.playbooks.worth import figures_of

    found = figures_of(_worth(call), utc_now())
    figures = {"learner": call.learner, "playbook": call.name, **found.model_dump(mode="json")}
    shown = {**figures, "readers": {each.learner: each.usage_count for each in found.readers}}
    call.answer(figures, [f"{name.replace('_', ' ')}: {_as_text(value)}" for name, value in shown.items()])


def _worth(call: Call, *chosen: Callable[[Snapshot], Iterable[Bullet]]) -> Worth:
    from ace_graph.playbooks.worth import read_worth

    return call.on_playbook(lambda store, target: read_worth(store, target, call.learner, *chosen))


@command(commands, *PLAYBOOK, panel=_LOOK)
def audit(
    call: Call,
    file: Annotated[
        Path | None, "--file FILE", "Audit a file of memories instead, without importing it."
    ] = None,
    format_: Annotated[str, "--format NAME", "The format of --file; recognised by default."] = "auto",
    fail_on: Annotated[
        list[str] | None,
        "--fail-on WORD",
        "Exit 1 at this severity or worse, or at this kind; may be repeated.",
    ] = None,
    limit: Annotated[int, "Findings to print; --json has all.", Bounds(0)] = 50,
) -> int:
    """What is rotten in a playbook, the worst first, each with the command that mends it.

    \b
    high     secret
    high     order
    high     contradiction
    medium   duplicate
    medium   outdated
    medium   expired
    medium   harmful
    medium   full
    low      never_shown
    low      never_used
    low      no_source
    low      language

    \b
    ace-graph playbook audit --learner ada
    ace-graph playbook audit --name ada/api_client --json | jq .counts
    ace-graph playbook audit --file MEMORY.md --fail-on medium

    The audit changes nothing; what its commands change can be rolled back. With --fail-on the exit
    code is 1 if there is such a finding. Secrets, orders and quarantined texts are not printed.
    """

    from ace_graph.cli.audit import audit_file, audit_playbook, report
    from ace_graph.cli.playbook_files import read_usable_file

    found = audit_playbook(call) if file is None else audit_file(call, read_usable_file(file, format_))
    return report(call, found, fail_on or (), limit, mends=file is None)


@command(commands, *PLAYBOOK, panel=_LOOK)
def search(
    call: Call,
    text: Annotated[str, "One or more words; a bullet must hold all of them. With --explain: a question."],
    tag: Tags = None,
    memory_type: Types = None,
    explain: Annotated[bool, "Why each bullet would be shown for this question, or not."] = False,
    bullet: Annotated[str | None, "--id BULLET", "With --explain: this bullet only."] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
) -> None:
    """Find the bullets that contain all the words.

    \b
    ace-graph playbook search fraction
    ace-graph playbook search fraction --tag exam
    ace-graph playbook search fraction --scope tenant
    ace-graph playbook search "How do I add 1/2 and 1/3?" --explain
    ace-graph playbook search "How do I add 1/2 and 1/3?" --explain --id fra-00001
    """

    from ace_graph.playbooks.memories import search_memories

    if scope is not None or agent is not None:
        if explain or tag or memory_type or bullet:
            raise UsageError("--scope and --agent can't be combined with other options: leave those out")
        most = _MOST_FOUND
        _show_memories(
            call, lambda store: search_memories(store, call.learner, text, most, scope=scope, agent=agent)
        )
        return
    if explain:
        if tag:
            raise UsageError("--explain can't be combined with --tag: a turn does not filter by tag")
        _explain(call, text, _types(memory_type), bullet)
        return
    if bullet is not None:
        raise UsageError("--id needs --explain: add it")
    wanted = BulletFilter(tags=tuple(tag or ()), memory_types=_types(memory_type), words=text)
    snapshot, policy = _load(call)
    hits = [b for b in snapshot.playbook.bullets() if wanted.passes(b)]
    if call.as_json:
        call.answer(bullets_json(snapshot, hits), ())
    elif hits:
        print_bullets(_ranked(hits, snapshot, policy), snapshot, policy)
    else:
        other = " with that tag and type" if wanted.tags or wanted.memory_types else ""
        print_aside(f"No bullet of {call} holds {printable(wanted.words)!r}{other}.")


def _explain(call: Call, question: str, memory_types: Collection[MemoryType], bullet_id: str | None) -> None:
    """Print why a turn with this question would be shown the bullets, or not; those that are shown first.

    Raises UsageError for an unknown bullet.
    """
    from ace_graph.agent.resources import find_meaning
    from ace_graph.agent.retriever import explain_search

    meaning = find_meaning(call.settings(), None)

    explained = call.on_playbook(
        lambda _, target: explain_search(
            *(target, call.learner, question),
            now=utc_now(),
            meaning=meaning,
            bullet_id=bullet_id,
            memory_types=memory_types,
        )
    )
    if bullet_id is not None and not explained.reasons:
        raise UsageError(f"no bullet {bullet_id} in the memory of {call}: playbook show lists the ids")
    if explained.words_only is not None:
        print_aside(f"By words alone: {explained.words_only}")
    if call.as_json:
        bullets = [each._asdict() for each in explained.bullets()]
        call.answer({"version": explained.version, "bullets": bullets}, ())
        return
    told = explained.bullets(without_words=bullet_id is not None)
    _print_explained(told)
    left = len(explained.reasons) - len(told)
    if left:
        print_aside(f"{counted(left, 'more bullet')}: no word shared with the question")
    elif not explained.reasons:
        print_aside("There are no bullets.")


def _print_explained(bullets: Sequence[ExplainedBullet]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not sys.stdout.isatty():
        for bullet in bullets:
            shown = "shown" if bullet.shown else "not shown"
            print(printable(f"[{bullet.id}] {shown}: {bullet.reason}: {bullet.content}"))
        return
    table = Table()
    table.add_column("id", no_wrap=True)
    table.add_column("shown")
    table.add_column("why", ratio=1, overflow="fold")
    table.add_column("content", ratio=1, overflow="fold")
    for bullet in bullets:
        row = (bullet.id, "yes" if bullet.shown else "no", bullet.reason, bullet.content)
        table.add_row(*(Text(printable(cell)) for cell in row))
    console().print(table)


@command(commands, *PLAYBOOK, panel=_LOOK, name="export")
def export_(
    call: Call,
    format_: Annotated[str, "--format NAME", "One of those named above."] = "json",
    file: Annotated[Path | None, "--output -o FILE", "Instead of stdout."] = None,
) -> None:
    """Write the bullets to a file.

    \b
    json       everything, those in quarantine too
    text       markdown, for people
    ace        for ace-agent
    ace-plain  for ace-agent, without counters
    kayba      a kayba skillbook
    kayba-v1   a kayba skillbook of before version 2
    lmb        the payload of LMB-ACE
    skill      SKILL.md, for agents that read skills: lessons only
    agents     a section of AGENTS.md, replaced in place with -o: lessons only

    \b
    ace-graph playbook export --format text
    ace-graph playbook export --learner ada -o ada.json
    """

    from ace_graph.cli.playbook_files import write_agents_section, write_skill, write_text
    from ace_graph.memory.formats.markdown import AgentsFormat, public_lessons
    from ace_graph.memory.formats.registry import format_named
    from ace_graph.memory.formats.skill import SkillFormat
    from ace_graph.memory.sharing import outgoing_text

    chosen = format_named("json" if call.as_json else format_)

    async def job(_: Store, target: PlaybookHandle) -> tuple[Snapshot, str]:
        return await target.load(), outgoing_text(target.entry.description) if target.entry else ""

    snapshot, about = call.on_playbook(job)
    written = whole = len(snapshot.playbook)
    if isinstance(chosen, SkillFormat | AgentsFormat):
        written = len(public_lessons(snapshot.playbook))
    if isinstance(chosen, SkillFormat):
        file = write_skill(snapshot.playbook, call.name, about, file)
    elif isinstance(chosen, AgentsFormat):
        write_agents_section(snapshot.playbook, call.name, file)
    else:
        write_text(chosen.write(snapshot.playbook), file)
    if file is not None:
        print_notice(f"{counted(written, 'bullet')} of {call} written to {file}")
        if written < whole:
            print_notice(f"{whole - written} left out, as not for others: `--format json` writes all")


@command(commands, *LEARNER, panel=_CHANGE)
def create(
    call: Call,
    name: Annotated[str, "1 to 255 characters, no slash; case makes no difference."],
    file: Annotated[Path | None, "FILE", "What to fill it with; - is stdin."] = None,
    of_template: Annotated[
        str | None,
        "--template TEMPLATE",
        "Start from this template: `playbook list --templates` lists them.",
    ] = None,
    description: Annotated[str, "What it is about."] = "",
    scope: Annotated[Scope, "Whom it is meant for."] = "agent",
    visibility: Annotated[Visibility, "shared, with scope tenant: your teams read it."] = ("private"),
    lessons: Annotated[Lessons, "How lessons of runs are handled: see `playbook edit`."] = "written",
) -> None:
    """Create a named playbook: empty, from a file, or from a template.

    \b
    ace-graph playbook create notes
    ace-graph playbook create orders advice.json --learner ada
    ace-graph playbook create shop --template api_client
    """

    from ace_graph.cli.playbook_files import read_usable_file
    from ace_graph.memory.formats.reading import Reading
    from ace_graph.playbooks.content import Change
    from ace_graph.playbooks.templates import template

    reading, source = Reading(), ""
    if file is not None and of_template is not None:
        raise UsageError("a playbook begins with a file or with a template: leave one of them out")
    if of_template is not None:
        known = template(of_template)
        reading, source = Reading(known.bullets), f" from the template {known.name}"
        description = description or known.description
    elif file is not None:
        reading, source = read_usable_file(file), f" from {file.name}"

    async def job(store: Store) -> NamedPlaybook:
        await playbooks.create(
            store,
            name,
            reading.bullets,
            owner=call.learner,
            description=description,
            scope=scope,
            visibility=visibility,
            lessons=lessons,
            change=Change(author=AUTHOR, reason=f"playbook create{source}"),
        )
        return await playbooks.get_playbook(store, name, call.learner)

    made = call.on_store(job)
    entry, held = made.entry, counted(len(made.playbook), "bullet")
    sentence = f"{entry.name}: created, version {entry.version.label}, {held}; id {entry.playbook_id}"
    refusals = [f"  refused {each.what}: {each.why}" for each in reading.refused]
    call.answer(entry_json(entry), [sentence, *refusals])


Section = Annotated[
    str | None, "`lessons` by default; profile, preferences and misconceptions are always in the prompt."
]


@command(commands, *PLAYBOOK, panel=_CHANGE)
def add(
    call: Call,
    text: Annotated[str, "What is to be remembered, in one sentence."],
    section: Section = None,
    kind: Annotated[Kind | None, "Set section, type and --avoid for this kind."] = None,
    context: Annotated[str | None, "When it applies; searches find it by these words."] = None,
    example: Annotated[list[str] | None, "--example ID", "A trajectory that supports it."] = None,
    importance: Annotated[float, "From 0 to 1.", Bounds(0, 1)] = 0.5,
    memory_type: Annotated[MemoryType | None, "--type", "Inferred from the text by default."] = None,
    topic: Annotated[str | None, "Such as fraction_addition."] = None,
    tag: Annotated[list[str] | None, "May be given several times."] = None,
    avoid: Annotated[bool, "The text says what not to do."] = False,
    pin: Annotated[bool, "Put it into every prompt."] = False,
    ttl_days: Annotated[float | None, "Days after the last change until it expires."] = None,
    valid_from: Annotated[datetime | None, "--valid-from DATE", "The first day on which it is true."] = None,
    valid_until: Annotated[datetime | None, "--valid-until DATE", "The last day on which it is true."] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
) -> None:
    """Add a bullet by hand.

    \b
    ace-graph playbook add "Draw a picture before the first formula." --learner ada
    ace-graph playbook add "Learner says: call me Ann" --section profile --pin
    ace-graph playbook add "Retry once after a 429" --kind strategy --context "calling an API"
    ace-graph playbook add "Pages have 50 rows" --scope tenant --name ada/http
    ace-graph playbook add "Pages have 50 rows" --scope agent --agent crawler

    With --scope tenant or global it goes to the only writable playbook of that scope, or to --name.
    --agent labels what an agent adds.
    """

    from ace_graph.playbooks.memories import agent_label, checked_scope, destination, shown_name

    where = checked_scope(scope, agent)
    if where is not None and call.name == DEFAULT_NAME:
        place = call.on_store(lambda store: destination(store, call.learner, where))
        call = replace(call, name=shown_name(place))
    try:
        ops.check_days(_day(valid_from), _day(valid_until))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    bullet = ops.Add(
        ref="new",
        content=text,
        section=section or "lessons",
        memory_type=memory_type,
        polarity="anti_pattern" if avoid else "strategy",
        topic=topic,
        context=context,
        examples=tuple(example or ()),
        importance=importance,
        tags=(*(tag or ()), *((agent_label(agent),) if agent else ())),
        pinned=pin,
        ttl_days=_checked_days(ttl_days),
        valid_from=_day(valid_from),
        valid_until=_day(valid_until),
        sources=(BulletSource.COMMAND_LINE,),
    )
    if kind is not None:
        if section or memory_type or avoid:
            raise typer.BadParameter("--kind excludes --section, --type and --avoid: use it alone")
        wanted = fields_of(kind)
        fields = {"memory_type": wanted.memory_type, "polarity": wanted.polarity}
        bullet = bullet.model_copy(update={"section": wanted.section or "lessons", **fields})
    done = _change(call, [bullet], "add")
    new_id = done.report.refs["new"]
    how = "added" if new_id in done.report.added else "known already, reinforced"
    call.answer_commit(done, f"{new_id}: {how}{_quarantine_note(done, new_id)}", id=new_id)


@command(commands, *PLAYBOOK, panel=_CHANGE)
def edit(
    call: Call,
    bullet_id: BulletId = None,
    text: Annotated[str | None, "TEXT", "The new text."] = None,
    ttl_days: Annotated[float | None, "Days after the last change until it expires; 0: never."] = None,
    pin: Annotated[
        bool | None, "--pin/--unpin", "Put it into every prompt and never archive it for room."
    ] = None,
    quarantine: Annotated[
        str | None, "--quarantine WHY", "Keep it out of every prompt, with the reason."
    ] = None,
    release: Annotated[bool, "Release it from quarantine into prompts. Read it first: show ID."] = False,
    vote: Annotated[BulletTag | None, "Vote on it. A bullet with more harm than good is not shown."] = None,
    by: Annotated[int, "Votes to add.", Bounds(1)] = 1,
    valid_from: Annotated[
        str | None, "--valid-from DATE", "The first day on which it is true; unknown removes it."
    ] = None,
    valid_until: Annotated[str | None, "--valid-until DATE", "The last day on which it is true."] = None,
    description: Annotated[str | None, "Without ID: what the named playbook is about."] = None,
    scope: Annotated[Scope | None, "Without ID: whom the named playbook is meant for."] = None,
    lessons: Annotated[
        Lessons | None,
        "Without ID: lessons of runs are written, only if judged by evidence, always proposed, or not taken.",
    ] = None,
) -> None:
    """Change a bullet, which keeps its id and votes; or the fields of a named playbook.

    \b
    ace-graph playbook edit les-00002 "The LCM of 4 and 6 is 12"
    ace-graph playbook edit les-00002 --ttl-days 30 --pin
    ace-graph playbook edit les-00002 --quarantine "not checked yet"
    ace-graph playbook edit les-00002 --vote helpful
    ace-graph playbook edit les-00002 --valid-until 2026-11-30
    ace-graph playbook edit --name api_client --description "calling our own API" --lessons proposed
    """
    if bullet_id is None:
        if description is None and scope is None and lessons is None:
            raise typer.BadParameter(
                "nothing to change: give a bullet's id, or a playbook's --description, --scope or --lessons"
            )
        fields = description, scope, lessons
        entry = call.on_playbook(lambda _, target: target.edit_fields(*fields))
        about = (
            f"{entry.name}: scope {entry.scope}, lessons {entry.lessons}, "
            f"{entry.description or 'no description'}"
        )
        call.answer(entry_json(entry), about)
        return
    operations = list[Operation]()
    if text is not None or ttl_days is not None:
        expiry: float | Literal["never"] | None = "never" if ttl_days == 0 else _checked_days(ttl_days)
        operations.append(ops.Update(bullet_id=bullet_id, content=text, ttl_days=expiry))
    first, last = _day_or_unknown(valid_from), _day_or_unknown(valid_until)
    if first is not None or last is not None:
        operations.append(ops.Update(bullet_id=bullet_id, valid_from=first, valid_until=last))
    if pin is not None:
        operations.append(ops.Pin(bullet_id=bullet_id) if pin else ops.Unpin(bullet_id=bullet_id))
    if quarantine is not None:
        operations.append(ops.Quarantine(bullet_id=bullet_id, why=quarantine))
    if release:
        operations.append(ops.Release(bullet_id=bullet_id))
    if vote is not None:
        operations.append(ops.Tag(bullet_id=bullet_id, tag=vote, by=by))
    if not operations:
        raise typer.BadParameter("nothing to change: give a new text or an option")
    done = _change(call, operations, "edit")
    told = ", ".join(_told(operation, done, bullet_id) for operation in operations)
    call.answer_commit(done, f"{bullet_id}: {told}")


def _told(operation: Operation, done: Commit, bullet_id: str) -> str:
    match operation:
        case ops.Pin():
            return "pinned"
        case ops.Unpin():
            return "no longer pinned"
        case ops.Quarantine():
            return "in quarantine"
        case ops.Release():
            return "released, prompts may hold it"
        case ops.Tag():
            bullet = done.snapshot.playbook.get_bullet(bullet_id)
            return f"+{bullet.helpful}/-{bullet.harmful}" if bullet else "archived, as it did too much harm"
        case _:
            how = "changed" if done.report.updated else "is so already"
            return f"{how}{_quarantine_note(done, bullet_id)}"


@command(commands, *PLAYBOOK, panel=_CHANGE)
def remove(
    call: Call,
    bullet_id: BulletId = None,
    replaced_by: Annotated[
        str | None, "--replaced-by ID", "The bullet that corrects it and takes its place."
    ] = None,
    everything: Annotated[bool, "--all", "All bullets."] = False,
) -> None:
    """Archive a bullet, or all of them; `rollback` brings them back, `learner forget` deletes for good.

    \b
    ace-graph playbook remove les-00001
    ace-graph playbook remove les-00001 --replaced-by les-00004
    ace-graph playbook remove --all
    """
    if everything:
        if bullet_id is not None or replaced_by is not None:
            raise UsageError("--all can't be combined with an id: use one")
        done = _change(call, [ops.Reset()], "remove --all")
        call.answer_commit(done, f"the playbook of {call} is empty; {_undo_hint(done)}")
        return
    if bullet_id is None:
        raise UsageError("nothing to remove: give a bullet's id, or --all")
    operation: Operation = ops.Remove(bullet_id=bullet_id)
    how = "removed"
    if replaced_by is not None:
        operation, how = ops.Supersede(bullet_id=bullet_id, by=replaced_by), f"replaced by {replaced_by}"
    done = _change(call, [operation], "remove")
    call.answer_commit(done, f"{bullet_id}: {how}; playbook rollback --bullet {bullet_id} brings it back")


@command(commands, *PLAYBOOK, panel=_CHANGE)
def merge(
    call: Call,
    bullet_ids: Annotated[list[str], "ID ID...", "Two bullets or more."],
    text: Annotated[str | None, "The text of the merged bullet."] = None,
    force: Annotated[bool, "Merge them even if they don't say the same."] = False,
    never: Annotated[bool, "Mark them as different, so that they are never merged."] = False,
) -> None:
    """Merge bullets that say the same into the best one, which gets all votes.

    \b
    ace-graph playbook merge les-00001 les-00004
    ace-graph playbook merge les-00001 les-00002 --force --text "Name the unit of every result."
    ace-graph playbook merge les-00001 les-00003 --never
    """
    if len(bullet_ids) < 2:
        raise UsageError("playbook merge needs the ids of two bullets or more")
    if never:
        from ace_graph.playbooks.consolidation import distinguish

        done = call.on_store(lambda store: distinguish(store, bullet_ids, name=call.name, owner=call.learner))
        call.answer_commit(done, f"{' '.join(bullet_ids)}: never merged with each other")
        return
    done = _change(call, [ops.Merge(bullet_ids=tuple(bullet_ids), content=text, force=force)], "merge")
    kept = done.report.merged[-1].kept
    gone = ", ".join(pair.gone for pair in done.report.merged)
    note = _quarantine_note(done, kept)
    call.answer_commit(done, f"{kept}: holds what {gone} said{note}; {_undo_hint(done)}")


def _checked_days(days: float | None) -> float | None:
    if days is not None and not 0 < days <= 1_000_000:
        raise typer.BadParameter("--ttl-days must be above 0 and at most 1,000,000")
    return days


def _day_or_unknown(text: str | None) -> date | Literal["unknown"] | None:
    """Return the day that is named. Raises typer.BadParameter."""
    if text is None or text == "unknown":
        return None if text is None else "unknown"
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a date: write 2026-11-30, or unknown") from error


def _change(call: Call, operations: Sequence[Operation], verb: str) -> Commit:
    """Commit operations onto the newest state. Raises ChangeRefused when one can't be applied."""

    async def job(_: Store, target: PlaybookHandle) -> Commit:
        base = await target.load()
        if base.absent and not isinstance(operations[0], ops.Add):
            raise ChangeRefused(f"nothing is stored for learner {call.learner}: check --learner")
        return await target.change(base, operations, by_command(f"playbook {verb}"), refused)

    return call.on_playbook(job)


def _quarantine_note(done: Commit, bullet_id: str) -> str:
    """Say that a bullet is in quarantine and how to release it; '' for an active one."""
    bullet = done.snapshot.playbook.get_bullet(bullet_id)
    if bullet is None and bullet_id in done.report.quarantined:
        return ", in quarantine: only the owner sees it, and can release it"
    if bullet is None or bullet.status == "active":
        return ""
    how = f"playbook edit {bullet_id} --release lets it into prompts"
    return f", in quarantine ({bullet.quarantine_reason}); {how}"


def _undo_hint(done: Commit) -> str:
    return f"playbook rollback {done.version.n - 1} undoes it"


@command(commands, *PLAYBOOK, panel=_CHANGE, name="import")
def import_(
    call: Call,
    file: Annotated[Path, "FILE", "A file, or - for stdin."],
    format_: Annotated[str, "--format NAME", "The format; recognised by default."] = "auto",
    replaces: Annotated[
        bool, "--replace", "Replace all bullets by those of the file: a new major version."
    ] = False,
    keep_label: Annotated[bool, "Amend: the new version keeps the label."] = False,
    one_version: Annotated[bool, "In one version, however many bullets there are."] = False,
) -> None:
    """Add the bullets of a file to a playbook, or replace all of its bullets; what is known is merged.

    Formats are recognised by content. More than 500 bullets make several versions.

    \b
    ace-graph playbook import ada.json --learner ben
    ace-graph playbook import advice.json --name api_client --replace
    """

    from ace_graph.cli.playbook_files import read_file, read_usable_file

    if replaces or keep_label or one_version:
        _write(call, read_usable_file(file, format_), file, replaces=replaces, keeps_label=keep_label)
        return
    reading = read_file(file, format_)
    reason = f"playbook import {file.name}"
    outcome, after = call.on_playbook(lambda _, target: _add_all(target, reading, reason))
    call.answer(
        {
            **picked(outcome, "read", "kept", "merged"),
            "refused": len(outcome.refused),
            "reasons": [picked(each, "what", "why") for each in outcome.refused],
            **picked(outcome, "renamed", "core", "quarantined"),
            "left_out": dict(outcome.left_out),
            "version": None if after.absent else after.version.n,
        },
        _import_lines(outcome),
    )
    if outcome.read and len(outcome.refused) == outcome.read:
        raise FormatError(f"{file}: every bullet was refused, nothing was changed: correct the file")


def _write(call: Call, reading: Reading, file: Path, *, replaces: bool, keeps_label: bool) -> None:
    from ace_graph.playbooks.content import Change

    reason = f"playbook import {'--replace ' if replaces else ''}{file.name}"
    change = Change(author=AUTHOR, reason=reason, keeps_label=keeps_label)
    done = call.on_playbook(
        lambda _, target: target.write(reading.bullets, merge=not replaces, change=change)
    )
    version, held = done.commit.version, counted(len(done.commit.snapshot.playbook), "bullet")
    unread = [{"op": "add", "id": each.what, "why": each.why} for each in reading.refused]
    rejected = [*(each.model_dump() for each in done.refused), *unread]
    report = done.commit.report.model_dump(mode="json", exclude={"refs", "rejected"})
    call.answer(
        {
            "version": version.n,
            "label": str(version.label),
            "read": len(reading.bullets) + len(unread),
            "refused": len(rejected),
            **report,
            "rejected": rejected,
        },
        [
            f"{call.name}: version {version.n} ({version.label}), {held}",
            *(f"  refused {each.what}: {each.why}" for each in reading.refused),
            *(f"  refused {each.id}: {each.why}" for each in done.refused),
        ],
    )


async def _add_all(target: PlaybookHandle, reading: Reading, reason: str) -> tuple[ImportOutcome, Snapshot]:
    base, done = await target.load(), 0
    try:
        with progress_bar() as bar:

            def show_progress(count: int) -> None:
                nonlocal done
                done += count
                bar("importing", done, len(reading.bullets))

            return await target.import_bullets(base, reading, by_command(reason), show_progress)
    except BaseException:
        if done:
            print_notice(f"stopped half way: playbook rollback {base.version.n} undoes what was imported")
        raise


_SHOWN_REFUSALS = 20


def _import_lines(outcome: ImportOutcome) -> Iterator[str]:
    counts = f"kept {outcome.kept}, merged {outcome.merged}, refused {len(outcome.refused)}"
    yield f"read {counted(outcome.read, 'bullet')}: {counts}"
    for each in outcome.refused[:_SHOWN_REFUSALS]:
        yield f"  refused {each.what}: {each.why}"
    if len(outcome.refused) > _SHOWN_REFUSALS:
        yield f"  … and {len(outcome.refused) - _SHOWN_REFUSALS} more: --json lists all"
    if outcome.renamed:
        yield f"  new ids for {counted(outcome.renamed, 'bullet')}: theirs were taken"
    if outcome.left_out:
        fields = ", ".join(f"{name} ({count})" for name, count in outcome.left_out.items())
        yield f"  left out, a bullet has no place for it: {fields}"
    if outcome.core:
        yield f"  always in the prompt: {', '.join(outcome.core)}"
    if outcome.quarantined:
        yield f"  in quarantine, playbook show --quarantined says why: {', '.join(outcome.quarantined)}"
    if outcome.displaced:
        yield f"  made room or were replaced: {', '.join(outcome.displaced)}"


@command(commands, "learner", "store", panel=_CHANGE)
def delete(
    call: Call,
    name: Annotated[str, "--name -n NAME", "The playbook to delete."],
    yes: Annotated[bool, "--yes -y", "Do not ask; without a terminal it never asks."] = False,
) -> None:
    """Delete a named playbook with all of its versions, for good."""
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete the playbook {printable(name)} with all of its versions?", abort=True)

    async def job(store: Store, target: PlaybookHandle) -> bool:
        key = name if target.entry is None else target.key
        return await playbooks.delete(store, key, user=call.learner)

    if not replace(call, name=name).on_playbook(job):
        raise ChangeRefused(f"{name} was deleted by somebody else meanwhile")
    print_line(f"{name}: deleted")


@command(commands, *PLAYBOOK, panel=_VERSIONS)
def history(call: Call, limit: Annotated[int, "Versions shown.", Bounds(0)] = 50) -> None:
    """The versions, the newest first: number, label, when, who changed what, and why.

    A - after the number means that the version's content is no longer kept. For somebody else's
    playbook only the versions are shown, not their changes.
    """

    async def job(
        _: Store, target: PlaybookHandle
    ) -> tuple[int, list[tuple[StoredVersion, HistoryEntry | None]], bool]:
        kept = await target.store.history(target.key)
        entries = {entry.n: entry for entry in kept.entries}
        versions = await target.store.versions(target.key)
        return kept.base_n, [(each, entries.get(each.n)) for each in versions], target.asked is not None

    oldest, rows, is_others = call.on_playbook(job)
    newest = rows[::-1][:limit]
    call.answer(
        {"oldest": oldest, "versions": [_version_json(*row) for row in newest]},
        [_version_line(*row, is_others=is_others) for row in newest],
        None if newest else f"There is no history of {call} yet.",
    )


_COUNTED = (
    "added", "reinforced", "updated", "tagged", "merged", "superseded", "removed", "pruned", "restored",
    "quarantined", "released",
)  # fmt: skip


def _version_json(version: StoredVersion, entry: HistoryEntry | None) -> dict[str, object]:
    changed = entry.report.model_dump(mode="json", exclude={"refs"}) if entry else {}
    return {
        "version": version.n,
        "label": str(version.label),
        **picked(version, "at", "author", "reason"),
        "source": entry.source if entry else "",
        "readable": version.readable,
        **changed,
    }


def _version_line(version: StoredVersion, entry: HistoryEntry | None, *, is_others: bool) -> str:
    reason = version.reason or (entry.source if entry else "")
    by = " ".join(part for part in (version.author, reason) if part)
    counts = [
        f"{len(getattr(entry.report, name))} {name}"
        for name in _COUNTED
        if entry is not None and getattr(entry.report, name)
    ]
    unknown = "what changed is known to its owner alone" if is_others else "no longer kept"
    summary = ", ".join(counts) or ("no bullet changed" if entry else unknown)
    mark = " " if version.readable else "-"
    return f"{version.n:>5}{mark} {version.label!s:>6}  {version.at:%Y-%m-%d %H:%M}  {by}: {summary}"


@command(commands, *PLAYBOOK, panel=_VERSIONS)
def diff(
    call: Call,
    before: Annotated[str, "A", "A version, by number or label (1.2); 0 is the empty one."],
    after: Annotated[str, "B", "Another one."],
    data: Annotated[
        Path | None, "--data FILE", 'Ask both about these rows, {"context", "target"} each.'
    ] = None,
    options: CompareOptions = CompareOptions(),  # noqa: B008  frozen
) -> int:
    """What was added, removed and changed between two versions; with --data, which one answers better.

    \b
    ace-graph playbook diff 3 5
    ace-graph playbook diff 1.0 2.0 --name shop --data questions.jsonl

    With --data both versions answer the same questions: both answers, both accuracies, their
    difference. Nothing is learned or stored. For a named playbook, the success of the learner's own
    turns with each version follows; it is not a random comparison.
    """

    from ace_graph.playbooks.versions import version_number

    if data is not None:
        from ace_graph.cli.measuring import compare_versions

        return compare_versions(call, (before, after), data, options)
    wanted = (_version_from(before), _version_from(after))

    async def job(_: Store, target: PlaybookHandle) -> tuple[tuple[int, Playbook], ...]:
        stored = await target.store.versions(target.key)
        numbers = [version_number(stored, version) for version in wanted]
        return tuple([(n, await target.content_at(n)) for n in numbers])

    (first, old), (second, new) = call.on_playbook(job)
    difference = bullet_diff(old, new)
    changed = [(each.before, each.after) for each in difference.updated]
    lines = [f"- [{bullet.id}] {bullet.content}" for bullet in difference.removed]
    lines += [f"+ [{bullet.id}] {bullet.content}" for bullet in difference.added]
    lines += [f"~ [{was.id}] {_changed_fields(was, now)}" for was, now in changed]
    call.answer(
        {
            "from": first,
            "to": second,
            "added": list(map(bullet_json, difference.added)),
            "removed": list(map(bullet_json, difference.removed)),
            "changed": [{"before": bullet_json(was), "after": bullet_json(now)} for was, now in changed],
        },
        lines or f"Versions {before} and {after} hold the same bullets.",
    )
    return 0


def _changed_fields(was: Bullet, now: Bullet) -> str:
    """The fields that differ, the moment of the change aside."""

    def formatted(value: object) -> str:
        return ", ".join(cast("tuple[str, ...]", value)) or "none" if isinstance(value, tuple) else str(value)

    fields = [name for name in Bullet.model_fields if getattr(was, name) != getattr(now, name)]
    changed = [name for name in fields if name != "updated_at"] or fields
    return "; ".join(
        f"{name}: {formatted(getattr(was, name))} -> {formatted(getattr(now, name))}" for name in changed
    )


@command(commands, *PLAYBOOK, panel=_VERSIONS)
def rollback(
    call: Call,
    version: Annotated[str | None, "VERSION", "A number that `history` lists, or a label (1.2)."] = None,
    bullet_id: Annotated[
        str | None, "--bullet ID", "Restore only this bullet (`show --archived` lists them)."
    ] = None,
) -> None:
    """Restore an earlier version, votes and all, as a new version.

    \b
    ace-graph playbook rollback 4
    ace-graph playbook rollback --bullet les-00001
    """
    if (version is None) == (bullet_id is None):
        raise UsageError("give a version that `playbook history` lists, or --bullet ID")
    if bullet_id is not None:
        _restore(call, bullet_id)
        return
    wanted, change = _version_from(version or ""), by_command(f"playbook rollback {version}")
    done = call.on_playbook(lambda _, target: target.restore(wanted, change))
    held = counted(len(done.snapshot.playbook), "bullet")
    call.answer_commit(done, f"version {done.version.n} holds the {held} of version {version}")


def _restore(call: Call, bullet_id: str) -> None:
    async def job(_: Store, target: PlaybookHandle) -> Commit:
        base = await target.load()
        return await target.restore_bullet(base, bullet_id, by_command("playbook rollback"), refused)

    done = call.on_playbook(job)
    bullet = done.snapshot.playbook.entries[bullet_id]
    hidden = "; it does more harm than good, so no prompt shows it" if bullet.harmful > bullet.helpful else ""
    if bullet.status == "quarantined":
        hidden = f", in quarantine ({bullet.quarantine_reason})"
    call.answer_commit(done, f"{bullet_id}: back{hidden}")


def _version_from(text: str) -> int | str:
    """Return the version that a text names. Raises UsageError for what is no number and no label."""

    from ace_graph.playbooks.versions import version_from

    if not text.isascii() or not text.replace(".", "", 1).isdecimal():
        raise UsageError(f"{text[:20]} is not a version: use a number such as 2, or a label such as 2.0")
    return version_from(text)


@command(commands, *PLAYBOOK, panel=_MANY)
def curate(
    call: Call,
    reflection_ids: Annotated[list[str], "ID...", "Reflections, or single lessons (ID#2)."],
) -> None:
    """Add what reflections found to a playbook, in one version, and show what changed.

    \b
    ace-graph reflect --batch --json | jq -r '.patterns[] | select(.frequency > 2) | .memory_id' |
      xargs ace-graph playbook curate --name api_client

    `reflect --batch` prints the id of each pattern, `trajectory show` those of a run's reflections with the
    numbers of their lessons. ID is all lessons of a reflection, ID#2 its second one. Curating the
    same ones again changes nothing. Nothing is removed: bullets that did more harm than good, or
    contradict a new lesson, are listed with the command that removes them. With ACE_CURATOR_USE_LLM
    a model curates, as in a turn.
    """
    from ace_graph.cli.reflect import curate_reflections

    curate_reflections(call, reflection_ids)


@dataclass(frozen=True)
class ConsolidatedBullets:
    """Which bullets a consolidation may merge."""

    kind: Annotated[Kind | None, "Only memories of this kind."] = None
    topic: Annotated[str | None, "Only bullets on this topic."] = None
    section: Annotated[str | None, "Only bullets of this section."] = None
    tag: Tags = None
    memory_type: Types = None
    below: Annotated[
        float | None, "--below 0..1", "Only bullets of at most this importance: 0.5, without preserving 1."
    ] = None
    keep_above: Annotated[
        float | None, "--keep-above 0..1", "Leave bullets of at least this importance alone: 0.8."
    ] = None
    preserve: Annotated[bool, "--preserve/--no-preserve", "Whether important bullets are left alone."] = True


@command(commands, *PLAYBOOK, panel=_MANY)
def consolidate(
    call: Call,
    action: Annotated[str | None, "undo", "Undo a run."] = None,
    undone_run: Annotated[str | None, "RUN", "The id of that run; else the newest one."] = None,
    dry_run: DryRun = False,
    chosen: ConsolidatedBullets = ConsolidatedBullets(),
    batch: Annotated[
        int | None, "Bullets per commit; else ACE_CONSOLIDATE_BATCH.", Bounds(100, 1_000)
    ] = None,
    run_id: Annotated[str | None, "--resume RUN", "Continue a run that was stopped."] = None,
    with_model: Annotated[bool, "Let a model judge what rules can't, and write the text."] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    everybody: Everybody = False,
    on: On = None,
) -> int:
    """Merge bullets that say the same; nothing is lost, and it can be undone.

    \b
    ace-graph playbook consolidate --dry-run
    ace-graph playbook consolidate --learner ada --kind strategy
    ace-graph playbook consolidate --section lessons --tag fractions --type procedural --no-preserve
    ace-graph playbook consolidate --scope agent --agent crawler
    ace-graph playbook consolidate --all --on ray
    ace-graph playbook consolidate undo

    Bullets that are pinned, in the profile, in quarantine or important are left alone. A merge is
    refused if its text would lose a number, a name, code, a link, a quotation or a "not", or if the
    questions behind the bullets would find less. An undo is refused if a merged bullet has changed
    since. With --scope, each of the learner's own playbooks of that scope is consolidated by
    itself.
    """

    from ace_graph.cli.consolidate import (
        Work,
        consolidate_all,
        consolidate_one,
        consolidate_scope,
        options_of,
    )
    from ace_graph.cli.consolidate import undo_run as undo_consolidation
    from ace_graph.playbooks.memories import agent_label, checked_scope

    if action is not None:
        if action != "undo":
            raise UsageError(unknown("action", action, ("undo",)))
        undo_consolidation(call, undone_run)
        return 0
    check_all(on, everybody=everybody)
    options = options_of(chosen, (*(chosen.tag or ()), *((agent_label(agent),) if agent else ())))
    where = checked_scope(scope, agent)
    if where is not None and (everybody or run_id is not None or call.name != DEFAULT_NAME):
        raise UsageError("--scope can't be combined with --name, --all or --resume: leave those out")
    work = Work(call.settings(), options, batch, dry_run, with_model, run_id)
    if everybody:
        return consolidate_all(call, work, on)
    if where is not None:
        consolidate_scope(call, where, work)
    else:
        consolidate_one(call, work)
    return 0


@command(commands, *PLAYBOOK, panel=_MANY)
def dream(
    call: Call,
    item_ids: Annotated[
        list[str] | None, "ITEM...", "Items to decide; without one: all that are open."
    ] = None,
    accept: Annotated[bool, "Take them into the playbook."] = False,
    refuse: Annotated[bool, "Refuse them; no dream proposes them again."] = False,
    edit: Annotated[list[str] | None, "--edit ITEM=TEXT", "Take an item with another text."] = None,
    at_least: Annotated[
        int | None,
        "--at-least RUNS",
        "Accept items that lose nothing and are merges or have this many runs.",
        Bounds(2),
    ] = None,
) -> None:
    """Show what many runs suggest for a playbook, as a diff to accept or refuse.

    \b
    ace-graph playbook dream
    ace-graph playbook dream --accept
    ace-graph playbook dream --accept 3fa2c1d0 9bd01e77
    ace-graph playbook dream --refuse 77aa01bc
    ace-graph playbook dream --edit 3fa2c1d0="Retry after 429, with a pause"
    ace-graph playbook dream --accept --at-least 5
    ace-graph playbook consolidate undo

    It adds what several runs teach, merges bullets that say the same, and archives harmful or
    contradicted ones. Each item names its runs, what its text loses, and what other turns'
    questions find before and after it; items that would find less are left out. For somebody else's
    playbook the lessons become proposals.
    """
    from ace_graph.cli.dream import decide_dream, show_dream

    edits = dict(_edited(each) for each in edit or ())
    if (accept and refuse) or (refuse and (edits or at_least is not None)):
        raise UsageError("--refuse can't be combined with --accept or --edit: use one")
    if not (accept or refuse or edits):
        if item_ids or at_least is not None:
            raise UsageError("the items need a decision: add --accept or --refuse")
        show_dream(call)
        return
    wanted = item_ids or (list(edits) if edits and not accept else None)
    decide_dream(call, wanted, edits, refuse=refuse, at_least=at_least)


def _edited(given: str) -> tuple[str, str]:
    """The id and the text of an edit. Raises UsageError."""
    item_id, equals, text = given.partition("=")
    if not equals or not text.strip():
        raise UsageError("--edit takes an item's id and its text: --edit 3fa2c1d0='Retry after 429'")
    return item_id, text


@command(commands, *PLAYBOOK, panel=_MANY)
def rescreen(
    call: Call,
    everybody: Annotated[bool, "--all", "Every learner and named playbook of the store."] = False,
    dry_run: DryRun = False,
    on: On = None,
) -> None:
    """Screen stored bullets again, after an upgrade has changed the rules.

    Decisions of people are kept. Each playbook is one commit, so the command can be stopped and
    repeated.

    \b
    ace-graph playbook rescreen --all --dry-run
    ace-graph playbook rescreen --all --on ray
    """

    from ace_graph.playbooks.content import rescreen as rescreen_bullets

    check_all(on, everybody=everybody)
    if everybody:
        from ace_graph.cli.passes import run_pass

        act = partial(_rescreen_listed, dry_run=dry_run)
        moved = run_pass(call.settings(), _listed_playbooks, act, on=on, what="screening")
        screened = sum(not each.of_named for each in moved)
    else:

        async def job(_: Store, target: PlaybookHandle) -> list[_Screened]:
            target.check_owner()
            base = await target.load()
            if base.absent:
                raise ChangeRefused(f"nothing is stored for learner {call.learner}: check --learner")
            done = await rescreen_bullets(target.store, target.key, base, by_command(""), dry_run=dry_run)
            owner = call.learner if call.name == DEFAULT_NAME else f"{call.learner}/{call.name}"
            return [_Screened(owner, done)]

        moved, screened = call.on_playbook(job), 1
    changed = [each for each in moved if each.done.kept_back or each.done.released]
    would = "would be " if dry_run else ""
    lines = list[str]()
    for each in changed:
        lines += [f"{each.learner}: {name} kept back ({why})" for name, why in each.done.kept_back.items()]
        lines += [f"{each.learner}: {name} released" for name in each.done.released]
    kept_back = sum(len(each.done.kept_back) for each in moved)
    released = sum(len(each.done.released) for each in moved)
    looked = f"{counted(screened, 'learner')} looked at"
    lines.append(f"{looked}: {would}kept back {kept_back}, {would}released {released}")
    rows = [
        {
            "learner": each.learner,
            "version": each.done.version,
            "quarantined": each.done.kept_back,
            "released": each.done.released,
        }
        for each in changed
    ]
    call.answer({"learners": screened, "dry_run": dry_run, "changed": rows}, lines)


@dataclass(frozen=True)
class _Screened:
    learner: str
    done: Rescreened
    of_named: bool = False


async def _listed_playbooks(store: Store) -> AsyncIterator[tuple[str, bool]]:
    """Yield the key of each playbook, and whether it is a named one."""
    from ace_graph.learning.cleaning import learner_ids

    async for learner in learner_ids(store):
        yield learner, False
    async for playbook_id in learner_ids(store.playbooks):
        yield playbook_id, True


async def _rescreen_listed(store: Store, listed: tuple[str, bool], *, dry_run: bool) -> _Screened:
    from ace_graph.playbooks.content import rescreen as rescreen_bullets

    (key, of_named), where, name = listed, cast("KeyedStore", store), listed[0]
    if of_named:
        where, entry = store.playbooks, await store.playbooks.entry(key)
        name = f"{entry.owner or ''}/{entry.name}" if entry is not None else key
    done = await rescreen_bullets(where, key, await where.load(key), by_command(""), dry_run=dry_run)
    return _Screened(name, done, of_named)


_EMPTY: dict[str, object] = {
    "vouched": [],
    "before": [],
    "examples": [],
    "evidence_count": 0,
    "consolidation_version": 0,
    "distinct_from": [],
    "source_words": [],
}
"""The fields that are not null without a value, and that are not stored then."""


def entry_json(entry: PlaybookEntry) -> dict[str, object]:
    """Return what is stored about a playbook beside its content."""
    return {
        **picked(entry, "playbook_id", "owner", "name", "description", "scope", "visibility", "lessons"),
        "version": entry.version.n,
        "label": str(entry.version.label),
        "created_at": entry.created_at.isoformat(),
        "updated_at": entry.updated_at.isoformat(),
    }


def bullets_json(snapshot: Snapshot, bullets: Sequence[Bullet]) -> dict[str, object]:
    """Return the version and every field of the bullets; the version is None without a state."""
    return {
        "version": None if snapshot.absent else snapshot.version.n,
        "bullets": [bullet_json(bullet) for bullet in bullets],
    }


def bullet_json(bullet: Bullet) -> dict[str, object]:
    """Return every field of the bullet, also those that are stored only where they hold something."""
    stored = bullet.model_dump(mode="json")
    return {name: stored.get(name, _EMPTY.get(name)) for name in Bullet.model_fields}


def print_bullets(bullets: Sequence[Bullet], snapshot: Snapshot, policy: Policy) -> None:
    """Print the bullets with their strengths: a table on a terminal, one bullet a line elsewhere."""

    from ace_graph.memory.decay import decay_score

    if sys.stdout.isatty():
        console().print(bullet_table(bullets, snapshot, policy))
        return
    for bullet in bullets:
        print(
            f"[{bullet.id}] +{bullet.helpful}/-{bullet.harmful} "
            f"strength={decay_score(bullet, snapshot.access, policy.decay):.2f} "
            f"{_marked(bullet)}: {_dated(bullet)}"
        )


def _dated(bullet: Bullet) -> str:
    """Return the text with the days on which it is true."""

    from ace_graph.memory.retrieval.current_values import Earlier, when_true, with_earlier

    return printable(with_earlier(bullet.content, Earlier(), when_true(bullet, (), utc_now().date())))


def bullet_table(
    bullets: Sequence[Bullet], snapshot: Snapshot, policy: Policy, title: str | None = None
) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ace_graph.memory.decay import decay_score

    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("section")
    table.add_column("content", ratio=1, overflow="fold")
    table.add_column("votes", justify="right", no_wrap=True)
    table.add_column("strength", justify="right")
    table.add_column("last used", no_wrap=True)
    for bullet in bullets:
        used = snapshot.access.last_used(bullet.id)
        table.add_row(
            Text(bullet.id),
            Text(printable(_marked(bullet))),
            Text(_dated(bullet)),
            Text(f"+{bullet.helpful}/-{bullet.harmful}"),
            Text(f"{decay_score(bullet, snapshot.access, policy.decay):.2f}"),
            Text("always" if bullet.core else used.isoformat() if used else "never"),
        )
    return table


def _ranked(bullets: Sequence[Bullet], snapshot: Snapshot, policy: Policy) -> list[Bullet]:
    from ace_graph.memory.decay import decay_score

    return sorted(
        bullets,
        key=lambda b: (decay_score(b, snapshot.access, policy.decay), b.helpful, b.updated_at),
        reverse=True,
    )


def _marked(bullet: Bullet) -> str:
    marks = ["pinned"] if bullet.pinned else []
    marks += ["avoid"] if bullet.polarity == "anti_pattern" else []
    if bullet.status == "quarantined":
        marks.append(f"quarantined: {bullet.quarantine_reason or 'no reason given'}")
    return " ".join([bullet.section, *(f"({mark})" for mark in marks)])


def _as_text(value: object) -> str:
    """Return a figure, or counts by name with the largest first, for people."""
    if isinstance(value, dict):
        counts = cast("dict[str, int]", value)
        parts = [f"{name} {counts[name]}" for name in sorted(counts, key=lambda name: -counts[name])]
        return printable(", ".join(parts)) or "none"
    return f"{value:.3f}" if isinstance(value, float) else printable(str(value))
