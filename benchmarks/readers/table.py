"""Every function of the package that reads text of a user, a model, a tool, a file or a token.

A new one gets a line here; tests/benchmarks/test_readers.py fails where a module that has a pattern is named
by none. `of_message` are those that read a learner's message in the course of one turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import cache, partial
from types import SimpleNamespace
from typing import cast

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import TypeAdapter

from ace_graph.agent.context import ACEContext
from ace_graph.agent.evidence import matches_ground_truth, quotes_truth
from ace_graph.agent.models.call import redacted
from ace_graph.agent.models.local import ModelCall
from ace_graph.agent.models.reply import find_json_object
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.agent.reasoning.attempt import parse_scores, parse_thoughts
from ace_graph.agent.reasoning.streaming import AnswerParser, parse_answer
from ace_graph.agent.runtime import Run
from ace_graph.agent.state import Turn
from ace_graph.agent.tools.mcp import parse_servers
from ace_graph.agent.tools.memory_tools import matching
from ace_graph.base.prompts import data_block, preview
from ace_graph.base.settings import Settings
from ace_graph.base.text import clean_line, encodable
from ace_graph.cli.conversation import is_praise
from ace_graph.cli.run import parse_request
from ace_graph.cli.terminal import printable
from ace_graph.learning.calculations import calculation_in, correction_of_sum
from ace_graph.learning.curator import stays_own
from ace_graph.learning.feedback import Feedback, JudgedTurn, check_objection, read_feedback
from ace_graph.learning.patterns import kinds_of
from ace_graph.learning.reflection import LearnerFact, Reflection, copies, says_nothing
from ace_graph.learning.reflector import lessons_in
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.model_facts import learner_facts
from ace_graph.learning.statements.reading import asks_to_clear
from ace_graph.learning.statements.turn_source import source_text
from ace_graph.learning.statements.validity import validity_of
from ace_graph.learning.tasks import read_work, worth_reflecting
from ace_graph.memory.arithmetic import calculate
from ace_graph.memory.bullet import Bullet, content_hash
from ace_graph.memory.classify import infer_memory_type, infer_topic
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.languages.relations import relation_of
from ace_graph.memory.numbers import numerals, parse_number
from ace_graph.memory.playbook import Playbook, id_number
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.retrieve import retrieve
from ace_graph.memory.retrieval.standing import holds
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.screening.secrets import redact
from ace_graph.memory.search.source_words import source_words
from ace_graph.memory.search.tokenize import content_words, estimate_tokens, language_of, terms
from ace_graph.memory.similarity.claim import normalized_tokens
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.snapshot import Access, Snapshot
from ace_graph.memory.turn import RecentTurn, answer_hash
from ace_graph.memory.window import adaptive_size, select_window, truncate_tool_results
from ace_graph.nodes.planner import plan_turn
from ace_graph.nodes.router import choose_mode
from ace_graph.server.errors import request_id_of
from ace_graph.server.page.render import MAX_MARKED_CHARS, marked
from ace_graph.server.schemas import ChatRequest, VersionName
from ace_graph.training.scoring import labels_of
from benchmarks.readers.files import readers_of_files
from benchmarks.readers.reader import Reader, refused

__all__ = ["READERS"]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_BULLET_CHARS = 2_000


def _reader(
    function: Callable[[str], object], *modules: str, of_message: bool = False, most: int | None = None
) -> Reader:
    return Reader(function.__name__.strip("_"), function, (function.__module__, *modules), of_message, most)


@cache
def _playbook() -> Playbook:
    """A learner's playbook: some advice, and what the learner said."""
    said = ("Call me Mia", "I prefer pictures", "I keep mixing up numerators and denominators")
    texts = [f"Learner says: {text}" for text in said]
    texts += [f"When fractions of kind {n} are added, find the common denominator first" for n in range(200)]
    bullets = [
        Bullet(id=f"b-{n}", section="profile" if n < len(said) else "strategies", content=text)
        for n, text in enumerate(texts, 1)
    ]
    return Playbook.of(bullets)


