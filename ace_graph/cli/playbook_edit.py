"""The commands `ace-graph playbook ...` that change single bullets: each commits one operation.

An operation that the memory refuses is an error, and nothing is written. What a command needs is imported
when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from ace_graph.cli.options import DEFAULT_LEARNER, DEFAULT_NAME, Json, Learner, Named, StoreUrl, Which
from ace_graph.cli.playbook import BulletId, KindName, MemoryKind, playbook

if TYPE_CHECKING:
    from ace_graph.memory.bullet import MemoryType, Polarity
    from ace_graph.memory.commit import Commit
    from ace_graph.memory.delta.operations import Operation

__all__ = ["playbook"]


class VoteChoice(StrEnum):
    """The three counters, as a choice."""

    helpful = "helpful"
    harmful = "harmful"
    neutral = "neutral"


Section = Annotated[
    str | None,
    typer.Option(
        help="`lessons` by default; profile, preferences and misconceptions are always in the prompt."
    ),
]
OfKind = Annotated[
    KindName | None, typer.Option("--kind", help="Sets section, type and --avoid as the kind needs them.")
]
Context = Annotated[str | None, typer.Option(help="When it applies; searches find it by these words.")]
Examples = Annotated[
    list[str] | None, typer.Option("--example", metavar="ID", help="A trajectory that supports it.")
]
OfType = Annotated[MemoryKind | None, typer.Option("--type", help="Inferred from the text by default.")]
Tags = Annotated[list[str] | None, typer.Option(help="May be given several times.")]
TtlDays = Annotated[float | None, typer.Option(help="Days without a change after which no prompt holds it.")]


@playbook.command()
def add(
    text: Annotated[str, typer.Argument(help="What is to be remembered, in one sentence.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    section: Section = None,
    kind: OfKind = None,
    context: Context = None,
    example: Examples = None,
    importance: Annotated[float, typer.Option(min=0, max=1, help="From 0 to 1.")] = 0.5,
    memory_type: OfType = None,
    topic: Annotated[str | None, typer.Option(help="Such as fraction_addition.")] = None,
    tag: Tags = None,
    avoid: Annotated[bool, typer.Option("--avoid", help="It is what not to do.")] = False,
    pin: Annotated[bool, typer.Option("--pin", help="Put it into every prompt.")] = False,
    ttl_days: TtlDays = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Add a bullet by hand.

    \b
    ace-graph playbook add "Draw a picture before the first formula." --learner ada
    ace-graph playbook add "Learner says: call me Ann" --section profile --pin
    ace-graph playbook add "Retry once after a 429" --kind strategy --context "calling an API"
    """
    from ace_graph.memory.delta.operations import Add

    operation = Add(
        ref="new",
        content=text,
        **_kind_fields(kind, section, memory_type, avoid=avoid),
        topic=topic,
        context=context,
        examples=tuple(example or ()),
        importance=importance,
        tags=tuple(tag or ()),
        pinned=pin,
        ttl_days=_checked_days(ttl_days),
        sources=("cli",),
    )
    done = _change(store, Which(learner, named), operation, "add")
    new_id = done.report.refs["new"]
    how = "added" if new_id in done.report.added else "known already, reinforced"
    _report(done, f"{new_id}: {how}{_quarantine_note(done, new_id)}", as_json=as_json, new_id=new_id)


class _KindFields(TypedDict):
    section: str
    memory_type: MemoryType | None
    polarity: Polarity


def _kind_fields(
    kind: KindName | None, section: str | None, memory_type: MemoryKind | None, *, avoid: bool
) -> _KindFields:
    """The fields that a kind sets, or else the single options."""
    from ace_graph.memory.views.kinds import fields_of

    if kind is None:
        return {
            "section": section or "lessons",
            "memory_type": memory_type.value if memory_type else None,
            "polarity": "anti_pattern" if avoid else "strategy",
        }
    if section or memory_type or avoid:
        raise typer.BadParameter("--kind says what --section, --type and --avoid say: use it alone")
    found = fields_of(kind.value)
    return {
        "section": found.section or "lessons",
        "memory_type": found.memory_type,
        "polarity": found.polarity,
    }


