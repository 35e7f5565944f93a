"""What `ace-graph run` writes to its log."""

from __future__ import annotations

import pytest

from tests.cli.backend import Backend, answered, payload
from tests.cli.commands import Commands


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
def test_thoughts_are_in_the_log_and_not_in_the_answer(backend: Backend, mode: str) -> None:
    done = backend.send(payload("calculate 12*5", mode))
    thoughts = [
        line.partition("[ACE Thought] ")[2] for line in done.err.splitlines() if "[ACE Thought]" in line
    ]
    assert thoughts
    answer = answered(done)["answer"]
    assert not any(mark in answer for mark in ("<scratch", "<final", "<used", "[ACE Thought]"))
    assert not any(thought in answer for thought in thoughts)


def test_every_lesson_and_every_change_is_a_line_in_the_log(ace: Commands, backend: Backend) -> None:
    learned = backend.send(payload("What is 1/2 + 1/3? Call me Ann.", ground_truth="5/6"))
    delta = answered(learned)["scratch"]["ace_delta"]
    lines = learned.err.splitlines()
    assert delta["num_new_bullets"] == 2
    assert sum("[Lesson " in line for line in lines) == 1
    for bullet in ace.bullets():
        added = [line for line in lines if f"[ACE Memory][Delta Add] id={bullet['id']}" in line]
        assert len(added) == 1
        assert bullet["content"] in added[0]
    again = backend.send(payload("What is 1/4 + 1/3?", ground_truth="7/12")).err
    assert "[Curator][Heuristic Reinforce] id=str-" in again
    assert "[ACE Memory][Dedup Merge] kept=str-" in again
    renamed = backend.send(payload("Call me Bob.")).err
    assert "supersedes=pro-" in renamed
    assert "[ACE Memory][Delta Remove] id=" in backend.send(payload("Forget that you call me Bob.")).err


def test_long_text_is_previewed_with_its_length(backend: Backend) -> None:
    question = "?" + "x" * 129
    err = backend.send(payload(question)).err
    assert f"{question[:120]}… [len=130]" in err
    assert question not in err
