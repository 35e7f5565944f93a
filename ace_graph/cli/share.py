"""The commands `ace-graph share ...`: who may use a playbook, what is proposed to it, who is in a team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph import playbooks
from ace_graph.base.errors import ChangeRefused
from ace_graph.cli.command import DEFAULT_LEARNER, LEARNER, STORE, Bounds, Call, CommandGroup, command
from ace_graph.cli.playbook import entry_json
from ace_graph.cli.terminal import counted, picked, print_line
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.sharing import Granted

if TYPE_CHECKING:
    from ace_graph.memory.sharing import Proposal
    from ace_graph.memory.stores.store import Store

commands = typer.Typer(cls=CommandGroup, no_args_is_help=True)
team = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Teams, to share playbooks with; for the operator."
)

_GRANTS, _PROPOSALS = "Grants", "Proposals"
Playbook = Annotated[str, "PLAYBOOK", "A name; owner/name for another's."]
TeamName = Annotated[str, "TEAM", "The team."]
Members = Annotated[list[str], "USER...", "Ids of learners."]
ProposalId = Annotated[str, "ID", "A proposal: share proposals lists them."]
Limit = Annotated[int, "--limit -n", "Lines per page.", Bounds(1, 10_000)]
After = Annotated[str, "--after NAME", "Continue after this one."]


@command(commands, "store", panel=_GRANTS)
def grant(
    call: Call,
    playbook: Playbook,
    to: Annotated[str, "--to SUBJECT", "user:NAME, team:NAME or agent:NAME."],
    relation: Annotated[Granted, "--as", "The relation, as listed above."] = "viewer",
    learner: Annotated[str, "--learner -l ID", "Who acts."] = DEFAULT_LEARNER,
) -> None:
    """Share a playbook; this replaces an earlier grant to the same user or team.

    \b
    viewer       reads it, and attaches it to runs
    contributor  proposes changes, too
    editor       changes it, too
    owner        shares and deletes it, too

    \b
    ace-graph share grant api_client --to user:bob --as viewer --learner ada
    ace-graph share grant api_client --to team:ops --as editor --learner ada
    ace-graph playbook show --name ada/api_client --as bob
    """
    made = call.on_store(lambda store: playbooks.grant(store, playbook, to, relation, owner=learner))
    print_line(f"{playbook}: {made.subject} is {made.relation}")


@command(commands, "learner", "store", panel=_GRANTS)
def revoke(
    call: Call,
    playbook: Playbook,
    subject: Annotated[str, "--from SUBJECT", "user:NAME, team:NAME or agent:NAME."],
) -> None:
    """Revoke a grant, effective at the next load.

    \b
    ace-graph share revoke api_client --from user:bob --learner ada
    """
    if not call.on_store(lambda store: playbooks.revoke(store, playbook, subject, owner=call.learner)):
        raise ChangeRefused(f"{subject} has no grant on {playbook}: share list shows the grants")
    print_line(f"{playbook}: {subject} has no grant any more")


@command(commands, "learner", "store", panel=_GRANTS)
def leave(call: Call, playbook: Playbook) -> None:
    """Decline a playbook that was shared with you; a new grant brings it back.

    \b
    ace-graph share leave ada/api_client --learner bob
    """
    call.on_store(lambda store: playbooks.leave(store, playbook, owner=call.learner))
    print_line(f"{playbook}: left; a new grant brings it back")


@command(commands, "learner", "store", panel=_GRANTS)
def show_use(
    call: Call, playbook: Playbook, shown: Annotated[bool, "--on/--off", "Whether they see it."] = True
) -> None:
    """Let the owners see your use of their playbook by name; by default they see totals.

    \b
    ace-graph share show-use ada/api_client --learner bob
    ace-graph share show-use ada/api_client --off --learner bob
    """
    call.on_store(lambda store: playbooks.show_use(store, playbook, owner=call.learner, shown=shown))
    print_line(f"{playbook}: its owners {'see your use by name' if shown else 'do not see who uses it'}")


@command(commands, *LEARNER, panel=_GRANTS, name="list")
def list_(
    call: Call,
    playbook: Annotated[str | None, "PLAYBOOK", "Without one: what is shared with you."] = None,
    limit: Limit = 100,
    after: After = "",
) -> None:
    """Who a playbook is shared with; or which playbooks of others are shared with you.

    \b
    ace-graph share list api_client --learner ada
    ace-graph share list --learner bob
    """
    if playbook is None:
        _list_shared_with(call, limit, after)
        return
    grants = call.on_store(
        lambda store: playbooks.grants(store, playbook, owner=call.learner, limit=limit + 1, after=after)
    )
    following, remark = _following([str(each.subject) for each in grants], limit, "shared with nobody")
    rows = [{"subject": str(each.subject), **picked(each, "relation", "by", "at")} for each in grants[:limit]]
    call.answer(
        {"grants": rows, "next": following},
        [
            f"{each.subject}  {each.relation}  {each.at:%Y-%m-%d %H:%M}  by {each.by or 'a forgotten user'}"
            for each in grants[:limit]
        ],
        remark,
    )


def _list_shared_with(call: Call, limit: int, after: str) -> None:
    shared = call.on_store(
        lambda store: playbooks.shared_with(store, call.learner, limit=limit + 1, after=after)
    )
    nothing = f"no playbook is shared with {call.learner}"
    following, remark = _following([each.entry.playbook_id for each in shared], limit, nothing)
    rows = [
        {**entry_json(each.entry), "right": each.right.name.lower(), "shows_use": each.shows_use}
        for each in shared[:limit]
    ]
    call.answer(
        {"playbooks": rows, "next": following},
        [
            f"{row['owner']}/{row['name']}  {row['label']}  {row['right']}"
            + ("  your use is shown" if row["shows_use"] else "")
            + (f"  {row['description']}" if row["description"] else "")
            for row in rows
        ],
        remark,
    )


def _following(names: list[str], limit: int, nothing: str) -> tuple[str | None, str | None]:
    """Return the name after which the next page begins, and a remark about that, or about `nothing`."""
    if len(names) > limit:
        return names[limit - 1], f"There are more: --after {names[limit - 1]}"
    return None, None if names else f"{nothing}."


@command(commands, *LEARNER, panel=_PROPOSALS)
def propose(
    call: Call,
    playbook: Playbook,
    bullet_ids: Annotated[list[str], "ID...", "Bullets of your own memory."],
    replaces: Annotated[str | None, "--replaces ID", "The playbook's bullet that it corrects."] = None,
) -> None:
    """Propose bullets of your memory to a playbook of somebody else.

    \b
    ace-graph share propose ada/api_client str-00003 --learner bob

    People who may write accept it, edited or not, or refuse it, within 30 days. Profile, preferences,
    misconceptions and episodes can't be proposed.
    """
    made = call.on_store(
        lambda store: playbooks.propose(store, playbook, bullet_ids, learner=call.learner, replaces=replaces)
    )
    call.answer(_proposal_json(made), _proposed(playbook, made))


@command(commands, *LEARNER, panel=_PROPOSALS)
def proposals(
    call: Call,
    playbook: Playbook,
    everything: Annotated[bool, "--all", "Decided ones, too."] = False,
) -> None:
    """The proposals that wait for a decision; without the right to write, your own."""

    async def job(store: Store) -> tuple[tuple[Proposal, ...], dict[str, Bullet]]:
        found = await playbooks.proposals(
            store, playbook, owner=call.learner, state=None if everything else "pending"
        )
        if not any(each.targets for each in found):
            return found, {}
        shown = await playbooks.get_playbook(store, playbook, call.learner)
        return found, dict(shown.snapshot.playbook.entries)

    listed, present = call.on_store(job)
    lines = list[str]()
    for each in listed:
        who = each.by or "several learners"
        standing = f"until {each.expires:%Y-%m-%d}" if each.state == "pending" else each.state
        standing += f" ({each.reason})" if each.reason else ""
        lines.append(f"{each.proposal_id}  by {who}  {each.trust.name.lower()}  {standing}")
        for add in each.adds:
            lines.append(f"  {add.content}")
            fields = (("when", add.context), ("topic", add.topic), ("tags", ", ".join(add.tags)))
            lines += [f"    {name}: {value}" for name, value in fields if value]
        for name in each.targets:
            was = f"[{name}] {present[name].content}" if name in present else f"[{name}], which is gone"
            lines.append(f"    instead of: {was}")
    nothing = None if listed else f"Nothing is proposed to {playbook}."
    call.answer({"proposals": [_proposal_json(each) for each in listed]}, lines, nothing)


@command(commands, "learner", "store", panel=_PROPOSALS)
def accept(
    call: Call,
    playbook: Playbook,
    proposal_id: ProposalId,
    text: Annotated[
        list[str] | None, "Another text instead of the proposed one; one per proposed text."
    ] = None,
) -> None:
    """Take a proposal into the playbook, as a version of it."""
    done = call.on_store(
        lambda store: playbooks.accept(store, playbook, proposal_id, owner=call.learner, texts=text or None)
    )
    print_line(f"{playbook}: accepted, version {done.version.n} ({done.version.label})")


@command(commands, "learner", "store", panel=_PROPOSALS)
def refuse(
    call: Call,
    playbook: Playbook,
    proposal_id: ProposalId,
    reason: Annotated[str, "--reason TEXT", "The reason, which the proposer can read."] = "",
) -> None:
    """Refuse a proposal."""
    call.on_store(
        lambda store: playbooks.refuse(store, playbook, proposal_id, owner=call.learner, reason=reason)
    )
    print_line(f"{playbook}: refused")


@command(commands, "learner", "store", panel=_PROPOSALS)
def collect(call: Call, playbook: Playbook) -> None:
    """Propose bullets that at least five contributors found alike, with success.

    Nobody is named.
    """
    made = call.on_store(lambda store: playbooks.collect(store, playbook, owner=call.learner))
    nothing = f"{playbook}: nothing new was found by five learners"
    print_line(nothing if made is None else _proposed(playbook, made))


@command(commands, "learner", "store", panel=_PROPOSALS)
def withdraw(
    call: Call,
    playbook: Playbook,
    by: Annotated[str, "--by USER", "Whose proposals."],
    dry_run: Annotated[bool, "Only show the bullets."] = False,
) -> None:
    """Remove the bullets that a user's proposals added to a playbook, in one version."""
    came = call.on_store(lambda store: playbooks.descendants(store, playbook, owner=call.learner, by=by))
    if not came:
        raise ChangeRefused(f"nothing in {playbook} came by proposals of {by}")
    for each in came:
        stays = "" if each.came else " (was there before: stays)"
        print_line(f"[{each.bullet.id}] {each.bullet.content}{stays}")
    if not dry_run:
        call.on_store(lambda store: playbooks.withdraw(store, playbook, by, owner=call.learner))
        print_line(f"{playbook}: {counted(sum(each.came for each in came), 'bullet')} removed")


