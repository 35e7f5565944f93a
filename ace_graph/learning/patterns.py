"""Execution patterns: lessons from a sequence of tool calls, without a model (documents 000 and 001).

Rules are tried in order, the first that matches gives the lesson. A user adds a rule as one small
`PatternRule`, and names tools of their own in another table of kinds. The rules of the package, and the words
that tell what a command is for, are in data/patterns.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator

from ace_graph.base.tables import read_toml

CommandKind = Literal["test", "install", "build", "run", "git_status", "git"]
SequenceOutcome = Literal["success", "error", "partial"]
ToolKind = Literal["list", "read", "write", "search", "shell"]
_Words = Annotated[frozenset[str], BeforeValidator(str.split)]


class _Rule(BaseModel):
    """A rule as the file has it: the lesson, and the sequence that teaches it."""

    category: str
    content: str
    confidence: float
    reasoning: str
    about_failures: bool = False
    with_failures: bool = False
    before: tuple[str, str] | None = None
    commands: tuple[CommandKind, CommandKind] | None = None
    at_least: tuple[int, str] | None = None
    one_folder: int = 0
    failed: _Words = frozenset()


class _Table(BaseModel):
    prefixes: _Words
    runners: _Words
    launchers: _Words
    builders: _Words
    run_words: _Words
    installers: dict[str, _Words]
    tools: dict[str, ToolKind]
    rule: tuple[_Rule, ...]


_TABLE = _Table.model_validate(read_toml("ace_graph.learning", "patterns.toml"))
_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
_SETTING = re.compile(r"\w+=\S*")
_TEST_WORD = re.compile(
    r"(?:run:)?tests?(?:[:_-].*)?|pytest|unittest|(?:.*/)?(?:test_[^/]*|[^/]*_tests?|run_?tests?)\.\w+"
)


def kinds_of(command: str) -> Iterator[CommandKind]:
    """Yield what each simple command of `command` is for, in order; what is nothing of these is left out."""
    for part in _SEPARATORS.split(command):
        # The command comes behind sudo and the like, and behind the variables that are set for it.
        words = list(
            dropwhile(lambda word: word in _TABLE.prefixes or _SETTING.fullmatch(word), part.split())
        )
        kind = _command_kind(words[0].rsplit("/", 1)[-1], words) if words else None
        if kind is not None:
            yield kind


def _command_kind(program: str, words: list[str]) -> CommandKind | None:
    rest = words[1:]
    if program == "git":
        return "git_status" if rest[:1] == ["status"] else "git"
    if program in _TABLE.runners or (
        program in _TABLE.launchers and any(_TEST_WORD.fullmatch(word) for word in rest)
    ):
        return "test"
    if _TEST_WORD.fullmatch(program) and words[0].startswith(("./", "bin/", "scripts/")):
        return "test"
    if _installs(program, rest):
        return "install"
    if program in _TABLE.builders or "build" in rest or (program in ("make", "mvn") and not rest):
        return "build"
    return "run" if _runs(program, words) else None


def _installs(program: str, rest: list[str]) -> bool:
    if program in ("python", "python3") and rest[:2] == ["-m", "pip"]:
        return "install" in rest
    return bool(_TABLE.installers.get(program, frozenset()) & set(rest[:2]))


def _runs(program: str, words: list[str]) -> bool:
    rest = words[1:]
    if words[0].startswith("./") or program in ("node", "flask", "uvicorn", "gunicorn", "java"):
        return True
    if program in ("python", "python3", "ruby", "bash", "sh"):
        return bool(rest)
    return program in _TABLE.launchers and bool(_TABLE.run_words & set(rest))


TOOL_KINDS: Mapping[str, ToolKind] = _TABLE.tools
"""What each known tool does. Pass another table to `ExecutionReflector` to add tools of your own."""
ToolCallRecord = Mapping[str, object]
"""A LangChain tool call, `{"name", "args"}`, with `error` set where it failed.

