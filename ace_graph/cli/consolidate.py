"""The commands `ace-graph consolidate`: merge what says the same, look first, take it back."""

from __future__ import annotations

from typing import Annotated

import typer

from ace_graph.cli.options import (
    DEFAULT_LEARNER,
    DEFAULT_NAME,
    Json,
    Learner,
    Named,
    On,
    StoreUrl,
    Which,
    check_all,
)
from ace_graph.cli.playbook import KindName

__all__ = ["consolidate"]

consolidate = typer.Typer(
    invoke_without_command=True,
    help="Merge bullets that say the same; `--dry-run` shows what would be merged, `undo` reverses it.",
)

Below = Annotated[float, typer.Option(metavar="0..1", help="Only bullets of at most this importance.")]
KeepAbove = Annotated[
    float, typer.Option(metavar="0..1", help="Bullets of at least this importance stay as they are.")
]
Batch = Annotated[
    int | None, typer.Option(min=100, max=1_000, help="Bullets per commit; else ACE_CONSOLIDATE_BATCH.")
]


@consolidate.callback()
def run(
    ctx: typer.Context,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; store nothing.")] = False,
    kind: Annotated[KindName | None, typer.Option("--kind", help="Only memories of this kind.")] = None,
    topic: Annotated[str | None, typer.Option(help="Only bullets on this topic.")] = None,
    section: Annotated[str | None, typer.Option(help="Only bullets of this section.")] = None,
    below: Below = 0.5,
    keep_above: KeepAbove = 0.8,
    batch: Batch = None,
    run_id: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with a run that was stopped.")
    ] = None,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Let the model judge what rules can't, and write the text.")
    ] = False,
    everybody: Annotated[bool, typer.Option("--all", help="The memories of all learners.")] = False,
    on: On = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Merge bullets that say the same; nothing is lost, and all of it can be taken back.

    \b
    ace-graph consolidate --dry-run
    ace-graph consolidate --learner ada --kind strategy
    ace-graph consolidate --all --on ray
    ace-graph consolidate undo

    What is pinned, of the profile, in quarantine or important stays as it is. A merge is refused where its
    text would lose a number, a name, code, a link, a quotation or a "not", and where the questions that the
    bullets came from would find less.
    """
    if ctx.invoked_subcommand is not None:
        return
    from ace_graph.cli.consolidate_all import consolidate_all
    from ace_graph.cli.consolidate_run import options_of, run_consolidation

    check_all(on, everybody=everybody)
    options = options_of(None if kind is None else kind.value, topic, section, below, keep_above)
    how = {"dry_run": dry_run, "with_model": with_model, "as_json": as_json}
    if everybody:
        raise typer.Exit(consolidate_all(store, options, batch, run_id, on=on, **how))
    run_consolidation(store, Which(learner, named), options, batch, run_id, **how)


@consolidate.command()
def undo(
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The id of a run; else the newest one.")
    ] = None,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Take back a consolidation: every bullet as it was, what came later stays.

    It is refused, with names, where a merged bullet has changed since. Ids are never given twice.
    """
    from ace_graph.cli.consolidate_run import run_undo

    run_undo(store, Which(learner, named), run_id, as_json=as_json)


@consolidate.command()
def distinct(
    bullet_ids: Annotated[list[str], typer.Argument(metavar="ID ID...", help="Two bullets or more.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Say that bullets mean different things, so that they are never merged or proposed for it."""
    from ace_graph.cli.consolidate_run import run_distinct

    run_distinct(store, Which(learner, named), bullet_ids, as_json=as_json)
