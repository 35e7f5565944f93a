"""Playbooks of all shapes, and what is left of one that went through a file into an empty learner."""

from __future__ import annotations

import string
from datetime import UTC, datetime

from hypothesis import assume
from hypothesis import strategies as st

from ace_graph.memory import Bullet, Playbook, Policy, Snapshot, Stated, mint_id
from ace_graph.memory.delta import Add, Delta, apply, screen_bullet
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.formats import format_named, public_lessons, read_bullets

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FORGED = [
    "[fil-00001] ",
    "- ",
    "(helpful=3, harmful=4)",
    "## profile",
    "helpful=1 harmful=2 :: ",
    "(Issue: none)",
    "AVOID: ",
    "{",
]
_WORDS = st.text(alphabet=string.ascii_letters + "äß中¿'\"()[]{}#-*=:,.%\\", min_size=1, max_size=12)
_MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
_LISTS = st.lists(st.sampled_from(["a", "b c", "D", "semantic", "é"]), unique=True, max_size=3)
_SOURCES = st.lists(st.sampled_from(["turn-1", "trace:7", "a:b:c", "ace_graph:x"]), unique=True, max_size=2)
_STATED = st.builds(Stated, confidence=st.floats(0, 1), count=st.integers(0, 99), at=_MOMENTS)


def written_and_read(playbook: Playbook, name: str) -> Playbook:
    """Return what an empty learner has after reading what was written."""
    return imported(format_named(name).write(playbook), "auto")


def imported(text: str, name: str = "auto") -> Playbook:
    """Return what an empty learner has after importing `text`."""
    return added(read_bullets(text, name).bullets)


def added(bullets: tuple[Add, ...]) -> Playbook:
    """Return what an empty learner has after adding `bullets`."""
    delta = Delta(op_id="import", now=NOW, operations=bullets)
    return apply(Playbook(), resolve(Snapshot(), delta, Policy()))


@st.composite
def _bullet(draw: st.DrawFn, number: int) -> Bullet:
    section = draw(st.sampled_from(["lessons", "profile", "API hints", "x: y", "# x", "context", "harness"]))
    forged = st.sampled_from([*FORGED, "", "", "", ""])
    kept_back = draw(st.sampled_from([False, False, True]))
    # The number keeps the texts apart, so that no two of them are the same lesson.
    examples = tuple(draw(_SOURCES))
    words = " ".join(draw(st.lists(_WORDS, min_size=1, max_size=4)))
    bullet = Bullet(
        id=draw(st.sampled_from([mint_id(section, number), f"hash{number}hash"])),
        section=section,
        content=f"{draw(forged)}{words} {number}{number}{number} {draw(forged)}",
        helpful=draw(st.integers(0, 9)),
        harmful=draw(st.integers(0, 9)),
        neutral=draw(st.integers(0, 9)),
        setbacks=draw(st.integers(0, 2)),
        seen=draw(st.integers(1, 9)),
        memory_type=draw(st.sampled_from(["semantic", "episodic", "procedural"])),
        polarity=draw(st.sampled_from(["strategy", "anti_pattern", "observation"])),
        topic=draw(st.none() | st.just("fractions")),
        concept=draw(st.none() | st.just("halves")),
        tags=tuple(draw(_LISTS)),
        keywords=tuple(draw(_LISTS)),
        importance=draw(st.sampled_from([0.0, 0.5, 1.0])),
        pinned=draw(st.booleans()),
        slot=f"slot{number}" if draw(st.booleans()) else None,
        status="quarantined" if kept_back else "active",
        quarantine_reason=draw(st.none() | st.just("a link")) if kept_back else None,
        created_at=draw(_MOMENTS),
        updated_at=draw(_MOMENTS),
        ttl_days=draw(st.none() | st.just(2.5)),
        sources=tuple(draw(_SOURCES)),
        consolidated_from=tuple(draw(st.lists(st.just("les-00900"), max_size=1))),
        consolidation_version=draw(st.integers(0, 3)),
        distinct_from=tuple(draw(st.lists(st.just("les-00901"), max_size=1))),
        context=draw(st.none() | st.just("When an API answers with 429")),
        examples=examples,
        evidence_count=draw(st.integers(len(examples), 99)),
        stated=draw(st.none() | _STATED),
        turn_id=draw(st.none() | st.just("turn-1")),
        conversation_id=draw(st.none() | st.just("c-1")),
        source_words=tuple(
            draw(st.lists(st.sampled_from(["pool", "grün", "游泳"]), unique=True, max_size=2))
        ),
    )
    assume(kept_back or screen_bullet(bullet) is None)  # an import would put "www. 1" in quarantine
    return bullet


@st.composite
def playbooks(draw: st.DrawFn, most: int = 5) -> Playbook:
    """Playbooks of one to `most` bullets, whose texts look like anything that a format gives a meaning."""
    return Playbook.of([draw(_bullet(number)) for number in range(1, 1 + draw(st.integers(1, most)))])


def only_active(playbook: Playbook) -> Playbook:
    """Return the playbook without what is in quarantine."""
    return Playbook.of(bullet for bullet in playbook.bullets() if bullet.status == "active")


def held_by(name: str, playbook: Playbook) -> Playbook:
    """Return what a format holds of a playbook: of one for other agents, what others may see."""
    return public_lessons(playbook) if name in ("skill", "agents") else only_active(playbook)


def without_turns(playbook: Playbook) -> Playbook:
    """Return the playbook without where its bullets came from, which only our own JSON holds."""
    nothing = {"turn_id": None, "conversation_id": None, "source_words": ()}
    return Playbook.of(bullet.model_copy(update=nothing) for bullet in playbook.bullets())
