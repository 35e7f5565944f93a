"""What `playbook dream` does: prints a dream as a diff, and decides on its items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ace_graph.cli.command import AUTHOR, Call
from ace_graph.cli.terminal import counted, print_aside
from ace_graph.learning.dreaming import DecidedDream, accept_dream, dream, last_dream, refuse_dream
from ace_graph.memory.dream import Dream, DreamItem, supported
from ace_graph.memory.stores.store import Store

_SIGNS = {"add": "+", "merge": "=", "archive": "-"}


def show_dream(call: Call) -> None:
    """Dream, and print the difference."""
    made = call.on_store(lambda store: dream(store, call.learner, call.name))
    call.answer(made.shown(), _lines(call, made))


def decide_dream(
    call: Call,
    item_ids: Sequence[str] | None,
    edits: Mapping[str, str],
    *,
    refuse: bool,
    at_least: int | None,
) -> None:
    """Accept or refuse items of the newest dream, and print what came of it."""

    async def job(store: Store) -> DecidedDream:
        if refuse:
            return await refuse_dream(store, call.learner, call.name, item_ids)
        names = item_ids
        if at_least is not None:
            waiting = await last_dream(store, call.learner, call.name)
            names = [each.item_id for each in waiting.chosen(names, "accepted") if supported(each, at_least)]
        return await accept_dream(store, call.learner, call.name, names, edits, author=AUTHOR)

    done = call.on_store(job)
    lines = [f"{_SIGNS[item.kind]} {item.item_id}  {item.text}" for item in done.decided]
    verb = "refused" if refuse else "accepted"
    lines.append(
        f"version {done.version}: {counted(len(done.decided), 'item')} {verb}, {len(done.dream.open)} open"
    )
    call.answer(
        {
            "version": done.version,
            verb: [item.item_id for item in done.decided],
            "left_out": [each._asdict() for each in done.left_out],
            "open": [item.item_id for item in done.dream.open],
        },
        lines,
    )
    if not call.as_json:
        for each in done.left_out:
            print_aside(f"left out: {each.text}: {each.why}")
        if done.decided and not refuse:
            print_aside(f"ace-graph playbook consolidate undo {done.dream.dream_id} takes it back")


def _lines(call: Call, made: Dream) -> Iterator[str]:
    if made.proposal_id is not None:
        yield f"{call.name}: proposed to its owner; id {made.proposal_id}"
        return
    yield f"{call}: {counted(made.runs, 'run')}, {counted(len(made.open), 'change')} to decide"
    for item in made.items:
        yield from _item_lines(item)
    for each in made.left_out:
        yield f"left out: {each.text}: {each.why}"
    if made.open:
        yield "ace-graph playbook dream --accept takes all; with ids, those; --refuse, --edit ITEM=TEXT"


def _item_lines(item: DreamItem) -> Iterator[str]:
    state = "" if item.state == "open" else f" ({item.state})"
    yield f"{_SIGNS[item.kind]} {item.item_id}  {item.text}{state}"
    if item.kind == "merge":
        for name, text in item.was.items():
            yield f"    [{name}] {text}"
    runs = f" ({' '.join(item.runs[:5])})" if item.runs else ""
    yield f"    {item.why}{runs}"
    if item.losses:
        yield f"    loses {', '.join(item.losses)}"
    yield f"    questions of other turns: {item.figures if item.figures.pairs else 'none is about it'}"
