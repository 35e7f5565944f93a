"""The prefix filter finds exactly what comparing with every text would find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory.search import MAX_DIFFERENCE, PrefixFilter, in_order
from tests.plugins.sizes import HEAVY

WORDS = ["a", "b", "c", "d", "ee", "ff", "gg", "hhh", "iii", "jjjj", "kkkk", "lllll"]
TERMS = st.sets(st.sampled_from(WORDS), max_size=9)
SLOTS = st.sampled_from([None, None, "name", "language"])
TEXTS = st.lists(st.tuples(TERMS, SLOTS), max_size=12)


def similar(a: set[str], b: set[str]) -> bool:
    larger, shared = max(len(a), len(b)), len(a & b)
    return shared >= larger - MAX_DIFFERENCE and 2 * shared >= larger


@given(TEXTS, TERMS, SLOTS, TERMS)
@settings(max_examples=200 if HEAVY else 40)
def test_it_finds_what_shares_enough_terms_or_the_slot(
    texts: list[tuple[set[str], str | None]], terms: set[str], slot: str | None, common: set[str]
) -> None:
    index = PrefixFilter(common)
    for number, (own, own_slot) in enumerate(texts):
        ordered = in_order(own)
        index.add(str(number), ordered, index.signature(ordered, own_slot))
    asked = in_order(terms)
    assert index.candidates(asked, index.signature(asked, slot)) == [
        str(number)
        for number, (own, own_slot) in enumerate(texts)
        if similar(own, terms) or (slot is not None and own_slot == slot)
    ]


def test_the_order_of_terms_is_fixed() -> None:
    assert in_order(["of", "denominator", "add", "and"]) == ("denominator", "add", "and", "of")
    assert in_order(["and", "of", "add", "denominator"]) == ("denominator", "add", "and", "of")