The path is read from the arguments `path` or `file_path`, the command from `command`.
"""


@dataclass(frozen=True)
class ToolStep:
    """One tool call as the rules see it."""

    kind: ToolKind | None
    path: str
    commands: tuple[CommandKind, ...]
    failed: bool


@dataclass(frozen=True)
class Pattern:
    """A lesson found in a sequence. `confidence` is in [0, 1]."""

    category: str
    content: str
    confidence: float
    reasoning: str


@dataclass(frozen=True)
class PatternRule(Pattern):
    """A lesson, and when it is found.

    `matches` gets the steps in order that worked; a rule about failures, or with them, gets all. Of a
    sequence that failed as a whole only rules about failures teach.
    """

    matches: Callable[[Sequence[ToolStep]], bool]
    about_failures: bool = False
    with_failures: bool = False

    def pattern(self) -> Pattern:
        return Pattern(self.category, self.content, self.confidence, self.reasoning)


Test = Callable[[ToolStep], bool]
Matcher = Callable[[Sequence[ToolStep]], bool]


def _is_test_file_read(step: ToolStep) -> bool:
    name = step.path.rsplit("/", 1)[-1].casefold()
    stem = name.split(".", 1)[0]
    return step.kind == "read" and (
        stem.startswith("test_") or stem.endswith(("_test", "_tests")) or ".test." in name
    )


def _step_test(name: str) -> Test:
    """Return the test of a step that a rule names: a kind of tool, or one of the others here."""
    others: dict[str, Test] = {
        "test": lambda step: "test" in step.commands,
        "failed_test": lambda step: step.failed and "test" in step.commands,
        "passed_test": lambda step: not step.failed and "test" in step.commands,
        "test_file": _is_test_file_read,
    }
    return others.get(name, lambda step: step.kind == name)


def _matcher(rule: _Rule) -> Matcher:
    if rule.before is not None:
        first, then = map(_step_test, rule.before)

        def in_order(steps: Sequence[ToolStep]) -> bool:
            start = next((i for i, step in enumerate(steps) if first(step)), None)
            return start is not None and any(map(then, steps[start + 1 :]))

        return in_order
    if rule.commands is not None:
        leading, following = rule.commands

        def run_in_order(steps: Sequence[ToolStep]) -> bool:
            kinds = [kind for step in steps for kind in step.commands]
            return leading in kinds and following in kinds[kinds.index(leading) + 1 :]

        return run_in_order
    if rule.at_least is not None:
        count, test = rule.at_least[0], _step_test(rule.at_least[1])
        return lambda steps: sum(map(test, steps)) >= count
    if rule.one_folder:

        def read_in_one_folder(steps: Sequence[ToolStep]) -> bool:
            paths = [step.path for step in steps if step.kind == "read"]
            folders = {path.rpartition("/")[0] for path in paths}
            return len(paths) == len(set(paths)) == rule.one_folder and all(paths) and len(folders) == 1

        return read_in_one_folder
    return lambda steps: any(step.failed and step.kind in rule.failed for step in steps)


_SAME = {"category", "content", "confidence", "reasoning", "about_failures", "with_failures"}
PATTERN_RULES = tuple(
    PatternRule(**rule.model_dump(include=_SAME), matches=_matcher(rule)) for rule in _TABLE.rule
)


@dataclass(frozen=True)
class ExecutionReflector:
    """Finds at most one lesson in a sequence of tool calls.

    Sequences shorter than `min_tool_calls` teach nothing unless a call failed; a lesson less certain than
    `min_confidence` is dropped.
    """

    min_tool_calls: int = 2
    min_confidence: float = 0.6
    rules: Sequence[PatternRule] = PATTERN_RULES
    tool_kinds: Mapping[str, ToolKind] = field(default_factory=lambda: TOOL_KINDS)

    def reflect(
        self, query: str, tool_calls: Sequence[ToolCallRecord], outcome: SequenceOutcome
    ) -> Pattern | None:
        """Return the first rule's lesson that matches, None for nothing to learn.

        `query` and `outcome` are part of the interface of document 001; a sequence that failed as a whole
        (`outcome="error"`) teaches about its failures only.
        """
        steps = [_step(call, self.tool_kinds) for call in tool_calls]
        if len(steps) < self.min_tool_calls and not any(step.failed for step in steps):
            return None
        worked = [step for step in steps if not step.failed]
        for rule in self.rules:
            if outcome == "error" and not rule.about_failures:
                continue
            seen = steps if rule.about_failures or rule.with_failures else worked
            if rule.confidence >= self.min_confidence and rule.matches(seen):
                return rule.pattern()
        return None


def _step(call: ToolCallRecord, tool_kinds: Mapping[str, ToolKind]) -> ToolStep:
    given = call.get("args")
    args: Mapping[str, object] = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else {}
    path = args.get("path") or args.get("file_path")
    kind = tool_kinds.get(str(call.get("name")))
    command = args.get("command")
    commands = tuple(kinds_of(command)) if kind == "shell" and isinstance(command, str) else ()
    return ToolStep(kind, path if isinstance(path, str) else "", commands, bool(call.get("error")))