def _proposed(playbook: str, made: Proposal) -> str:
    return f"{playbook}: proposed, {counted(len(made.texts), 'bullet')}; id {made.proposal_id}"


def _proposal_json(proposal: Proposal) -> dict[str, object]:
    return {
        **picked(proposal, "proposal_id", "by", "texts"),
        "bullets": [picked(add, "content", "context", "topic", "tags") for add in proposal.adds],
        "replaces": proposal.targets,
        "trust": proposal.trust.name.lower(),
        **picked(proposal, "lineage", "state", "at", "expires", "reason", "decided_by"),
    }


@command(team, "store", name="add")
def add_to_team(call: Call, name: TeamName, members: Members) -> None:
    """Add users to a team; a team exists as long as it has members.

    \b
    ace-graph share team add ops ada bob
    """
    added = call.on_store(lambda store: playbooks.add_to_team(store, name, members))
    print_line(f"{name}: {counted(added, 'user')} added")


@command(team, "store", name="remove")
def remove_from_team(call: Call, name: TeamName, members: Members) -> None:
    """Remove users from a team; they lose its playbooks at the next load."""
    removed = call.on_store(lambda store: playbooks.remove_from_team(store, name, members))
    if not removed:
        raise ChangeRefused(f"none of them is in the team {name}: share team list {name} shows who is")
    print_line(f"{name}: {counted(removed, 'user')} removed")


@command(team, *STORE, name="list")
def list_teams(
    call: Call,
    name: Annotated[str | None, "TEAM", "Without one: all teams."] = None,
    limit: Limit = 100,
    after: After = "",
) -> None:
    """All teams; or the members of one."""

    async def job(store: Store) -> tuple[str, ...]:
        if name is None:
            return await store.teams(limit + 1, after)
        return await store.members(name, limit + 1, after)

    names = list(call.on_store(job))
    nothing = "there is no team yet" if name is None else f"nobody is in the team {name}"
    following, remark = _following(names, limit, nothing)
    key = "teams" if name is None else "members"
    call.answer({key: names[:limit], "next": following}, names[:limit], remark)


commands.add_typer(team, name="team", rich_help_panel=_GRANTS)
