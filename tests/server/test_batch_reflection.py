"""What turns have in common, over HTTP."""

from __future__ import annotations

from tests.learning.reflected_runs import add_run, add_runs
from tests.server.serving import bearer
from tests.server.test_playbooks import served_store

PATH = "/api/trajectories/reflect"
FIRST = "Check the rate limit before you call the API"
AGAIN = "Check the rate limits before you call the API."


async def test_patterns_come_with_the_ids_that_curating_takes() -> None:
    async with served_store() as (served, store):
        runs = await add_runs(store, "alice", [FIRST, AGAIN, FIRST, "Cache the schema in a file"])
        await add_run(store, "alice", "other", FIRST, minute=9, agent="clerk")
        await add_run(store, "alice", "silent", minute=10, reflected=False)
        few = (await served.client.post(PATH, json={"taskType": "api_call", "minTrajectories": 7})).json()
        found = (await served.client.post(PATH, json={"agent": "crawler"})).json()
        again = (await served.client.post(PATH, json={"agent": "crawler"})).json()
        (pattern,) = [each for each in found["patterns"] if each["frequency"] == 3]
        body = {"reflections": [pattern["memoryId"]]}
        curated = (await served.client.post("/api/playbooks/default/curate", json=body)).json()
        (bullet,) = (await store.load("alice")).playbook.bullets()
    assert len(runs) == 4
    assert few == {
        "found": 6,
        "needed": 7,
        "trajectoryId": None,
        "patterns": [],
        "unreflected": [],
        "leftOut": 0,
    }
    assert (found["found"], found["unreflected"], again) == (5, ["silent"], found)
    assert (pattern["text"], pattern["polarity"]) == (FIRST, "strategy")
    assert pattern["trajectoryIds"] == ["run-0", "run-1", "run-2"]
    assert curated["added"] == [{"id": bullet.id, "text": FIRST}]
    assert bullet.evidence_count == 3


async def test_turns_of_others_are_not_read() -> None:
    async with served_store() as (served, store):
        await add_runs(store, "alice", [FIRST] * 5)
        ben = (await served.client.post(PATH, json={}, headers=bearer("ben"))).json()
        refused = [
            (await served.client.post(PATH, json=body)).status_code
            for body in (
                {"minTrajectories": 1},
                {"since": "yesterday"},
                {"since": 0},
                {"learner": "ben"},
                {"agent": ""},
            )
        ]
        absent = (await store.load("ben")).absent
    assert (ben["found"], ben["patterns"]) == (0, [])
    assert refused == [422] * 5
    assert absent