def _plan_turn(text: str) -> object:
    turn: Turn = {
        "turn_id": "t",
        "learner_id": None,
        "question": text,
        "question_id": "q",
        "mode": "cot",
        "started_at": "",
    }
    return plan_turn(turn, ACEContext(), Settings(), ())


def _retrieve(text: str) -> object:
    return retrieve(text, _playbook(), Access(), Policy(), now=_NOW, topic="fraction_addition")


def _select_window(text: str) -> object:
    before = [{"role": role, "content": text} for _ in range(4) for role in ("user", "assistant")]
    return select_window(before, 2, question=f"the same as before {text}")


def _truncate_tool_results(text: str) -> object:
    return truncate_tool_results([{"role": "tool", "content": text}])


def _read_statements(text: str) -> object:
    return read_statements(text, _playbook(), "turn"), source_words(source_text(text, "ask"), "ladder")


def _lesson(text: str) -> object:
    return stays_own(Add(content=text))


def _learner_facts(text: str) -> object:
    facts = [LearnerFact(quote=quote, kind="hobby") for quote in (text[:60], text[-60:], "I play chess")]
    return learner_facts(text, facts, _playbook(), "turn", "ask")


def _worth_reflecting(text: str) -> object:
    run = cast(Run, SimpleNamespace(context=ACEContext()))  # the context is all that is asked of it
    return worth_reflecting(run, text, ())


def _feedback_message(text: str) -> object:
    return read_feedback(text, "The answer is 5/6.")


def _feedback_answer(text: str) -> object:
    return read_feedback("that's wrong, it is 7", text)


def _check_objection(text: str) -> object:
    turn = RecentTurn(turn_id="t", answer_hash="")
    return check_objection(JudgedTurn(turn, text, text, Feedback("failure", "", "54")), {})


def _answer_against_truth(text: str) -> object:
    return matches_ground_truth(text, "5/6"), matches_ground_truth(text, "the nile")


def _truth_against_answer(text: str) -> object:
    return matches_ground_truth("so it is 5/6", text), quotes_truth("so it is 5/6", text)


def _quotes_truth(text: str) -> object:
    return quotes_truth(text, "5/6"), quotes_truth(text, "the nile")


def _copies(text: str) -> object:
    return copies(text, [text[1:], "another"]), copies("a lesson of a few words", [text])


def _reply_as_it_comes(text: str) -> object:
    parser = AnswerParser()
    shown = [parser.feed(text[at : at + 3]) for at in range(0, len(text), 3)]
    return shown, parser.finish()


def _answer_as_it_comes(text: str) -> object:
    return _reply_as_it_comes(f"<final>{text}")


def _parse_scores(text: str) -> object:
    return parse_scores(text, 5)


def _parse_thoughts(text: str) -> object:
    return parse_thoughts(text, 3)


def _playbook_block(text: str) -> object:
    return data_block("playbook", text, limit=1_000_000)


def _tutor(messages: list[AnyMessage]) -> object:
    tutor = OfflineTutor()
    return tutor.pieces(tutor.reply(ModelCall(tuple(messages))).text)


def _tutor_question(text: str) -> object:
    return _tutor([HumanMessage(text)])


def _tutor_earlier_question(text: str) -> object:
    return _tutor([HumanMessage(text), HumanMessage("why is that?")])


def _tutor_playbook(text: str) -> object:
    block = f"<playbook>\n## About this learner\n1. [b-1] [+1/-0] {text}\n</playbook>"
    return _tutor([SystemMessage(block), HumanMessage("What is 1/2 + 1/3?")])


def _tutor_system(text: str) -> object:
    return _tutor([SystemMessage(text), HumanMessage("What is 1/2 + 1/3?")])


def _tutor_reflects(text: str) -> object:
    blocks = "\n".join(data_block(name, text, limit=100_000) for name in ("question", "evidence", "trace"))
    return _tutor([SystemMessage(f"<task>reflect</task>\n{blocks}")])


def _tutor_scores(text: str) -> object:
    return _tutor([SystemMessage(f"<task>score</task>\n{data_block('thoughts', text, limit=100_000)}")])


