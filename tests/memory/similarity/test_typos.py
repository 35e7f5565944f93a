"""A typo is a string that is no word, compared with one that is; two real words never merge."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory.search import has_list, is_word
from ace_graph.memory.similarity import is_typo, same_spelling
from ace_graph.memory.similarity.compare import compare
from benchmarks.quality.duplicates.methods import METHODS
from benchmarks.quality.duplicates.pairs import Pair
from benchmarks.quality.duplicates.real_words import FIELDS, read_real_words
from tests.plugins.heavy import some_heavy

MERGED_OF_A_HUNDRED = 3
ALIKE = """
hypertension hypotension | hyperglycemia hypoglycemia | nitrate nitrite | prednisone prednisolone
ethanol methanol | employer employee | mortgagor mortgagee | Daniel Daniela | Julia Julie | Maria Marta
"""


def outcome(a: str, b: str) -> str:
    one, other = (Bullet(id="str-00001", section="strategies", content=text) for text in (a, b))
    return compare(one, other, 0.9).outcome


def merged(method: str, pairs: list[tuple[Pair, ...]]) -> list[str]:
    return [f"{said[0].a} / {said[0].b}" for said in pairs if "same" in METHODS[method](said)]


def test_the_set_of_real_words_covers_every_field_in_both_parts() -> None:
    found = read_real_words()
    parts = [said[0].part for said in found.values()]
    assert min(parts.count("tuning"), parts.count("held-out")) >= 100
    assert all(len(said) == 2 and said[0].a != said[0].b for said in found.values())
    assert len(FIELDS) == 5


@pytest.mark.parametrize("method", ["ours", "ours, in a turn"])
@pytest.mark.parametrize("part", some_heavy(("tuning", "held-out"), "held-out".__eq__))
def test_of_a_hundred_pairs_of_real_words_three_merge_at_most(part: str, method: str) -> None:
    pairs = [said for said in read_real_words().values() if said[0].part == part]
    assert 100 * len(merged(method, pairs)) <= MERGED_OF_A_HUNDRED * len(pairs)


@pytest.mark.parametrize(
    "words", [entry.strip() for entry in ALIKE.replace("\n", "|").split("|") if entry.strip()]
)
def test_words_that_name_two_things_stay_apart(words: str) -> None:
    one, other = words.split()
    for frame in ("Ask the desk about {} before the next visit", "{} comes first in the list of the week"):
        a, b = frame.format(one), frame.format(other)
        assert outcome(a, b) != "same"
        assert outcome(a[0].upper() + a[1:], b[0].upper() + b[1:]) != "same"


@pytest.mark.parametrize(
    ("word", "typo"),
    [
        ("kettle", "ketle"),
        ("kettle", "kettel"),
        ("kettle", "kettlle"),
        ("kettle", "kettke"),
        ("separate", "seperate"),
        ("because", "becuase"),
        ("intermediate", "intermediat"),
        ("public", "pubjic"),
        ("plan", "paln"),
        ("window", "wiadow"),
        ("window", "indow"),
    ],
)
def test_one_wrong_letter_is_a_typo(word: str, typo: str) -> None:
    assert is_typo(word, typo)
    assert is_typo(typo, word)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("height", "weight"),
        ("butter", "bitter"),
        ("prednisone", "prednisolone"),
        ("phosphate", "phosphite"),
        ("interbank", "intrabank"),
        ("hematoma", "hepatoma"),
        ("stefan", "stefano"),
        ("format", "formate"),
        ("kettle", "ketttles"),
        ("kettle9", "ketle9"),
    ],
)
def test_other_words_and_unknown_pairs_are_no_typos(one: str, other: str) -> None:
    assert not is_typo(one, other)
    assert not is_typo(other, one)


def test_a_word_mistyped_in_one_of_its_two_places_keeps_the_order() -> None:
    a = "Commit the migration in its own commit after the change"
    b = "Commit the migration in its own cmomit after the change"
    assert (outcome(a, b), outcome(b, a)) == ("same", "same")


def test_each_language_has_its_own_words() -> None:
    assert is_typo("zerlegen", "zerelgen", ("english", "german"))
    assert not is_typo("zerlegen", "zerelgen")
    assert is_typo("spielen", "spielem", ("english", "german"))
    assert not is_typo("zerlegt", "zerlegl", ("english", "dutch"))
    assert not is_typo("kettle", "ketle", ("english", "swedish"))
    assert is_word("straße", "german")
    assert not is_word("kettle", "swedish")
    assert not has_list("russian")


def test_the_first_and_the_last_word_of_a_list_are_found() -> None:
    assert is_word("a", "english")
    assert is_word("zygote", "english")
    assert not any(is_word(text, "english") for text in ("", "{", "}", '"', "\n", "aaaaa", "zzzzz"))


def test_a_capitalised_first_word_may_be_a_name() -> None:
    assert outcome("Kenneth prefers pictures", "Kennet prefers pictures") != "same"
    assert outcome("Simplify the result", "Simplfy the result") == "same"
    assert outcome("Receipts go into the box", "Reciepts go into the box") == "same"
    assert outcome("the kenneth key hangs here", "the kennet key hangs here") == "same"
    assert outcome("Ask Grant for the key", "Ask Grent for the key") != "same"
    assert outcome("Grant access to the guest", "Grent access to the guest") == "same"
    assert outcome("Close the shop on Friday", "Close the shop on Firday") == "same"
    assert outcome("Jackson owes ten euros", "Jacksen owes ten euros") != "same"


@pytest.mark.parametrize(("part", "merged_slips"), [("tuning", 75), ("held-out", 69)])
def test_a_slip_of_one_letter_merges_and_a_real_word_does_not(part: str, merged_slips: int) -> None:
    slips = [row for row in _table("slips.tsv") if row["part"] == part]
    assert sum(outcome(row["right"], row["slipped"]) == "same" for row in slips) >= merged_slips
    pairs = [row for row in _table("real_word_slips.tsv") if row["part"] == part]
    assert len(pairs) == 27
    assert [row for row in pairs if outcome(row["one"], row["other"]) == "same"] == []


def _table(name: str) -> list[dict[str, str]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("colour", "color"),
        ("organise", "organize"),
        ("analyse", "analyze"),
        ("travelled", "traveled"),
        ("centre", "center"),
        ("catalogue", "catalog"),
    ],
)
def test_british_and_american_spellings_are_one_word(british: str, american: str) -> None:
    assert same_spelling(british, american)
    assert outcome(f"Note the {british} of the map", f"Note the {american} of the map") == "same"


@pytest.mark.parametrize(
    ("one", "other"), [("filled", "filed"), ("device", "devise"), ("prise", "prize"), ("four", "for")]
)
def test_real_words_are_no_other_spelling(one: str, other: str) -> None:
    assert not same_spelling(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("plan", "plane"), ("fill", "file"), ("format", "formate"), ("tubs", "tubes"), ("bill", "bile")],
)
def test_different_words_of_one_root_stay_apart(one: str, other: str) -> None:
    assert outcome(f"Check the {one} of the day", f"Check the {other} of the day") != "same"


@pytest.mark.parametrize(
    ("one", "other"),
    [("plan", "plans"), ("plane", "planes"), ("cases", "case"), ("box", "boxes"), ("study", "studies")],
)
def test_forms_of_one_word_are_one(one: str, other: str) -> None:
    assert outcome(f"Check the {one} of the day", f"Check the {other} of the day") == "same"
