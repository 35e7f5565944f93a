"""Every example of README and docs/ runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.docs.blocks import OTHER_NAMES, RUNNABLE, Block, read_blocks, run_block
from tests.plugins.warm_python import WarmPython

ROOT = Path(__file__).resolve().parents[2]
RUN = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LINKED = [*RUN, ROOT / "examples" / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


def _anchors(markdown: str) -> set[str]:
    """The anchors that a Markdown page's headings get."""
    titles = re.findall(r"^#+\s+(.*)$", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def _examples() -> list[ParameterSet]:
    """Every block that is run, named by its place. Each runs in an empty folder of its own."""
    return [
        pytest.param(block, id=f"{document.relative_to(ROOT)}:{block.line}")
        for document in RUN
        for block in read_blocks(document.read_text(encoding="utf-8"))
        if block.language in RUNNABLE and block.not_run is None
    ]


@pytest.mark.parametrize("block", _examples())
def test_every_example_runs(block: Block, tmp_path: Path, warm_python: WarmPython) -> None:
    done = run_block(block, tmp_path, warm_python)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("document", RUN, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_example_that_is_not_run_says_why(document: Path) -> None:
    blocks = read_blocks(document.read_text(encoding="utf-8"))
    assert [block.line for block in blocks if block.not_run is not None and len(block.not_run) < 5] == []
    assert [block.line for block in blocks if block.language in OTHER_NAMES] == [], "write bash or python"


@pytest.mark.parametrize("document", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_somewhere(document: Path) -> None:
    for target, anchor in _LINK.findall(document.read_text(encoding="utf-8")):
        there = (document.parent / target).resolve() if target else document
        assert there.exists(), f"{document.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor[1:] in _anchors(there.read_text(encoding="utf-8")), f"{target}{anchor}"


def test_a_failing_example_is_seen(tmp_path: Path) -> None:
    shell, python = "```bash\nfalse | true\n```\n", "```python\nraise SystemExit(3)\n```\n"
    assert [run_block(block, tmp_path).returncode for block in read_blocks(shell + python)] == [1, 3]


def test_a_failing_example_is_seen_in_a_warm_python_too(tmp_path: Path, warm_python: WarmPython) -> None:
    shell, python = "```bash\nace-graph no-such-command\n```\n", "```python\nraise SystemExit(3)\n```\n"
    (command, code) = read_blocks(shell + python)
    assert run_block(command, tmp_path, warm_python).returncode == 2
    assert run_block(code, tmp_path, warm_python).returncode == 3


def test_an_example_may_await_at_its_top_level(tmp_path: Path) -> None:
    (block,) = read_blocks("```python\nimport asyncio\nprint(await asyncio.to_thread(str, 5))\n```\n")
    assert run_block(block, tmp_path).stdout == "5\n"


@pytest.mark.parametrize(
    "page", ["```bash\nls\n", "- so:\n  ```bash\n  ls\n  ```\n"], ids=["open", "indented"]
)
def test_a_fence_that_would_hide_its_example_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="fence"):
        read_blocks(page)


def test_the_mark_counts_only_right_before_its_block() -> None:
    page = "<!-- not run: needs a key -->\n```bash\na\n```\n\nwords\n\n```bash\nb\n```\n"
    assert [block.not_run for block in read_blocks(page)] == ["needs a key", None]


def test_an_example_sees_none_of_our_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "not-for-examples")
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    (block,) = read_blocks("```bash\nenv\n```\n")
    printed = run_block(block, tmp_path).stdout.splitlines()
    assert not [line for line in printed if line.startswith(("GEMINI_", "NEO4J_"))]
    assert {"ACE_MODEL=offline", f"HOME={tmp_path}"} <= set(printed)
