"""The set of rewordings and near misses is sound, and its halves are apart."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from ace_graph.memory import content_hash
from benchmarks.quality.duplicates.pairs import Pair
from benchmarks.quality.rewordings.pairs import (
    NEAR_MISSES,
    REWORDINGS,
    Block,
    disguised,
    read_blocks,
    read_half,
)
from benchmarks.quality.rewordings.run import tables

HALF_AT_LEAST = 190


@pytest.fixture(scope="module")
def blocks() -> list[Block]:
    return read_blocks()


def of_all(blocks: list[Block]) -> list[Pair]:
    return list(chain.from_iterable(block.pairs() for block in blocks))


def test_there_are_enough_of_every_kind(blocks: list[Block]) -> None:
    kinds = Counter(pair.category for pair in of_all(blocks))
    same, apart = (sum(kinds[kind] for kind in of.values()) for of in (REWORDINGS, NEAR_MISSES))
    assert min(same, apart) >= 400
    assert apart >= same
    assert kinds.keys() == {*REWORDINGS.values(), *NEAR_MISSES.values()}
    assert min(kinds[kind] for kind in ("voice", "clause order", "synonyms", "nominalisation")) >= 80
    assert min(kinds[kind] for kind in NEAR_MISSES.values()) >= 15


def test_each_half_has_near_half_of_the_pairs_and_all_kinds() -> None:
    for part in ("tuning", "held-out"):
        kinds = Counter(pair.category for pair in of_all(read_half(part)))
        assert sum(kinds[kind] for kind in REWORDINGS.values()) >= HALF_AT_LEAST
        assert sum(kinds[kind] for kind in NEAR_MISSES.values()) >= HALF_AT_LEAST
        assert min(kinds[kind] for kind in NEAR_MISSES.values()) >= 5


def test_the_halves_share_no_text() -> None:
    texts = [
        {text for pair in of_all(read_half(part)) for text in (pair.a, pair.b)}
        for part in ("tuning", "held-out")
    ]
    assert texts[0].isdisjoint(texts[1])


def test_no_pair_comes_twice_or_differs_in_layout_alone(blocks: list[Block]) -> None:
    pairs = of_all(blocks)
    assert len({(pair.a, pair.b) for pair in pairs}) == len(pairs)
    assert [pair for pair in pairs if content_hash(pair.a) == content_hash(pair.b)] == []
    assert len({block.sentence for block in blocks}) == len(blocks)


def test_no_text_is_both_a_rewording_and_a_near_miss(blocks: list[Block]) -> None:
    for block in blocks:
        same = {text for _, text in block.rewordings}
        assert same.isdisjoint(text for _, text in block.near_misses)
        assert min(len(block.rewordings), len(block.near_misses)) >= 4


def test_a_near_miss_in_other_words_differs_from_its_sentence(blocks: list[Block]) -> None:
    for block in blocks:
        pairs = list(disguised(block))
        assert len(pairs) == len(block.near_misses)
        assert {pair.category for pair in pairs} <= set(NEAR_MISSES.values())
        assert block.sentence not in {pair.a for pair in pairs}


@pytest.mark.parametrize("line", ["E: Anna > Hanna", "X: Another sentence.", "E: a > b"])
def test_a_change_that_does_not_fit_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.txt").write_text(f"Tom has a plan and a map.\n{line}\n", "utf-8")
    with pytest.raises(ValueError, match="Tom has a plan"):
        read_blocks(tmp_path)


def test_a_change_is_put_into_the_sentence_once(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Tom has two maps.\nv: Two maps are Tom's.\nN: two > ten\n", "utf-8")
    (block,) = read_blocks(tmp_path)
    assert block.rewordings == (("voice", "Two maps are Tom's."),)
    assert block.near_misses == (("number", "Tom has ten maps."),)


def test_the_page_counts_what_is_merged() -> None:
    block = Block(
        "Wait 30 seconds before you call again.",
        (
            ("clause order", "Before you call again, wait 30 seconds."),
            ("synonyms", "Hold on, then ring anew."),
        ),
        (("number", "Wait 40 seconds before you call again."),),
    )
    text = tables([block])
    assert text.startswith("1 sentences, 2 rewordings, 1 near misses, and 1 near misses of a rewording.")
    assert "| ours | 0 of 0 | 1 of 1 | 0 of 1 | 0 of 0 | 0 of 0 | **1 of 2** |" in text
    assert "Merged by ours although they differ: 0" in text
