"""The learner's next message as evidence about the turn before: "that's wrong, it is 5/6".

Found by the rules in this file, and in other languages than English by the tables (feedback_forms.py). Never
feedback: a question, a quotation, a story about somebody else, and a "no" or a value that answers what the
assistant had asked. A plain "thanks" judges nothing, and "no, it should be in decimals" only asks for a form.

The turn is found by the hash of the answer that stands before the message, among those of the last 20 turns,
which the learner's access part remembers. So the messages must hold that answer, from a checkpointer or from
the caller, and it does not matter in which conversation it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ace_graph.languages.detection import likely_languages
from ace_graph.languages.forms import form_wished
from ace_graph.languages.tables import FIRST, languages
from ace_graph.learning.feedback_forms import asks_if_right, correction_in, objects, verdict_of
from ace_graph.learning.statements.sentences import Sentence, sentences, skip
from ace_graph.memory.evidence import SCORES, Evidence, Verdict
from ace_graph.memory.snapshot import Access
from ace_graph.memory.turn import RecentTurn, TurnFeedback, answer_hash

__all__ = [
    "Exchange",
    "Feedback",
    "JudgedTurn",
    "find_doubted_turn",
    "find_judged_turn",
    "last_exchange",
    "read_feedback",
    "turn_before",
]


MAX_CORRECTION_CHARS = 300
_QUESTION = ("?", "？", "吗", "么")
_SENTENCES_READ = 2
_WORDS_TELLING = 5
"""Rules read how a sentence begins, so as many of its words tell its language."""


_FILLER = re.compile(
    r"(?:hm{1,9}|um{1,9}|uh|oh|well|ok|okay|sorry|hey|wait|but|and|actually|yes|yeah|ah|hi)\b[ ,.!…-]*",
    re.IGNORECASE,
)
_NO = re.compile(r"(?:no|nope)[ ,.!:;-]+", re.IGNORECASE)
_THANKS = re.compile(
    r"(?:thanks|thank you|great|perfect|super|nice|cool|wow|awesome)(?: so much| a lot)?[ ,.!:;-]+",
    re.IGNORECASE,
)
_THAT = (
    r"(?:that(?:'?s| is| was)?|this(?: is| was)?|it(?:'?s| is| was)"
    r"|your (?:last )?(?:answer|result|solution)(?: is| was)?|you(?:'re| are| were)?)"
)
_VERY = (
    r"(?:still |completely |totally |just |plain |simply |also |all |(?:not )?quite |very |so |exactly ){0,5}"
)
_SHOULD = r"should (?:be|have been)"

_WRONG = re.compile(
    rf"{_THAT} {_VERY}(?:wrong|incorrect|false|mistaken"
    r"|not (?:right|correct|true|what i (?:asked|meant|wanted)))\b"
    r"|(?:wrong|incorrect|nope|not (?:right|correct|quite))\b(?! (?:way|place|order|side|question))",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"(?:that|this|it) (?:did ?n[o']t|does ?n[o']t|didnt|doesnt|isn'?t|wasn'?t) "
    r"(?:work|help|right|correct|true)\b"
    r"|(?:that|this) (?:failed|makes no sense)\b"
    r"|you (?:made|have) (?:a |an )?(?:mistake|error)\b"
    r"|you got (?:it|that) wrong\b"
    r"|there(?:'s| is) (?:a |an )?(?:mistake|error) in (?:your|that|the)\b",
    re.IGNORECASE,
)
_BUT = re.compile(
    rf"the (?:right |correct )?(?:answer|result) (?:is|{_SHOULD}) \S"
    rf"|it(?:'?s| is| {_SHOULD}| must be) \S"
    rf"|that {_SHOULD} \S",
    re.IGNORECASE,
)
"""What makes a "no" before it feedback: the value that is said to be right."""
_SHOULD_BE = re.compile(
    rf"the (?:right|correct|real) (?:answer|result|value) (?:is|was|{_SHOULD}) \S"
    rf"|(?:it|that|the answer) {_SHOULD} \S",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"you (?:already|just) (?:told|said|explained|showed|gave)\b"
    r"|(?:you said|i know) that already\b"
    r"|i already know (?:that|this)\b",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    rf"{_THAT} {_VERY}(?:right|correct|true|it|what i (?:needed|wanted|meant)|perfect)\b"
    r"|(?:that|this|it) (?:really |finally |totally |just )?"
    r"(?:worked|works|helped|helps|makes sense now|did it|did the trick|solved it)\b"
    r"|(?:correct|exactly|right)(?= ?(?:[.!,]|$))"
    r"|(?:now )?i (?:finally |really )?(?:get|got|understand|understood) it(?: now)?(?= ?(?:[.!,]|$))",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:(?:the )?(?:right |correct |real )?(?:answer|result|value)|it|that|this)"
    rf"(?:'?s| is| was| {_SHOULD}| must be)(?: actually| really)? "
    r"(?!(?:still |completely |totally |just ){0,5}(?:wrong|incorrect|false|not|mistaken|right|correct)\b)"
    r"(?=\S)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"(?:(?:are|r) (?:you|u) (?:really |quite |very |100 ?% |absolutely )?(?:sure|certain|right)"
    r"|(?:is|was) (?:that|this|it|the answer) (?:really |actually )?(?:right|correct|true|wrong)"
    r"|(?:that|this|it)(?:'?s| is) (?:really )?(?:right|correct|true|wrong)|really|you sure|sure|for real)"
    r"(?: about (?:that|this|it))?[ ?!.]*",
    re.IGNORECASE,
)


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
    read_sentences = list(islice(sentences(message), _SENTENCES_READ + 1))
    for position, sentence in enumerate(read_sentences[:_SENTENCES_READ]):
        if sentence.asks:
            continue
        around = read_sentences[position : position + 2]
        text = " ".join(each.text for each in around)[:MAX_CORRECTION_CHARS]
        verdict = _verdict(sentence.masked, answers_a_question=asked)
        if verdict is not None:
            return Feedback(verdict, text, _correction(around) if verdict == "failure" else None)
        for language in _other_languages(sentence.masked):
            verdict = verdict_of(sentence.masked, language, answers_a_question=asked)
            if verdict is not None:
                given = (correction_in(each.text, each.masked, language) for each in around)
                correction = next(filter(None, given), None) if verdict == "failure" else None
                return Feedback(verdict, text, correction)
    return None


def _other_languages(sentence: str) -> Iterator[str]:
    """The languages that a sentence may be in whose feedback is in tables."""
    begin = " ".join(sentence[:MAX_CORRECTION_CHARS].split()[:_WORDS_TELLING])
    listed = languages("feedback")
    return (each for each in likely_languages(begin) if each != FIRST and each in listed)


def _verdict(sentence: str, *, answers_a_question: bool) -> Verdict | None:
    if form_wished(sentence) is not None:
        return None
    begin = skip(_FILLER, sentence)
    after_no = skip(_NO, sentence, begin)
    if any(_WRONG.match(sentence, at) for at in (begin, after_no)):
        return "failure"
    if _FAILED.match(sentence, begin) or _SHOULD_BE.match(sentence, begin):
        return "failure"
    if after_no > begin and _BUT.match(sentence, after_no) and not answers_a_question:
        return "failure"
    if _AGAIN.match(sentence, begin):
        return "partial"
    praise = _RIGHT.match(sentence, skip(_THANKS, sentence, begin))
    return "success" if praise is not None and not objects(sentence[praise.end() :], FIRST) else None


def _correction(around: list[Sentence]) -> str | None:
    for sentence in around:
        found = _CORRECTION.search(sentence.masked[:MAX_CORRECTION_CHARS])
        value = sentence.text[found.end() : MAX_CORRECTION_CHARS] if found else ""
        value = value.strip("\"'`“”«» ").rstrip(".!;, \"'`”»")
        if value:
            return value
    return None


@dataclass(frozen=True)
class Exchange:
    """What was asked and answered before the newest message of the user, and that message."""

    question: str
    answer: str
    message: str


@dataclass(frozen=True)
class JudgedTurn:
    """An earlier turn, what was asked and answered in it, and the feedback on it.

    `asked_before` are the questions that the conversation was about before, the newest first, where what was
    asked in that turn is itself an objection ("no, it's 54") or a doubt.
    """

    turn: RecentTurn
    question: str
    answer: str
    feedback: Feedback
    asked_before: tuple[str, ...] = ()

    @property
    def evidence(self) -> Evidence:
        """The feedback as the learner's evidence; a correction is named as such."""
        correction = self.feedback.correction
        text = f"{self.feedback.text} (corrected value: {correction})" if correction else self.feedback.text
        return Evidence(source="learner", verdict=self.feedback.verdict, text=text[:2_000], by="learner")

    def as_feedback(self, at: datetime) -> TurnFeedback | None:
        """Return what the judged turn's record keeps: nothing of an objection to what a check found right."""
        verdict = self.feedback.verdict
        if verdict == "unknown":
            return None
        text, score = self.feedback.text[:2_000], SCORES[verdict]
        return TurnFeedback(verdict=verdict, score=score, text=text, by="learner", at=at)


