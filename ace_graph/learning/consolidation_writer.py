"""The text of a merged bullet, written by a model."""

from __future__ import annotations

import logging

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ConfigDict

from ace_graph.agent.models import OnUsage, structured_call
from ace_graph.agent.runtime import quiet_config
from ace_graph.base.errors import ModelError
from ace_graph.base.prompts import Prompts, data_block
from ace_graph.memory.consolidation import Group
from ace_graph.playbooks.consolidation import Writer, WriterReply

logger = logging.getLogger("ace_graph")
_ROLE = "consolidator"


class MergedText(BaseModel):
    """One item that takes the place of all items, or the verdict that they are distinct."""

    model_config = ConfigDict(extra="ignore")

    distinct: bool = False
    content: str = ""


def model_writer(
    model: BaseChatModel,
    prompts: Prompts,
    *,
    timeout: float,
    on_usage: OnUsage | None = None,
    tracer_content: bool = False,
) -> Writer:
    """Return a writer that asks `model` with the prompt `consolidator`; `timeout` in seconds per attempt.

    Tracers see the texts where `tracer_content` is set.

    A model that fails, or whose reply can't be read, has nothing to say: the group stays as it is.
    """

    async def write(group: Group, problem: str) -> WriterReply | None:
        items = "\n".join(f"{number}. {bullet.content}" for number, bullet in enumerate(group.bullets, 1))
        prompt = prompts.render(
            _ROLE,
            items=data_block("items", items),
            problem=data_block("last_problem", problem or "(none)"),
        )
        messages = [SystemMessage(prompt), HumanMessage("Consolidate the items.")]
        config = quiet_config(RunnableConfig(metadata={"ace_role": _ROLE}), content=tracer_content)
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
