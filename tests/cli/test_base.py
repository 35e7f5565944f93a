"""`--base`: a playbook from a file, in any format, that every learner is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.backend import Backend, payload
from tests.cli.commands import Commands

OTTERS = "[zoo-00001] helpful=3 harmful=0 :: Otters sleep holding hands\n"
QUESTION = "How do otters sleep?"


@pytest.fixture
def base(ace: Commands) -> str:
    (ace.folder / "base.txt").write_text(OTTERS, encoding="utf-8")
    return "base.txt"


def test_it_is_given_to_a_run(ace: Commands, base: str, capfd: pytest.CaptureFixture[str]) -> None:
    backend = Backend(ace, capfd)
    answer = backend.send(payload(QUESTION), "--base", base).json
    assert [name.split(":")[0] for name in answer["result"]["injected"]] == ["base"]
    assert backend.send(payload(QUESTION)).json["result"]["injected"] == []


def test_it_is_given_to_a_chat(ace: Commands, base: str) -> None:
    talked = ace.program("chat", "--base", base, stdin=f"{QUESTION}\n", ACE_LOG_LEVEL="INFO")
    assert talked.code == 0, talked.err
    assert "holding hands" in talked.out
    assert ace.bullets() == []


def test_a_file_of_which_a_part_is_refused_is_given_without_it(ace: Commands) -> None:
    Path("base.txt").write_text(f"{OTTERS}[zoo-00002] {'x' * 3_000}\n", encoding="utf-8")
    talked = ace.program("chat", "--base", "base.txt", stdin=f"{QUESTION}\n")
    assert "holding hands" in talked.out
    assert "base.txt: a bullet of the base playbook is left out: longer than 2000" in talked.err


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("words.txt", "words.txt is not a playbook: no bullet was found"),
        ("refused.json", "refused.json is not a playbook: none of its bullets can be used (empty text)"),
        ("newer.json", "newer.json is not a playbook: it has format 3"),
        ("absent.txt", "the base playbook absent.txt can't be read"),
    ],
)
def test_a_file_that_is_no_playbook_is_an_error(
    ace: Commands, capfd: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    Path("words.txt").write_text("no bullets in here\n", encoding="utf-8")
    Path("refused.json").write_text('[{"id": "a-1"}]', encoding="utf-8")
    Path("newer.json").write_text('{"format": 3, "bullets": []}', encoding="utf-8")
    ran = Backend(ace, capfd).send(payload(QUESTION), "--base", name)
    assert ran.code == 1
    assert ran.json["error"].startswith(why)
    talked = ace("chat", "--base", name, stdin=f"{QUESTION}\n")
    assert (talked.code, talked.out) == (1, "")
    assert why in talked.err


def test_an_empty_playbook_is_one_too(ace: Commands, capfd: pytest.CaptureFixture[str]) -> None:
    Path("base.json").write_text('{"format": 1, "bullets": []}', encoding="utf-8")
    assert Backend(ace, capfd).send(payload(QUESTION), "--base", "base.json").code == 0
