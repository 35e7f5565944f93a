"""Execution patterns: the rules of documents 000 and 001, in order."""

from __future__ import annotations

import pytest

from ace_graph.learning import (
    PATTERN_RULES,
    TOOL_KINDS,
    ExecutionReflector,
    PatternRule,
    SequenceOutcome,
    ToolCallRecord,
)


def call(name: str, argument: str = "", error: str | None = None) -> ToolCallRecord:
    key = "command" if TOOL_KINDS.get(name) == "shell" else "path"
    return {"name": name, "args": {key: argument}, "error": error}


def by_file_path(path: str) -> ToolCallRecord:
    return {"name": "read_file", "args": {"file_path": path}, "error": None}


def learn(*calls: ToolCallRecord, outcome: SequenceOutcome = "success") -> tuple[str, float] | None:
    found = ExecutionReflector().reflect("q", calls, outcome)
    return (found.category, found.confidence) if found else None


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("list_files", "."), call("read_file", "a.py")], ("file_operations", 0.75)),
        ([call("ls"), call("search", "x"), call("read_file", "a.py")], ("file_operations", 0.75)),
        ([call("read_file", "a.py"), call("write_file", "a.py")], ("file_operations", 0.80)),
        ([call("read_file", "a.py"), call("edit_file", "a.py")], ("file_operations", 0.80)),
        ([call("read_file", "a"), call("read_file", "b"), call("read_file", "c")], ("code_navigation", 0.70)),
        ([call("grep", "x"), call("read_file", "a.py")], ("code_navigation", 0.80)),
        ([call("search", "x"), call("search", "y")], ("code_navigation", 0.70)),
        ([call("write_file", "a.py"), call("bash", "pytest -q")], ("testing", 0.85)),
        ([call("edit_file", "a.py"), call("run_command", "cd x && npm run test:unit")], ("testing", 0.85)),
        ([call("read_file", "tests/test_a.py"), call("bash", "make test")], ("testing", 0.70)),
        ([call("bash", "pip install -r r.txt"), call("bash", "python app.py")], ("shell_commands", 0.80)),
        ([call("bash", "pip install x"), call("bash", "sh deploy.sh")], ("shell_commands", 0.80)),
        ([call("bash", "python3 -m pip install x"), call("bash", "sh deploy.sh")], ("shell_commands", 0.80)),
        ([call("bash", "make"), call("bash", "ctest")], ("shell_commands", 0.75)),
        ([call("bash", "npm ci && npm start"), call("bash", "true")], ("shell_commands", 0.80)),
        ([call("bash", "cargo build"), call("bash", "cargo test")], ("shell_commands", 0.75)),
        ([call("bash", "git status"), call("bash", "git commit -m x")], ("shell_commands", 0.75)),
        *(
            ([call("bash", "pip install x"), call("bash", command)], ("shell_commands", 0.80))
            for command in ("java -jar a.jar", "node a.js", "flask run", "uvicorn a:app", "gunicorn a", "./a")
        ),
        ([call("read_file", "nope", "not found")], ("error_handling", 0.70)),
        ([call("list_files", "."), call("read_file", "nope", "not found")], ("error_handling", 0.70)),
        ([call("bash", "frobnicate", "exit 127")], ("error_handling", 0.70)),
        ([call("write_file", "x/a.py", "no such folder")], ("error_handling", 0.70)),
        ([call("bash", "pytest", "1 failed"), call("bash", "pytest -q")], ("testing", 0.85)),
        (
            [
                call("read_file", "a.py"),
                call("bash", "pytest", "1 failed"),
                call("edit_file", "a.py"),
                call("bash", "pytest"),
            ],
            ("testing", 0.85),
        ),
        (
            [call("bash", "pytest", "1 failed"), call("bash", "make test", "1 failed")],
            ("error_handling", 0.70),
        ),
        ([call("read_file", "src/a.py"), call("read_file", "src/b.py")], ("file_operations", 0.70)),
        ([call("read_file", "a.py"), call("read_file", "b.py")], ("file_operations", 0.70)),
        (
            [call("read_file", "src/a"), call("read_file", "src/b"), call("read_file", "src/c")],
            ("code_navigation", 0.70),
        ),
        ([call("bash", "npm run build install"), call("bash", "cargo test")], ("shell_commands", 0.75)),
        ([by_file_path("tests/test_a.py"), call("bash", "make test")], ("testing", 0.70)),
        (
            [call("read_file", "nope", "not found"), call("ls", "."), call("read_file", "yes")],
            ("file_operations", 0.75),
        ),
    ],
)
def test_the_first_rule_that_matches_gives_the_lesson(
    calls: list[ToolCallRecord], expected: tuple[str, float]
) -> None:
    assert learn(*calls) == expected


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [call("read_file", "a.py")],
        [call("read_file", "a.py"), call("ls", ".")],
        [call("bash", "pytest"), call("write_file", "a.py")],
        [call("bash", "pytest"), call("bash", "pytest")],
        [call("read_file", "src/a.py"), call("read_file", "lib/b.py")],
        [call("read_file", "src/a.py"), call("read_file", "src/a.py")],
        [call("write_file", "a.py"), call("bash", "ls latest")],
        [call("write_file", "a.py"), call("bash", "cat test_results.txt")],
        [call("bash", "python app.py"), call("bash", "pip install x")],
        [call("bash", "git commit -m x"), call("bash", "git status")],
        [call("get_weather", "Oslo"), call("get_weather", "Rome")],
        [call("bash", "ls"), call("bash", "cargo test")],
        [call("bash", "pip install x"), call("bash", "sh")],
        [call("bash", "python app.py install"), call("bash", "sh deploy.sh")],
        [call("search", "x"), call("bash", "ls")],
    ],
)
def test_other_orders_and_single_reads_teach_nothing(calls: list[ToolCallRecord]) -> None:
    assert learn(*calls) is None


