"""BEAM (arXiv 2510.27246; its repository names no licence): long chats, and questions of ten kinds.

As published in the authors' repository, a chat is a folder (`chats/100K/1`) with `chat.json`, batches of
turns of messages (`id`, `role`, `content`), and `probing_questions/probing_questions.json`, lists of
questions by kind, each with `source_chat_ids`, the messages that answer it. A folder of such folders is read
as well, and the parquet files of their data set, which need pyarrow.

The messages are remembered as they are, in their order, cut at 2,000 characters. R@10 is the mean share of a
question's messages among the first ten lines that are shown, all@10 the share of questions with all of them.
Questions that name no message of the chat are left out and counted; those of abstention have no answer, and
count by the share that is shown any line.

Then the message that states an instruction or a preference is sent through the graph, which learns nothing
but what people say of themselves: `kept` is the share of these of which a bullet is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any, cast

from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.base import Settings
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from benchmarks.public.reading import read_json
from benchmarks.public.systems import LEARNER, Line, Part, Question, Shown
from benchmarks.table import Table

TITLE = "BEAM"
LICENCE = "none named (mohammadtavakoli78/BEAM, arXiv 2510.27246)"
TOP = 10
MOST_CHARS = 2_000
ABSTENTION = "abstention"
STATED = ("instruction_following", "preference_following")
_CHAT, _QUESTIONS = "chat.json", Path("probing_questions", "probing_questions.json")
_MARK = re.compile(r"\s*->->\s*[\d,]+\s*\Z")
"""What the authors' pipeline leaves at the end of a message."""


def read(path: Path) -> list[Part]:
    """Return the chats of a folder, of a folder of such, or of a parquet file.

    Raises OSError, and ValueError for what has another shape or needs a package that is not installed.
    """
    if path.suffix == ".parquet":
        return list(_from_parquet(path))
    if path.name == _CHAT:
        path = path.parent
    folders = [path] if (path / _CHAT).exists() else sorted(path.glob(f"*/{_CHAT}"), key=_number)
    if not folders:
        raise ValueError(f"{path} is no BEAM chat: a folder with {_CHAT} and {_QUESTIONS}, or one of such")
    return [_from_folder(folder if folder.is_dir() else folder.parent) for folder in folders]


def _number(file: Path) -> tuple[int, str]:
    name = file.parent.name
    return (int(name) if name.isdigit() else 0, name)


def _from_folder(folder: Path) -> Part:
    chat, questions = read_json(folder / _CHAT), read_json(folder / _QUESTIONS)
    return part_of(f"{folder.parent.name}/{folder.name}", chat, questions)


def _from_parquet(path: Path) -> Iterator[Part]:
    if find_spec("pyarrow") is None:
        raise ValueError(
            f"{path}: to read parquet, pip install pyarrow; or give the authors' folder of chats"
        )
    table: Any = import_module("pyarrow.parquet").read_table(
        path
    )  # Any: a package that is not installed here
    for row in table.to_pylist():
        yield part_of_row(path.stem, row)


def part_of_row(name: str, row: Mapping[str, Any]) -> Part:  # Any: a row of another's file
    """Return the chat of a row of the data set, whose questions are a literal of Python."""
    try:
        questions = ast.literal_eval(row["probing_questions"])
        return part_of(f"{name}/{row['conversation_id']}", row["chat"], questions)
    except (KeyError, SyntaxError) as error:
        raise ValueError(f"{name} has no rows of BEAM: conversation_id, chat, probing_questions") from error


