"""Sharing of named playbooks: subjects, grants, what leaves an owner, and what others may change."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from typing import Annotated, Literal, NamedTuple, cast, get_args

from pydantic import Field

from ace_graph.base.errors import ChangeRefused, InvalidGrant, PlaybookForbidden, unknown
from ace_graph.base.frozen import Frozen
from ace_graph.base.off_loop import Steps
from ace_graph.memory.bullet import GIVEN, LEFT_OUT, PROFILE_SECTIONS, Bullet, BulletSource, Moment, Text
from ace_graph.memory.delta.effect import Merged, Report
from ace_graph.memory.delta.operations import (
    Add,
    Delta,
    Merge,
    Operation,
    Quarantine,
    Remove,
    Reset,
    Supersede,
    Tag,
    Update,
)
from ace_graph.memory.playbook import Playbook, id_number, mint_id
from ace_graph.memory.search.tokenize import normal_form
from ace_graph.memory.snapshot import Access, Snapshot
from ace_graph.memory.trust import PROVEN_VOTES

# Who a playbook is shared with: subjects, relations, grants (document 004, 5.5 and 6.4).
#
# A subject is written `user:bob`, `team:ops` or `agent:crawler`; which agent acts, the host says. Names are
# compared exactly, character by character: `user:Bob` is somebody else than `user:bob`. A prefix never stands
# for what begins with it.


Granted = Literal["viewer", "contributor", "editor", "owner"]
Relation = Granted | Literal["declined", "shows"]
"""What a subject has: something granted; `declined`: the user has declined what was; `shows`: a reader lets
the owners see by name how much they use the playbook, which gives no right."""
SubjectKind = Literal["user", "team", "agent"]
"""What something can be granted to."""
MAX_TEAM_CHARS = 256
MAX_USER_CHARS = 256
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


class Subject(NamedTuple):
    """A user, who is a learner; a team; or an agent of the host, whoever it works for.

    A `reader` is a user as far as they show their use.
    """

    kind: SubjectKind | Literal["reader"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: object) -> Subject:
        """Return the subject of `user:NAME`, `team:NAME` or `agent:NAME`. Raises InvalidGrant."""
        kind, colon, name = str(text).partition(":")
        if not isinstance(text, str) or not colon or kind not in get_args(SubjectKind):
            raise InvalidGrant("a subject is written user:NAME, team:NAME or agent:NAME")
        if kind == "team":
            return cls("team", checked_team(name))
        if not 1 <= len(name) <= MAX_USER_CHARS or any(
            ch == "\x00" or "\ud800" <= ch <= "\udfff" for ch in name
        ):
            raise InvalidGrant(f"{kind}: takes a name of 1 to {MAX_USER_CHARS} characters")
        return cls(cast("SubjectKind", kind), name)


@dataclass(frozen=True)
class Grant:
    """One subject's relation to one playbook. A subject has one relation; a new grant replaces it.

    A user who has declined has no right by grants that were made before, to teams too. `by` is the user who
    made it; it is '' once that user was forgotten.
    """

    subject: Subject
    relation: Relation
    playbook_id: str
    by: str
    at: datetime


def checked_relation(text: object) -> Granted:
    """Return the relation to grant. Raises InvalidGrant, naming the four."""
    if text not in get_args(Granted):
        raise InvalidGrant(unknown("relation", text, get_args(Granted)))
    return cast("Granted", text)


def stored_relation(text: str) -> Relation:
    """Return the relation that a store holds. Raises InvalidGrant."""
    return cast("Relation", text) if text in ("declined", "shows") else checked_relation(text)


def stored_subject(text: str) -> Subject:
    """Return the subject that a store holds. Raises InvalidGrant."""
    reader = text.removeprefix("reader:")
    return Subject.parse(text) if reader == text else Subject("reader", reader)


def subjects_naming(user: str) -> tuple[str, str]:
    """Return, as texts, the subjects that name a user: those whose grants go when the user is forgotten."""
    return str(Subject("user", user)), str(Subject("reader", user))


def is_team(name: object) -> bool:
    """Whether a text can be the name of a team."""
    return (
        isinstance(name, str)
        and 1 <= len(name) <= MAX_TEAM_CHARS
        and name == name.strip()
        and not any(unicodedata.category(ch) in _UNPRINTABLE for ch in name)
        and normal_form("NFC", name) == name
    )


def checked_team(name: object) -> str:
    """Return the name of a team. Raises InvalidGrant."""
    if not isinstance(name, str) or not is_team(name):
        raise InvalidGrant(
            f"a team's name has 1 to {MAX_TEAM_CHARS} visible characters, in Unicode's normal form C, and no "
            "space at its ends"
        )
    return name


def team_key(name: str) -> str:
    """Return the form in which names of teams must differ, so that no two can be taken for each other."""
    return normal_form("NFC", normal_form("NFKD", name).casefold())


# What of a playbook leaves its owner: the bullets and the fields that others may see.
#
# Never the core (what is pinned, the profile, preferences, misconceptions), what the owner said about
# themselves, bullets in quarantine, episodes, or texts that only somebody's word lets through the screen.
# The rest is screened again. Examples go out as bare ids; sources, search words of merged bullets and of
# the turns that bullets came from, these turns, votes on turns and insights stay.


_SAID = "learner says"
_LEARNER = "learner"
"""The source of a learner's own statements."""


