"""What `share propose`, `proposals`, `accept`, `refuse`, `collect` and `withdraw` do."""

from __future__ import annotations

from collections.abc import Sequence

from ace_graph import playbooks
from ace_graph.cli.store_access import on_store
from ace_graph.cli.terminal import console, counted, print_json, print_line, printable
from ace_graph.errors import ChangeRefused
from ace_graph.memory.sharing.proposal import Proposal
from ace_graph.memory.stores.base import Store

__all__ = ["accept", "collect", "list_proposals", "propose", "refuse", "withdraw"]


def propose(
    url: str | None,
    learner: str,
    name: str,
    bullet_ids: Sequence[str],
    replaces: str | None,
    *,
    as_json: bool,
) -> None:
    """Propose bullets of a learner's memory."""

    async def job(store: Store) -> Proposal:
        return await playbooks.propose(store, name, bullet_ids, learner=learner, replaces=replaces)

    made = on_store(url, job)
    if as_json:
        print_json(_proposal_json(made))
        return
    _say_proposed(name, made)


def list_proposals(url: str | None, learner: str, name: str, *, everything: bool, as_json: bool) -> None:
    """Print the proposals for a playbook with their texts."""

    async def job(store: Store) -> tuple[Proposal, ...]:
        return await playbooks.proposals(store, name, owner=learner, state=None if everything else "pending")

    found = on_store(url, job)
    if as_json:
        print_json({"proposals": [_proposal_json(each) for each in found]})
        return
    if not found:
        console(error=True).print(f"Nothing is proposed to {printable(name)}.")
    for each in found:
        who = each.by or "several learners"
        state = f"until {each.expires:%Y-%m-%d}" if each.state == "pending" else each.state
        state += f" ({each.reason})" if each.reason else ""
        print_line(f"{each.proposal_id}  by {who}  {each.trust.name.lower()}  {state}")
        for add in each.adds:
            print_line(f"  {add.content}")
            for what, value in (("when", add.context), ("topic", add.topic), ("tags", ", ".join(add.tags))):
                if value:
                    print_line(f"    {what}: {value}")


def accept(url: str | None, learner: str, name: str, proposal_id: str, texts: list[str] | None) -> None:
    """Accept a proposal."""
    done = on_store(
        url, lambda store: playbooks.accept(store, name, proposal_id, owner=learner, texts=texts or None)
    )
    print_line(f"{name}: accepted, version {done.version.n} ({done.version.label})")


def refuse(url: str | None, learner: str, name: str, proposal_id: str, reason: str) -> None:
    """Refuse a proposal."""
    on_store(url, lambda store: playbooks.refuse(store, name, proposal_id, owner=learner, reason=reason))
    print_line(f"{name}: refused")


def collect(url: str | None, learner: str, name: str) -> None:
    """Propose the bullets that several learners have found alike."""
    made = on_store(url, lambda store: playbooks.collect(store, name, owner=learner))
    if made is None:
        print_line(f"{name}: nothing new was found by five learners")
        return
    _say_proposed(name, made)


def withdraw(url: str | None, learner: str, name: str, by: str, *, dry_run: bool) -> None:
    """Remove the bullets that a user's proposals added. Raises ChangeRefused where there are none."""
    found = on_store(url, lambda store: playbooks.descendants(store, name, owner=learner, by=by))
    if not found:
        raise ChangeRefused(f"nothing in {name} came by proposals of {by}")
    for each in found:
        stays = "" if each.came else " (was there before: stays)"
        print_line(f"[{each.bullet.id}] {each.bullet.content}{stays}")
    if not dry_run:
        on_store(url, lambda store: playbooks.withdraw(store, name, by, owner=learner))
        print_line(f"{name}: {counted(sum(each.came for each in found), 'bullet')} removed")


def _say_proposed(name: str, made: Proposal) -> None:
    print_line(f"{name}: proposed, {counted(len(made.texts), 'bullet')}; id {made.proposal_id}")


def _proposal_json(proposal: Proposal) -> dict[str, object]:
    return {
        "proposal_id": proposal.proposal_id,
        "by": proposal.by,
        "texts": list(proposal.texts),
        "bullets": [
            {"content": add.content, "context": add.context, "topic": add.topic, "tags": list(add.tags)}
            for add in proposal.adds
        ],
        "replaces": list(proposal.targets),
        "trust": proposal.trust.name.lower(),
        "lineage": list(proposal.lineage),
        "state": proposal.state,
        "at": proposal.at.isoformat(),
        "expires": proposal.expires.isoformat(),
        "reason": proposal.reason,
        "decided_by": proposal.decided_by,
    }
