"""Named playbooks that a run reads beside the learner's memory, in the one load of the turn.

What a run reads is one playbook made of the base playbook and the attached ones. It is cached with its search
index under the versions that it is made of, so that attaching costs a comparison while nothing changes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Wanted
from ace_graph.memory.catalogue.foreign import as_foreign, foreign_prefix, united
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.playbooks import naming
from ace_graph.memory.turn import PlaybookRead
from ace_graph.playbooks.target import not_found
from ace_graph.resources import Resources

__all__ = ["load_attached"]


async def load_attached(
    learner_id: str, wanted: Sequence[PlaybookRef], resources: Resources
) -> tuple[Snapshot, Playbook, tuple[PlaybookRead, ...]]:
    """Return the learner's snapshot, the attached playbooks and the base playbook as one, and what was read.

    Only the owner's are readable. Raises PlaybookNotFound, ConfigurationError, and what the store raises.
    """
    for ref in wanted:
        if ref.owner != learner_id:
            raise not_found(ref.name)
    held = {ref: resources.attached.get(_key(ref)) for ref in wanted}
    asked = [Wanted(ref, known.version if known else Version()) for ref, known in held.items()]
    known = resources.cache.get(learner_id)
    loaded = await naming(resources.store).load_attached(learner_id, asked, known)
    parts = {
        ref: _as_read(ref, found, held[ref], resources)
        for ref, found in zip(wanted, loaded.attached, strict=True)
    }
    read = tuple(PlaybookRead(each.playbook_id, str(each.version.label)) for each in loaded.attached if each)
    return loaded.snapshot, _united(parts, resources), read


def _as_read(
    ref: PlaybookRef, found: AttachedPlaybook | None, held: Snapshot | None, resources: Resources
) -> Snapshot:
    """Return a playbook as it is read: with the ids that name it. Raises PlaybookNotFound."""
    if found is None:
        raise not_found(ref.name)
    if found.playbook is None and held is not None:
        return held
    bullets = () if found.playbook is None else found.playbook.bullets()
    prefix = foreign_prefix(ref.owner or "", found.name)
    made = Snapshot(Playbook.of(as_foreign(prefix, bullets)), version=found.version)
    resources.attached.put(_key(ref), made)
    return made


def _united(parts: dict[PlaybookRef, Snapshot], resources: Resources) -> Playbook:
    """Return the parts and the base playbook as one: the cached one where nothing changed."""
    name = f"united {json.dumps([_key(ref) for ref in parts])}"
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


def _key(ref: PlaybookRef) -> str:
    return json.dumps([ref.owner, ref.key])
