"""`recall` before an agent's answer and `learn` after it, for any framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import MessageLikeRepresentation, convert_to_messages
from langgraph.runtime import Runtime
from pydantic import ValidationError

from ace_graph.agent.context import ACEContext, LearningMode
from ace_graph.agent.reasoning.prompt import last_question
from ace_graph.agent.reasoning.recall import load_memory
from ace_graph.agent.resources import Evaluator, Resources, build_resources
from ace_graph.agent.runtime import logger, run_for
from ace_graph.agent.state import Learning
from ace_graph.base.errors import InvalidContext, InvalidMessage, StoreError
from ace_graph.base.settings import Settings
from ace_graph.hosts.turn import Answered, Recall, learn_turn, new_question, new_turn, recall_turn
from ace_graph.learning.pipeline import skipped
from ace_graph.memory.commit import operation_id
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.directory import Directory

FIELDS = (
    "learner_id",
    "turn_id",
    "conversation_id",
    "memory",
    "learning",
    "playbooks",
    "learn_into",
    "teams",
)
"""The fields that are read from a context of the host's own; its others may mean something else there."""


def context_of(given: object, defaults: ACEContext) -> ACEContext:
    """Return the context of a run.

    An ACEContext is taken as it is. Of a mapping or any other object, `FIELDS` are read and put over the
    defaults; it must have `learner_id`, which may be None: then nothing is remembered. Raises InvalidContext.
    """
    if given is None:
        return defaults
    if isinstance(given, ACEContext):
        return given
    found = _found(given)
    if "learner_id" not in found:
        raise InvalidContext(
            "the context has no learner_id: pass context=ACEContext(learner_id=...), or give your own "
            "context a field learner_id (None: nothing is remembered)"
        )
    try:
        return ACEContext.model_validate({**defaults.model_dump(exclude_unset=True), **found})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "context"
        raise InvalidContext(f"the context's {where}: {first['msg']}") from error


def _found(given: object) -> dict[str, object]:
    if isinstance(given, Mapping):
        items = cast("Mapping[str, object]", given)
        return {name: items[name] for name in FIELDS if name in items}
    return {name: cast("object", getattr(given, name)) for name in FIELDS if hasattr(given, name)}


def build_memory(
    store: Store | str | None = None,
    *,
    model: BaseChatModel | str | None = None,
    learning: LearningMode | None = None,
    embeddings: Embeddings | None = None,
    evaluator: Evaluator | None = None,
    base_playbook: Playbook | Path | str | None = None,
    directory: Directory | None = None,
    prompts_dir: Path | str | None = None,
    settings: Settings | None = None,
    clock: Callable[[], datetime] | None = None,
    new_id: Callable[[], str] | None = None,
) -> Resources:
    """Return what `recall` and ACEMemory work with. Build it once; it serves all learners and event loops.

    The arguments are those of `build_ace_graph`. `model`, a chat model or its name, reflects on turns;
    without one, and without one in the settings, only what the learner states and judges is learned. Raises
    ConfigurationError.
    """
    return build_resources(
        store=store,
        model=model,
        learning=learning,
        embeddings=embeddings,
        evaluator=evaluator,
        base_playbook=base_playbook,
        directory=directory,
        prompts_dir=prompts_dir,
        settings=settings,
        clock=clock,
        new_id=new_id,
        needs_model=False,
    )


async def recall(
    memory: Resources,
    messages: str | Sequence[MessageLikeRepresentation],
    context: object = None,
) -> Recall:
    """Load the learner's memory and return what belongs in the system prompt of this turn.

    `messages` is the question, or the conversation that ends with it, as LangChain messages or dicts of role
    and content: with the answer before it, feedback on that answer is understood. `context` is an ACEContext,
    or a dict or object with `learner_id`. Raises InvalidMessage, InvalidContext, and StoreError when the
    memory can't be read (with `on_memory_error="answer"` the turn goes on without it).
    """
    given = [new_question(messages)] if isinstance(messages, str) else convert_to_messages(messages)
    question = last_question(given)
    if question is None:
        raise InvalidMessage("there is no question: the messages need one from the user")
    at = next(n for n, message in enumerate(given) if message is question)
    run = run_for(memory, (chosen := context_of(context, ACEContext())), Runtime(context=chosen))
    return await recall_turn(given[: at + 1], new_turn(question, run), run, await load_memory(run))


async def learn(
    memory: Resources, recalled: Recall | Mapping[str, object], answer: str | Answered
) -> Learning:
    """Learn from the turn and store it in one commit; return what changed.

    `recalled` is what `recall` returned, or the dict that JSON or a checkpointer made of it; `answer` is what
    the learner was shown, or an Answered with the tool calls, too. The same call again changes nothing.
    Raises InvalidMessage for a dict that is no Recall, and nothing that the model or the store may raise:
    `error` in the result says so.
    """
    known = recalled if isinstance(recalled, Recall) else _read_recall(recalled)
    answered = Answered(answer) if isinstance(answer, str) else answer
    turn_id = known.turn["turn_id"]
    run = run_for(memory, known.context, Runtime(context=known.context))
    try:
        loaded = await load_memory(run)
    except StoreError as error:
        logger.exception("[ACE Memory] could not be read, so nothing was learned from the turn %s", turn_id)
        outcome = skipped(turn_id, "the memory could not be read: call learn again with the same arguments")
        outcome["error"] = f"{type(error).__name__}: {error}"
        return outcome
    _, learning, _ = await learn_turn(known, answered, operation_id(turn_id, "answer"), run, loaded)
    return learning


def _read_recall(given: Mapping[str, object]) -> Recall:
    try:
        return Recall.model_validate(given)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
        raise InvalidMessage(f"this is not what recall returned ({where}): pass it unchanged") from error