def doubts(message: str) -> bool:
    """Whether a message only asks if the answer before is right; that is no evidence on it."""
    words = message.strip()[:MAX_CORRECTION_CHARS]
    if "?" in words and _DOUBT.fullmatch(words, skip(_FILLER, words)) is not None:
        return True
    return words.endswith(_QUESTION) and any(asks_if_right(words, each) for each in _other_languages(words))


def last_exchange(messages: Sequence[BaseMessage]) -> Exchange | None:
    """Return the exchange before the newest user message, None where there is none.

    `messages` is the conversation up to and including this turn's question (what comes after it, this
    turn's own answer, is left aside).
    """
    positions = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if not positions:
        return None
    before = messages[: positions[-1]]
    answer = _last_answer(before)
    if answer is None:
        return None
    question = messages[positions[-2]].text if len(positions) > 1 else ""
    return Exchange(question, answer, messages[positions[-1]].text)


def turn_before(last: Exchange, access: Access) -> RecentTurn | None:
    """Return the turn that gave the answer before a message; None where it is not one of the learner's."""
    return {turn.answer_hash: turn for turn in access.recent_turns}.get(answer_hash(last.answer))


def find_judged_turn(messages: Sequence[BaseMessage], access: Access) -> JudgedTurn | None:
    """Return the earlier turn that the newest user message judges; None where it judges none we know."""
    last = last_exchange(messages)
    feedback = read_feedback(last.message, last.answer) if last is not None else None
    return _known_turn(last, feedback, messages, access) if last and feedback else None


