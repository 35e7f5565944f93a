"""PrefixFilter: the look-up by four terms finds exactly what comparing with every text would find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory.search.prefix_filter import OWN_TERMS, PrefixFilter, in_order

WORDS = ["a", "b", "c", "d", "ee", "ff", "gg", "hhh", "iii", "jjjj", "kkkk", "lllll"]
TERMS = st.sets(st.sampled_from(WORDS), max_size=9)
SLOTS = st.sampled_from([None, None, "name", "language"])
TEXTS = st.lists(st.tuples(TERMS, SLOTS), max_size=12)


def alike(a: set[str], b: set[str]) -> bool:
    larger, shared = max(len(a), len(b)), len(a & b)
    return shared >= larger - OWN_TERMS and 2 * shared >= larger


@given(TEXTS, TERMS, SLOTS, TERMS)
@settings(max_examples=200)
def test_all_that_share_enough_terms_or_the_slot_are_found_in_the_order_they_came(
    texts: list[tuple[set[str], str | None]], terms: set[str], slot: str | None, common: set[str]
) -> None:
    neighbours = PrefixFilter(common)
    for number, (own, own_slot) in enumerate(texts):
        ordered = in_order(own)
        neighbours.add(str(number), ordered, neighbours.signature(ordered, own_slot))
    asked = in_order(terms)
    assert neighbours.candidates(asked, neighbours.signature(asked, slot)) == [
        str(number)
        for number, (own, own_slot) in enumerate(texts)
        if alike(own, terms) or (slot is not None and own_slot == slot)
    ]


def test_the_order_of_terms_does_not_depend_on_how_they_came() -> None:
    assert in_order(["of", "denominator", "add", "and"]) == ("denominator", "add", "and", "of")
    assert in_order(["and", "of", "add", "denominator"]) == ("denominator", "add", "and", "of")
