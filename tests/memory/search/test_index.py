"""The inverted index: incremental equals rebuilt, the gate's bound is exact, nothing is mutated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Bullet, Playbook, Policy, Snapshot, apply, resolve
from ace_graph.memory.delta import Delta, Update
from ace_graph.memory.search import Index, fold, idf, terms, topic_term
from tests.memory.counted_calls import calls_of
from tests.plugins.sizes import HEAVY

WORDS = [
    "fraction",
    "add",
    "denominator",
    "directory",
    "read",
    "file",
    "token",
    "retry",
    "3",
    "1/2",
    "分数",
    "the",
]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
BULLETS = st.builds(
    Bullet,
    id=st.integers(0, 6).map(lambda number: f"str-{number:05d}"),
    section=st.sampled_from(["strategies", "preferences"]),
    content=TEXTS,
    topic=st.sampled_from([None, "fraction_addition", "files"]),
    tags=st.lists(st.sampled_from(WORDS), max_size=2).map(tuple),
    keywords=st.lists(st.sampled_from(WORDS), max_size=2).map(tuple),
    helpful=st.integers(0, 2),
    pinned=st.booleans(),
    source_words=st.lists(st.sampled_from(WORDS), max_size=3).map(tuple),
    turn_id=st.sampled_from([None, "1", "2", "3"]),
    conversation_id=st.sampled_from([None, "c", "d"]),
    created_at=st.sampled_from([datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]),
)
STEPS = st.lists(st.tuples(st.sets(st.integers(0, 6)), st.lists(BULLETS, max_size=3)), max_size=6)


def bullet(key: str, content: str, **fields: str) -> Bullet:
    return Bullet(id=key, section="s", content=content, **fields)  # pyright: ignore[reportArgumentType]


@given(STEPS)
@settings(max_examples=60 if HEAVY else 20)
def test_an_index_after_any_changes_equals_one_built_from_scratch(
    steps: list[tuple[set[int], list[Bullet]]],
) -> None:
    index, kept = Index(), dict[str, Bullet]()
    for gone, added in steps:
        removed = [kept[key] for number in sorted(gone) if (key := f"str-{number:05d}") in kept]
        new = {b.id: b for b in added}
        replaced = [kept[key] for key in new if key in kept]
        index = index.changed([*removed, *replaced], new.values())
        kept = {key: b for key, b in kept.items() if b not in removed} | new
        assert index == Index.build(kept.values())
        assert index == Index.build(reversed(list(kept.values())))


@given(st.lists(BULLETS, max_size=4), BULLETS)
@settings(max_examples=40 if HEAVY else 20)
def test_changing_leaves_the_old_index_as_it_was(bullets: list[Bullet], new: Bullet) -> None:
    index, twin = Index.build(bullets), Index.build(bullets)
    index.changed([b for b in bullets if b.id == new.id], [new])
    index.changed(bullets, [])
    assert index == twin


def test_an_index_that_was_changed_for_long_is_built_anew() -> None:
    playbook, numbers = Playbook.of([bullet("a-00001", "Find the denominator")]), [0]
    for n in range(150):
        update = Update(bullet_id="a-00001", content=f"Find number {n}")
        delta = Delta(op_id=str(n), now=datetime(2026, 1, 1, tzinfo=UTC), operations=(update,))
        numbers.append(len(playbook.index.own))
        playbook = apply(playbook, resolve(Snapshot(playbook), delta, Policy()))
    assert playbook.index == Index.build(playbook.bullets())
    assert max(numbers) < 100


@pytest.mark.heavy
def test_more_bullets_than_two_bytes_count_are_found() -> None:
    many = [bullet(f"a-{n}", "Find it") for n in range(65_536)]
    more = [bullet(f"b-{n}", f"Find number {n}") for n in range(3)]
    index = Index.build(many).changed((), more)
    assert index.frequency("find") == 65_539
    assert index.postings["2"].keys() == {"b-2"}
    assert index.changed(many, ()) == Index.build(more)


def test_a_vote_leaves_the_very_same_index() -> None:
    old = bullet("a", "find the denominator")
    index = Index.build([old])
    assert index.changed([old], [old.tag("helpful")]) is index


def test_removing_an_unknown_bullet_changes_nothing() -> None:
    index = Index.build([bullet("a", "find the denominator")])
    assert index.changed([bullet("b", "another one")], []) is index


def test_the_core_flag_is_updated() -> None:
    plain = bullet("a", "find the denominator")
    pinned = plain.model_copy(update={"pinned": True})
    index = Index.build([plain]).changed([plain], [pinned])
    assert index.core == {"a"}
    assert index.changed([pinned], [plain]).core == frozenset()


def test_a_bullet_is_found_by_topic_concept_tags_and_keywords() -> None:
    labelled = Bullet(
        id="a",
        section="s",
        content="Do it slowly",
        topic="fraction_addition",
        concept="denominators",
        tags=("pizza",),
        keywords=("zähler",),
    )
    index = Index.build([labelled])
    for term in ("fraction", "addit", "denomin", "pizza", "zahler", topic_term("Fraction_Addition")):
        assert index.frequency(term) == 1


WEIGHTS = st.dictionaries(
    st.sampled_from(
        ["fraction", "add", "denomin", "directori", "read", "file", "token", "retri", "3", "nowher"]
    ),
    st.floats(0.1, 10),
    max_size=6,
)


@given(st.lists(BULLETS, max_size=7, unique_by=lambda b: b.id), WEIGHTS, st.floats(0, 1))
@settings(max_examples=150 if HEAVY else 20)
def test_the_gate_finds_exactly_the_bullets_that_reach_the_floor(
    bullets: list[Bullet], weights: dict[str, float], share: float
) -> None:
    index = Index.build(bullets)
    floor = share * sum(weights.values())
    held = {b.id: {term for term, holders in index.postings.items() if b.id in holders} for b in bullets}
    sums = {key: sum(w for term, w in weights.items() if term in terms) for key, terms in held.items()}
    clear = {key for key, total in sums.items() if total and total > floor + 1e-6}
    possible = {key for key, total in sums.items() if total >= floor - 1e-6}
    found = index.covering(weights, floor)
    assert clear <= found.keys() <= possible
    assert all(found[key] == pytest.approx(sums[key]) for key in found)


@given(st.lists(BULLETS, max_size=7, unique_by=lambda b: b.id), WEIGHTS)
@settings(max_examples=60 if HEAVY else 20)
def test_scores_do_not_depend_on_which_bullets_are_asked_for(
    bullets: list[Bullet], weights: dict[str, float]
) -> None:
    index = Index.build(bullets)
    together = index.scores(index.numbers, weights)
    assert all(index.scores([key], weights) == {key: score} for key, score in together.items())


def test_a_rarer_term_weighs_more_and_every_term_weighs_something() -> None:
    assert idf(0, 10) > idf(1, 10) > idf(10, 10) > 0
    assert idf(1, 1_000) > idf(1, 10)


def test_near_duplicates_are_nominated_first() -> None:
    index = Index.build(
        [
            bullet("near", "Find the least common denominator before adding fractions"),
            bullet("typo", "Find the least comon denominator first, before adding fractions"),
            bullet("far", "List the directory before reading files"),
            bullet(
                "long",
                "Find " + " ".join(f"word{n}" for n in range(40)) + " least common denominator fractions",
            ),
        ]
    )
    nominated = index.nominate("Find the least common denominator before adding the fractions")
    assert nominated[:2] == ("near", "typo")
    assert "far" not in nominated


def test_at_most_limit_are_nominated_in_a_fixed_order() -> None:
    bullets = [bullet(f"a-{n:05d}", "Find the least common denominator") for n in range(30)]
    expected = tuple(b.id for b in bullets[:5])
    assert Index.build(bullets).nominate("the least common denominator", limit=5) == expected
    assert Index.build(reversed(bullets)).nominate("the least common denominator", limit=5) == expected


def test_a_text_without_content_nominates_nothing() -> None:
    assert Index.build([bullet("a", "What is it?")]).nominate("What is it?") == ()
    assert Index().nominate("Find the denominator") == ()


def test_labels_are_read_in_the_language_of_the_text() -> None:
    content = "Vereinfache die Brüche vor dem Rechnen"
    labelled = Bullet(id="a-00001", section="s", content=content, keywords=("addieren",), tags=("Nenner",))
    index = Index.build([labelled])
    for word in ("addieren", "Nenner", "Brüche"):
        (term,) = terms(word, "german")
        assert list(index.postings[term]) == ["a-00001"]
    assert terms("addieren", "english") != terms("addieren", "german")


def test_building_reads_each_text_once_and_labels_that_many_share_once() -> None:
    bullets = [
        Bullet(id=f"a-{n}", section="s", content=f"Find number {n}", topic="fractions", tags=("pizza",))
        for n in range(20)
    ]
    assert calls_of(fold, lambda: Index.build(bullets)) <= len(bullets) + 1


def test_a_change_reads_only_the_new_text() -> None:
    index = Index.build([bullet(f"a-{n}", f"Find number {n}") for n in range(20)])
    assert calls_of(fold, lambda: index.changed((), [bullet("b", "Count the pieces")])) <= 2


def test_source_words_have_posting_lists_of_their_own() -> None:
    fact = Bullet(
        id="a-00001", section="s", content="Grace dives", source_words=("pool", "dives", "swimming")
    )
    index = Index.build([fact])
    assert index.source.keys() == {"pool", "swim"}
    assert index.source.keys().isdisjoint(index.postings)
    assert all(index.source[term].keys() == {"a-00001"} for term in ("pool", "swim"))
    assert index.nominate("swimming pool") == (), "what says the same is found by the texts alone"
    assert index.changed([fact], []) == Index()


def test_changed_source_words_are_indexed_again() -> None:
    fact = bullet("a-00001", "Grace dives")
    with_words = fact.model_copy(update={"source_words": ("pool",)})
    index = Index.build([fact]).changed([fact], [with_words])
    assert index.source.keys() == {"pool"}
    elsewhere = with_words.model_copy(update={"turn_id": "t1"})
    assert index.changed([with_words], [elsewhere]).turns.bullets(None, "t1") == ("a-00001",)


def test_a_conversation_has_its_turns_in_order_of_time() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    facts = [
        Bullet(id=f"a-{number:05d}", section="s", content=f"fact {number}", turn_id=turn, conversation_id="c")
        for number, turn in enumerate(("z", "z", "m", "a"), start=1)
    ]
    facts = [b.model_copy(update={"created_at": start + timedelta(days=n)}) for n, b in enumerate(facts)]
    index = Index.build(reversed(facts))
    assert index.conversations == {"c": ("z", "m", "a")}
    assert index.turns.bullets("c", "z") == ("a-00001", "a-00002")
    assert index.turns.bullets("d", "z") == ()
    left = index.changed(facts[2:3], [])
    assert left.conversations == {"c": ("z", "a")}
    assert left.changed(facts, []) == Index()


def test_turns_of_one_moment_are_in_the_order_of_their_bullets_ids() -> None:
    facts = [
        Bullet(
            id=f"{section}-{number:05d}", section="s", content="f", turn_id=str(number), conversation_id="c"
        )
        for number, section in ((10, "aaa"), (9, "zzz"), (11, "mmm"))
    ]
    assert Index.build(facts).conversations == {"c": ("9", "10", "11")}


def test_equal_turn_ids_of_two_conversations_are_two_turns() -> None:
    facts = [
        Bullet(id=f"a-0000{n}", section="s", content="f", turn_id="1", conversation_id=name)
        for n, name in enumerate(("c", "d"))
    ]
    index = Index.build(facts)
    assert [index.turns.bullets(name, "1") for name in ("c", "d")] == [("a-00000",), ("a-00001",)]
    assert index.conversations == {"c": ("1",), "d": ("1",)}