def leaves_owner(bullet: Bullet) -> bool:
    """Whether others may see a bullet at all."""
    from ace_graph.memory.delta.screening import screen_bullet

    return not (
        bullet.status != "active"
        or bullet.core
        or bullet.memory_type == "episodic"
        or bullet.vouched
        or _LEARNER in bullet.sources
        or _SAID in bullet.content.casefold()
        or screen_bullet(bullet) is not None
    )


def outgoing_bullet(bullet: Bullet) -> Bullet:
    """Return a bullet as others see it: without what is not the advice itself."""
    turn = {"turn_id": None, "conversation_id": None, "source_words": (), "claim": None}
    return bullet.model_copy(update={"sources": (), "keywords": (), "consolidated_from": (), **turn})


def outgoing(playbook: Playbook) -> Steps[Playbook]:
    """Return in steps a playbook as others see it; its ids and the id counter are the same."""
    seen = dict[str, Bullet]()
    for key, each in playbook.entries.items():
        if leaves_owner(each):
            seen[key] = outgoing_bullet(each)
        yield
    return Playbook(entries=seen, next_id=playbook.next_id)


def outgoing_snapshot(snapshot: Snapshot) -> Steps[Snapshot]:
    """Return a snapshot as others see it, under its own version. Never commit onto it: it is not whole."""
    return replace(snapshot, playbook=(yield from outgoing(snapshot.playbook)), access=Access())


def outgoing_text(text: str) -> str:
    """Return a description as others see it: empty where the screen refuses it."""
    from ace_graph.memory.screening.screen import screen

    return text if screen(text) is None else ""


# A proposal: changes of a shared playbook that somebody asks for, to be accepted by who may write.
#
# It holds what leaves the proposer's own memory, so neither profile nor episodes, and says where it is from
# and how far that is trusted.


ProposalState = Literal["pending", "accepted", "refused"]
PROPOSED = "proposal:"
"""What the source of a bullet begins with that came by a proposal; its id follows."""


class Trust(IntEnum):
    """How far a bullet is trusted, in order."""

    UNPROVEN = 0
    GIVEN = 1
    PROVEN = 2


class Proposal(Frozen):
    """Changes of one playbook that wait, or waited, for a decision.

    `delta` is what is committed, onto the newest version then. `targets` maps each bullet that it changes to
    the hash of the text that it is meant for. `lineage` names the bullets of the proposer that it is from, or
    says what else it is from; `trust` is the lowest of theirs. `by` is the proposer, '' for the owner's
    rule. After `expires` it can't be accepted. `added` are the bullets that are new by it; other texts of it
    were known already. `through` are the subjects whose grants gave the right to propose it, `reason` says
    why it was refused.
    """

    proposal_id: Annotated[Text, Field(min_length=1, max_length=128)]
    playbook_id: Text
    delta: Delta
    targets: dict[str, str] = Field(default_factory=dict)
    lineage: tuple[Text, ...] = ()
    trust: Trust
    by: Text
    at: Moment
    expires: Moment
    state: ProposalState = "pending"
    decided_by: Text = ""
    decided_at: Moment | None = None
    added: tuple[Text, ...] = ()
    through: Annotated[tuple[Text, ...], LEFT_OUT] = ()
    reason: Annotated[Text, Field(max_length=500), LEFT_OUT] = ""

    @property
    def adds(self) -> tuple[Add, ...]:
        """What it adds: each text with all that would come with it."""
        return tuple(each for each in self.delta.operations if isinstance(each, Add))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it adds."""
        return tuple(each.content for each in self.adds)

    def is_open(self, now: datetime) -> bool:
        """Whether it can be decided at this moment."""
        return self.state == "pending" and now < self.expires


def trust_of(bullet: Bullet) -> Trust:
    """Return how far a bullet is trusted: by its votes, else by who said it."""
    if bullet.helpful >= PROVEN_VOTES and bullet.harmful < bullet.helpful:
        return Trust.PROVEN
    return Trust.UNPROVEN if GIVEN.isdisjoint(bullet.sources) else Trust.GIVEN


def source_of(proposal_id: str) -> str:
    """Return the source of the bullets that came by a proposal."""
    return f"{PROPOSED}{proposal_id}"


def proposal_ids(bullet: Bullet) -> frozenset[str]:
    """Return the proposals that a bullet came by."""
    return frozenset(
        source.removeprefix(PROPOSED) for source in bullet.sources if source.startswith(PROPOSED)
    )


# What others than the owner may change in a shared playbook, decided on the state that it is made to.
#
# They add, edit, vote, merge, correct, hold back and remove what they see, and replace all that they see.
# What they don't see stays as it is, and is unknown to them. Going back to an earlier version, and all that
# concerns the core, is the owner's own.


EDITOR = BulletSource.EDITOR
"""The source of bullets that others than the owner added, and the author of their changes.