def test_the_example_of_document_001() -> None:
    calls: list[ToolCallRecord] = [
        {"name": "list_files", "args": {"path": "."}},
        {"name": "read_file", "args": {"file_path": "test.py"}},
    ]
    found = ExecutionReflector(min_tool_calls=2, min_confidence=0.6).reflect("check file", calls, "success")
    assert found is not None
    assert found.category == "file_operations"
    assert found.confidence >= 0.7
    assert found.content
    assert found.reasoning


@pytest.mark.parametrize(
    ("calls", "lesson"),
    [
        ([call("ls"), call("read_file", "a.py")], "List the directory before reading"),
        ([call("read_file", "a.py"), call("write_file", "a.py")], "Read a file before writing or editing it"),
        ([call("read_file", each) for each in "abc"], "Read the related files together"),
        ([call("grep", "x"), call("read_file", "a.py")], "Search for the keyword first"),
        ([call("search", "x"), call("search", "y")], "Narrow a search down"),
        ([call("write_file", "a.py"), call("bash", "pytest")], "Run the tests after changing code"),
        ([call("read_file", "test_a.py"), call("bash", "pytest")], "Read the test file before running"),
        ([call("bash", "pip install x"), call("bash", "./a")], "Install the dependencies before running"),
        ([call("bash", "make"), call("bash", "ctest")], "Build before running the tests"),
        ([call("bash", "git status"), call("bash", "git commit")], "Check git status before changing"),
        ([call("read_file", "nope", "not found")], "When a file can't be accessed, list its directory"),
        ([call("bash", "frobnicate", "exit 127")], "When a command fails, check"),
    ],
)
def test_the_lesson_says_what_the_sequence_shows(calls: list[ToolCallRecord], lesson: str) -> None:
    found = ExecutionReflector().reflect("q", calls, "success")
    assert found is not None
    assert found.content.startswith(lesson)


def test_by_default_two_calls_are_needed_and_a_confidence_of_six_tenths() -> None:
    one = [call("bash", "npm ci && npm start")]
    assert learn(*one) is None
    assert ExecutionReflector(min_tool_calls=1).reflect("q", one, "success") is not None
    calls = [call("get_weather", "Oslo"), call("get_weather", "Rome")]
    for confidence, dropped in ((0.59, True), (0.6, False)):
        rule = PatternRule("weather", "Ask for the weather once", confidence, "it was asked", lambda _: True)
        found = ExecutionReflector(rules=(rule,)).reflect("q", calls, "success")
        assert (found is None) == dropped


def test_a_higher_confidence_drops_less_certain_patterns() -> None:
    calls = [call("list_files", "."), call("read_file", "a.py")]
    assert ExecutionReflector(min_confidence=0.8).reflect("q", calls, "success") is None


def test_a_higher_number_of_calls_drops_short_successful_sequences() -> None:
    calls = [call("list_files", "."), call("read_file", "a.py")]
    demanding = ExecutionReflector(min_tool_calls=3)
    assert demanding.reflect("q", calls, "success") is None
    found = demanding.reflect("q", [call("read_file", "nope", "not found")], "partial")
    assert found is not None
    assert found.category == "error_handling"


def test_partial_counts_as_success_and_errors_teach_of_failures() -> None:
    calls = [call("list_files", "."), call("read_file", "a.py"), call("bash", "x", "exit 1")]
    assert learn(*calls, outcome="partial") == ("file_operations", 0.75)
    assert learn(*calls, outcome="error") == ("error_handling", 0.70)


def test_each_error_has_a_lesson_of_its_own() -> None:
    failed = (call("read_file", "a", "x"), call("write_file", "a", "x"), call("bash", "true", "x"))
    found = [ExecutionReflector().reflect("q", [each], "error") for each in failed]
    assert [each and each.content.split(",")[0].split(":")[0] for each in found] == [
        "When a file can't be accessed",
        "Check what must hold before an operation",
        "When a command fails",
    ]


def test_test_driven_work_is_named_before_the_change_in_it() -> None:
    calls = [call("bash", "pytest", "1 failed"), call("edit_file", "a.py"), call("bash", "pytest")]
    found = ExecutionReflector().reflect("q", calls, "success")
    assert found is not None
    assert found.reasoning == "a test command came after one that failed"
    assert learn(*calls, outcome="error") == ("error_handling", 0.70)


def test_a_user_adds_a_rule_and_a_tool() -> None:
    rule = PatternRule(
        "weather",
        "Ask for the weather of a city once",
        0.9,
        "two forecasts were fetched",
        lambda steps: sum(step.kind == "search" for step in steps) >= 2,
    )
    reflector = ExecutionReflector(
        rules=(rule, *PATTERN_RULES), tool_kinds={**TOOL_KINDS, "get_weather": "search"}
    )
    found = reflector.reflect("q", [call("get_weather", "Oslo"), call("get_weather", "Rome")], "success")
    assert found is not None
    assert found.category == "weather"
