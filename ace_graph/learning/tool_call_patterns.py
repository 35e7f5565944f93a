"""Execution patterns: lessons from a sequence of tool calls, without a model (documents 000 and 001).

Rules are tried in order, the first that matches gives the lesson. A user adds a rule as one small
`PatternRule`, and names tools of their own in another table of kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Literal, cast

# What a shell command is for: testing, installing, building, running, git.


CommandKind = Literal["test", "install", "build", "run", "git_status", "git"]
_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
_PREFIXES = frozenset({"sudo", "time", "env", "exec", "nohup"})
_RUNNERS = frozenset(
    {"pytest", "py.test", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "tox", "nox", "unittest"}
)
_LAUNCHERS = frozenset(
    {
        *(
            "npm",
            "yarn",
            "pnpm",
            "bun",
            "deno",
            "npx",
            "node",
            "go",
            "cargo",
            "make",
            "mvn",
            "gradle",
            "gradlew",
        ),
        *(
            "dotnet",
            "bundle",
            "rake",
            "uv",
            "poetry",
            "pdm",
            "hatch",
            "python",
            "python3",
            "ruby",
            "bash",
            "sh",
        ),
    }
)
_INSTALLERS = {
    "pip": {"install"},
    "pip3": {"install"},
    "npm": {"install", "ci", "i"},
    "yarn": {"install", "add"},
    "pnpm": {"install", "add"},
    "poetry": {"install", "add"},
    "uv": {"sync", "add", "install"},
    "apt": {"install"},
    "apt-get": {"install"},
    "brew": {"install"},
    "bundle": {"install"},
    "cargo": {"install", "fetch"},
    "go": {"get", "mod"},
    "conda": {"install"},
}
_BUILDERS = {"tsc", "cmake", "ninja", "webpack"}
_RUN_WORDS = {"start", "run", "serve", "dev"}
_SETTING = re.compile(r"\w+=\S*")
_TEST_WORD = re.compile(
    r"(?:run:)?tests?(?:[:_-].*)?|pytest|unittest|(?:.*/)?(?:test_[^/]*|[^/]*_tests?|run_?tests?)\.\w+"
)


def kinds_of(command: str) -> Iterator[CommandKind]:
    """Yield what each simple command of `command` is for, in order; what is nothing of these is left out."""
    for part in _SEPARATORS.split(command):
        words = list(dropwhile(_leads_up, part.split()))
        if words:
            kind = _shell_commands_kind(words[0].rsplit("/", 1)[-1], words)
            if kind is not None:
                yield kind


def _leads_up(word: str) -> bool:
    """Whether the command comes behind this word: sudo, or a variable that is set for it."""
    return word in _PREFIXES or _SETTING.fullmatch(word) is not None


def _shell_commands_kind(program: str, words: list[str]) -> CommandKind | None:
    rest = words[1:]
    if program == "git":
        return "git_status" if rest[:1] == ["status"] else "git"
    if program in _RUNNERS or (program in _LAUNCHERS and any(_TEST_WORD.fullmatch(word) for word in rest)):
        return "test"
    if _TEST_WORD.fullmatch(program) and words[0].startswith(("./", "bin/", "scripts/")):
        return "test"
    if _installs(program, rest):
        return "install"
    if program in _BUILDERS or "build" in rest or (program in ("make", "mvn") and not rest):
        return "build"
    return "run" if _runs(program, words) else None


def _installs(program: str, rest: list[str]) -> bool:
    if program in ("python", "python3") and rest[:2] == ["-m", "pip"]:
        return "install" in rest
    return bool(_INSTALLERS.get(program, set()) & set(rest[:2]))


def _runs(program: str, words: list[str]) -> bool:
    rest = words[1:]
    if words[0].startswith("./") or program in ("node", "flask", "uvicorn", "gunicorn", "java"):
        return True
    if program in ("python", "python3", "ruby", "bash", "sh"):
        return bool(rest)
    return program in _LAUNCHERS and bool(_RUN_WORDS & set(rest))


SequenceOutcome = Literal["success", "error", "partial"]
ToolKind = Literal["list", "read", "write", "search", "shell"]
TOOL_KINDS: Mapping[str, ToolKind] = {
    "list_files": "list",
    "list_directory": "list",
    "ls": "list",
    "read_file": "read",
    "write_file": "write",
    "edit_file": "write",
    "search": "search",
    "grep": "search",
    "run_command": "shell",
    "bash": "shell",
    "shell": "shell",
}
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
class PatternRule:
    """`matches` gets the steps in order that worked; a rule about failures, or with them, gets all.

    Of a sequence that failed as a whole only rules about failures teach.
    """

    category: str
    content: str
    confidence: float
    reasoning: str
    matches: Callable[[Sequence[ToolStep]], bool]
    about_failures: bool = False
    with_failures: bool = False

    def pattern(self) -> Pattern:
        return Pattern(self.category, self.content, self.confidence, self.reasoning)


Test = Callable[[ToolStep], bool]


def _kind(kind: ToolKind) -> Test:
    return lambda step: step.kind == kind


def _command(kind: CommandKind) -> Test:
    return lambda step: kind in step.commands


def _test_file_read(step: ToolStep) -> bool:
    name = step.path.rsplit("/", 1)[-1].casefold()
    stem = name.split(".", 1)[0]
    return step.kind == "read" and (
        stem.startswith("test_") or stem.endswith(("_test", "_tests")) or ".test." in name
    )


def _before(first: Test, then: Test) -> Callable[[Sequence[ToolStep]], bool]:
    """Whether a step that is `first` comes before one that is `then`."""

    def matches(steps: Sequence[ToolStep]) -> bool:
        start = next((i for i, step in enumerate(steps) if first(step)), None)
        return start is not None and any(then(step) for step in steps[start + 1 :])

    return matches


def _in_order(first: CommandKind, then: CommandKind) -> Callable[[Sequence[ToolStep]], bool]:
    """The same for shell commands, which may also stand in one command line."""

    def matches(steps: Sequence[ToolStep]) -> bool:
        kinds = [kind for step in steps for kind in step.commands]
        return first in kinds and then in kinds[kinds.index(first) + 1 :]

    return matches


def _at_least(count: int, test: Test) -> Callable[[Sequence[ToolStep]], bool]:
    return lambda steps: sum(1 for step in steps if test(step)) >= count


def _failed(kinds: frozenset[ToolKind]) -> Callable[[Sequence[ToolStep]], bool]:
    return lambda steps: any(step.failed and step.kind in kinds for step in steps)


def _read_in_one_folder(count: int) -> Callable[[Sequence[ToolStep]], bool]:
    """Whether exactly so many files were read, all of one folder."""

    def matches(steps: Sequence[ToolStep]) -> bool:
        paths = [step.path for step in steps if step.kind == "read"]
        folders = {path.rpartition("/")[0] for path in paths}
        return len(paths) == len(set(paths)) == count and all(paths) and len(folders) == 1

    return matches


_list, _read, _write, _search = _kind("list"), _kind("read"), _kind("write"), _kind("search")
_tests = _command("test")
PATTERN_RULES: tuple[PatternRule, ...] = (
    PatternRule(
        "testing",
        "Let a failing test say what to change, and run the tests again until they pass",
        0.85,
        "a test command came after one that failed",
        _before(lambda step: step.failed and _tests(step), lambda step: not step.failed and _tests(step)),
        with_failures=True,
    ),
    PatternRule(
        "file_operations",
        "List the directory before reading files, to know what is there",
        0.75,
        "a listing came before a read",
        _before(_list, _read),
    ),
    PatternRule(
        "file_operations",
        "Read a file before writing or editing it, so that nothing in it is lost",
        0.80,
        "a read came before a write",
        _before(_read, _write),
    ),
    PatternRule(
        "code_navigation",
        "Read the related files together before drawing conclusions",
        0.70,
        "three or more files were read",
        _at_least(3, _read),
    ),
    PatternRule(
        "code_navigation",
        "Search for the keyword first and read the files it is found in",
        0.80,
        "a search came before a read",
        _before(_search, _read),
    ),
    PatternRule(
        "code_navigation",
        "Narrow a search down in several steps when the first one finds too much or nothing",
        0.70,
        "two or more searches were made",
        _at_least(2, _search),
    ),
    PatternRule(
        "testing",
        "Run the tests after changing code, to see that it still works",
        0.85,
        "a test command came after a change",
        _before(_write, _tests),
    ),
    PatternRule(
        "testing",
        "Read the test file before running the tests, to know what they expect",
        0.70,
        "a test file was read before the test command",
        _before(_test_file_read, _tests),
    ),
    PatternRule(
        "shell_commands",
        "Install the dependencies before running the program",
        0.80,
        "an installation came before a run",
        _in_order("install", "run"),
    ),
    PatternRule(
        "shell_commands",
        "Build before running the tests, so that they test the newest state",
        0.75,
        "a build came before a test command",
        _in_order("build", "test"),
    ),
    PatternRule(
        "shell_commands",
        "Check git status before changing anything with git",
        0.75,
        "git status came before another git command",
        _in_order("git_status", "git"),
    ),
    PatternRule(
        "file_operations",
        "Read the related files of a folder together, to see what belongs to what",
        0.70,
        "two files of one folder were read",
        _read_in_one_folder(2),
    ),
    PatternRule(
        "error_handling",
        "When a file can't be accessed, list its directory to find the right path",
        0.70,
        "a file access failed",
        _failed(frozenset({"read", "list"})),
        about_failures=True,
    ),
    PatternRule(
        "error_handling",
        "Check what must hold before an operation: that the folder is there, and that you may write",
        0.70,
        "a change of a file failed",
        _failed(frozenset({"write"})),
        about_failures=True,
    ),
    PatternRule(
        "error_handling",
        "When a command fails, check the environment before trying again",
        0.70,
        "a command failed",
        _failed(frozenset({"shell"})),
        about_failures=True,
    ),
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
