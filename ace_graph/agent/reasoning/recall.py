"""Loading the learner's memory, once a turn, and retrieving what goes into the solver's prompt.

The snapshot travels in the state; `ServedContext` carries one whose loading began before the graph ran.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from langgraph.config import get_stream_writer

from ace_graph.agent.context import ServedContext
from ace_graph.agent.embeddings.meaning import Similarities
from ace_graph.agent.resources import Resources
from ace_graph.agent.retriever import read_word_lists, search_query
from ace_graph.agent.runtime import Run, log_text
from ace_graph.agent.state import ACEState, Memory, Plan, Turn
from ace_graph.base.errors import InvalidContext, StoreError
from ace_graph.base.off_loop import in_slices, run_off_loop
from ace_graph.base.prompts import data_block
from ace_graph.base.telemetry import shown_learner
from ace_graph.memory.catalogue import AttachedPlaybook, PlaybookRef, WantedPlaybook, wanted_refs
from ace_graph.memory.foreign import as_foreign, foreign_prefix, united
from ace_graph.memory.playbook import Playbook, RecentInsight
from ace_graph.memory.retrieval.explain import as_receipt, why_shown
from ace_graph.memory.retrieval.retrieve import Retrieval, prompt_line, retrieve
from ace_graph.memory.rights import Caller, PlaybookAccess, Right, not_found
from ace_graph.memory.sharing import outgoing
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.trust import arm_of
from ace_graph.memory.turn import Arm, PlaybookRead
from ace_graph.playbooks.directory import Directory, caller_of, listed_teams
from ace_graph.playbooks.handle import audit_denial


async def load_attached(
    learner_id: str,
    wanted: Sequence[PlaybookRef],
    resources: Resources,
    teams: Collection[str] | None = None,
    agent: str | None = None,
) -> tuple[Snapshot, Playbook, tuple[PlaybookRead, ...]]:
    """Return the learner's snapshot, the attached playbooks and the base playbook as one, and what was read.

    All is one playbook, cached with its index under the versions that it is made of. Of somebody else's the
    grants are read with it, each time, and only what leaves its owner is kept. `teams` are the learner's;
    None: the directory, or the store's table, is asked. `agent` acts for the learner. Raises PlaybookNotFound
    for what the learner may not read, ConfigurationError, and what the store raises.
    """
    store = resources.store
    caller = await caller_in_run(learner_id, wanted, resources.directory or store, teams, agent)
    held = {ref: resources.attached.get(_key(ref, caller)) for ref in wanted}
    asked = [
        WantedPlaybook(
            ref,
            known.version if known else Version(),
            () if ref.owner == caller.user else caller.subjects,
        )
        for ref, known in held.items()
    ]
    loaded = await store.load_attached(learner_id, asked, resources.cache.get(learner_id))
    parts = {
        ref: await _as_read(ref, caller, found, held[ref], resources)
        for ref, found in zip(wanted, loaded.attached, strict=True)
    }
    read = tuple(PlaybookRead(each.playbook_id, str(each.version.label)) for each in loaded.attached if each)
    return loaded.snapshot, _united(parts, caller, resources), read


async def caller_in_run(
    learner_id: str,
    wanted: Sequence[PlaybookRef],
    directory: Directory,
    teams: Collection[str] | None,
    agent: str | None,
) -> Caller:
    """Return the learner of a run, with teams where a playbook of somebody else is wanted.

    `teams` are those that the run names; None: the directory is asked. `agent` acts for the learner.
    """
    if all(ref.owner == learner_id for ref in wanted):
        return Caller(learner_id)
    if teams is not None:
        return Caller(learner_id, listed_teams(teams), agent)
    return replace(await caller_of(learner_id, directory), agent=agent)


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
    asked = PlaybookAccess(found.playbook_id, caller, ref.name, audit_denial)
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


logger = logging.getLogger("ace_graph")
MEMORY_OFF = "memory is off: nothing is read or kept in a temporary chat"
"""Why a turn with `memory="off"` learned nothing."""
REFLECTION_TOKENS = 300


@dataclass(frozen=True)
class Injection:
    """The playbook block of the prompt ('' for none), the ids in it, and the insights beside it.

    `arm` says whether unproven bullets were shown or withheld, None where there were none. `playbooks` are
    the named ones that were searched. `words_only` says why embeddings, where there are any, had no part.
    `why_shown` says of each id why it is in the prompt, as plain JSON.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()
    arm: Arm | None = None
    playbooks: tuple[PlaybookRead, ...] = ()
    words_only: str | None = None
    why_shown: Mapping[str, dict[str, object]] = field(default_factory=lambda: MappingProxyType({}))