It names nobody: what is in somebody else's playbook stays when its writer is forgotten.
"""


def permitted(delta: Delta, playbook: Playbook) -> Steps[Delta]:
    """Return in steps the delta as somebody else than the owner may make it.

    Raises PlaybookForbidden for what only the owner may do, ChangeRefused for a bullet that they don't see.
    """
    seen = dict[str, Bullet]()
    for key, bullet in playbook.entries.items():
        if leaves_owner(bullet):
            seen[key] = bullet
        yield
    refs = frozenset(each.ref for each in delta.operations if isinstance(each, Add) and each.ref)
    operations = tuple(_permitted(each, playbook, seen, refs) for each in delta.operations)
    apart = frozenset(playbook.entries.keys() - seen.keys())
    return delta.model_copy(update={"operations": operations, "author": EDITOR, "apart": apart})


def reported(report: Report, playbook: Playbook, seen_before: Collection[str]) -> Report:
    """Return the report of such a change without the ids of bullets that its author does not see.

    What the author added or changed, and the screen holds back, is named: they don't see it from now on. Of
    the bullets that made room only those are named that the author saw before.
    """
    known = {*report.added, *report.quarantined}
    hidden = {
        key for key, bullet in playbook.entries.items() if key not in known and not leaves_owner(bullet)
    }
    shown = {name: _without(getattr(report, name), hidden) for name in _IDS}
    pruned = tuple(each for each in report.pruned if each.id in known or each.id in seen_before)
    return report.model_copy(update={**shown, "pruned": pruned})


_IDS = tuple(Report.model_fields.keys() - {"pruned", "rejected", "refs"})


def _without(values: Iterable[object], hidden: set[str]) -> tuple[object, ...]:
    named = ((value, {value.kept, value.gone} if isinstance(value, Merged) else {value}) for value in values)
    return tuple(value for value, ids in named if hidden.isdisjoint(ids))


def _permitted(
    operation: Operation, playbook: Playbook, seen: Mapping[str, Bullet], refs: frozenset[str]
) -> Operation:
    match operation:
        case Add():
            return _added(operation)
        case Update() | Tag() | Remove() | Quarantine():
            _check_seen((operation.bullet_id,), playbook, seen, refs)
            return _edited(operation) if isinstance(operation, Update) else operation
        case Supersede():
            _check_seen((operation.bullet_id, operation.by), playbook, seen, refs)
            return operation
        case Merge():
            _check_seen(operation.bullet_ids, playbook, seen, refs)
            return operation.model_copy(update={"force": False})
        case Reset():
            # What is not seen stays, what is put back unchanged stays as it is stored, the rest is new
            hidden = {key: bullet for key, bullet in playbook.entries.items() if key not in seen}
            number = max([playbook.next_id, *(1 + id_number(bullet.id) for bullet in operation.bullets)])
            new = list[Bullet]()
            for bullet in operation.bullets:
                if bullet.id in hidden:
                    renamed = bullet.model_copy(update={"id": mint_id(bullet.section, number)})
                    bullet, number = renamed, number + 1
                new.append(_put_back(bullet, seen))
            return Reset(bullets=(*hidden.values(), *new))
        case _:
            raise PlaybookForbidden(f"only the owner of a playbook can {operation.op} in it")


def _check_seen(
    names: Iterable[str], playbook: Playbook, seen: Mapping[str, Bullet], refs: frozenset[str]
) -> None:
    for name in names:
        if name not in refs and playbook.aliases.get(name, name) not in seen:
            raise ChangeRefused(f"{name}: unknown id: playbook show lists the ids")


_WRITTEN = frozenset(
    (
        *("id", "section", "content", "memory_type", "polarity", "topic", "concept", "tags", "importance"),
        *("ttl_days", "context", "valid_from", "valid_until"),
    )
)
"""The fields of a bullet that are its writer's."""


def _added(add: Add) -> Add:
    """The bullet as one that counts nothing yet and that nobody vouches for."""
    if add.pinned or add.slot is not None:
        raise PlaybookForbidden("only the owner of a playbook can pin bullets in it, or fill a slot")
    _check_section(add.section)
    return Add(**add.model_dump(include={*_WRITTEN, "ref"}, exclude_unset=True), sources=(EDITOR,))


def _edited(update: Update) -> Update:
    _check_section(update.section)
    return update.model_copy(update={"examples": (), "stated": None})


def _check_section(section: str | None) -> None:
    if section in PROFILE_SECTIONS:
        raise PlaybookForbidden(f"the section {section} is about the owner: choose another one")


def _put_back(bullet: Bullet, seen: Mapping[str, Bullet]) -> Bullet:
    from ace_graph.memory.delta.screening import screen_bullet

    stored = seen.get(bullet.id)
    if stored is not None and outgoing_bullet(stored) == bullet:
        return stored
    if bullet.core:
        raise PlaybookForbidden("only the owner of a playbook can pin bullets in it, or fill a slot")
    written = bullet.model_dump(include={*_WRITTEN, "created_at", "updated_at"})
    plain = Bullet(**written, sources=(EDITOR,))
    if (why := screen_bullet(plain)) is None:
        return plain
    return plain.model_copy(update={"status": "quarantined", "quarantine_reason": why})