def _kinds_of(text: str) -> object:
    return list(kinds_of(text)), list(kinds_of(f"python {text}"))


def _reflection(text: str) -> object:
    reply = json.dumps({"lessons": [{"content": text, "tags": [text]}], "reasoning": text})
    found = find_json_object(f"Here it is: {reply}")
    return Reflection.model_validate(found)


def _mcp_servers(text: str) -> object:
    return parse_servers({"files": {"command": text}}, {})


def _chat_request(text: str) -> object:
    body = json.dumps({"message": text, "conversationId": text[:200]})
    return ChatRequest.model_validate_json(body), ACEContext(learner_id=text[:256])


def _version_name(text: str) -> object:
    return TypeAdapter[int | str](VersionName).validate_python(text)


def _run_request(text: str) -> object:
    return parse_request(json.dumps({"messages": [{"role": "user", "content": text}]}).encode())


def _bullet(text: str) -> Bullet:
    return Bullet(id="b-1", section="s", content=f"b {text}"[:_BULLET_CHARS])


def _near_duplicates(text: str) -> object:
    return compare(_bullet(text), _bullet(text[:-1] + "y"), 0.9)


def _resolve(text: str) -> object:
    add = Add(content=text or "-", section="s", sources=("turn",))
    delta = Delta(op_id="o", now=_NOW, operations=(add, add), author="a", origin="turn")
    return resolve(Snapshot(_playbook()), delta, Policy())


_TUTOR_MODULES = (
    *("answer", "parser", "preferences", "prompt_reader"),
    *("reflect", "small_talk", "solver", "teaching", "tutor"),
)
_TUTOR = (*(f"ace_graph.agent.offline_tutor.{name}" for name in _TUTOR_MODULES), "ace_graph.memory.numbers")

_STATEMENT_MODULES = (
    "explicit",
    "statement",
    "form_statements",
    "forms",
    "speaker",
    "turn_source",
    "reading",
    "standing",
)
_SOURCE_WORDS = "ace_graph.memory.search.source_words"
_STATEMENTS = tuple(f"ace_graph.learning.statements.{name}" for name in _STATEMENT_MODULES)
_COMPARISON = ("ace_graph.memory.similarity.claim", "ace_graph.memory.similarity.typos")
_SCREEN = tuple(
    f"ace_graph.memory.screening.{part}"
    for part in (
        "order_score",
        "agent_orders",
        "rules",
        "screen",
        "secrets",
    )
)

