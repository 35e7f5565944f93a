"""The learner's next message as evidence about the turn before: "that's wrong, it is 5/6".

Found by the rules in this file. Never feedback: a question, a quotation, a story about somebody else,
and a "no" or a value that answers what the assistant had asked. A plain "thanks" judges nothing.

Does not: find the turn that is meant (the answer's hash does) or move counters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ace_graph.memory.evidence import Verdict

__all__ = ["Feedback", "read_feedback"]

MAX_CORRECTION_CHARS = 300

_FILLER = r"(?:(?:hmm+|um+|uh|oh|well|ok|okay|sorry|hey|wait|but|and|actually|yes|yeah|ah|hi)\b[\s,.!…-]*)*"
_NO = r"(?:no|nope)[\s,.!:;-]+"
_THAT = (
    r"(?:that(?:'?s| is| was)?|this(?: is| was)?|it(?:'?s| is| was)"
    r"|your (?:last )?(?:answer|result|solution)(?: is| was)?|you(?:'re| are| were)?)"
)
_VERY = (
    r"(?:still |completely |totally |just |plain |simply |also |all |not quite |quite |very |so |exactly )*"
)
_SHOULD = r"should (?:be|have been)"

_WRONG = re.compile(
    rf"{_FILLER}(?:(?:{_NO})?{_THAT} {_VERY}"
    r"(?:wrong|incorrect|false|mistaken|not (?:right|correct|true|what i (?:asked|meant|wanted)))\b"
    rf"|(?:{_NO})?(?:wrong|incorrect|nope|not (?:right|correct|quite))\b"
    r"(?! (?:way|place|order|side|question))"
    r"|(?:that|this|it) (?:did ?n[o']t|does ?n[o']t|didnt|doesnt|isn'?t|wasn'?t) "
    r"(?:work|help|right|correct|true)\b"
    r"|(?:that|this) (?:failed|makes no sense)\b"
    r"|you (?:made|have) (?:a |an )?(?:mistake|error)\b|you got (?:it|that) wrong\b"
    r"|there(?:'s| is) (?:a |an )?(?:mistake|error) in (?:your|that|the)\b)",
    re.IGNORECASE,
)
_NO_BUT = re.compile(
    rf"{_FILLER}{_NO}(?:the (?:right |correct )?(?:answer|result) (?:is|{_SHOULD})"
    rf"|it(?:'?s| is| {_SHOULD}| must be)|that {_SHOULD})\s+\S",
    re.IGNORECASE,
)
_SHOULD_BE = re.compile(
    rf"{_FILLER}(?:the (?:right|correct|real) (?:answer|result|value) (?:is|was|{_SHOULD})"
    rf"|(?:it|that|the answer) {_SHOULD})\s+\S",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    rf"{_FILLER}(?:you (?:already|just) (?:told|said|explained|showed|gave)\b"
    r"|(?:you said|i know) that already\b|i already know (?:that|this)\b)",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    rf"{_FILLER}(?:(?:thanks|thank you|great|perfect|super|nice|cool|wow|awesome)(?: so much| a lot)?"
    rf"[\s,.!:;-]+)*(?:{_THAT} {_VERY}(?:right|correct|true|it|what i (?:needed|wanted|meant)|perfect)\b"
    r"|(?:that|this|it) (?:really |finally |totally |just )?"
    r"(?:worked|works|helped|helps|makes sense now|did it|did the trick|solved it)\b"
    r"|(?:correct|exactly|right)(?=\s*(?:[.!,]|$))"
    r"|(?:now )?i (?:finally |really )?(?:get|got|understand|understood) it(?: now)?(?=\s*(?:[.!,]|$)))",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"(?:(?:the )?(?:right |correct |real )?(?:answer|result|value)|it|that|this)"
    rf"(?:'?s| is| was| {_SHOULD}| must be)(?: actually| really)?\s+"
    r"(?!(?:still |completely |totally |just )*(?:wrong|incorrect|false|not|mistaken|right|correct)\b)"
    r"(?P<value>\S.*)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`|^\s*>.*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？])\s+|\n+")


@dataclass(frozen=True)
class Feedback:
    """What a message says about the answer before it. `correction` is the value given instead, if any."""

    verdict: Verdict
    text: str
    correction: str | None = None


def read_feedback(message: str, previous_answer: str) -> Feedback | None:
    """Return the feedback that `message` gives on `previous_answer`, None where it gives none.

    Only the message's first two sentences are read: what comes later is about something else.
    """
    if not previous_answer.strip():
        return None
    asked = previous_answer.rstrip(" \"'*_)").endswith(("?", "？"))
    sentences = [s.strip() for s in _SENTENCE_END.split(_QUOTED.sub(" ", message)) if s.strip()]
    for position, sentence in enumerate(sentences[:2]):
        verdict = None if sentence.endswith(("?", "？")) else _verdict(sentence, answers_a_question=asked)
        if verdict is not None:
            told = " ".join(sentences[position : position + 2])[:MAX_CORRECTION_CHARS]
            correction = _correction(told) if verdict == "failure" else None
            return Feedback(verdict, told, correction)
    return None


def _verdict(sentence: str, *, answers_a_question: bool) -> Verdict | None:
    if _WRONG.match(sentence) or _SHOULD_BE.match(sentence):
        return "failure"
    if _NO_BUT.match(sentence) and not answers_a_question:
        return "failure"
    if _AGAIN.match(sentence):
        return "partial"
    return "success" if _RIGHT.match(sentence) else None


def _correction(told: str) -> str | None:
    found = [match["value"] for match in _CORRECTION.finditer(told)]
    value = found[-1].strip().rstrip(".!;, ") if found else ""
    return value or None
