"""What others than the owner may change in a shared playbook, decided on the state that it is made to.

They add, edit, vote, merge, correct, hold back and remove what they see, and replace all that they see. What
they don't see stays as it is, and is unknown to them. Going back to an earlier version, and all that concerns
the core, is the owner's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ace_graph.errors import ChangeRefused, PlaybookForbidden
from ace_graph.memory.bullet import PROFILE_SECTIONS, Bullet
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
from ace_graph.memory.delta.screening import screen_bullet
from ace_graph.memory.playbook import Playbook, id_number, mint_id
from ace_graph.memory.sharing.outgoing import leaves_owner, outgoing_bullet
from ace_graph.off_loop import Steps

__all__ = ["EDITOR", "permitted", "reported"]

EDITOR = "editor"
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


_IDS = (
    "added",
    "reinforced",
    "updated",
    "tagged",
    "merged",
    "superseded",
    "removed",
    "restored",
    "quarantined",
    "released",
)


def _without(values: Iterable[object], hidden: set[str]) -> tuple[object, ...]:
    def is_hidden(value: object) -> bool:
        return (
            value in hidden
            if isinstance(value, str)
            else (isinstance(value, Merged) and not hidden.isdisjoint((value.kept, value.gone)))
        )

    return tuple(value for value in values if not is_hidden(value))


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
            return _replaced(operation, playbook, seen)
        case _:
            raise PlaybookForbidden(f"only the owner of a playbook can {operation.op} in it")


def _check_seen(
    names: Iterable[str], playbook: Playbook, seen: Mapping[str, Bullet], refs: frozenset[str]
) -> None:
    for name in names:
        if name not in refs and playbook.aliases.get(name, name) not in seen:
            raise ChangeRefused(f"{name}: unknown id: playbook show lists the ids")


def _added(add: Add) -> Add:
    """The bullet as one that counts nothing yet and that nobody vouches for."""
    if add.pinned or add.slot is not None:
        raise PlaybookForbidden("only the owner of a playbook can pin bullets in it, or fill a slot")
    _check_section(add.section)
    text = {"content", "section", "ref", "id", "memory_type", "polarity", "topic", "concept", "tags"}
    kept = add.model_dump(include=text | {"importance", "ttl_days", "context"}, exclude_unset=True)
    return Add(**kept, sources=(EDITOR,))


def _edited(update: Update) -> Update:
    _check_section(update.section)
    return update.model_copy(update={"examples": (), "stated": None})


def _check_section(section: str | None) -> None:
    if section in PROFILE_SECTIONS:
        raise PlaybookForbidden(f"the section {section} is about the owner: choose another one")


def _replaced(reset: Reset, playbook: Playbook, seen: Mapping[str, Bullet]) -> Reset:
    """What is not seen stays, what is put back unchanged stays as it is stored, the rest is new."""
    hidden = {key: bullet for key, bullet in playbook.entries.items() if key not in seen}
    number = max([playbook.next_id, *(1 + id_number(bullet.id) for bullet in reset.bullets)])
    new = list[Bullet]()
    for bullet in reset.bullets:
        if bullet.id in hidden:
            renamed = bullet.model_copy(update={"id": mint_id(bullet.section, number)})
            bullet, number = renamed, number + 1
        new.append(_put_back(bullet, seen))
    return Reset(bullets=(*hidden.values(), *new))


def _put_back(bullet: Bullet, seen: Mapping[str, Bullet]) -> Bullet:
    stored = seen.get(bullet.id)
    if stored is not None and outgoing_bullet(stored) == bullet:
        return stored
    if bullet.core:
        raise PlaybookForbidden("only the owner of a playbook can pin bullets in it, or fill a slot")
    plain = Bullet(
        **bullet.model_dump(
            include={"id", "section", "content", "memory_type", "polarity", "topic", "concept", "tags"}
            | {"importance", "created_at", "updated_at", "ttl_days", "context"}
        ),
        sources=(EDITOR,),
    )
    why = screen_bullet(plain)
    return (
        plain if why is None else plain.model_copy(update={"status": "quarantined", "quarantine_reason": why})
    )
