"""The prompts, one file per role, and the only way to fill them in.

A prompt is a markdown file with `{{name}}` places. `Prompts.load` reads all of them once and refuses a
file that lacks a variable its role fills, or names one that nobody fills: at start, not in a turn. A
folder of the user's (ACE_PROMPTS_DIR) replaces the files that it holds.

Text that comes from outside (questions, answers, tool results, bullets, traces) goes into a prompt
through `data_block` only: delimited, its delimiter escaped, bounded in length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from ace_graph.base.errors import PromptError
from ace_graph.base.text import truncate

__all__ = [
    "NOT_ASKED",
    "PROMPT_VARIABLES",
    "Prompts",
    "data_block",
    "preview",
]

NOT_ASKED = 'I keep such things only when you ask me to: say "remember that ..."'
"""Why a statement is not kept: learning puts it into the prompt, and the offline tutor says it."""
PROMPT_VARIABLES: Mapping[str, frozenset[str]] = {
    "base": frozenset(),
    "answer": frozenset(),
    "critique": frozenset({"critique"}),
    "host": frozenset(),
    "memory_changes": frozenset({"changes"}),
    "objection": frozenset({"check"}),
    "retry": frozenset({"lessons"}),
    "react": frozenset({"max_turns"}),
    "tot_expand": frozenset({"breadth", "question", "path"}),
    "tot_score": frozenset({"question", "thoughts"}),
    "tot_answer": frozenset({"path"}),
    "reflector": frozenset(
        {"question", "answer", "trace", "bullets", "ground_truth", "evidence", "reflections"}
    ),
    "reflect_again": frozenset({"new_answer", "new_evidence"}),
    "reflect_together": frozenset({"turns"}),
    "curator": frozenset({"question", "analysis", "lessons", "bullets", "progress"}),
    "consolidator": frozenset({"items", "problem"}),
}
"""Each prompt's file name (without .md) and the variables that its role fills."""
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?(\w+))")
_DEFAULT_LIMIT = 8_000


def preview(text: object, limit: int = 120) -> str:
    """Return the first `limit` characters on one line, with the full length where something was cut.

    Half a character (a lone surrogate) becomes "?": whoever writes the line as UTF-8 would fail on it.
    """
    line = str(text).replace("\r", " ").replace("\n", " ")
    return truncate(line, limit, show_length=True)


def data_block(name: str, text: str, *, limit: int = _DEFAULT_LIMIT) -> str:
    """Return `text` as data between `<name>` and `</name>`, cut at `limit` characters.

    Whatever in the text looks like this block's tags is escaped, so the text can't end the block.
    """
    own = name.casefold()
    body = truncate(text, limit, show_length=True)
    safe = _TAG.sub(lambda tag: "&lt;" if tag[1].casefold() == own else "<", body)
    return f"<{name}>\n{safe}\n</{name}>"


@dataclass(frozen=True)
class Prompts:
    """All prompt texts, checked."""

    texts: Mapping[str, str]

    @classmethod
    def load(cls, folder: Path | None = None) -> Prompts:
        """Read every prompt, from `folder` where it has the file, else from the package.

        Raises PromptError for a folder that is not there, a file that no role has, or wrong variables.
        """
        texts = {name: files(__name__).joinpath(f"{name}.md").read_text("utf-8") for name in PROMPT_VARIABLES}
        if folder is not None:
            if not folder.is_dir():
                raise PromptError(f"the prompts folder {folder} does not exist: check ACE_PROMPTS_DIR")
            found = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.md"))}
            for name in sorted(found.keys() - PROMPT_VARIABLES.keys()):
                near = get_close_matches(name, PROMPT_VARIABLES, 1)
                advice = f"did you mean {near[0]}.md?" if near else "docs/tuning/prompts.md lists the files"
                raise PromptError(f"unknown prompt {name}.md in {folder}: {advice}")
            texts.update(found)
        for name, text in texts.items():
            _check(name, text)
        return cls({name: text.strip() for name, text in texts.items()})

    def render(self, name: str, **values: str) -> str:
        """Return the prompt with its places filled. Raises PromptError for a missing or an unknown one."""
        wanted = PROMPT_VARIABLES[name]
        odd = ", ".join(sorted(wanted.symmetric_difference(values)))
        if odd:
            raise PromptError(f"prompt {name}: variables missing or unknown: {odd}")
        return _PLACE.sub(lambda place: values[place.group(1)], self.texts[name])


def _check(name: str, text: str) -> None:
    found, wanted = frozenset[str](_PLACE.findall(text)), PROMPT_VARIABLES[name]
    if found != wanted:
        missing, unknown = sorted(wanted - found), sorted(found - wanted)
        raise PromptError(f"prompt {name}.md: missing variables {missing}, unknown variables {unknown}")
