"""Tells bullets which turn they came from, and gives them the learner's message for its words.

The memory keeps only informative words of the message, for searches (memory/search/source_words.py). Left out
are sentences that ask to forget something, and those that say something sensitive that is not kept. A message
that asks that nothing of it is kept gives none. Linear in the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.forms import holds_word, is_sensitive
from ace_graph.learning.statements.sentences import asks_not_to_keep
from ace_graph.learning.statements.statement import TAKEN_BACK, SensitiveFacts, Statement
from ace_graph.memory.delta.operations import Add, Operation
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import TurnRecord

if TYPE_CHECKING:
    from ace_graph.learning.tasks import FinishedTurn

_END = re.compile(r"(?<=[.!?])\s+|[\r\n]+|(?<=[。！？])")
_PERSONS = ("own", "mine", "others")
_ASKS = ("?", "？")


def from_turn(
    operations: Sequence[Operation],
    turn: FinishedTurn,
    sensitive: SensitiveFacts,
    withheld: Iterable[str] = (),
) -> tuple[Operation, ...]:
    """Return the operations; those that add a bullet and name no turn yet name this one.

    `withheld` are passages of the message that give no words.
    """
    if not any(isinstance(each, Add) for each in operations):
        return tuple(operations)
    text = source_text(turn.question, sensitive, withheld, turn.said)
    origin = _origin(text, turn.turn_id, turn.conversation_id)
    return tuple(
        each.model_copy(update=origin) if isinstance(each, Add) and each.turn_id is None else each
        for each in operations
    )


def from_trajectory(
    adds: Iterable[Add], turn: TurnRecord | FinishedTurn, sensitive: SensitiveFacts
) -> list[Add]:
    """Return the operations with a stored turn, or trajectory, as the turn, and its task as the text."""
    found = list(adds)
    if not found:
        return found
    message = turn.task if isinstance(turn, TurnRecord) else turn.question
    origin = _origin(source_text(message, sensitive), turn.turn_id, turn.conversation_id)
    return [add.model_copy(update=origin) for add in found]


def _origin(text: str, turn_id: str, conversation_id: str | None) -> dict[str, str | None]:
    return {"source_text": text, "turn_id": turn_id, "conversation_id": conversation_id}


def source_text(
    message: str,
    sensitive: SensitiveFacts,
    withheld: Iterable[str] = (),
    said: Sequence[Statement] | None = None,
) -> str:
    """Return the sentences of a learner's message whose words may be kept, a line each.

    `said` are the statements of the message, where it was read.
    """
    if asks_not_to_keep(message):
        return ""
    said = read_statements(message, Playbook(), "", sensitive) if said is None else said
    hidden = {_folded(each) for each in (*withheld, *_hidden(said)) if each.strip()}
    kept = {_folded(each.words) for each in said if isinstance(each.operation, Add)}
    sentences = (each for each in _END.split(message) if each.strip())
    return "\n".join(
        each
        for each in sentences
        if not any(words in _folded(each) or _folded(each) in words for words in hidden)
        and (
            sensitive == "keep" or not _tells_sensitive(each) or any(words in _folded(each) for words in kept)
        )
    )


def _hidden(said: Iterable[Statement]) -> Iterator[str]:
    """The words of requests to forget, of what they take back, and of statements that wait for a yes."""
    for statement in said:
        if statement.kind != "keep":
            yield statement.request
        elif statement.why == TAKEN_BACK or statement.after_yes:
            yield statement.words


def _tells_sensitive(sentence: str) -> bool:
    """Whether a sentence may tell something sensitive of somebody; a question about nobody does not."""
    language = spoken_language(sentence)
    if not is_sensitive(sentence, language):
        return False
    asks = sentence.rstrip().endswith(_ASKS)
    return not asks or any(holds_word(sentence, language, name) for name in _PERSONS)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
