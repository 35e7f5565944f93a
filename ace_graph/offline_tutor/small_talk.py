"""What the tutor says when there is nothing to calculate: greetings, and facts that the playbook holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ace_graph.offline_tutor.advice import explain_idea
from ace_graph.offline_tutor.preferences import Preferences
from ace_graph.offline_tutor.prompt_reader import Item, Prompt

__all__ = ["QuotingReply", "is_approval", "is_statement", "reply_without_problem"]

_WHO_I_AM = (
    "I am the offline tutor, a set of rules, not a language model. I can do arithmetic, fractions, decimals "
    "and percentages, with steps and small pictures."
)
_CANNOT = (
    f"That is beyond me. {_WHO_I_AM} Set GEMINI_API_KEY for more, or write the calculation down, such as "
    "1/2 + 1/3."
)
_NOTHING_KEPT = "I have kept nothing of that. What shall we work out?"
_APPROVAL = (
    r"^\W*(?:(?:yes|great|perfect|thanks|thank you|ok(?:ay)?)\W+)*(?:that|this|it)(?:'s| is| was)?"
    r" (?:right|correct|it|perfect|worked|works|helped|helps)\b[^?]{0,20}$"
)
_IS_APPROVAL = re.compile(_APPROVAL, re.IGNORECASE)
_REMARKS = tuple(
    (re.compile(pattern, re.IGNORECASE), reply)
    for pattern, reply in {
        _APPROVAL: "Good. What shall we work out next?",
        r"^\W*(?:(?:no|nope|but|actually)\W{1,3}){0,3}(?:(?:that|this|it|you)(?:'?s|'?re| is| are| was)? )?"
        r"(?:\w{1,12} )?(?:wrong|incorrect|false|mistaken|not (?:right|true|correct))\b": (
            'I can\'t check that. To have me keep what is right, say "remember that ...".'
        ),
        r"\b(?:who|what) are you\b|\bwhat can you do\b"
        r"|\bare you (?:an? |really )?(?:ai|bot|human|robot|language model|llm|gemini|chatgpt)\b": _WHO_I_AM,
        r"^\W*(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|greetings|howdy)\b": (
            f"Hello! {_WHO_I_AM} What shall we work out?"
        ),
        r"^\W*(?:thanks?|thank you|thx|cheers)\b": "You are welcome.",
        r"^\W*(?:bye|goodbye|see you|good night)\b": "Goodbye.",
        r"^\W*(?:ok(?:ay)?|yes|no|sure|great|cool|nice|perfect|got it)\b[\w\s!.,]{0,20}$": (
            "All right. What shall we work out next?"
        ),
    }.items()
)
_ABOUT_MEMORY = re.compile(
    r"\bwhat (?:do |did |have )?you (?:know|remember|learn\w*|store\w*)\b|\bwho am i\b",
    re.IGNORECASE,
)
_ABOUT_NAME = re.compile(r"\bwhat(?: is|'s) my name\b|\bwhat am i called\b", re.IGNORECASE)
_STATEMENT = re.compile(
    r"^\W*(?:(?:please|ok|hi|hello|hey|by the way)\W+)*(?:remember|keep in mind|note|don'?t forget|call me"
    r"|my \w+|i\b|i'[md]\b|from now on|always|never|forget|answer|talk|speak|reply|actually)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = """
    a about am an and any are at be can could did do does for from had has have how i in is it its know me my
    of on or please remember said say so tell that the their then there this to told was we were what when
    where which who whom whose why will with would you your
"""
_STOP = frozenset(_STOP_WORDS.split())
_ENOUGH = 0.5


class QuotingReply(NamedTuple):
    """A text, and the ids of the playbook items that it quotes or follows."""

    text: str
    used: tuple[str, ...] = ()


def is_approval(question: str) -> bool:
    """Whether the learner only says that the answer before was right."""
    return _IS_APPROVAL.search(question) is not None


def is_statement(question: str) -> bool:
    """Whether the learner tells something instead of asking."""
    return not question.rstrip().endswith("?") and _STATEMENT.search(question) is not None


def reply_without_problem(prompt: Prompt, preferences: Preferences) -> QuotingReply:
    """Return the reply to a message that poses no problem. Every message has one."""
    question, name = prompt.question.strip(), preferences.name
    if not question:
        return QuotingReply("There is no question in that message. Ask me something like 1/2 + 1/3.")
    if _ABOUT_NAME.search(question):
        text = "You have not told me your name yet." if name is None else f"You are called {name}."
        return QuotingReply(text, preferences.source_of("name"))
    known = [item for item in prompt.items if item.id is not None]
    if _ABOUT_MEMORY.search(question):
        about = [item for item in known if item.about_learner]
        return _quoted(about) if about else QuotingReply("I have been told nothing about you yet.")
    statement, idea, words = is_statement(question), explain_idea(question), _terms(question)
    nearest = max(known, key=lambda item: len(words & _terms(item.text)), default=None)
    if nearest is not None and not statement:
        shared = len(words & _terms(nearest.text))
        enough = max(1, _ENOUGH * len(words)) if idea is None else max(2, len(words))
        if shared >= enough:
            return _quoted([nearest])
    remark = next((reply for pattern, reply in _REMARKS if pattern.search(question)), None)
    if statement:
        return QuotingReply(remark or idea or _NOTHING_KEPT)
    return QuotingReply(
        remark or idea or (f"I can't look at pictures. {_CANNOT}" if prompt.has_picture else _CANNOT)
    )


def _quoted(items: Sequence[Item]) -> QuotingReply:
    quotes = "; ".join(f'"{item.text}"' for item in items)
    ids = tuple(item.id for item in items if item.id is not None)
    return QuotingReply(f"From what I have remembered: {quotes}.", ids)


def _terms(text: str) -> set[str]:
    words = (word for word in _WORD.findall(text.casefold()) if word not in _STOP)
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words}
