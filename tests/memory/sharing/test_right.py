"""The one function about rights: what of the grants counts, and from which moment on a declined one does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from ace_graph.memory import Grant, Relation, Right, Subject, right

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEAST = timedelta(microseconds=1)
BOB, OPS = Subject("user", "bob"), Subject("team", "ops")


@dataclass(frozen=True)
class Owned:
    playbook_id: str = "p"
    owner: str | None = "ada"


def grant(subject: Subject, relation: Relation, at: datetime = NOON, playbook_id: str = "p") -> Grant:
    return Grant(subject, relation, playbook_id, "ada", at)


def of_bob(*grants: Grant) -> Right:
    return right("bob", {"ops"}, Owned(), grants)


def test_the_highest_grant_to_the_user_or_a_team_of_theirs_counts() -> None:
    assert of_bob() is Right.NONE
    assert of_bob(grant(BOB, "viewer"), grant(OPS, "editor")) is Right.WRITE
    assert of_bob(grant(BOB, "owner"), grant(OPS, "viewer")) is Right.OWN


@pytest.mark.parametrize(
    "other",
    [
        grant(BOB, "owner", playbook_id="q"),
        grant(Subject("user", "Bob"), "owner"),
        grant(Subject("user", "ops"), "owner"),
        grant(Subject("team", "bob"), "owner"),
    ],
    ids=["another playbook", "another user", "a user named as the team", "a team named as the user"],
)
def test_other_grants_count_nothing(other: Grant) -> None:
    assert of_bob(other) is Right.NONE


def test_a_grant_to_an_agent_counts_where_it_acts() -> None:
    to_it = grant(Subject("agent", "crawler"), "editor")
    assert right("bob", (), Owned(), [to_it], "crawler") is Right.WRITE
    for user, agent in (("bob", None), ("bob", "other"), ("crawler", None), (None, "crawler")):
        assert right(user, {"crawler"}, Owned(), [to_it], agent) is Right.NONE
    for named_alike in (Subject("user", "crawler"), Subject("team", "crawler")):
        assert right("bob", (), Owned(), [grant(named_alike, "owner")], "crawler") is Right.NONE
    declined = [to_it, grant(BOB, "declined")]
    assert right("bob", (), Owned(), declined, "crawler") is Right.NONE


@pytest.mark.parametrize("to", [BOB, OPS])
@pytest.mark.parametrize(
    ("after", "held"), [(-LEAST, Right.NONE), (0 * LEAST, Right.NONE), (LEAST, Right.WRITE)]
)
def test_what_was_granted_until_the_user_declined_is_declined(
    to: Subject, after: timedelta, held: Right
) -> None:
    declined = grant(BOB, "declined")
    assert of_bob(declined, grant(to, "editor", NOON + after)) is held
    assert of_bob(grant(to, "editor", NOON + after), declined) is held


def test_the_last_time_that_a_user_declined_counts() -> None:
    again = [grant(BOB, "declined"), grant(BOB, "declined", NOON + 2 * LEAST)]
    assert of_bob(*again, grant(OPS, "editor", NOON + LEAST)) is Right.NONE
    assert of_bob(*again, grant(OPS, "editor", NOON + 3 * LEAST)) is Right.WRITE


def test_the_host_owns_what_nobody_owns_and_has_no_grants_elsewhere() -> None:
    assert right(None, {"ops"}, Owned(owner=None), ()) is Right.OWN
    assert right("bob", (), Owned(owner=None), ()) is Right.NONE
    assert right(None, {"ops"}, Owned(), [grant(OPS, "owner")]) is Right.NONE