READERS: tuple[Reader, ...] = (
    _reader(choose_mode, of_message=True),
    Reader(
        "plan_turn", _plan_turn, ("ace_graph.memory.classify", "ace_graph.memory.window"), of_message=True
    ),
    Reader(
        "retrieve",
        _retrieve,
        ("ace_graph.memory.retrieval.query", "ace_graph.memory.retrieval.chains"),
        of_message=True,
    ),
    Reader("select_window", _select_window, ("ace_graph.memory.window",), of_message=True),
    Reader("read_statements", _read_statements, (*_STATEMENTS, _SOURCE_WORDS), of_message=True),
    _reader(asks_to_clear, of_message=True),
    Reader("learner_facts", _learner_facts, ("ace_graph.memory.languages.detection",), of_message=True),
    Reader("calculation_in", calculation_in, ("ace_graph.learning.calculations",), of_message=True),
    _reader(correction_of_sum, of_message=True),
    Reader(
        "/feedback in the chat",
        lambda text: is_praise(text, "5/6"),
        ("ace_graph.cli.conversation",),
    ),
    Reader("check_objection", _check_objection, ("ace_graph.learning.feedback",)),
    Reader(
        "read_feedback",
        _feedback_message,
        ("ace_graph.learning.feedback", "ace_graph.memory.languages.forms"),
        of_message=True,
    ),
    Reader("read_feedback, the answer", _feedback_answer, ("ace_graph.learning.statements.sentences",)),
    Reader("worth_reflecting", _worth_reflecting, ("ace_graph.learning.tasks",), of_message=True),
    Reader("the tutor's answer", _tutor_question, ("ace_graph.agent.models.local", *_TUTOR), of_message=True),
    Reader("the tutor, an earlier question", _tutor_earlier_question),
    Reader("the tutor, a bullet", _tutor_playbook),
    Reader("the tutor, a system prompt", _tutor_system),
    Reader("the tutor reflects", _tutor_reflects),
    Reader("the tutor scores", _tutor_scores),
    Reader("content and answer hash", lambda text: (content_hash(text), answer_hash(text)), of_message=True),
    Reader("data_block", partial(data_block, "question"), ("ace_graph.base.prompts",), of_message=True),
    Reader("data_block of the playbook", _playbook_block),
    _reader(preview, of_message=True),
    _reader(adaptive_size),
    Reader("truncate_tool_results", _truncate_tool_results),
    _reader(infer_topic),
    _reader(infer_memory_type),
    _reader(terms),
    _reader(content_words),
    _reader(language_of),
    _reader(estimate_tokens, of_message=True),
    _reader(clean_line),
    _reader(encodable),
    _reader(id_number),
    Reader("matches_ground_truth", _answer_against_truth, ("ace_graph.agent.evidence",)),
    Reader("matches_ground_truth, the truth", _truth_against_answer),
    Reader("quotes_truth", _quotes_truth),
    _reader(numerals),
    _reader(parse_number),
    Reader("copies", _copies, ("ace_graph.learning.reflection",)),
    Reader("lessons_in", lessons_in, ("ace_graph.learning.reflector",), most=_BULLET_CHARS),
    _reader(says_nothing),
    Reader("stays_own", refused(_lesson), ("ace_graph.learning.curator",), most=_BULLET_CHARS),
    Reader("a reflection", refused(_reflection)),
    Reader("read_work", refused(read_work), ("ace_graph.learning.tasks",)),
    Reader("kinds_of", _kinds_of, ("ace_graph.learning.patterns",)),
    _reader(parse_answer),
    Reader("a reply as it comes", _reply_as_it_comes),
    Reader("an answer as it comes", _answer_as_it_comes),
    Reader("parse_scores", _parse_scores, ("ace_graph.agent.reasoning.attempt",)),
    Reader("parse_thoughts", _parse_thoughts),
    _reader(find_json_object),
    _reader(redact),
    _reader(redacted),
    _reader(labels_of),
    Reader("matching", lambda text: matching(_playbook(), text), ("ace_graph.agent.tools.memory_tools",)),
    Reader("calculate", calculate, ("ace_graph.memory.arithmetic",)),
    Reader("parse_servers", refused(_mcp_servers), ("ace_graph.agent.tools.mcp",)),
    Reader("a chat request", refused(_chat_request)),
    Reader("the name of a version", refused(_version_name), ("ace_graph.server.schemas",)),
    Reader("ace-graph run's request", refused(_run_request)),
    _reader(request_id_of),
    Reader("an answer's formulas", marked, ("ace_graph.server.page.formulas",), most=MAX_MARKED_CHARS),
    _reader(printable),
    *readers_of_files(),
    _reader(normalized_tokens, most=_BULLET_CHARS),
    _reader(relation_of, most=_BULLET_CHARS),
    Reader(
        "holds",
        lambda text: holds(text, ("unit",)),
        ("ace_graph.memory.retrieval.standing",),
        most=_BULLET_CHARS,
    ),
    Reader(
        "validity_of",
        lambda text: validity_of(text, date(2026, 11, 27)),
        ("ace_graph.learning.statements.validity",),
        of_message=True,
    ),
    Reader("screen", screen, _SCREEN, most=_BULLET_CHARS),
    Reader(
        "compare",
        _near_duplicates,
        (*_COMPARISON, "ace_graph.memory.similarity.paraphrase", "ace_graph.memory.similarity.paraphrase"),
        most=_BULLET_CHARS,
    ),
    Reader("resolve", refused(_resolve), ("ace_graph.memory.delta.draft",), most=_BULLET_CHARS),
)
