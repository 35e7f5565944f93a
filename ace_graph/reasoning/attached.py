"""Named playbooks that a run reads beside the learner's memory, in the one load of the turn.

What a run reads is one playbook made of the base playbook and the attached ones. It is cached with its search
index under the versions that it is made of, so that attaching costs a comparison while nothing changes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Wanted
from ace_graph.memory.catalogue.foreign import as_foreign, foreign_prefix, united
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.sharing.asked import Asked, Caller, not_found
from ace_graph.memory.sharing.outgoing import outgoing
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.playbooks import naming
from ace_graph.memory.turn import PlaybookRead
from ace_graph.off_loop import in_slices
from ace_graph.playbooks.directory import Directory, caller_of, listed_teams
from ace_graph.playbooks.handle import audit_denial
from ace_graph.resources import Resources

__all__ = ["load_attached"]


async def load_attached(
    learner_id: str, wanted: Sequence[PlaybookRef], resources: Resources, teams: Collection[str] | None = None
) -> tuple[Snapshot, Playbook, tuple[PlaybookRead, ...]]:
    """Return the learner's snapshot, the attached playbooks and the base playbook as one, and what was read.

    Of somebody else's playbook the grants are read with it, each time, and only what leaves its owner is
    kept. `teams` are the learner's; None: the directory, or the store's table, is asked. Raises
    PlaybookNotFound for what the learner may not read, ConfigurationError, and what the store raises.
    """
    store = naming(resources.store)
    caller = await _caller(learner_id, wanted, resources.directory or store, teams)
    held = {ref: resources.attached.get(_key(ref, caller)) for ref in wanted}
    asked = [
        Wanted(ref, known.version if known else Version(), _subjects(ref, caller))
        for ref, known in held.items()
    ]
    loaded = await store.load_attached(learner_id, asked, resources.cache.get(learner_id))
    parts = {
        ref: await _as_read(ref, caller, found, held[ref], resources)
        for ref, found in zip(wanted, loaded.attached, strict=True)
    }
    read = tuple(PlaybookRead(each.playbook_id, str(each.version.label)) for each in loaded.attached if each)
    return loaded.snapshot, _united(parts, caller, resources), read


async def _caller(
    learner_id: str, wanted: Sequence[PlaybookRef], directory: Directory, teams: Collection[str] | None
) -> Caller:
    """The learner, with teams where something of somebody else is wanted."""
    if all(ref.owner == learner_id for ref in wanted):
        return Caller(learner_id)
    return (
        await caller_of(learner_id, directory) if teams is None else Caller(learner_id, listed_teams(teams))
    )


def _subjects(ref: PlaybookRef, caller: Caller) -> tuple[str, ...]:
    return () if ref.owner == caller.user else caller.subjects


async def _as_read(
    ref: PlaybookRef,
    caller: Caller,
    found: AttachedPlaybook | None,
    held: Snapshot | None,
    resources: Resources,
) -> Snapshot:
    """Return a playbook as it is read: with the ids that name it. Raises PlaybookNotFound."""
    if found is None:
        raise not_found(ref.name)
    asked = Asked(found.playbook_id, caller, ref.name, audit_denial)
    asked.check(Right.READ, found, found.grants)
    if found.playbook is None and held is not None:
        return held
    content = found.playbook or Playbook()
    if found.owner != caller.user:
        content = await in_slices(outgoing(content))
    prefix = foreign_prefix(ref.owner or "", found.name)
    made = Snapshot(Playbook.of(as_foreign(prefix, content.bullets())), version=found.version)
    resources.attached.put(_key(ref, caller), made)
    return made


def _united(parts: dict[PlaybookRef, Snapshot], caller: Caller, resources: Resources) -> Playbook:
    """Return the parts and the base playbook as one: the cached one where nothing changed."""
    name = f"united {json.dumps([_key(ref, caller) for ref in parts])}"
    made_of = json.dumps([[part.version.epoch, part.version.etag] for part in parts.values()])
    version = Version(epoch=name, n=sum(part.version.n for part in parts.values()), etag=made_of)
    held = resources.attached.get(name)
    if held is not None and held.version.same_content(version):
        return held.playbook
    base = resources.base_playbook
    playbook = united([*([base] if base is not None else []), *(part.playbook for part in parts.values())])
    if held is not None:
        playbook.inherit(held.playbook)
    resources.attached.drop(name)
    resources.attached.put(name, Snapshot(playbook, version=version))
    return playbook


def _key(ref: PlaybookRef, caller: Caller) -> str:
    """The key of a content in the cache: the owner sees all of it, everybody else the same part of it."""
    return json.dumps([ref.owner, ref.key, ref.owner == caller.user])