def part_of(name: str, chat: object, held: Any) -> Part:  # Any: what a file of another holds
    """Return a chat and its questions. Raises ValueError for another shape."""
    lines = [
        Line(text, str(message["id"]))
        for message in _messages(chat)
        if (text := _MARK.sub("", str(message["content"])).strip()[:MOST_CHARS])
    ]
    try:
        questions = [
            Question(one["question"], kind, _ids(one.get("source_chat_ids")))
            for kind, asked in held.items()
            for one in asked
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{name} has no questions of BEAM: lists of question, source_chat_ids") from error
    if not lines or not questions:
        raise ValueError(f"{name} has no messages (id, role, content), or no questions: is it of BEAM?")
    return Part(name, lines, questions)


def _messages(held: object) -> Iterator[Mapping[str, object]]:
    """Yield the messages of a chat, however its batches, turns and plans are nested."""
    if isinstance(held, dict):
        item = cast("dict[str, object]", held)
        if item.keys() >= {"id", "role", "content"}:
            yield item
        else:
            for value in item.values():
                yield from _messages(value)
    elif isinstance(held, list):
        for value in cast("list[object]", held):
            yield from _messages(value)


def _ids(held: object) -> frozenset[str]:
    """Return the ids in `source_chat_ids`: a list, or lists by what they are for."""
    if isinstance(held, dict):
        values = list(cast("dict[str, object]", held).values())
    elif isinstance(held, list):
        values = cast("list[object]", held)
    else:
        return frozenset() if held is None else frozenset({str(held)})
    return frozenset[str]().union(*(_ids(value) for value in values))


def relevant(part: Part, question: Question) -> frozenset[int]:
    """Return the places of the messages that answer a question."""
    return frozenset(place for place, line in enumerate(part.lines) if line.key in question.evidence)


def tables(parts: Sequence[Part], shown: Mapping[str, Sequence[Sequence[Shown]]]) -> list[Table]:
    """Return the table of all questions, and R@10 / all@10 by kind."""
    wanted = [[relevant(part, question) for question in part.questions] for part in parts]
    kinds = sorted({q.kind for part in parts for q in part.questions if q.kind != ABSTENTION})
    all_rows, by_kind, left_out = list[list[str]](), list[list[str]](), 0
    for name, of_parts in shown.items():
        asked = [
            (question, places, one)
            for part, of_part, found in zip(parts, wanted, of_parts, strict=True)
            for question, places, one in zip(part.questions, of_part, found, strict=True)
        ]
        counted = [one for one in asked if one[0].kind != ABSTENTION and one[1]]
        left_out = sum(question.kind != ABSTENTION and not places for question, places, _ in asked)
        nothing = [bool(one.entries) for question, _, one in asked if question.kind == ABSTENTION]
        tokens = [one.tokens for _, _, one in counted]
        all_rows.append(
            [
                name,
                *_figures(counted),
                f"{mean(tokens):.0f}" if tokens else "-",
                f"{mean(nothing):.2f}" if nothing else "-",
            ]
        )
        of_kinds = [_figures([one for one in counted if one[0].kind == kind]) for kind in kinds]
        by_kind.append([name, *(" / ".join(figures) for figures in of_kinds)])
    note = f"{left_out} questions that name no message of their chat are left out."
    return [
        Table(TITLE, ("system", "R@10", "all@10", "tokens", "abstention: any line"), all_rows, note),
        Table(f"{TITLE} by kind, R@10 / all@10", ("system", *kinds), by_kind),
    ]


def _figures(asked: Sequence[tuple[Question, frozenset[int], Shown]]) -> list[str]:
    if not asked:
        return ["-", "-"]
    shares = [len(places & shown.places(10)) / len(places) for _, places, shown in asked]
    return [f"{mean(shares):.3f}", f"{mean(share == 1 for share in shares):.3f}"]


Kept = tuple[Question, str, tuple[str, ...]]
"""A question on what somebody wants, the message that states it, and the bullets that came of it."""


async def kept_statements(part: Part) -> list[Kept]:
    """Return each question on an instruction or a preference, the message that states it, and what is kept.

    Each message meets an empty memory; no lesson is learned.
    """
    stated = [
        (question, line.text)
        for question in part.questions
        if question.kind in STATED
        for line in part.lines
        if line.key in question.evidence
    ]
    found = list[Kept]()
    for question, message in stated:
        async with SQLiteStore() as store:
            model = ScriptedModel(["<final>so</final>"])
            graph = build_ace_graph(store=store, model=model, settings=Settings(embeddings="off"))
            context = ACEContext(learner_id=LEARNER, reflect_when="never")
            await graph.ainvoke({"messages": [HumanMessage(message)], "mode": "cot"}, context=context)
            bullets = (await store.load(LEARNER)).playbook.bullets()
            found.append((question, message, tuple(bullet.content for bullet in bullets)))
    return found


def statement_table(kept: Sequence[Kept]) -> Table:
    """Return of how many messages that state something a bullet is kept, by kind."""
    rows = [
        [kind, str(len(of_kind)), f"{mean(map(bool, of_kind)):.2f}" if of_kind else "-"]
        for kind in STATED
        for of_kind in [[bullets for question, _, bullets in kept if question.kind == kind]]
    ]
    return Table(f"{TITLE}, stated in a message", ("kind", "messages", "kept"), rows)
