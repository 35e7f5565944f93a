"""The commands `ace-graph playbook ...` that show a playbook, go back to an earlier one, export and import.

Commands that change single bullets are in `playbook_edit`. What a command needs is imported when it is
called, so that `--help` answers at once.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from ace_graph.cli.options import (
    DEFAULT_LEARNER,
    DEFAULT_NAME,
    Json,
    Learner,
    Named,
    On,
    StoreUrl,
    VersionsShown,
    Which,
    check_all,
)
from ace_graph.errors import UsageError

if TYPE_CHECKING:
    from ace_graph.memory.bullet import MemoryType

__all__ = ["BulletId", "KindName", "MemoryKind", "playbook"]

playbook = typer.Typer(
    no_args_is_help=True,
    help="Look at what a learner's memory holds, change it, go back, export and import it.",
)

BulletId = Annotated[str, typer.Argument(metavar="ID", help="A bullet's id, such as fil-00042.")]


class MemoryKind(StrEnum):
    """The memory types, as a choice."""

    semantic = "semantic"
    episodic = "episodic"
    procedural = "procedural"


Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only bullets with this tag; several: with all of them.")
]
Types = Annotated[
    list[MemoryKind] | None, typer.Option("--type", help="Only this memory type; several: any of them.")
]


class KindName(StrEnum):
    """The nine kinds of memory, as a choice."""

    fact = "fact"
    preference = "preference"
    experience = "experience"
    strategy = "strategy"
    anti_pattern = "anti_pattern"
    observation = "observation"
    consolidated = "consolidated"
    trajectory = "trajectory"
    reflection = "reflection"


def _types(types: list[MemoryKind] | None) -> frozenset[MemoryType]:
    return frozenset(each.value for each in types or ())


@playbook.command()
def show(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    limit: Annotated[int, typer.Option(min=0, help="Bullets in the table.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="Those in quarantine too.")] = False,
    quarantined: Annotated[
        bool, typer.Option(help="Only those in quarantine, each with the reason.")
    ] = False,
    tag: Tags = None,
    memory_type: Types = None,
    kind: Annotated[
        KindName | None, typer.Option("--kind", help="Only memories of this kind, trajectories too.")
    ] = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Totals, sections, and the bullets, the strongest first.

    \b
    ace-graph playbook show --learner ada
    ace-graph playbook show --kind strategy
    ace-graph playbook show --tag fractions --type procedural
    ace-graph playbook show --quarantined
    ace-graph playbook show --json | jq '.bullets[].content'
    """
    from ace_graph.cli import playbook_view
    from ace_graph.memory.views.bullet_filter import BulletFilter, BulletStatus
    from ace_graph.memory.views.kinds import is_bullet_kind

    statuses: tuple[BulletStatus, ...] = ("active", "quarantined") if everything else ("active",)
    if quarantined:
        statuses = ("quarantined",)
    shown = BulletFilter(frozenset(statuses), tuple(tag or ()), _types(memory_type))
    if kind is not None:
        if not is_bullet_kind(kind.value):
            playbook_view.show_records(store, learner, kind.value, as_json=as_json, limit=limit)
            return
        shown = replace(shown, kinds=frozenset({kind.value}))
    playbook_view.show(store, Which(learner, named), as_json=as_json, shown=shown, limit=limit)


