"""The learner's next message as evidence about the turn before: "that's wrong, it is 5/6".

Found by the forms in the tables of the languages. Never
feedback: a question, a quotation, a story about somebody else, and a "no" or a value that answers what the
assistant had asked. A plain "thanks" judges nothing, and "no, it should be in decimals" only asks for a form.

The turn is found by the hash of the answer that stands before the message, among those of the last 20 turns,
which the learner's access part remembers. So the messages must hold that answer, from a checkpointer or from
the caller, and it does not matter in which conversation it was given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ace_graph.base.prompts import Prompts, data_block
from ace_graph.learning.calculations import calculation_in, value_of
from ace_graph.learning.statements.sentences import sentences, skip
from ace_graph.memory.evidence import SCORES, Evidence, EvidenceSource, Verdict
from ace_graph.memory.languages.detection import likely_languages
from ace_graph.memory.languages.forms import any_of, form_pattern, form_wished
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, phrases, table, words
from ace_graph.memory.numbers import Numeral, normalize, numerals
from ace_graph.memory.playbook import Vote
from ace_graph.memory.snapshot import Access
from ace_graph.memory.turn import RecentTurn, TurnFeedback, answer_hash

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

# What a sentence says about an answer, in the languages whose tables have forms of feedback.
#
# A form concerns the beginning of a sentence, and its end or the end of its clause: "das ist richtig
# schwer" is no praise. A praise that something is objected to in the same sentence ("..., aber ...") is
# none either.


_FILE = "feedback"
_ENDS = r"[.,!;:…。！，；：、]|$| [-–—] "
_BREAK = re.compile(r"[,;:](?!\d) ?|[，；：。、]|\. | [-–—] ")
_BEHIND = r"[ .!?。！？]{0,5}"
_NUMBER = re.compile(r"[-−]?\d[\d.,/ ]{0,20}%?")
_MARKS = " \"'`“”«»「」.!;,。！，"
_READ_CHARS = 300


class _Forms(NamedTuple):
    lead: re.Pattern[str]
    no: re.Pattern[str]
    thanks: re.Pattern[str]
    wrong: re.Pattern[str]
    should_be: re.Pattern[str]
    value: re.Pattern[str]
    again: re.Pattern[str]
    right: re.Pattern[str]
    doubt: re.Pattern[str]
    objection: re.Pattern[str]


def verdict_of(sentence: str, language: str, *, answers_a_question: bool) -> Verdict | None:
    """Return what a sentence in a language says about the answer before it, None for nothing.

    A "no" before a value judges only where the answer had asked nothing.
    """
    forms, said = _forms(language), sentence.replace("’", "'")
    if form_wished(said) is not None:
        return None
    if language in SPACELESS and said.rstrip(_MARKS).endswith(
        tuple(words(language, "persons", "question_ends"))
    ):
        return None
    begin = skip(forms.lead, said, said.startswith("¡"))
    after_no = skip(forms.no, said, begin)
    if any(forms.wrong.match(said, at) or _says_value(said, at, language) for at in (begin, after_no)):
        return "failure"
    if after_no > begin and not answers_a_question and _gives_value(said, after_no, language):
        return "failure"
    if forms.again.match(said, begin):
        return "partial"
    praise = forms.right.match(said, skip(forms.lead, said, skip(forms.thanks, said, begin)))
    return "success" if praise is not None and not objects(said[praise.end() :], language) else None


def objects(rest: str, language: str) -> bool:
    """Whether the rest of a sentence takes something back: "but", "except"."""
    return _objection(language).search(rest[:_READ_CHARS]) is not None


def correction_in(text: str, masked: str, language: str) -> str | None:
    """Return the value that a sentence says is right, None for none; `masked` hides what is quoted."""
    forms, said = _forms(language), masked[:_READ_CHARS].replace("’", "'")
    starts = [0, *(found.end() for found in _BREAK.finditer(said))]
    for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
        at = skip(forms.no, said, skip(forms.lead, said, start))
        found = forms.value.match(said, at)
        judged = any(form.match(said, at) for form in (forms.wrong, forms.right, forms.again))
        if found is not None and not judged and found.end() < end:
            value = _without_tails(text[found.end() : end], language)
            if value:
                return value
        bare = _without_tails(text[at:end], language)
        if _NUMBER.fullmatch(bare):
            return bare
    return None


def asks_if_right(message: str, language: str) -> bool:
    """Whether a short message only asks if the answer before it is right."""
    forms, said = _forms(language), message.replace("’", "'")
    start = skip(forms.lead, said, said.startswith("¿"))
    return forms.doubt.fullmatch(said, start + said.startswith("¿", start)) is not None


@cache
def other_value() -> re.Pattern[str]:
    """Return the pattern of what an answer says of a value that is not right: "56, not 54"."""
    denying = (line for language in languages(_FILE) for line in phrases(language, _FILE, "not_this"))
    before, number = r"[,，]? ?(?<![^\W\d_])", r" ?-?[\d.,/]{1,40}(?<=\d)"
    return re.compile(f"{before}(?:{any_of(denying)}){number}", re.IGNORECASE)


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    yield other_value()
    for language in languages(_FILE):
        yield from _forms(language)


def _says_value(said: str, at: int, language: str) -> bool:
    """Whether a sentence says what should stand there; "正确答案是什么" asks for it."""
    found = _forms(language).should_be.match(said, at)
    asking = tuple(words(language, "persons", "questions")) if language in SPACELESS else ()
    return found is not None and not (asking and said.startswith(asking, found.end()))


def _gives_value(said: str, at: int, language: str) -> bool:
    if _forms(language).value.match(said, at):
        return True
    clause = _BREAK.split(said[at:_READ_CHARS], maxsplit=1)[0]
    return _NUMBER.fullmatch(_without_tails(clause, language)) is not None


def _without_tails(value: str, language: str) -> str:
    tails, kept = _tails(language), value.strip(_MARKS)
    ending = next((tail for tail in tails if kept.endswith(tail)), None)
    while ending is not None and len(ending) < len(kept):
        kept = kept.removesuffix(ending).strip(_MARKS)
        ending = next((tail for tail in tails if kept.endswith(tail)), None)
    return kept


@cache
def _tails(language: str) -> tuple[str, ...]:
    space = "" if language in SPACELESS else " "
    return tuple(f"{space}{tail}" for tail in phrases(language, _FILE, "tails"))


@cache
def _forms(language: str) -> _Forms:
    space = "" if language in SPACELESS else " "
    signs = {
        "!": f"(?= ?(?:{_ENDS}))",
        "@": f"(?:{form_pattern(phrases(language, _FILE, 'that')).pattern})",
        "~": f"(?:(?:{any_of(words(language, _FILE, 'very'))}){space}){{0,3}}",
    }

    def pattern(name: str, after: str = "") -> re.Pattern[str]:
        return form_pattern(phrases(language, _FILE, name), signs=signs, after=after)

    end = _end(language)
    return _Forms(
        lead=_before(language, "lead"),
        no=_before(language, "no"),
        thanks=_before(language, "thanks"),
        wrong=pattern("wrong", end),
        should_be=pattern("should_be"),
        value=pattern("value"),
        again=pattern("again", end),
        right=pattern("right", end),
        doubt=pattern("doubt", _BEHIND),
        objection=_objection(language),
    )


@cache
def _objection(language: str) -> re.Pattern[str]:
    listed = any_of(words(language, _FILE, "but"))
    edge = "" if language in SPACELESS else r"\b"
    return re.compile(f"{edge}(?:{listed}){edge}", re.IGNORECASE)


def _before(language: str, name: str) -> re.Pattern[str]:
    listed = any_of(phrases(language, _FILE, name))
    edge = "" if language in SPACELESS else r"\b"
    alone = name != "no" or not _denies_within(language)
    marks = "[ ,.!:;…。！，、-]{0,5}" if alone else " ?[,.!:;…。！，、-][ ,.!:;…-]{0,3}"
    return re.compile(f"(?:{listed}){edge}{marks}", re.IGNORECASE)


def _denies_within(language: str) -> bool:
    """Whether a language says "no" and "not" in one word: "no, es 5" is no "no es 5"."""
    denying = {
        line.partition("=")[0] for line in table(language, "statements").get("denials", "").splitlines()
    }
    return language in SPACELESS or not denying.isdisjoint(phrases(language, _FILE, "no"))


def _end(language: str) -> str:
    """The pattern of what follows a judgement: the end of its clause, or a word that goes on about it."""
    if "goes_on" in table(language, _FILE):
        return r"\b"
    joining = words(language, _FILE, "but") | words(language, _FILE, "because")
    listed = any_of((*joining, *phrases(language, _FILE, "thanks")))
    edge = "" if language in SPACELESS else r"\b"
    return rf"(?= ?(?:{_ENDS}|(?:{listed}){edge}))"


MAX_CORRECTION_CHARS = 300
_QUESTION = ("?", "？", "吗", "么")
_SENTENCES_READ = 2
_WORDS_TELLING = 5
"""Rules read how a sentence begins, so as many of its words tell its language."""


@dataclass(frozen=True)
class Feedback:
    """What a message says about the answer before it. `correction` is the value given instead, if any."""

    verdict: Verdict
    text: str
    correction: str | None = None

    @property
    def evidence(self) -> Evidence:
        """It as the learner's evidence; a correction is named as such."""
        text = f"{self.text} (corrected value: {self.correction})" if self.correction else self.text
        return Evidence(source="learner", verdict=self.verdict, text=text[:2_000], by="learner")

    def as_record(self, at: datetime) -> TurnFeedback | None:
        """What the record of the turn keeps: nothing of an objection to what a check found right."""
        if self.verdict == "unknown":
            return None
        score = SCORES[self.verdict]
        return TurnFeedback(verdict=self.verdict, score=score, text=self.text[:2_000], by="learner", at=at)


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
        for language in _spoken(sentence.masked):
            verdict = verdict_of(sentence.masked, language, answers_a_question=asked)
            if verdict is not None:
                given = (correction_in(each.text, each.masked, language) for each in around)
                correction = next(filter(None, given), None) if verdict == "failure" else None
                return Feedback(verdict, text, correction)
    return None


