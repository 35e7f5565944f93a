"""The texts of merged bullets that no rule can write: rules check what was written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ace_graph.memory.consolidation.groups import Group
from ace_graph.memory.consolidation.plan import Options, Outlook, Plan, RefusedGroup, planned_group

__all__ = ["MOST_ASKED", "Writer", "WriterReply", "write_texts"]

MOST_ASKED = 20
"""The most groups that a model is asked about in one run."""


@dataclass(frozen=True)
class WriterReply:
    """What a model replied about a group: a text, or that the bullets say different things."""

    text: str = ""
    distinct: bool = False


Writer = Callable[[Group, str], Awaitable[WriterReply | None]]
"""Writes the text of a group, given what was wrong with its last one; None where it has nothing to say."""


async def write_texts(
    outlook: Outlook, plan: Plan, options: Options, writer: Writer
) -> tuple[Mapping[tuple[str, ...], str], Sequence[tuple[str, ...]]]:
    """Ask about the groups of the plan that no rule can judge; return texts by group, and distinct groups.

    A text that the operation would refuse is asked for once more, with the reason. The second one is returned
    whatever it is: the plan that is made with it refuses the group with the reason.
    """
    texts: dict[tuple[str, ...], str] = {}
    distinct: list[tuple[str, ...]] = []
    for group in plan.for_model[:MOST_ASKED]:
        written = await writer(group, "")
        if written is not None and not written.distinct:
            found = planned_group(outlook, group, written.text, options.keep_above)
            if isinstance(found, RefusedGroup):
                written = await writer(group, found.why) or written
        if written is None:
            continue
        if written.distinct:
            distinct.append(group.ids)
        else:
            texts[group.ids] = written.text
    return texts, distinct
