"""The commands `ace-graph share ...` and `ace-graph team ...`: who may use a playbook, who is in a team.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ace_graph.cli.options import DEFAULT_LEARNER, Json, StoreUrl

__all__ = ["share", "team"]

share = typer.Typer(
    no_args_is_help=True, help="Share named playbooks with users and teams; see what is shared with you."
)
team = typer.Typer(no_args_is_help=True, help="Teams, to share playbooks with; for the operator.")

Playbook = Annotated[str, typer.Argument(metavar="PLAYBOOK", help="A name; owner/name for another's.")]
Learner = Annotated[str, typer.Option("--learner", "-l", metavar="ID", help="Who acts.")]
To = Annotated[str, typer.Option("--to", metavar="SUBJECT", help="user:NAME or team:NAME, exactly.")]
From = Annotated[str, typer.Option("--from", metavar="SUBJECT", help="user:NAME or team:NAME, exactly.")]
TeamName = Annotated[str, typer.Argument(metavar="TEAM", help="The team.")]
Members = Annotated[list[str], typer.Argument(metavar="USER...", help="Ids of learners.")]
ProposalId = Annotated[str, typer.Argument(metavar="ID", help="A proposal: share proposals lists them.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Lines a page.")]
After = Annotated[str, typer.Option("--after", metavar="NAME", help="Begin after this one: the next page.")]


class RelationName(StrEnum):
    """The relations, as a choice."""

    viewer = "viewer"
    contributor = "contributor"
    editor = "editor"
    owner = "owner"


@share.command()
def grant(
    playbook: Playbook,
    to: To,
    relation: Annotated[
        RelationName, typer.Option("--as", help="The relation, as listed above.")
    ] = RelationName.viewer,
    learner: Learner = DEFAULT_LEARNER,
    store: StoreUrl = None,
) -> None:
    """Share a playbook. It takes the place of the grant that the user or team had.

    \b
    viewer       reads it, and attaches it to runs
    contributor  proposes changes, too
    editor       changes it, too
    owner        shares and deletes it, too

    \b
    ace-graph share grant api_client --to user:bob --as viewer --learner ada
    ace-graph share grant api_client --to team:ops --as editor --learner ada
    ace-graph playbook get --name ada/api_client --as bob
    """
    from ace_graph.cli import share_playbook

    share_playbook.grant(store, learner, playbook, to, relation.value)


@share.command()
def revoke(
    playbook: Playbook, subject: From, learner: Learner = DEFAULT_LEARNER, store: StoreUrl = None
) -> None:
    """Revoke a grant; it ends with the next load.

    \b
    ace-graph share revoke api_client --from user:bob --learner ada
    """
    from ace_graph.cli import share_playbook

    share_playbook.revoke(store, learner, playbook, subject)


@share.command()
def leave(playbook: Playbook, learner: Learner = DEFAULT_LEARNER, store: StoreUrl = None) -> None:
    """Decline a playbook that was shared with you; a new grant brings it back.

    \b
    ace-graph share leave ada/api_client --learner bob
    """
    from ace_graph.cli import share_playbook

    share_playbook.leave(store, learner, playbook)


@share.command("list")
def list_shared(
    playbook: Annotated[
        str | None, typer.Argument(metavar="[PLAYBOOK]", help="Without one: what is shared with you.")
    ] = None,
    limit: Limit = 100,
    after: After = "",
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Who a playbook is shared with; or which playbooks of others are shared with you.

    \b
    ace-graph share list api_client --learner ada
    ace-graph share list --learner bob
    """
    from ace_graph.cli import share_playbook

    if playbook is None:
        share_playbook.list_shared(store, learner, limit, after, as_json=as_json)
        return
    share_playbook.list_grants(store, learner, playbook, limit, after, as_json=as_json)


@share.command()
def propose(
    playbook: Playbook,
    bullet_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Bullets of your own memory.")],
    replaces: Annotated[
        str | None, typer.Option("--replaces", metavar="ID", help="The playbook's bullet that it corrects.")
    ] = None,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Propose bullets of your memory to a playbook of somebody else.

    \b
    ace-graph share propose ada/api_client str-00003 --learner bob

    Who may write accepts it, edited or not, or refuses it, within 30 days. Profile, preferences,
    misconceptions and episodes can't be proposed.
    """
    from ace_graph.cli import share_proposals

    share_proposals.propose(store, learner, playbook, bullet_ids, replaces, as_json=as_json)


@share.command()
def proposals(
    playbook: Playbook,
    everything: Annotated[bool, typer.Option("--all", help="Decided ones, too.")] = False,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """The proposals that wait for a decision; without the right to write, your own."""
    from ace_graph.cli import share_proposals

    share_proposals.list_proposals(store, learner, playbook, everything=everything, as_json=as_json)


@share.command()
def accept(
    playbook: Playbook,
    proposal_id: ProposalId,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", help="A text in the place of the proposed one; give one for each proposed text."
        ),
    ] = None,
    learner: Learner = DEFAULT_LEARNER,
    store: StoreUrl = None,
) -> None:
    """Take a proposal into the playbook, as a version of it."""
    from ace_graph.cli import share_proposals

    share_proposals.accept(store, learner, playbook, proposal_id, text)


@share.command()
def refuse(
    playbook: Playbook,
    proposal_id: ProposalId,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; its proposer reads it.")] = "",
    learner: Learner = DEFAULT_LEARNER,
    store: StoreUrl = None,
) -> None:
    """Refuse a proposal."""
    from ace_graph.cli import share_proposals

    share_proposals.refuse(store, learner, playbook, proposal_id, reason)


@share.command()
def collect(playbook: Playbook, learner: Learner = DEFAULT_LEARNER, store: StoreUrl = None) -> None:
    """Propose the bullets that at least five users with the right to propose have found alike, with success.

    Nobody is named, and nothing that fewer than five have found is shown.
    """
    from ace_graph.cli import share_proposals

    share_proposals.collect(store, learner, playbook)


@share.command()
def withdraw(
    playbook: Playbook,
    by: Annotated[str, typer.Option("--by", metavar="USER", help="Whose proposals.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the bullets.")] = False,
    learner: Learner = DEFAULT_LEARNER,
    store: StoreUrl = None,
) -> None:
    """Remove the bullets that a user's proposals added to a playbook, in one version."""
    from ace_graph.cli import share_proposals

    share_proposals.withdraw(store, learner, playbook, by, dry_run=dry_run)


@team.command()
def add(name: TeamName, members: Members, store: StoreUrl = None) -> None:
    """Add users to a team, which is there as long as it has members.

    \b
    ace-graph team add ops ada bob
    """
    from ace_graph.cli import share_playbook

    share_playbook.add_to_team(store, name, members)


@team.command()
def remove(name: TeamName, members: Members, store: StoreUrl = None) -> None:
    """Remove users from a team; what is shared with it ends for them with the next load."""
    from ace_graph.cli import share_playbook

    share_playbook.remove_from_team(store, name, members)


@team.command("list")
def list_teams(
    name: Annotated[str | None, typer.Argument(metavar="[TEAM]", help="Without one: all teams.")] = None,
    limit: Limit = 100,
    after: After = "",
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """All teams; or the members of one."""
    from ace_graph.cli import share_playbook

    share_playbook.list_teams(store, name, limit, after, as_json=as_json)