def _spoken(sentence: str) -> Iterator[str]:
    """Yield the languages that a sentence may be in and that have a table of feedback, English first."""
    begin = " ".join(sentence[:MAX_CORRECTION_CHARS].split()[:_WORDS_TELLING])
    found = dict.fromkeys((FIRST, *likely_languages(begin)))
    return (language for language in found if language in languages(_FILE))


@dataclass(frozen=True)
class JudgedExchange:
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
        """The feedback as evidence on the turn."""
        return self.feedback.evidence


def doubts(message: str) -> bool:
    """Whether a message only asks if the answer before is right; that is no evidence on it."""
    words = message.strip()[:MAX_CORRECTION_CHARS]
    return words.endswith(_QUESTION) and any(asks_if_right(words, language) for language in _spoken(words))


def last_exchange(messages: Sequence[BaseMessage]) -> JudgedExchange | None:
    """Return the exchange before the newest user message, None where there is none.

    `messages` is the conversation up to and including this turn's question (what comes after it, this
    turn's own answer, is left aside).
    """

    from langchain_core.messages import HumanMessage

    positions = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if not positions:
        return None
    before = messages[: positions[-1]]
    answer = _last_answer(before)
    if answer is None:
        return None
    question = messages[positions[-2]].text if len(positions) > 1 else ""
    return JudgedExchange(question, answer, messages[positions[-1]].text)


