"""The text of a merged bullet, written by a model; whether it holds enough is checked by rules afterwards."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from ace_graph.errors import ModelError
from ace_graph.memory.consolidation.groups import Group
from ace_graph.memory.consolidation.plan import Options, Outlook, Plan, RefusedGroup, planned_group
from ace_graph.prompts import Prompts, data_block

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from ace_graph.models import OnUsage

__all__ = ["MOST_ASKED", "Writer", "WriterReply", "model_writer", "write_texts"]

logger = logging.getLogger("ace_graph")

MOST_ASKED = 20
"""The most groups that a model is asked about in one run."""

_ROLE = "consolidator"


class MergedText(BaseModel):
    """One item that takes the place of all items, or the verdict that they are distinct."""

    model_config = ConfigDict(extra="ignore")

    distinct: bool = False
    content: str = ""


@dataclass(frozen=True)
class WriterReply:
    """What a model replied about a group: a text, or that the bullets say different things."""

    text: str = ""
    distinct: bool = False


Writer = Callable[[Group, str], Awaitable[WriterReply | None]]
"""Writes the text of a group, given what was wrong with its last one; None where it has nothing to say."""


def model_writer(
    model: BaseChatModel,
    prompts: Prompts,
    *,
    timeout: float,
    on_usage: OnUsage | None = None,
) -> Writer:
    """Return a writer that asks `model` with the prompt `consolidator`; `timeout` in seconds per attempt.

    A model that fails, or whose reply can't be read, has nothing to say: the group stays as it is.
    """
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.runnables import RunnableConfig

    from ace_graph.models import structured_call

    config = RunnableConfig(metadata={"ace_role": _ROLE})

    async def write(group: Group, problem: str) -> WriterReply | None:
        items = "\n".join(f"{number}. {bullet.content}" for number, bullet in enumerate(group.bullets, 1))
        prompt = prompts.render(
            _ROLE,
            items=data_block("items", items),
            problem=data_block("last_problem", problem or "(none)"),
        )
        messages = [SystemMessage(prompt), HumanMessage("Consolidate the items.")]
        try:
            reply = await structured_call(
                model, messages, MergedText, timeout=timeout, config=config, on_usage=on_usage
            )
        except ModelError as error:
            logger.warning("[ACE Consolidation] the model failed, %s stay: %s", " ".join(group.ids), error)
            return None
        if reply.value is None:
            logger.warning("[ACE Consolidation] no usable reply: %s", reply.problem)
            return None
        written = WriterReply(reply.value.content.strip(), reply.value.distinct)
        return written if written.text or written.distinct else None

    return write


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
