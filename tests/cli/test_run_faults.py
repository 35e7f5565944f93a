"""`ace-graph run` when memory can't be read or written: nothing is lost, and it is said."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from tests.cli.backend import LEARNED, Backend, answered, payload, stored
from tests.cli.commands import Commands


def test_unreadable_memory_is_an_error_or_left_out_on_request(ace: Commands, backend: Backend) -> None:
    backend.ask(LEARNED)
    with closing(sqlite3.connect(ace.database)) as connection, connection:
        connection.execute("UPDATE ace_deltas SET effect_json = '{broken'")
    before = stored(ace)
    refused = backend.send(payload("Call me Bob."))
    assert refused.code == 1
    assert "can't be read" in json.loads(refused.out)["error"]
    answer = backend.ask(payload("What is 2+2? Call me Bob.", on_memory_error="answer"))
    assert "4" in answer["answer"]
    assert answer["scratch"]["_ace_memory_loaded"] is False
    assert answer["scratch"]["ace_delta"]["num_new_bullets"] == 0
    assert stored(ace) == before


def test_a_turn_that_can_not_be_saved_is_answered_and_says_so(ace: Commands, backend: Backend) -> None:
    backend.ask(LEARNED)
    with closing(sqlite3.connect(ace.database)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON ace_turns BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    before = stored(ace)
    done = backend.send(payload("What is 1/2 + 1/3?", ground_truth="5/6"))
    answer = answered(done)
    assert "5/6" in answer["answer"]
    assert "ace_delta" not in answer["scratch"]
    assert "no room" in answer["scratch"]["learning_error"]
    assert "could not be saved" in done.err
    assert stored(ace) == before
