"""Grants, proposals and teams of the in-memory store. All methods run on the portal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ace_graph.memory.sharing.grant import Grant, Subject, team_key
from ace_graph.memory.sharing.proposal import Proposal, ProposalState

__all__ = ["Grants", "Proposals", "Teams"]


class Grants:
    """The grants on named playbooks, by playbook and by subject."""

    def __init__(self) -> None:
        self._by_playbook: dict[str, dict[str, Grant]] = {}
        self._by_subject: dict[str, set[str]] = {}

    def put(self, grants: Iterable[Grant]) -> None:
        """Store grants; one that a subject has on the same playbook is replaced."""
        for each in grants:
            subject = str(each.subject)
            self._by_playbook.setdefault(each.playbook_id, {})[subject] = each
            self._by_subject.setdefault(subject, set()).add(each.playbook_id)

    def drop(self, playbook_id: str, subject: str) -> bool:
        """Delete a subject's grant; False where there was none."""
        self._by_subject.get(subject, set[str]()).discard(playbook_id)
        return self._by_playbook.get(playbook_id, {}).pop(subject, None) is not None

    def drop_all(self, playbook_id: str) -> None:
        """Delete all grants of a playbook."""
        for subject in self._by_playbook.pop(playbook_id, {}):
            self._by_subject.get(subject, set[str]()).discard(playbook_id)

    def to(self, playbook_id: str, subjects: Sequence[str]) -> tuple[Grant, ...]:
        """Return the grants of a playbook to these subjects."""
        held = self._by_playbook.get(playbook_id, {})
        return tuple(held[subject] for subject in subjects if subject in held)

    def of(self, playbook_id: str) -> list[Grant]:
        """Return the grants of a playbook in the order of their subjects."""
        held = self._by_playbook.get(playbook_id, {})
        return [held[subject] for subject in sorted(held)]

    def shared_with(self, subjects: Sequence[str]) -> list[str]:
        """Return the ids of playbooks with a grant to one of the subjects, in order."""
        return sorted({each for subject in subjects for each in self._by_subject.get(subject, ())})

    def about(self, user: str, owned: Collection[str]) -> tuple[Grant, ...]:
        """Return the grants to a user, and those on the playbooks `owned`, by playbook and subject."""
        subject = str(Subject("user", user))
        ids = sorted({*owned, *self.shared_with((subject,))})
        found = (each for playbook_id in ids for each in self.of(playbook_id))
        return tuple(each for each in found if each.playbook_id in owned or str(each.subject) == subject)

    def forget(self, user: str) -> bool:
        """Delete the grants to a user, and the user's name from grants to others."""
        subject = str(Subject("user", user))
        held = self.shared_with((subject,))
        for playbook_id in held:
            self.drop(playbook_id, subject)
        for grants in self._by_playbook.values():
            grants |= {key: replace(each, by="") for key, each in grants.items() if each.by == user}
        return bool(held)


class Proposals:
    """The proposals for named playbooks, by id."""

    def __init__(self) -> None:
        self._by_id: dict[str, Proposal] = {}

    def put(self, proposal: Proposal) -> None:
        """Store a proposal."""
        self._by_id[proposal.proposal_id] = proposal

    def of(self, playbook_id: str, state: ProposalState | None, after: str) -> list[Proposal]:
        """Return the proposals for a playbook after an id, in the order of their ids."""
        return [
            self._by_id[key]
            for key in sorted(self._by_id)
            if key > after
            and self._by_id[key].playbook_id == playbook_id
            and state in (None, self._by_id[key].state)
        ]

    def by(self, user: str) -> tuple[Proposal, ...]:
        """Return the proposals that a user made, in the order of their ids."""
        return tuple(self._by_id[key] for key in sorted(self._by_id) if self._by_id[key].by == user)

    def decide(self, proposal: Proposal, held: ProposalState) -> bool:
        """Replace a proposal that is in the state `held`; False for one that is not."""
        stored = self._by_id.get(proposal.proposal_id)
        if stored is None or (stored.playbook_id, stored.state) != (proposal.playbook_id, held):
            return False
        self._by_id[proposal.proposal_id] = proposal
        return True

    def drop(self, unwanted: Callable[[Proposal], bool]) -> bool:
        """Delete proposals; return whether there were any."""
        gone = [key for key, each in self._by_id.items() if unwanted(each)]
        for key in gone:
            del self._by_id[key]
        return bool(gone)


class Teams:
    """The members of teams; a team is there as long as it has one."""

    def __init__(self) -> None:
        self._members: dict[str, set[str]] = {}

    def of(self, user: str) -> tuple[str, ...]:
        """Return the teams that a user is in, in order."""
        return tuple(sorted(team for team, members in self._members.items() if user in members))

    def all(self) -> list[str]:
        """Return the teams in order."""
        return sorted(self._members)

    def like(self, team: str) -> tuple[str, ...]:
        """Return the teams with another name that could be taken for this one."""
        return tuple(other for other in self.all() if other != team and team_key(other) == team_key(team))

    def members(self, team: str) -> list[str]:
        """Return the members of a team in order."""
        return sorted(self._members.get(team, ()))

    def add(self, team: str, members: Collection[str]) -> int:
        """Add members to a team; return how many were not in it."""
        held = self._members.get(team, set[str]())
        new = set(members) - held
        if held or new:
            self._members[team] = held | new
        return len(new)

    def remove(self, team: str, members: Collection[str]) -> int:
        """Remove members of a team; return how many were in it."""
        held = self._members.get(team, set[str]())
        gone = held & set(members)
        self._members[team] = held - gone
        if not self._members[team]:
            del self._members[team]
        return len(gone)

    def forget(self, user: str) -> bool:
        """Remove a user from all teams."""
        return bool([self.remove(team, (user,)) for team in self.of(user)])
