"""The conversation window: the last complete interactions of a history.

An interaction is a user message and everything that follows it, tool calls with their results included.
Messages are LangChain messages (`.type`, `.content`, `.tool_calls`) or dicts (`{"role", "content", ...}`);
they are read by these names only, and never changed. The planner chooses the size (`nodes/planner.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar, cast

from ace_graph.base.errors import UsageError
from ace_graph.memory.search.tokenize import count_spaceless, estimate_tokens, terms

T = TypeVar("T")

MAX_TOOL_RESULT_CHARS = 2_000
_CUT = "... (truncated)"
_SHORT_QUESTION = 5
_DEMANDING = ("refactor", "implement", "design")
_REFERENCE = re.compile(
    r"\b(?:as|like|than)\s+(?:you\s+did\s+|we\s+did\s+|i\s+did\s+)?(?:before|earlier|previously|last\s+time)\b"
    r"|\b(?:again|earlier|previous|previously|last\s+time|a\s+while\s+ago|remember\s+when|back\s+then)\b"
    r"|\b(?:you|we|i)\s+(?:\w+\s+){1,4}before\b"
    r"|\bthe\s+same\s+\w+|\bthat\s+same\b",
    re.IGNORECASE,
)
_ROLES = {
    "human": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "function": "tool",
    "toolmessagechunk": "tool",
    "developer": "system",
}


@dataclass(frozen=True)
class WindowMetrics:
    """A history before and after its window was selected. Tokens are estimates of the text."""

    messages_before: int
    messages_after: int
    interactions_before: int
    interactions_after: int
    tokens_before: int
    tokens_after: int
    queries: tuple[str, ...]
    """The user's text of every interaction in the window."""


def select_window(messages: Sequence[T], size: int | None = 5, *, question: str | None = None) -> list[T]:
    """Return the last `size` interactions of `messages`, oldest first; None is all of them.

    Messages before the first user message belong to no interaction and are left out, as is a tool result
    without its call. With `question`, an older interaction that it refers to ("the same command as before")
    replaces the oldest one in the window, so there are never more than `size`.

    Raises `UsageError` for a negative size.
    """
    if size is not None and size < 0:
        raise UsageError(f"the window size {size} is negative: pass 0 or more, or None for all")
    every = interactions(messages)
    kept = every if size is None else every[len(every) - min(size, len(every)) :]
    if question and 1 < len(kept) < len(every):
        recalled = _referred_to(every, question)
        if recalled is not None and recalled < len(every) - len(kept):
            kept = [every[recalled], *kept[1:]]
    return [message for interaction in kept for message in _paired(interaction)]


def interactions(messages: Sequence[T]) -> list[list[T]]:
    """Return the interactions of a history: each starts with a user message."""
    found: list[list[T]] = []
    for message in messages:
        role = _role(message)
        if role == "user":
            found.append([message])
        elif found and role != "system":
            found[-1].append(message)
    return found


def adaptive_size(question: str, base: int = 5, minimum: int = 3, maximum: int = 10) -> int:
    """Return how many interactions a question needs: 2 fewer than `base` under five words, 2 more where it
    asks to refactor, implement or design, clamped to [minimum, maximum].

    Where words are not separated by spaces, two characters count as one.
    """
    words = len(question.split()) + count_spaceless(question) // 2
    few, demanding = words < _SHORT_QUESTION, any(map(question.casefold().__contains__, _DEMANDING))
    return max(minimum, min(maximum, base - 2 if few else base + 2 if demanding else base))


def truncate_tool_results(messages: Sequence[T], limit: int = MAX_TOOL_RESULT_CHARS) -> list[T]:
    """Return the messages with tool results cut at `limit` characters, with "... (truncated)" after a cut.

    Only messages that are cut are copied.
    """
    return [_truncated(m, limit) if _role(m) == "tool" and len(_text(m)) > limit else m for m in messages]


def window_metrics(
    before: Sequence[object], after: Sequence[object], count_tokens: Callable[[str], int] = estimate_tokens
) -> WindowMetrics:
    """Return the sizes of a history before and after its window was selected."""
    left = interactions(after)
    return WindowMetrics(
        messages_before=len(before),
        messages_after=len(after),
        interactions_before=len(interactions(before)),
        interactions_after=len(left),
        tokens_before=sum(count_tokens(_text(message)) for message in before),
        tokens_after=sum(count_tokens(_text(message)) for message in after),
        queries=tuple(_text(interaction[0]) for interaction in left),
    )


def _referred_to(every: Sequence[Sequence[object]], question: str) -> int | None:
    """Return the index of the interaction that the question refers to: the one that shares most of its
    words, the latest of equals; None without a reference or a match."""
    wanted = set(terms(question))
    if not wanted or not _REFERENCE.search(question):
        return None
    past = every[:-1] if _text(every[-1][0]).strip() == question.strip() else every
    shared = [len(wanted & set(terms(" ".join(map(_searchable, past_one))))) for past_one in past]
    best = max(shared, default=0)
    return len(shared) - 1 - shared[::-1].index(best) if best else None


def _paired(interaction: Sequence[T]) -> list[T]:
    """Return the interaction without tool results that have no call in it."""
    called: set[str] = set()
    kept: list[T] = []
    for message in interaction:
        answered = _field(message, "tool_call_id")
        if _role(message) == "tool" and isinstance(answered, str) and answered not in called:
            continue
        called.update(str(_field(call, "id")) for call in _calls(message))
        kept.append(message)
    return kept


def _truncated(message: T, limit: int) -> T:
    content = _field(message, "content")
    cut: object = content[:limit] + _CUT if isinstance(content, str) else _cut_parts(content, limit)
    if isinstance(message, Mapping):
        return cast(T, _with(cast(object, message), content=cut))
    copied = copy(message)
    setattr(copied, "content", cut)  # noqa: B010  the class is the caller's, so no checker knows the name
    return copied


def _cut_parts(content: object, limit: int) -> list[object]:
    """Cut the text parts of a content list where their sum passes `limit`; other parts stay."""
    parts, left = list[object](), limit
    for part in _sequence(content):
        text = part if isinstance(part, str) else _field(part, "text")
        if not isinstance(text, str):
            parts.append(part)
        elif left >= 0:
            short = text if len(text) <= left else text[:left] + _CUT
            parts.append(short if isinstance(part, str) else _with(part, text=short))
            left -= len(text)
    return parts


def _with(mapping: object, **changes: object) -> dict[str, object]:
    return {**cast("Mapping[str, object]", mapping), **changes}


def _field(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    return getattr(value, name, None)


def _role(message: object) -> str:
    named = _field(message, "role") or _field(message, "type")
    role = named.casefold() if isinstance(named, str) else ""
    return _ROLES.get(role, role)


def _text(message: object) -> str:
    content = _field(message, "content")
    if isinstance(content, str):
        return content
    texts = [part if isinstance(part, str) else _field(part, "text") for part in _sequence(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(message: object) -> Sequence[object]:
    return _sequence(_field(message, "tool_calls"))


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()


def _searchable(message: object) -> str:
    """The words by which a message is recalled: its text, and the names and arguments of its tool calls."""
    called: list[str] = []
    for call in _calls(message):
        inner = _field(call, "function") or call
        called.append(f"{_field(inner, 'name')} {_field(inner, 'args') or _field(inner, 'arguments') or ''}")
    return " ".join((_text(message)[:MAX_TOOL_RESULT_CHARS], *called)).replace("_", " ")
