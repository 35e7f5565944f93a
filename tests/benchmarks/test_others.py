"""The comparison with langmem and mem0, without them: they are not installed where this runs."""

from __future__ import annotations

import json
import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ace_graph.base import ConfigurationError
from benchmarks.quality import __main__ as quality
from benchmarks.quality.conversations.conversation import Asked, Conversation, Fact, Turn
from benchmarks.quality.others import packages
from benchmarks.quality.others.no_network import no_network
from benchmarks.quality.others.run import Timed, report, tables
from benchmarks.quality.retrieval.cases import Case, Question
from benchmarks.quality.retrieval.methods import Shown

SMALL = Conversation(
    "english_small",
    (Turn("1.1", "My kettle leaks."), Turn("1.2", "I moved to Rome.")),
    (Fact("1.1a", "The kettle of Ann leaks"), Fact("1.2a", "Ann moved to Rome")),
    (
        Asked("ask", ("1.1a",), "What leaks?"),
        Asked("ask", ("1.2a",), "Where does Ann live?"),
        Asked("other", (), "What is a prime?"),
    ),
)


def first_bullet(case: Case, question: Question) -> Shown:
    return Shown(tuple(case.playbook.entries)[:1], 7)


def test_each_way_has_a_row_in_both_tables() -> None:
    told = tables([SMALL], [], {"first": first_bullet, "none": lambda case, question: Shown((), 0)})
    rows = [line.split(" | ") for line in told.splitlines() if line.startswith(("| first", "| none"))]
    assert [row[0] for row in rows] == ["| first", "| none"] * 2
    assert [row[1:6] for row in rows[:2]] == [
        ["0.500", "0.500", "7", "7", "1.000"],
        ["0.000", "0.000", "0", "0", "0.000"],
    ]


def test_the_first_question_to_a_memory_is_not_counted() -> None:
    asked = list[str]()

    def way(case: Case, question: Question) -> Shown:
        asked.append(question.text)
        return Shown((), 0)

    timed, case = Timed(way), Case("one", quality.retrieval.read_cases()[0].playbook, ())
    for text in ("a", "b"):
        timed(case, Question(text, frozenset()))
    assert (asked, timed.questions) == (["a", "a", "b"], 2)
    assert timed.milliseconds() >= 0


def test_a_connection_is_refused_and_told_and_files_are_not() -> None:
    with no_network() as attempts, socket.socket(socket.AF_INET) as one:
        with pytest.raises(ConnectionError, match="without a network"):
            one.connect(("127.0.0.1", 9))
        with pytest.raises(ConnectionError, match="without a network"):
            socket.getaddrinfo("localhost", 80)
        with socket.socket(socket.AF_UNIX) as local, pytest.raises(FileNotFoundError):
            local.connect("/nonexistent/socket")
    assert attempts.made == ["connection to ('127.0.0.1', 9)", "address of localhost"]
    with socket.socket(socket.AF_INET) as after:
        assert after.connect_ex(("127.0.0.1", 9)) != 0
    assert len(attempts.made) == 2, "it watches only inside"


def test_what_is_missing_is_named_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> object:
        return None if name in ("mem0", "langmem") else find_spec(name)

    monkeypatch.setattr(packages, "find_spec", absent)
    with pytest.raises(
        ConfigurationError, match=r"langmem, mem0.*benchmarks/quality/others/requirements.txt"
    ):
        report("tuning")
    monkeypatch.setattr(sys, "argv", ["quality", "others"])
    with pytest.raises(SystemExit) as stopped:
        quality.main()
    assert stopped.value.code == 2
    assert "pip install" in capsys.readouterr().err


def test_the_requirements_pin_versions_and_name_no_registry() -> None:
    file = Path(packages.__file__).with_name("requirements.txt")
    lines = [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert sorted(line.partition("==")[0] for line in lines) == [
        "fastembed",
        "langmem",
        "mem0ai",
        "wordllama",
    ]
    assert all(line.partition("==")[2] for line in lines)
    assert "://" not in json.dumps(lines)