def turn_before(last: JudgedExchange, access: Access) -> RecentTurn | None:
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
    last: JudgedExchange, feedback: Feedback, messages: Sequence[BaseMessage], access: Access
) -> JudgedTurn | None:
    known = turn_before(last, access)
    if known is None:
        return None
    return JudgedTurn(known, last.question, last.answer, feedback, tuple(_asked_before(messages)))


def _asked_before(messages: Sequence[BaseMessage]) -> Iterator[str]:
    """The questions before the last one, while each asks nothing new but judges the answer before it."""

    from langchain_core.messages import HumanMessage

    positions = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
    for at, earlier in zip(reversed(positions[1:-1]), reversed(positions[:-2]), strict=True):
        said, answer = messages[at].text, _last_answer(messages[:at]) or ""
        asks = any(each.asks for each in islice(sentences(said), _SENTENCES_READ + 1))
        if not doubts(said) and (asks or read_feedback(said, answer) is None):
            return
        yield messages[earlier].text


def _last_answer(messages: Sequence[BaseMessage]) -> str | None:
    from langchain_core.messages import AIMessage

    answers = (m for m in reversed(messages) if isinstance(m, AIMessage) and not m.tool_calls)
    return next((m.text for m in answers if m.text.strip()), None)


# An objection to an answer that can be checked: "that's wrong, it's 54" about 7 x 8 = 56.
#
# A calculation is worked out again; a check that judged the answer when it was given (ground truth, a tool,
# the host's evaluator) counts as it stands. An answer that the check found right is defended: the objection
# is no evidence against it. What is corrected is often the form (7/4 and 1.75), and that is no objection.
# What objects to a defended answer is checked again, and so is a doubt ("are you sure?").


