"""Facts that say when they are true: what a prompt says of it, and what was known or true on a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest
from pydantic import ValidationError

from ace_graph.memory import Access, Bullet, Playbook, Policy, Snapshot, apply, resolve
from ace_graph.memory.delta import Add, Delta, Remove, Update
from ace_graph.memory.retrieval import Retrieved, in_words, is_shown
from ace_graph.memory.retrieval.current_values import filtered
from ace_graph.memory.retrieval.retrieve import prompt_line
from ace_graph.memory.views import BulletFilter
from tests.memory.retrieval.queries import NOW, THEN, ask, bullet, ids, why

ASKED = "Where does Ada live?"
TODAY = NOW.date()
ROME, BERLIN = "Ada lives in Rome", "Ada lives in Berlin"


def fact(key: str, content: str, *, day: int = 0, **fields: object) -> Bullet:
    at = THEN + timedelta(days=day)
    return bullet(key, content, section="facts", created_at=at, updated_at=at, **fields)


def lines(bullets: list[Bullet], question: str = ASKED, *, valid_on: date | None = None) -> list[str]:
    found = ask(bullets, question, valid_on=valid_on)
    return [prompt_line(scored).split("] ", 2)[2] for scored in (*found.core, *found.retrieved)]


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (None, None, ROME),
        (date(2025, 5, 1), None, f"{ROME} (since 2025-05-01)"),
        (TODAY, None, f"{ROME} (since 2026-01-01)"),
        (date(2026, 1, 2), None, f"{ROME} (from 2026-01-02 on)"),
        (None, TODAY, f"{ROME} (until 2026-01-01)"),
        (None, date(2025, 12, 31), f"{ROME} (was true until 2025-12-31)"),
        (date(2020, 1, 1), date(2021, 1, 1), f"{ROME} (was true 2020-01-01 until 2021-01-01)"),
        (date(2020, 1, 1), date(2027, 1, 1), f"{ROME} (2020-01-01 until 2027-01-01)"),
    ],
)
def test_a_line_says_when_it_is_true(first: date | None, last: date | None, told: str) -> None:
    assert lines([fact("fac-00001", ROME, valid_from=first, valid_until=last)]) == [told]


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_values_the_one_of_today_is_shown(turned: bool) -> None:
    rome = fact("fac-00001", ROME, valid_from=date(2025, 5, 1))
    berlin = fact("fac-00002", BERLIN, day=1, valid_from=date(2020, 1, 1))
    assert lines([berlin, rome] if turned else [rome, berlin]) == [
        f"{ROME} (since 2025-05-01; before: Berlin)"
    ], "both say since when, so that counts, and not when it was said"


def test_what_is_past_or_to_come_is_not_the_current_value() -> None:
    rome = fact("fac-00001", ROME)
    past = fact("fac-00002", BERLIN, day=1, valid_until=date(2025, 12, 31))
    to_come = fact("fac-00003", "Ada lives in Oslo", day=2, valid_from=date(2026, 2, 1))
    assert lines([rome, past, to_come]) == [f"{ROME} (before: Berlin; from 2026-02-01 on: Oslo)"]


def test_what_was_true_on_a_day_is_asked_for() -> None:
    homes = [
        fact("fac-00001", BERLIN, valid_from=date(2020, 1, 1), valid_until=date(2025, 4, 30)),
        fact("fac-00002", ROME, valid_from=date(2025, 5, 1)),
        fact("fac-00003", "Ada lives with a cat"),
    ]
    assert f"{BERLIN} (2020-01-01 until 2025-04-30)" in lines(homes, valid_on=date(2021, 6, 1))
    assert "fac-00002" not in ids(ask(homes, ASKED, valid_on=date(2021, 6, 1)))
    assert f"{ROME} (since 2025-05-01)" in lines(homes, valid_on=date(2025, 5, 1))
    assert "fac-00001" not in ids(ask(homes, ASKED, valid_on=date(2025, 5, 1)))
    assert "fac-00003" in ids(ask(homes, ASKED, valid_on=date(1999, 1, 1))), "it says no day"


def test_what_was_learned_later_is_left_out_and_named() -> None:
    homes = [fact("fac-00001", BERLIN), fact("fac-00002", ROME, day=5)]
    assert ids(ask(homes, ASKED, as_of=THEN + timedelta(days=4))) == ["fac-00001"]
    assert ids(ask(homes, ASKED, as_of=THEN + timedelta(days=5))) == ["fac-00002"]
    reasons = why(homes, ASKED, as_of=THEN + timedelta(days=4))
    assert in_words(reasons["fac-00002"]) == "not eligible: learned later than the day that was asked for"
    assert isinstance(reasons["fac-00001"], Retrieved)
    untrue = why([fact("fac-00001", ROME, valid_until=date(2025, 1, 1))], ASKED, valid_on=TODAY)
    assert in_words(untrue["fac-00001"]) == "not eligible: not true on the day that was asked for"


def test_what_is_past_leaves_the_core_and_is_still_found() -> None:
    test = fact("pro-00001", "Learner says: I have a chemistry test", valid_until=date(2025, 12, 31))
    test = test.model_copy(update={"section": "profile"})
    assert lines([test], "How are you?") == []
    assert lines([test], "Did I have a chemistry test?") == [
        "Learner says: I have a chemistry test (was true until 2025-12-31)"
    ]
    to_come = test.model_copy(update={"valid_until": TODAY})
    assert is_shown(why([to_come], "How are you?")["pro-00001"])
    pinned = test.model_copy(update={"pinned": True})
    assert is_shown(why([pinned], "How are you?")["pro-00001"])


def _committed(
    *operations: Add | Update | Remove, playbook: Playbook | None = None
) -> tuple[Playbook, list[str]]:
    held = Snapshot(playbook or Playbook(), Access())
    effect = resolve(held, Delta(op_id="o", now=NOW, operations=operations), Policy())
    return apply(held.playbook, effect), [each.why for each in effect.report.rejected]


def test_a_day_is_kept_changed_and_taken_back() -> None:
    held, _ = _committed(Add(content=ROME, valid_from=date(2025, 5, 1)))
    [rome] = held.bullets()
    assert (rome.valid_from, rome.valid_until) == (date(2025, 5, 1), None)
    held, _ = _committed(Update(bullet_id=rome.id, valid_until=date(2025, 6, 1)), playbook=held)
    assert held.bullets()[0].valid_until == date(2025, 6, 1)
    same, refused = _committed(Update(bullet_id=rome.id, valid_until=date(2025, 4, 30)), playbook=held)
    assert same.bullets() == held.bullets()
    assert refused == [
        "valid_until 2025-04-30 is before valid_from 2025-05-01: exchange them, or leave one out"
    ]
    held, _ = _committed(
        Update(bullet_id=rome.id, valid_from="unknown", valid_until="unknown"), playbook=held
    )
    assert (held.bullets()[0].valid_from, held.bullets()[0].valid_until) == (None, None)


def test_what_is_said_again_has_the_days_of_the_newer_one() -> None:
    held, _ = _committed(Add(content=ROME, valid_from=date(2020, 1, 1)))
    held, _ = _committed(Add(content=ROME), playbook=held)
    assert held.bullets()[0].valid_from == date(2020, 1, 1)
    held, _ = _committed(Add(content=ROME, valid_from=date(2025, 5, 1)), playbook=held)
    assert [one.valid_from for one in held.bullets()] == [date(2025, 5, 1)]


@pytest.mark.parametrize("day", [5, 1.5, True, "5", "2026-13-01", "soon"])
def test_only_a_day_is_a_day(day: object) -> None:
    with pytest.raises(ValidationError):
        Add.model_validate({"content": ROME, "valid_from": day})


def test_the_last_day_is_not_before_the_first() -> None:
    with pytest.raises(ValidationError, match="is before valid_from"):
        Add(content=ROME, valid_from=date(2025, 5, 1), valid_until=date(2025, 4, 30))


def test_a_slot_knows_the_values_that_it_had() -> None:
    def home(content: str, since: date | None = None) -> Add:
        return Add(content=content, section="profile", slot="home", sources=("learner",), valid_from=since)

    held, _ = _committed(home("Learner says: I live in Berlin", date(2020, 1, 1)))
    held, _ = _committed(home("Learner says: I live in Bonn"), playbook=held)
    rome = home("Learner says: I live in Rome", date(2026, 2, 1))
    held, _ = _committed(rome, playbook=held)
    [bullet] = held.bullets()
    assert (bullet.slot, bullet.content) == ("home", rome.content), "a slot holds one value"

    def told(day: date) -> str:
        found = ask(held, "How are you?", now=datetime.combine(day, time(12), UTC))
        [scored] = found.core
        return prompt_line(scored).split("Learner says: ")[1]

    assert told(date(2026, 3, 1)) == "I live in Rome (since 2026-02-01; before: Bonn; Berlin)"
    assert told(TODAY) == "I live in Bonn (until 2026-01-31; before: Berlin; from 2026-02-01 on: Rome)"

    def true_on(day: date) -> list[str]:
        return [each.content.split()[-1] for each in filtered(BulletFilter(valid_on=day), held.bullets())]

    assert true_on(date(2026, 2, 1)) == ["Rome"]
    assert true_on(TODAY) == ["Bonn"]
    assert true_on(date(2025, 12, 31)) == ["Berlin"]
    assert true_on(date(2019, 1, 1)) == []
    berlin = Remove(bullet_id=bullet.id, value="Learner says: I live in Berlin")
    held, _ = _committed(berlin, playbook=held)
    assert "Berlin" not in held.bullets()[0].model_dump_json()
    assert _committed(berlin, playbook=held)[1] == ["it had no such value before"]


def test_a_slot_names_at_most_eight_values_and_none_that_was_a_mistake() -> None:
    held = Playbook()
    for n in range(12):
        name = Add(content=f"Call me Ada{n}", section="profile", slot="name")
        held, _ = _committed(name, playbook=held)
    [bullet] = held.bullets()
    assert [each.content for each in bullet.before] == [f"Call me Ada{n}" for n in range(10, 2, -1)]
    meant = Add(content="Call me Eva", section="profile", slot="name", contests=(bullet.id,))
    assert _committed(meant, playbook=held)[0].bullets()[0].before == ()
    style = Add(content="Talk like a pirate", section="preferences", slot="persona")
    held, _ = _committed(style, style.model_copy(update={"content": "Talk like a judge"}), playbook=held)
    assert held.bullets()[-1].before == (), "of a wish only the newest counts"
