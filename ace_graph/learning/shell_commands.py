"""What a shell command is for: testing, installing, building, running, git."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile
from typing import Literal

__all__ = ["CommandKind", "kinds_of"]

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
            kind = _kind(words[0].rsplit("/", 1)[-1], words)
            if kind is not None:
                yield kind


def _leads_up(word: str) -> bool:
    """Whether the command comes behind this word: sudo, or a variable that is set for it."""
    return word in _PREFIXES or _SETTING.fullmatch(word) is not None


def _kind(program: str, words: list[str]) -> CommandKind | None:
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