@playbook.command()
def stats(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Counts, votes, reliability and strength; how often the playbook was used, and what it was worth."""
    from ace_graph.cli import playbook_stats

    playbook_stats.stats(store, Which(learner, named), as_json=as_json)


@playbook.command()
def search(
    text: Annotated[
        str,
        typer.Argument(help="One or more words; a bullet must hold all of them. With --explain: a question."),
    ],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    tag: Tags = None,
    memory_type: Types = None,
    explain: Annotated[
        bool, typer.Option(help="Why a turn with this question would be shown each bullet, or not.")
    ] = False,
    bullet: Annotated[
        str | None, typer.Option("--id", metavar="BULLET", help="With --explain: this bullet only.")
    ] = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """The bullets whose text holds the words.

    \b
    ace-graph playbook search fraction
    ace-graph playbook search fraction --tag exam
    ace-graph playbook search "How do I add 1/2 and 1/3?" --explain
    ace-graph playbook search "How do I add 1/2 and 1/3?" --explain --id fra-00001
    """
    if explain:
        if tag:
            raise UsageError("--explain takes no --tag: a turn's search does not look at tags; leave it out")
        from ace_graph.cli import playbook_explain

        which = Which(learner, named)
        playbook_explain.explain(store, which, text, _types(memory_type), bullet, as_json=as_json)
        return
    if bullet is not None:
        raise UsageError("--id goes with --explain; playbook show lists every bullet")
    from ace_graph.cli import playbook_view
    from ace_graph.memory.views.bullet_filter import BulletFilter

    wanted = BulletFilter(tags=tuple(tag or ()), memory_types=_types(memory_type), words=text)
    playbook_view.search(store, Which(learner, named), wanted, as_json=as_json)


@playbook.command()
def rescreen(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    everybody: Annotated[
        bool, typer.Option("--all", help="Every learner and named playbook of the store.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show which bullets would change status; change nothing.")
    ] = False,
    on: On = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Screen what is stored again, after an upgrade has changed the rules: both ways.

    What a person released, kept back or vouched for stays as it is.

    \b
    ace-graph playbook rescreen --all --dry-run
    ace-graph playbook rescreen --all --on ray
    """
    from ace_graph.cli import playbook_rescreen

    check_all(on, everybody=everybody)
    if everybody:
        playbook_rescreen.rescreen_all(store, on=on, dry_run=dry_run, as_json=as_json)
    else:
        playbook_rescreen.rescreen(store, Which(learner, named), dry_run=dry_run, as_json=as_json)


@playbook.command()
def history(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    limit: VersionsShown = 50,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """The versions of a playbook, the newest first: who changed what, and why."""
    from ace_graph.cli import playbook_history

    playbook_history.history(store, Which(learner, named), as_json=as_json, limit=limit)


@playbook.command()
def diff(
    before: Annotated[
        str,
        typer.Argument(metavar="A", help="A version, by number or label (1.2); 0 is the empty one."),
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """What was added, removed and changed between two versions.

    \b
    ace-graph playbook diff 3 5
    """
    from ace_graph.cli import playbook_history

    playbook_history.diff(store, Which(learner, named), before, after, as_json=as_json)


@playbook.command()
def rollback(
    version: Annotated[
        str,
        typer.Argument(metavar="VERSION", help="A number that `history` lists, or a label (1.2)."),
    ],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Go back to an earlier version, votes and all; that is a new version, and can be undone too."""
    from ace_graph.cli import playbook_history

    playbook_history.rollback(store, Which(learner, named), version, as_json=as_json)


@playbook.command()
def archived(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    limit: Annotated[int, typer.Option(min=0, help="Bullets shown.")] = 50,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """The bullets that are no longer in the playbook, the latest first: since when, and why."""
    from ace_graph.cli import playbook_history

    playbook_history.archive(store, Which(learner, named), as_json=as_json, limit=limit)


@playbook.command()
def restore(
    bullet_id: BulletId,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Bring back one bullet that `archived` lists, as it was; `rollback` brings back a whole version."""
    from ace_graph.cli import playbook_history

    playbook_history.restore(store, Which(learner, named), bullet_id, as_json=as_json)


class _ListsFormats(TyperCommand):
    """Fills the formats into its help, when the help is wanted: reading them takes a while."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # Any: click's classes, which typer keeps
        from ace_graph.memory.formats.registry import FORMATS

        lines = "\n".join(f"{each.name:<10} {each.summary}" for each in FORMATS)
        self.help = (self.help or "").replace("{formats}", lines)
        super().format_help(ctx, formatter)


@playbook.command("export", cls=_ListsFormats)
def export_(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    name: Annotated[str, typer.Option("--format", metavar="NAME", help="One of those named above.")] = "json",
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
    store: StoreUrl = None,
) -> None:
    """Write the bullets to a file.

    \b
    {formats}

    \b
    ace-graph playbook export --format text
    ace-graph playbook export --learner ada -o ada.json
    """
    from ace_graph.cli import playbook_files

    playbook_files.export_playbook(store, Which(learner, named), name, file)


@playbook.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file, or - for stdin.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    name: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="The format, one that export knows; else it is recognised."
        ),
    ] = "auto",
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Add the bullets of a file to a learner's; what is known already is merged.

    Every format that export writes is known by its content.

    \b
    ace-graph playbook import ada.json --learner ben
    """
    from ace_graph.cli import playbook_files

    playbook_files.import_playbook(store, Which(learner, named), file, name, as_json=as_json)