async def inject(
    turn: Turn, plan: Plan, loaded: Memory, run: Run, *, announced: bool = True, without: Collection[str] = ()
) -> Injection:
    """Retrieve bullets for the turn's question, within the plan's token budget.

    On some turns unproven bullets are withheld (memory.trust); the turn's id decides. With `announced` the
    bullets are logged and streamed to the caller. Those named in `without` are left out. Without a learner
    only the base playbook, if there is one, is searched.
    """
    resources, read_only, question = run.resources, loaded.read_only, turn["question"]
    if loaded.snapshot is None and read_only is None:
        return Injection()
    memory, query = loaded.snapshot or Snapshot(), search_query(question)
    await read_word_lists(query)
    near = Similarities()
    if resources.meaning is not None:
        near = await resources.meaning.similarities(
            query, run.learner_id, memory.playbook, read_only, epoch=memory.version.epoch
        )
    search = partial(
        retrieve,
        query,
        memory.playbook,
        memory.access,
        resources.store.policy,
        now=resources.clock(),
        budget_tokens=plan["retrieval_budget_tokens"],
        max_bullets=plan["max_bullets"],
        topic=plan["topic"],
        memory_types=run.context.memory_types,
        count_tokens=resources.count_tokens,
        base=read_only,
        semantic=near.by_id,
    )
    found = await run_off_loop(len(question), search)
    # The holdout arm: whether unproven bullets are shown. A turn without a record measures nothing
    arm: Arm | None = None
    if run.learning != "off":
        unproven, access = [scored.bullet for scored in found.retrieved], memory.access
        rate = resources.store.policy.holdout_rate
        arm = arm_of(unproven, access.trial, access.access_clock, turn["turn_id"], rate)
    if arm == "without":
        logger.info("[ACE Memory][Inject] unproven bullets are withheld in this turn, to measure their worth")
        found = await run_off_loop(len(question), search, proven_only=True)
    found = found.without(without)
    if announced:
        _log(question, found, run)
        # Tell the bullets of the prompt before the answer comes: the listener, or the `custom` stream
        shown = [scored.bullet for scored in (*found.core, *found.retrieved)]
        bullets = [{"id": each.id, "section": each.section, "content": each.content} for each in shown]
        if run.listener is not None:
            run.listener.inject_bullets(bullets)
        else:
            get_stream_writer()({"injected": bullets})
    room = plan["retrieval_budget_tokens"] - found.tokens
    insights = recent_insights(memory.playbook.reflections, plan["topic"], room, resources.count_tokens)
    why = {key: as_receipt(reason) for key, reason in why_shown(found).items()}
    return Injection(
        format_context(found), tuple(why), tuple(insights), arm, loaded.playbooks, near.problem, why
    )


def _log(question: str, found: Retrieval, run: Run) -> None:
    scored = (*found.core, *found.retrieved)
    logger.info(
        "[ACE Memory][Inject] Retrieved %d bullets for question: %s",
        len(scored),
        log_text(run.resources, question),
    )
    if logger.isEnabledFor(logging.INFO):
        for item in scored:
            bullet = item.bullet
            logger.info(
                "[ACE Memory][Inject] id=%s score=%.3f strength=%.3f helpful=%s harmful=%s type=%s tags=%s "
                "content=%s",
                bullet.id,
                item.score,
                item.strength,
                bullet.helpful,
                bullet.harmful,
                bullet.memory_type,
                list(bullet.tags),
                log_text(run.resources, bullet.content),
            )


