"""What `share grant`, `share revoke`, `share list` and the `team` commands do."""

from __future__ import annotations

from collections.abc import Sequence

from ace_graph import playbooks
from ace_graph.cli.playbook_catalogue import entry_json
from ace_graph.cli.store_access import on_store
from ace_graph.cli.terminal import console, counted, print_json, print_line, printable
from ace_graph.errors import ChangeRefused
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import naming
from ace_graph.playbooks import SharedEntry

__all__ = [
    "add_to_team",
    "grant",
    "leave",
    "list_grants",
    "list_shared",
    "list_teams",
    "remove_from_team",
    "revoke",
]


def grant(url: str | None, learner: str, name: str, to: str, relation: str) -> None:
    """Share a playbook."""
    made = on_store(url, lambda store: playbooks.grant(store, name, to, relation, owner=learner))
    print_line(f"{name}: {made.subject} is {made.relation}")


def revoke(url: str | None, learner: str, name: str, subject: str) -> None:
    """Revoke a grant. Raises ChangeRefused where there is none."""
    if not on_store(url, lambda store: playbooks.revoke(store, name, subject, owner=learner)):
        raise ChangeRefused(f"{subject} has no grant on {name}: share list shows the grants")
    print_line(f"{name}: {subject} has no grant any more")


def leave(url: str | None, learner: str, name: str) -> None:
    """Decline a playbook that was shared with the learner."""
    on_store(url, lambda store: playbooks.leave(store, name, owner=learner))
    print_line(f"{name}: left; a new grant brings it back")


def list_grants(url: str | None, learner: str, name: str, limit: int, after: str, *, as_json: bool) -> None:
    """Print a line for each grant of a playbook."""

    async def job(store: Store) -> tuple[Grant, ...]:
        return await playbooks.grants(store, name, owner=learner, limit=limit + 1, after=after)

    found = on_store(url, job)
    page, following = _page([str(each.subject) for each in found], limit)
    if as_json:
        print_json({"grants": [_grant_json(each) for each in found[:limit]], "next": following})
        return
    for each in found[:limit]:
        by = each.by or "a forgotten user"
        print_line(f"{each.subject}  {each.relation}  {each.at:%Y-%m-%d %H:%M}  by {by}")
    _say_more(page, following, "shared with nobody")


def list_shared(url: str | None, learner: str, limit: int, after: str, *, as_json: bool) -> None:
    """Print a line for each playbook that is shared with a user."""

    async def job(store: Store) -> tuple[SharedEntry, ...]:
        return await playbooks.shared_with(store, learner, limit=limit + 1, after=after)

    found = on_store(url, job)
    page, following = _page([each.entry.playbook_id for each in found], limit)
    rows = [{**entry_json(each.entry), "right": each.right.name.lower()} for each in found[:limit]]
    if as_json:
        print_json({"playbooks": rows, "next": following})
        return
    for row in rows:
        about = f"  {row['description']}" if row["description"] else ""
        print_line(f"{row['owner']}/{row['name']}  {row['label']}  {row['right']}{about}")
    _say_more(page, following, f"no playbook is shared with {learner}")


def add_to_team(url: str | None, name: str, members: Sequence[str]) -> None:
    """Add users to a team."""
    added = on_store(url, lambda store: playbooks.add_to_team(store, name, members))
    print_line(f"{name}: {counted(added, 'user')} added")


def remove_from_team(url: str | None, name: str, members: Sequence[str]) -> None:
    """Remove users from a team. Raises ChangeRefused where none of them is in it."""
    removed = on_store(url, lambda store: playbooks.remove_from_team(store, name, members))
    if not removed:
        raise ChangeRefused(f"none of them is in the team {name}: team list {name} shows who is")
    print_line(f"{name}: {counted(removed, 'user')} removed")


def list_teams(url: str | None, name: str | None, limit: int, after: str, *, as_json: bool) -> None:
    """Print the teams, or the members of one."""

    async def job(store: Store) -> tuple[str, ...]:
        if name is None:
            return await naming(store).teams(limit + 1, after)
        return await naming(store).members(name, limit + 1, after)

    page, following = _page(list(on_store(url, job)), limit)
    if as_json:
        print_json({"teams" if name is None else "members": page, "next": following})
        return
    for each in page:
        print_line(each)
    _say_more(page, following, "there is no team yet" if name is None else f"nobody is in the team {name}")


def _page(names: list[str], limit: int) -> tuple[list[str], str | None]:
    """The names of a page, and the last of them where there is another page."""
    return names[:limit], names[limit - 1] if len(names) > limit else None


def _say_more(page: Sequence[str], following: str | None, nothing: str) -> None:
    if not page:
        console(error=True).print(f"{printable(nothing)}.", soft_wrap=True)
    if following is not None:
        console(error=True).print(f"There are more: --after {printable(following)}", soft_wrap=True)


def _grant_json(grant: Grant) -> dict[str, str]:
    return {
        "subject": str(grant.subject),
        "relation": grant.relation,
        "by": grant.by,
        "at": grant.at.isoformat(),
    }
