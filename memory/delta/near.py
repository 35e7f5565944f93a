"""Gives what is to be added the words of a bullet that says the same in other words, by their vectors.

So it reinforces that bullet, where the comparison of words alone would make a second one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ace_graph.base.off_loop import Steps, in_slices
from ace_graph.memory.bullet import MAX_KEYWORDS, PROFILE_SECTIONS, Bullet, content_hash
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.delta.merge import new_words
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.similarity.compare import are_distinct, mergeable_scope
from ace_graph.memory.similarity.vectors import Embedder, Vectors, are_near, unit_vectors, vectors_of


async def joined_by_meaning(
    adds: Sequence[Add], playbook: Playbook, embeddings: Embedder | None
) -> list[Add]:
    """Return the operations, those that say the same as a bullet or as an earlier one with the text of that.

    The own words become keywords, so that searches find them. What is of the profile, in quarantine, or in a
    bullet's very words stays as it is. Without embeddings, where they fail, and for more than 1,000 texts
    all do.
    """
    bullets = tuple(playbook.entries.values())
    texts = [*(bullet.content for bullet in bullets), *(add.content for add in adds)]
    vectors = await vectors_of(texts, embeddings if adds else None)
    return await in_slices(_joined(adds, bullets, unit_vectors(vectors))) if vectors else list(adds)


def _joined(adds: Sequence[Add], bullets: Iterable[Bullet], units: Vectors) -> Steps[list[Add]]:
    found = list[Add]()
    known = [bullet for bullet in bullets if bullet.status == "active" and not bullet.core]
    texts = {bullet.content_hash for bullet in known}
    for add in adds:
        own = add.slot is not None or add.section in PROFILE_SECTIONS or add.pinned
        if own or add.status != "active" or add.content not in units or content_hash(add.content) in texts:
            found.append(add)
            continue
        arriving = _arriving(add, f"new {len(known)}")
        near = (each for each in known if are_near(each, arriving, units))
        same = (b for b in near if mergeable_scope(b, arriving) and not are_distinct(b, arriving))
        twin = next(same, None)
        if twin is None:
            known.append(arriving)
            texts.add(arriving.content_hash)
            found.append(add)
        else:
            words = (*add.keywords, *new_words(twin, arriving))[:MAX_KEYWORDS]
            found.append(add.model_copy(update={"content": twin.content, "keywords": words}))
        yield
    return found


def _arriving(add: Add, name: str) -> Bullet:
    return Bullet.model_construct(
        id=name,
        section=add.section,
        content=add.content,
        polarity=add.polarity,
        memory_type=add.memory_type or infer_memory_type(add.content),
        topic=add.topic,
    )