async def load_memory(run: Run) -> Memory:
    """Return the learner's memory. Without a learner id, or with memory off, there is none; the log says so.

    The playbooks that the context names come with it, in the same read. Raises StoreError when it can't be
    read and `on_memory_error` is `fail`; with `answer` the turn goes on without memory and without learning,
    so that nothing is ever learned onto an empty base. Raises PlaybookNotFound, InvalidPlaybook.
    """
    learner_id, base = run.learner_id, run.resources.base_playbook
    wanted = wanted_refs(run.context.playbooks, learner_id)
    if wanted and learner_id is None:
        raise InvalidContext("playbooks are read for a learner: set learner_id, or leave them out")
    if run.context.learn_into is not None and learner_id is None:
        raise InvalidContext("learn_into is for the lessons of a learner: set learner_id, or leave it out")
    if run.context.memory == "off":
        logger.info("[ACE Memory] memory is off: this turn reads and stores nothing of the learner")
        return Memory(problem=MEMORY_OFF, read_only=base)
    if learner_id is None:
        logger.warning(
            "[ACE Memory] no learner_id in the context: this turn has no memory and stores nothing"
        )
        return Memory(problem="no learner_id in the context", read_only=base)
    store, cache = run.resources.store, run.resources.cache
    context = run.context
    try:
        read_only = base
        read: tuple[PlaybookRead, ...] = ()
        if wanted:
            snapshot, read_only, read = await load_attached(
                learner_id, wanted, run.resources, context.teams, context.agent
            )
        elif isinstance(context, ServedContext) and context.loading is not None:
            snapshot = await context.loading
        else:
            snapshot = await store.load(learner_id, known=cache.get(learner_id))
    except StoreError as error:
        if context.on_memory_error == "fail":
            raise
        logger.error("[ACE Memory] could not be read, answering without it: %s", error)  # noqa: TRY400  expected
        return Memory(problem=str(error), read_only=base)
    cache.put(learner_id, snapshot)
    logger.info(
        "[ACE Memory] Loaded %d bullets from %s for learner=%s",
        len(snapshot.playbook),
        store.name,
        shown_learner(learner_id),
    )
    return Memory(snapshot, read_only=read_only, playbooks=read)


async def ensure_memory(state: ACEState, run: Run) -> Memory:
    """Return the memory the router loaded; after an interrupt or a fork it is gone, so load it once."""
    return state.get("memory") or await load_memory(run)


def format_context(retrieval: Retrieval) -> str:
    """Return the injected bullets as one data block; nothing to inject gives ''.

    Two parts, numbered lines `1. [id] [+helpful/-harmful] (slot) content`; what to avoid is marked.
    """
    parts = [
        f"## {title}\n" + "\n".join(f"{n}. {prompt_line(scored)}" for n, scored in enumerate(group, 1))
        for title, group in (
            ("About this learner", retrieval.core),
            ("Relevant Strategies", retrieval.retrieved),
        )
        if group
    ]
    return data_block("playbook", "\n\n".join(parts), limit=1_000_000) if parts else ""


def recent_insights(
    reflections: Iterable[RecentInsight], topic: str | None, room: int, count_tokens: Callable[[str], int]
) -> list[str]:
    """Return the insights of recent turns on the same topic that fit into `room` and 300 tokens."""
    left, kept = min(room, REFLECTION_TOKENS), list[str]()
    for reflection in reversed(tuple(reflections)):
        cost = count_tokens(reflection.insight)
        if reflection.topic == topic and cost <= left:
            kept.insert(0, reflection.insight)
            left -= cost
    return kept
