"""What the tutor says when there is nothing to calculate: greetings, and facts that the playbook holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ace_graph.offline_tutor.prompt_reader import Item

__all__ = [
    "CANNOT",
    "WHO_I_AM",
    "Recalled",
    "asks_about_memory",
    "asks_for_name",
    "is_approval",
    "is_statement",
    "recall",
    "small_talk",
]

WHO_I_AM = (
    "I am the offline tutor, a set of rules, not a language model. I can do arithmetic, fractions, decimals "
    "and percentages, with steps and small pictures."
)
CANNOT = (
    f"That is beyond me. {WHO_I_AM} Set GEMINI_API_KEY for more, or write the calculation down, such as "
    "1/2 + 1/3."
)

_TALK = {
    r"\b(?:who|what) are you\b|\bwhat can you do\b"
    r"|\bare you (?:an? |really )?(?:ai|bot|human|robot|language model|llm|gemini|chatgpt)\b": WHO_I_AM,
    r"^\W*(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|greetings|howdy)\b": (
        f"Hello! {WHO_I_AM} What shall we work out?"
    ),
    r"^\W*(?:thanks?|thank you|thx|cheers)\b": "You are welcome.",
    r"^\W*(?:bye|goodbye|see you|good night)\b": "Goodbye.",
    r"^\W*(?:ok(?:ay)?|yes|no|sure|great|cool|nice|perfect|got it)\b[\w\s!.,]{0,20}$": (
        "All right. What shall we work out next?"
    ),
}
_APPROVAL = re.compile(
    r"^\W*(?:(?:yes|great|perfect|thanks|thank you|ok(?:ay)?)\W+)*(?:that|this|it)(?:'s| is| was)?"
    r" (?:right|correct|it|perfect|worked|works|helped|helps)\b[^?]{0,20}$",
    re.IGNORECASE,
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), reply) for pattern, reply in _TALK.items())
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


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the playbook says about a question, quoted; `sure` when it covers all of the question's words."""

    text: str
    ids: tuple[str, ...]
    sure: bool = False


def small_talk(question: str) -> str | None:
    """Return the reply to a greeting, a thank-you, approval, or a question about the tutor itself."""
    if is_approval(question):
        return "Good. What shall we work out next?"
    return next((reply for pattern, reply in _COMPILED if pattern.search(question)), None)


def is_approval(question: str) -> bool:
    """Whether the learner only says that the answer before was right."""
    return _APPROVAL.search(question) is not None


def asks_about_memory(question: str) -> bool:
    """Whether the learner wants to know what is known about them."""
    return _ABOUT_MEMORY.search(question) is not None


def asks_for_name(question: str) -> bool:
    """Whether the learner asks for their own name."""
    return _ABOUT_NAME.search(question) is not None


def is_statement(question: str) -> bool:
    """Whether the learner tells something instead of asking."""
    return not question.rstrip().endswith("?") and _STATEMENT.search(question) is not None


def recall(question: str, items: Sequence[Item]) -> Recalled | None:
    """Return the playbook's item nearest to `question`, or None when none shares half of its words."""
    known = [item for item in items if item.id is not None]
    if asks_about_memory(question):
        about = [item for item in known if item.about_learner]
        return _quoted(about, sure=True) if about else None
    asked = _terms(question)
    best = max(known, key=lambda item: len(asked & _terms(item.text)), default=None)
    shared = len(asked & _terms(best.text)) if best is not None else 0
    if best is None or shared < max(1, _ENOUGH * len(asked)):
        return None
    return _quoted([best], sure=shared == len(asked) and shared > 1)


def _quoted(items: Sequence[Item], *, sure: bool) -> Recalled:
    said = "; ".join(f'"{item.text}"' for item in items)
    ids = tuple(item.id for item in items if item.id is not None)
    return Recalled(f"From what I have remembered: {said}.", ids, sure)


def _terms(text: str) -> set[str]:
    words = (word for word in _WORD.findall(text.casefold()) if word not in _STOP)
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words}
