"""The suites of others in tests/standard: what does not apply is left out, and the counts are printed.

A test that would be skipped is no test of ours, and a skip fails the gate; so each is named here with why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pytest

FOLDER = "tests/standard/"

_ANSWERS_ALONE = {
    "calls the project's calculator alone": (
        *("test_agent_loop", "test_bind_runnables_as_tools", "test_tool_calling", "test_tool_calling_async"),
        *("test_tool_calling_with_no_arguments", "test_tool_choice", "test_tool_message_error_status"),
        *("test_tool_message_histories_list_content", "test_tool_message_histories_string_content"),
        *("test_structured_few_shot_examples", "test_unicode_tool_call_integration"),
    ),
    "fills the project's own schemas alone": (
        *("test_json_mode", "test_structured_output", "test_structured_output_async"),
        *("test_structured_output_optional_param", "test_structured_output_pydantic_2_v1"),
    ),
    "reads text alone": (
        *("test_anthropic_inputs", "test_audio_inputs", "test_image_inputs", "test_image_tool_message"),
        *("test_pdf_inputs", "test_pdf_tool_message"),
    ),
    "is one model": (
        *("test_ainvoke_with_model_override", "test_astream_with_model_override"),
        *("test_invoke_with_model_override", "test_stream_with_model_override"),
    ),
    "uses no network that could be recorded": ("test_stream_time",),
}
_MADE_HERE = {"has no key in the environment": ("test_init_from_env",), "is not serialized": ("test_serdes",)}
_ROLES = {"takes its roles as keywords": ("test_init_streaming", "test_standard_params")}
NOT_APPLICABLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "TestOfflineTutor": _ANSWERS_ALONE,
    "TestOfflineTutorUnit": _MADE_HERE,
    "TestScriptedModelUnit": {**_MADE_HERE, **_ROLES},
}
"""Why tests of a class do not apply to what it tests."""


def _applies(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or item.cls is None:
        return True
    left_out = NOT_APPLICABLE.get(item.cls.__name__, {}).values()
    return item.originalname not in {name for names in left_out for name in names}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.nodeid.startswith(FOLDER)]
    inapplicable = {item.nodeid for item in ours if not _applies(item)}
    if inapplicable:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in inapplicable])
        items[:] = [item for item in items if item.nodeid not in inapplicable]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stats: Mapping[str, Iterable[object]] = terminalreporter.stats
    for outcome in ("passed", "failed", "error"):
        counts = Counter(
            report.nodeid.removeprefix(FOLDER).partition("::")[0].removeprefix("test_").removesuffix(".py")
            for report in stats.get(outcome, ())
            if isinstance(report, pytest.TestReport) and report.nodeid.startswith(FOLDER)
        )
        if counts:
            parts = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            terminalreporter.write_line(f"Standard suites, {outcome}: {parts} ({counts.total()} in all)")
