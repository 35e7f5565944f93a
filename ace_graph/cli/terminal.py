"""Output for people: rich on a terminal, plain lines elsewhere; bars, and one line about what a turn learned.

Text of others is made printable first, so that it can't move the cursor, change colours or be read as markup.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Protocol

    from rich.console import Console
    from rich.progress import TaskID

    from ace_graph.agent.state import Learning
    from ace_graph.memory.playbook import Playbook
    from ace_graph.memory.turn import LearnedInto

    class ShowProgress(Protocol):
        """Shows how far a phase is."""

        def __call__(self, phase: str, done: int, of: int, remark: str = "") -> None: ...


PLAIN_WIDTH = 110
"""Columns of a table that goes to a file or a pipe."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def printable(text: str, *, lines: bool = False) -> str:
    """Return `text` with control and direction characters escaped; with `lines` line breaks stay."""
    clean = _SURROGATES.sub("\ufffd", text)
    shown = _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), clean)
    return shown if lines else shown.replace("\n", "\\n")


def console(*, error: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def print_line(text: str) -> None:
    """Print text that others may have written as one line, which is never broken."""
    print(printable(text).expandtabs())


def print_aside(text: str) -> None:
    """Print text that others may have written as one line on stderr: a remark beside the result."""
    print(printable(text).expandtabs(), file=sys.stderr)


def print_notice(text: str) -> None:
    """Print one line on stderr, without colours and without wrapping."""
    print(f"ace-graph: {printable(text)}", file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """Print one JSON value, and nothing else, on stdout; moments in it in the form of ISO 8601."""
    print(json.dumps(value, default=datetime.isoformat, ensure_ascii=False, indent=2))


def picked(source: object, *names: str) -> dict[str, object]:
    """Return these attributes by their names."""
    return {name: getattr(source, name) for name in names}


def counted(number: int, what: str) -> str:
    """Return "1 bullet" or "2 bullets"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


@contextmanager
def progress_bar(*, lines: int = 0) -> Generator[ShowProgress]:
    """Yield what shows how far a phase of long work is: its name, the steps done, all, and a remark.

    It is a bar on a terminal; elsewhere `lines` lines a phase, one after the other.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    name, remarks = TextColumn("{task.description}"), TextColumn("{task.fields[remark]}")
    columns = (name, BarColumn(), MofNCompleteColumn(), remarks, TimeRemainingColumn())
    terminal = sys.stderr.isatty()
    with Progress(*columns, console=console(error=True), disable=not terminal) as bar:
        tasks: dict[str, TaskID] = {}
        told: dict[str, int] = {}

        def show(phase: str, done: int, of: int, remark: str = "") -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=of, remark=remark)
            bar.update(tasks[phase], completed=done, remark=remark)
            part = done * lines // of if of else lines
            if not terminal and part > told.get(phase, 0):
                told[phase] = part
                print_notice(f"{phase}: {done} of {of}{', ' if remark else ''}{remark}")

        yield show


def tolerant_streams() -> None:
    """Replace characters that a stream can't encode or decode, so that they don't end the program."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


_MAX_TEXT = 70
_MAX_REMOVED = 8
_WAYS: Mapping[str, str] = {"success": "for", "failure": "against"}


def learning_summary(learning: Learning, playbook: Playbook | None = None) -> str:
    """Return "learned: ..." in ids, with the text of what is new."""
    if learning["unsaved"] is not None:
        return f"not saved: {printable(learning['error'] or '')}"
    if learning["skipped"] is not None:
        return f"not learned: {printable(learning['skipped'])}"
    parts = list[str]()
    if judged := learning["feedback"]:
        checked = judged["verdict"] == "unknown"
        word = f"your word on the answer before: {judged['verdict']}"
        parts.append("the answer before was checked, and stands" if checked else word)
    kept_back = learning["quarantined"]
    parts += [f"+ {_with_content(name, playbook)}" for name in learning["added"] if name not in kept_back]
    parts += [f"again {_with_content(name, playbook)}" for name in learning["updated"]]
    parts += _votes_text(learning, playbook)
    parts += [f"{pair['kept']} absorbed {pair['gone']}" for pair in learning["merged"]]
    parts += [f"{pair['kept']} replaces {pair['gone']}" for pair in learning["superseded"]]
    gone = learning["removed"]
    parts += [f"- {name}" for name in gone] if len(gone) <= _MAX_REMOVED else [f"- {len(gone)} bullets"]
    parts += [f"in quarantine {_with_content(name, playbook)}" for name in kept_back]
    parts += into_text(learning["learned_into"])
    summary = "; ".join(parts) or "nothing new"
    trouble = f" (but {printable(learning['error'])})" if learning["error"] else ""
    return f"learned: {summary}{trouble}"


def into_text(into: LearnedInto | None) -> list[str]:
    """What became of lessons for a named playbook, in up to two parts: what went there, what did not."""
    if into is None:
        return []
    how = "written into" if into["how"] == "written" else "proposed to"
    name, count = printable(into["playbook"]), into["count"]
    parts = [f"{counted(count, 'lesson')} {how} {name}"] if count else list[str]()
    why = printable(into["why"] or "")
    if into["kept"]:
        return [*parts, f"{counted(into['kept'], 'lesson')} kept in your own memory, not in {name}: {why}"]
    return parts or [f"nothing new for {name}: {why}"]


def _votes_text(learning: Learning, playbook: Playbook | None) -> list[str]:
    """Which way the turn's votes went: "voted for a, b", "voted against c"."""
    if playbook is None:
        return [f"voted on {', '.join(learning['tagged'])}"] if learning["tagged"] else []
    judged, names = learning["feedback"], dict[str, list[str]]()
    turns = [learning["turn_id"], *([judged["turn_id"]] if judged else [])]
    votes = [vote for turn in turns if turn in playbook.votes for vote in playbook.votes[turn].values()]
    for name in learning["tagged"]:
        said = [vote.verdict for vote in votes if name in vote.bullet_ids]
        way = _WAYS.get(said[-1], "on") if len(set(said)) == 1 else "on"
        names.setdefault(way, []).append(name)
    return [f"voted {way} {', '.join(ids)}" for way, ids in names.items()]


def _with_content(bullet_id: str, playbook: Playbook | None) -> str:
    bullet = playbook.get_bullet(bullet_id) if playbook else None
    if bullet is None:
        return bullet_id
    text = printable(bullet.content)
    return f"{bullet_id} {text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + '…'}"


class WordWrap:
    """Breaks text that comes in pieces into lines at words; hands it on to `write`.

    Existing line breaks and spaces stay, and a word wider than a line is not broken. Each word is handed on
    once it is whole; `end` hands on the last one.
    """

    def __init__(self, write: Callable[[str], None], width: int) -> None:
        self._write = write
        self._width = width
        self._column = 0
        self._spaces = ""
        self._word = ""

    def show(self, text: str) -> None:
        """Take the next piece."""
        for piece in text.splitlines(keepends=True):
            line = piece.rstrip("\n")
            for part in ("".join(run) for _, run in groupby(line, key=str.isspace)):
                if part.isspace():
                    self._finish_word()
                    self._spaces += part
                else:
                    self._word += part
            if piece.endswith("\n"):
                self.end()
                self._write("\n")
                self._column = 0

    def end(self) -> None:
        """Hand on what is held back."""
        self._finish_word()
        self._put(self._spaces)
        self._spaces = ""

    def _finish_word(self) -> None:
        if not self._word:
            return
        from rich.cells import cell_len

        needed = cell_len(self._spaces) + cell_len(self._word)
        if self._column and self._column + needed > self._width:
            self._write("\n")
            self._column, self._spaces = 0, ""
        self._put(self._spaces + self._word)
        self._spaces = self._word = ""

    def _put(self, text: str) -> None:
        from rich.cells import cell_len

        if text:
            self._write(text)
            self._column += cell_len(text)
