"""What a worker needs to learn from a turn, as the text that is stored with it: bounded, and no state.

Texts are cut when the work is set aside: a question and an answer at 8,000 characters, the trace at its
last 6,000. The bullets that were shown are named by id; the worker reads them as they are by then.

Does not: learn from it (claimed.py does) or store it (it travels in the turn's commit).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ace_graph.errors import LearningError
from ace_graph.learning.lesson import Lesson
from ace_graph.learning.reflector import Subject
from ace_graph.memory.evidence import Evidence

__all__ = ["Look", "PendingWork", "read_work"]

TEXT_CHARS = 8_000
TRACE_CHARS = 6_000
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


class Look(BaseModel):
    """One turn to look back at: what it was, the evidence, and lessons that were found without a model.

    `standing` is what was known of it before and is voted on already; `reflects`: the reflector is asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Subject
    evidence: tuple[Evidence, ...] = ()
    standing: tuple[Evidence, ...] = ()
    reflects: bool = True
    found: tuple[Lesson, ...] = ()

    @property
    def known(self) -> tuple[Evidence, ...]:
        """All that is known of the turn, the newest last."""
        return (*self.standing, *self.evidence)

    def bounded(self) -> Look:
        """Return it with its texts cut."""
        told = self.subject
        revision = told.revision
        short = replace(
            told,
            question=_cut(told.question),
            additional_context=_cut(told.additional_context),
            answer=_cut(told.answer),
            reasoning=_cut(told.reasoning),
            trace=_end(told.trace),
            ground_truth=None if told.ground_truth is None else _cut(told.ground_truth),
            injected=tuple(told.injected),
            cited=tuple(told.cited),
            revision=None if revision is None else replace(revision, answer=_cut(revision.answer)),
        )
        return self.model_copy(update={"subject": short})


class PendingWork(BaseModel):
    """The turns to look back at, and how: the knobs of the run that the work comes from.

    Without `curates` the reflection is kept with the turn, and the playbook stays as it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    looks: tuple[Look, ...]
    max_reflection_rounds: int = 1
    model: str | None = None
    temperature: float | None = None
    curates: bool = True

    def text(self) -> str:
        """Return the text that is stored."""
        short = self.model_copy(update={"looks": tuple(look.bounded() for look in self.looks)})
        return short.model_dump_json()


def read_work(body: str) -> PendingWork:
    """Return the work in a stored text. Raises LearningError for one that can't be read."""
    try:
        return PendingWork.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise LearningError(f"the pending work can't be read ({where}: {first['msg']})") from error


def _cut(text: str) -> str:
    clean = _plain(text)
    return clean if len(clean) <= TEXT_CHARS else f"{clean[:TEXT_CHARS]}…"


def _end(trace: Sequence[str]) -> tuple[str, ...]:
    """The last lines that fit, the oldest of them cut at its front."""
    kept, room = list[str](), TRACE_CHARS
    for line in reversed(trace):
        clean = _plain(line)
        kept.append(clean[-room:])
        room -= len(kept[-1])
        if room <= 0:
            break
    return tuple(reversed(kept))


def _plain(text: str) -> str:
    """Without lone surrogates and controls, which would take six characters each in JSON."""
    return _CONTROLS.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
