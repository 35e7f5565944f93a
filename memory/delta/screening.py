"""What a text must pass before a bullet holds it: one clean line of bounded length, and the screen.

The screen reads every text of a bullet that a prompt may show. A bullet with a text that it refuses is
quarantined, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection

from ace_graph.base.off_loop import Steps
from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bullet, Danger
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.operations import Add, Rescreen
from ace_graph.memory.screening.screen import is_screen_reason, screen
from ace_graph.memory.search.source_words import kept_words, source_words, words_besides
from ace_graph.memory.search.tokenize import is_within, terms, tokens

MAX_REASON_CHARS = 256


def checked_text(text: str) -> str:
    """Return `text` as one clean line. Raises Refused for an empty or an overlong one."""
    line = clean_line(text)
    if not line:
        raise Refused("empty text")
    if len(line) > MAX_CONTENT_CHARS or not is_within(MAX_CONTENT_CHARS, line):
        raise Refused(f"longer than {MAX_CONTENT_CHARS} characters")
    return line


def bounded_reason(why: str | None) -> str | None:
    """Return the reason for a quarantine as one short line, None where none is given."""
    return clean_line(why or "")[:MAX_REASON_CHARS].rstrip() or None


def screen_bullet(bullet: Bullet, vouched: Collection[Danger] = ()) -> str | None:
    """Return why the bullet must be quarantined, None where the screen passes every text of it.

    The dangers in `vouched` and in the bullet's own `vouched` are allowed. In the profile are the learner's
    own statements, among them wishes about all answers.
    """
    own: tuple[Danger, ...] = ("answers",) if bullet.profile else ()
    known = (*vouched, *bullet.vouched, *own)
    labels = (bullet.section.replace("_", " "), bullet.topic, bullet.concept, *bullet.tags)
    claim = bullet.claim
    stated = (claim.subject, claim.relation, claim.value) if claim is not None else ()
    texts = (bullet.content, *labels, bullet.context, *stated, *(each.content for each in bullet.before))
    reasons = (screen(text, known) for text in texts if text)
    return next((reason for reason in reasons if reason is not None), None)


def screened_source_words(draft: Draft, operation: Add) -> tuple[str, ...]:
    """Return the words of an Add's source text that its bullet keeps, and those that were given.

    The screen refuses sentences of the text, and the given words if it finds something in them together.
    """
    words = (
        source_words(operation.source_text, operation.content, draft.refuses) if operation.source_text else ()
    )
    given = kept_words(operation.source_words)
    if given and not draft.refuses(" ".join(given)):
        words = words_besides((*words, *given), operation.content)
    return words


def forget_source_words(draft: Draft, text: str) -> None:
    """Take the content words of a text that somebody had removed from the source words of all bullets."""
    source = draft.playbook.index.source
    same = {word.casefold() for word in tokens(text)}
    known = {*same, *terms(text), *terms(text, "english")}
    sharing = {key for term in known for key in source.of(term)} | draft.changed_ids()
    for bullet in [draft.entries[key] for key in sorted(sharing) if key in draft.entries]:
        words = words_besides(bullet.source_words, text) if bullet.source_words else ()
        left = tuple(word for word in words if word not in same)
        if len(left) < len(bullet.source_words):
            draft.put(bullet.model_copy(update={"source_words": left}))


def is_refused(text: str) -> bool:
    """Whether the screen finds something in a text."""
    return screen(text) is not None


def screened_again(draft: Draft, old: Bullet, new: Bullet) -> Bullet:
    """Return the new value, quarantined if its texts have changed and the screen refuses one of them.

    What a person vouched for the old text does not count for a new one.
    """
    if old.content != new.content:
        left = words_besides(new.source_words, new.content) if new.source_words else ()
        new = new.model_copy(update={"vouched": (), "source_words": left, "claim": None})
    if new.status == "quarantined" or _texts(old) == _texts(new) or (why := screen_bullet(new)) is None:
        return new
    draft.note("quarantined", new.id)
    return new.model_copy(update={"status": "quarantined", "quarantine_reason": why})


def _texts(bullet: Bullet) -> tuple[object, ...]:
    return bullet.content, bullet.section, bullet.topic, bullet.concept, bullet.tags, bullet.context


# The operation Rescreen: screens stored bullets again after the rules have changed.
#
# What a person has decided is not changed. Source words in which the rules find something are dropped, and
# the bullet stays. The three recent insights are not screened again.


_LEARNER = "learner"
"""The source of a learner's own statements, which may contain links."""


def rescreen(draft: Draft, operation: Rescreen) -> Steps[None]:
    """Resolve one Rescreen: quarantine or release bullets that the rules now judge differently."""
    for held in tuple(draft.entries.values()):
        yield
        # The bullet without source words where the rules find something in them, alone or together
        refused = held.source_words and is_refused(" ".join(held.source_words))
        bullet = held.model_copy(update={"source_words": ()}) if refused else held
        draft.put(bullet)
        if bullet.status == "active" and bullet.id not in operation.kept:
            why = screen_bullet(bullet, _vouched(bullet))
            if why is not None:
                draft.put(bullet.model_copy(update={"status": "quarantined", "quarantine_reason": why}))
                draft.note("quarantined", bullet.id)
        elif bullet.status == "quarantined" and is_screen_reason(bullet.quarantine_reason):
            moved = bullet.model_copy(update={"status": "active", "quarantine_reason": None})
            if screen_bullet(bullet, _vouched(bullet)) is None and draft.slot_occupant(moved) is None:
                draft.put(moved)
                draft.note("released", bullet.id)


def _vouched(bullet: Bullet) -> Collection[Danger]:
    own: tuple[Danger, ...] = ("link",)
    return own if bullet.profile and _LEARNER in bullet.sources else ()