def find_doubted_turn(messages: Sequence[BaseMessage], access: Access) -> JudgedTurn | None:
    """Return the earlier turn whose answer the newest user message doubts ("are you sure?")."""
    last = last_exchange(messages)
    if last is None or not doubts(last.message):
        return None
    return _known_turn(last, Feedback("unknown", last.message), messages, access)


def _known_turn(
    last: Exchange, feedback: Feedback, messages: Sequence[BaseMessage], access: Access
) -> JudgedTurn | None:
    known = turn_before(last, access)
    if known is None:
        return None
    return JudgedTurn(known, last.question, last.answer, feedback, tuple(_asked_before(messages)))


def _asked_before(messages: Sequence[BaseMessage]) -> Iterator[str]:
    """The questions before the last one, while each asks nothing new but judges the answer before it."""
    positions = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
    for at, earlier in zip(reversed(positions[1:-1]), reversed(positions[:-2]), strict=True):
        said, answer = messages[at].text, _last_answer(messages[:at]) or ""
        asks = any(each.asks for each in islice(sentences(said), _SENTENCES_READ + 1))
        if not doubts(said) and (asks or read_feedback(said, answer) is None):
            return
        yield messages[earlier].text


def _last_answer(messages: Sequence[BaseMessage]) -> str | None:
    answers = (m for m in reversed(messages) if isinstance(m, AIMessage) and not m.tool_calls)
    return next((m.text for m in answers if m.text.strip()), None)