@playbook.command()
def edit(
    bullet_id: BulletId,
    text: Annotated[str | None, typer.Argument(help="The new text.")] = None,
    ttl_days: Annotated[
        float | None, typer.Option(help="Days without a change until no prompt holds it; 0: for good.")
    ] = None,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Give a bullet another text or time to live; its id and its votes stay.

    \b
    ace-graph playbook edit les-00002 "The LCM of 4 and 6 is 12"
    ace-graph playbook edit les-00002 --ttl-days 30
    """
    from ace_graph.memory.delta.operations import Update

    if text is None and ttl_days is None:
        raise typer.BadParameter("name a new text, or --ttl-days")
    operation = Update(
        bullet_id=bullet_id, content=text, ttl_days="never" if ttl_days == 0 else _checked_days(ttl_days)
    )
    done = _change(store, Which(learner, named), operation, "edit")
    how = "changed" if done.report.updated else "is so already"
    _report(done, f"{bullet_id}: {how}{_quarantine_note(done, bullet_id)}", as_json=as_json)


@playbook.command()
def pin(
    bullet_id: BulletId,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Put a bullet into every prompt, and never archive it for room."""
    from ace_graph.memory.delta.operations import Pin

    done = _change(store, Which(learner, named), Pin(bullet_id=bullet_id), "pin")
    _report(done, f"{bullet_id}: pinned", as_json=as_json)


@playbook.command()
def unpin(
    bullet_id: BulletId,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Undo a pin."""
    from ace_graph.memory.delta.operations import Unpin

    done = _change(store, Which(learner, named), Unpin(bullet_id=bullet_id), "unpin")
    _report(done, f"{bullet_id}: no longer pinned", as_json=as_json)


@playbook.command()
def quarantine(
    bullet_id: BulletId,
    why: Annotated[str, typer.Argument(help="Why no prompt may hold it.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Keep a bullet out of every prompt, with the reason."""
    from ace_graph.memory.delta.operations import Quarantine

    done = _change(store, Which(learner, named), Quarantine(bullet_id=bullet_id, why=why), "quarantine")
    _report(done, f"{bullet_id}: in quarantine", as_json=as_json)


@playbook.command()
def release(
    bullet_id: BulletId,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Let a bullet out of quarantine, into prompts. Read it first: `show --quarantined`."""
    from ace_graph.memory.delta.operations import Release

    done = _change(store, Which(learner, named), Release(bullet_id=bullet_id), "release")
    _report(done, f"{bullet_id}: released, prompts may hold it", as_json=as_json)


@playbook.command()
def remove(
    bullet_id: BulletId,
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Archive a bullet; `restore` brings it back."""
    from ace_graph.memory.delta.operations import Remove

    done = _change(store, Which(learner, named), Remove(bullet_id=bullet_id), "remove")
    _report(done, f"{bullet_id}: removed; playbook restore {bullet_id} brings it back", as_json=as_json)


@playbook.command()
def clear(
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Archive all bullets; `rollback` brings them back, `ace-graph learner forget` deletes for good."""
    from ace_graph.memory.delta.operations import Reset

    done = _change(store, Which(learner, named), Reset(), "clear")
    _report(done, f"the playbook of {Which(learner, named)} is empty; {_undo_hint(done)}", as_json=as_json)


@playbook.command()
def merge(
    bullet_ids: Annotated[list[str], typer.Argument(metavar="ID ID...", help="Two bullets or more.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    text: Annotated[str | None, typer.Option(help="What the one bullet is to say.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Merge them even if they don't say the same.")
    ] = False,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Make one bullet of several that say the same; the best one stays, with the votes of all.

    \b
    ace-graph playbook merge les-00001 les-00004
    ace-graph playbook merge les-00001 les-00002 --force --text "Name the unit of every result."
    """
    from ace_graph.errors import UsageError
    from ace_graph.memory.delta.operations import Merge

    if len(bullet_ids) < 2:
        raise UsageError("playbook merge takes the ids of two bullets or more")
    operation = Merge(bullet_ids=tuple(bullet_ids), content=text, force=force)
    done = _change(store, Which(learner, named), operation, "merge")
    kept = done.report.merged[-1].kept
    gone = ", ".join(pair.gone for pair in done.report.merged)
    sentence = f"{kept}: holds what {gone} said{_quarantine_note(done, kept)}; {_undo_hint(done)}"
    _report(done, sentence, as_json=as_json)


@playbook.command()
def supersede(
    bullet_id: BulletId,
    by: Annotated[str, typer.Argument(metavar="BY", help="The id of the bullet that takes its place.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Archive a bullet because another one corrects it; later votes on it are refused."""
    from ace_graph.memory.delta.operations import Supersede

    done = _change(store, Which(learner, named), Supersede(bullet_id=bullet_id, by=by), "supersede")
    _report(
        done, f"{bullet_id}: replaced by {by}; playbook restore {bullet_id} brings it back", as_json=as_json
    )


@playbook.command()
def tag(
    bullet_id: BulletId,
    vote: Annotated[VoteChoice, typer.Argument(help="The counter that goes up.")],
    learner: Learner = DEFAULT_LEARNER,
    named: Named = DEFAULT_NAME,
    by: Annotated[int, typer.Option(min=1, help="By how much.")] = 1,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Vote on a bullet by hand, apart from any turn. What does more harm than good is not shown."""
    from ace_graph.memory.delta.operations import Tag

    done = _change(store, Which(learner, named), Tag(bullet_id=bullet_id, tag=vote.value, by=by), "tag")
    bullet = done.snapshot.playbook.get_bullet(bullet_id)
    counters = f"+{bullet.helpful}/-{bullet.harmful}" if bullet else "archived, as it did too much harm"
    _report(done, f"{bullet_id}: {counters}", as_json=as_json)


def _checked_days(days: float | None) -> float | None:
    """Return a time to live that a bullet can have. Raises typer.BadParameter."""
    if days is not None and not 0 < days <= 1_000_000:
        raise typer.BadParameter("--ttl-days is a number of days above 0, at most 1,000,000")
    return days


def _change(url: str | None, which: Which, operation: Operation, command: str) -> Commit:
    from ace_graph.cli.store_access import change

    return change(url, which, operation, f"playbook {command}")


def _report(done: Commit, sentence: str, *, as_json: bool, new_id: str | None = None) -> None:
    from ace_graph.cli.store_access import commit_json
    from ace_graph.cli.terminal import print_json, print_line

    if as_json:
        print_json({**({"id": new_id} if new_id else {}), **commit_json(done)})
    else:
        print_line(sentence)


def _quarantine_note(done: Commit, bullet_id: str) -> str:
    """Say that a bullet is in quarantine and how to release it; '' for an active one."""
    bullet = done.snapshot.playbook.get_bullet(bullet_id)
    if bullet is None and bullet_id in done.report.quarantined:
        return ", in quarantine: only the owner sees it, and can release it"
    if bullet is None or bullet.status == "active":
        return ""
    return f", in quarantine ({bullet.quarantine_reason}); playbook release {bullet_id} lets it into prompts"


def _undo_hint(done: Commit) -> str:
    return f"playbook rollback {done.version.n - 1} undoes it"