_STRONGER: tuple[EvidenceSource, ...] = ("ground_truth", "tool", "evaluator")


@dataclass(frozen=True)
class ObjectionCheck:
    """What was checked, by whom, and whether the answer was right; `value` is the right one, if known."""

    right: bool
    by: str
    asked: str = ""
    value: str = ""
    claimed: str = ""

    @property
    def evidence(self) -> Evidence | None:
        """The calculation as evidence for the answer; of an earlier check the vote is there already."""
        if not self.asked or not self.right:
            return None
        return Evidence(source="tool", verdict="success", text=f"{self.asked} = {self.value}", by=self.by)


def check_objection(earlier: JudgedTurn, votes: Mapping[EvidenceSource, Vote]) -> ObjectionCheck | None:
    """Return the check of the answer that `earlier` objects to; None where nothing is known of it.

    `votes` are those on that turn, by source.
    """

    from ace_graph.agent.evidence import matches_ground_truth

    feedback = earlier.feedback
    claimed = _number(feedback.correction) if feedback.correction else None
    if feedback.verdict not in ("failure", "unknown") or (feedback.correction and claimed is None):
        return None
    asked = next(filter(None, map(calculation_in, (earlier.question, *earlier.asked_before))), None)
    value = value_of(asked) if asked is not None else None
    if asked is None or value is None:
        return None if corrects_form(earlier) else _earlier_check(votes)
    right = matches_ground_truth(other_value().sub("", earlier.answer), str(value))
    if corrects_form(earlier):
        return None
    if claimed is not None and claimed.value == value and right:
        return ObjectionCheck(right, "calculator", asked, str(value))
    if claimed is not None and claimed.value != value and not right:  # neither value is the right one
        return None
    return ObjectionCheck(right, "calculator", asked, str(value), feedback.correction or "")


def corrects_form(earlier: JudgedTurn) -> bool:
    """Whether the value given instead is that of the answer, written in another form (1 1/3 for 4/3)."""

    from ace_graph.agent.evidence import matches_ground_truth

    correction = earlier.feedback.correction
    claimed = _number(correction) if correction else None
    if claimed is None or _as_written(claimed, earlier.answer):
        return False
    return matches_ground_truth(other_value().sub("", earlier.answer), str(claimed.value))


def render_check(check: ObjectionCheck | None, prompts: Prompts) -> str:
    """Return the part of the solver's prompt that says what was checked, '' where nothing was."""
    if check is None:
        return ""
    check_fields = {
        "answer_before": "right" if check.right else "wrong",
        "by": check.by,
        "calculation": check.asked,
        "value": check.value,
        "learner_says": check.claimed,
    }
    line = json.dumps({name: text for name, text in check_fields.items() if text}, ensure_ascii=False)
    return prompts.render("objection", check=data_block("check", line))


def _earlier_check(votes: Mapping[EvidenceSource, Vote]) -> ObjectionCheck | None:
    """The check that judged the answer when it was given, if the answer passed the strongest there was."""
    source: EvidenceSource | None = next(
        (s for s in _STRONGER if s in votes and votes[s].verdict != "unknown"), None
    )
    if source is None or votes[source].verdict != "success":
        return None
    return ObjectionCheck(right=True, by=source)


def _number(text: str) -> Numeral | None:
    """The number that a correction begins with, in digits or in words, or the only one in it."""
    spelled = normalize(text)
    for written in (text, spelled if spelled.lstrip("- ")[:1].isdecimal() else ""):
        found = numerals(written)
        if len(found) == 1 or (found and written.lstrip("-− ").startswith(found[0].written.lstrip("-")[0])):
            return found[0]
    return None


def _as_written(claimed: Numeral, answer: str) -> bool:
    """Whether the answer gives the value in that form already, where it gives it last."""
    given = [each.written for each in numerals(answer) if each.value == claimed.value]
    return bool(given) and given[-1] == claimed.written
