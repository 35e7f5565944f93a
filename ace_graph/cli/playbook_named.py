"""The commands `ace-graph playbook ...` for named playbooks: create, list, get, update, delete, versions.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ace_graph.cli.adapt import Concurrency, Limit, TaskName, TaskOption
from ace_graph.cli.app import debugging
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
)
from ace_graph.cli.playbook_edit import playbook

__all__ = ["playbook"]

File = Annotated[Path, typer.Argument(metavar="FILE", help="In any format that import knows; - is stdin.")]


class Scope(StrEnum):
    """The scope of a playbook, as a choice."""

    agent = "agent"
    user = "user"
    tenant = "tenant"
    everybody = "global"


class Visibility(StrEnum):
    """Whether a playbook is to be shared, as a choice."""

    private = "private"
    shared = "shared"


@playbook.command()
def create(
    name: Annotated[str, typer.Argument(help="1 to 255 characters, no slash; case makes no difference.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="What to fill it with; - is stdin.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(metavar="TEMPLATE", help="Fill it with this template: `playbook templates` lists them."),
    ] = None,
    learner: Learner = DEFAULT_LEARNER,
    description: Annotated[str, typer.Option(help="What it is about.")] = "",
    scope: Annotated[Scope, typer.Option(help="Whom it is meant for.")] = Scope.agent,
    visibility: Annotated[Visibility, typer.Option(help="shared, with scope tenant: your teams read it.")] = (
        Visibility.private
    ),
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Create a named playbook: empty, from a file, or from a template.

    \b
    ace-graph playbook create notes
    ace-graph playbook create orders advice.json --learner ada
    ace-graph playbook create shop --template api_client
    """
    from ace_graph.cli import playbook_catalogue

    filling = playbook_catalogue.filling(file, template)
    fields = playbook_catalogue.Fields(description or filling.description, scope.value, visibility.value)
    playbook_catalogue.create(store, Which(learner, name), filling, fields, as_json=as_json)


@playbook.command()
def templates(
    name: Annotated[
        str | None, typer.Argument(metavar="[TEMPLATE]", help="The name of a template, to show its bullets.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The templates: playbooks that come with ace-graph, for `playbook create --template`.

    \b
    ace-graph playbook templates
    ace-graph playbook templates api_client
    """
    from ace_graph.cli import playbook_templates

    playbook_templates.show(name, as_json=as_json)


@playbook.command("list")
def list_(learner: Learner = DEFAULT_LEARNER, as_json: Json = False, store: StoreUrl = None) -> None:
    """The playbooks of a learner; `default` is the memory that turns read and write."""
    from ace_graph.cli import playbook_catalogue

    playbook_catalogue.list_all(store, learner, as_json=as_json)


@playbook.command()
def get(
    bullet_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A bullet's id; without one the whole playbook.")
    ] = None,
    named: Named = DEFAULT_NAME,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """One playbook with all that is stored about it; or one bullet, the confidence in it, and its runs.

    \b
    ace-graph playbook get --name api_client --json
    ace-graph playbook get --json | jq '.strategies.harmful'
    ace-graph playbook get str-00002
    """
    from ace_graph.cli import playbook_catalogue, playbook_stats

    if bullet_id is not None:
        playbook_stats.get(store, Which(learner, named), bullet_id, as_json=as_json)
        return
    playbook_catalogue.get(store, Which(learner, named), as_json=as_json)


@playbook.command()
def about(
    named: Annotated[str, typer.Option("--name", "-n", metavar="NAME", help="The playbook.")],
    learner: Learner = DEFAULT_LEARNER,
    description: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    scope: Annotated[Scope | None, typer.Option(help="Whom it is meant for.")] = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Give a named playbook another description or scope.

    \b
    ace-graph playbook about --name api_client --description "calling our own API"
    """
    from ace_graph.cli import playbook_catalogue

    if description is None and scope is None:
        raise typer.BadParameter("say --description or --scope")
    asked = scope.value if scope else None
    playbook_catalogue.about(store, Which(learner, named), description, asked, as_json=as_json)


@playbook.command()
def update(
    file: File,
    named: Named = DEFAULT_NAME,
    learner: Learner = DEFAULT_LEARNER,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace all bullets by those of the file: a new major version.")
    ] = False,
    keep_label: Annotated[
        bool, typer.Option("--keep-label", help="Amend: the new version keeps the label.")
    ] = False,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Add the bullets of a file to a playbook, or replace all of its bullets, in one version.

    \b
    ace-graph playbook update advice.json --name api_client
    ace-graph playbook update advice.json --name api_client --replace
    """
    from ace_graph.cli import playbook_catalogue

    how = playbook_catalogue.How(merge=not replace, keeps_label=keep_label)
    playbook_catalogue.update(store, Which(learner, named), file, how, as_json=as_json)


@playbook.command()
def curate(
    reflection_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Reflections: `reflect --batch` prints their ids.")
    ],
    named: Named = DEFAULT_NAME,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Add what reflections found to a playbook, in one version, and show what changed.

    \b
    ace-graph reflect --batch --json | jq -r '.patterns[] | select(.frequency > 2) | .memory_id' |
      xargs ace-graph playbook curate --name api_client

    The same reflections again change nothing. With ACE_CURATOR_USE_LLM a model curates, as in a turn.
    """
    from ace_graph.cli import reflections

    reflections.curate(store, Which(learner, named), reflection_ids, as_json=as_json)


@playbook.command()
def delete(
    named: Annotated[str, typer.Option("--name", "-n", metavar="NAME", help="The playbook to delete.")],
    learner: Learner = DEFAULT_LEARNER,
    store: StoreUrl = None,
) -> None:
    """Delete a named playbook with all of its versions, for good."""
    from ace_graph.cli import playbook_catalogue

    playbook_catalogue.delete(store, Which(learner, named))


@playbook.command()
def compare(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="A version: its number, or its label such as 1.2.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help='Rows, {"context", "target"} each.')],
    named: Named = DEFAULT_NAME,
    learner: Learner = DEFAULT_LEARNER,
    task: TaskOption = TaskName.qa,
    limit: Limit = None,
    concurrency: Concurrency = 4,
    show: Annotated[int, typer.Option(min=0, metavar="N", help="Rows shown with both answers.")] = 20,
    as_json: Json = False,
    on: On = None,
    store: StoreUrl = None,
) -> None:
    """Ask two versions the same questions: both answers, both accuracies, and their difference.

    \b
    ace-graph playbook compare 1.0 2.0 --name shop --data questions.jsonl
    ace-graph playbook compare 0 7 --data questions.jsonl --json

    Version 0 is the empty playbook. Nothing is learned or stored. For a named playbook the success of the
    learner's own turns with each version follows; those versions were not assigned at random.
    """
    from ace_graph.cli import playbook_compare
    from ace_graph.cli.compare import CompareOptions

    options = CompareOptions(data, task.value, limit, concurrency, show, on)
    which, debug = Which(learner, named), debugging(ctx)
    raise typer.Exit(
        playbook_compare.compare_versions(store, which, (a, b), options, as_json=as_json, debug=debug)
    )


@playbook.command()
def versions(
    named: Named = DEFAULT_NAME,
    learner: Learner = DEFAULT_LEARNER,
    limit: VersionsShown = 50,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """All versions, the newest first: number, label, when, who and why; a - marks dropped content."""
    from ace_graph.cli import playbook_catalogue

    playbook_catalogue.versions(store, Which(learner, named), limit, as_json=as_json)
