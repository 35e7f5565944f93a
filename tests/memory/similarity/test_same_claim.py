"""Which differences change a claim: layout, phrases, typos, units, opposites."""

from __future__ import annotations

import pytest

from ace_graph.memory import Bullet, infer_memory_type
from ace_graph.memory.similarity import (
    ClaimComparison,
    are_mutually_exclusive,
    correct_typos,
    is_typo,
    unit_of,
)
from ace_graph.memory.similarity.compare import compare


def bullet(content: str) -> Bullet:
    return Bullet(id="str-00001", section="strategies", content=content)


def compared(a: str, b: str, threshold: float = 0.9) -> ClaimComparison:
    return compare(bullet(a), bullet(b), threshold)


@pytest.mark.parametrize(
    ("plain", "dressed"),
    [
        ("Peel the beetroot while it is warm.", "**Peel** the beetroot while it is warm."),
        ("Peel the beetroot while it is warm.", "* Peel the beetroot while it is warm"),
        ("They are paid on the first of May", "They're paid on the 1st of May"),
        ("Keep the wine at 12 degrees Celsius", "Keep the wine at 12 °C"),
        ("Use a step of 0.5 in the search", "Use a step of .5 in the search"),
        ("Give the e-mail address of the office", "Give the email address of the office"),
        ("Put the file-name into the log", "Put the filename into the log"),
    ],
)
def test_layout_and_spelling_of_numbers_make_no_difference(plain: str, dressed: str) -> None:
    assert compared(plain, dressed).outcome == "same"


@pytest.mark.parametrize(
    "frame",
    [
        "It is vital to {}",
        "It's a good idea to {}",
        "Try to {}",
        "It never hurts to {}",
        "Generally speaking, {}",
        "Rule of thumb: {}",
        "From now on, {}",
        "Honestly, {}",
        "{}, by the way",
        "It is important to know that you should {}",
    ],
)
def test_an_introductory_phrase_adds_nothing(frame: str) -> None:
    claim = "measure the flour with a scale"
    assert compared(claim, frame.format(claim)).outcome == "same"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("It is important to weigh the flour", "It is important not to weigh the flour"),
        ("It never hurts to weigh the flour", "Never weigh the flour"),
        ("From now on, weigh the flour", "Until now, weigh the flour"),
        ("Students should weigh the flour", "Teachers should weigh the flour"),
        ("Remember to weigh the flour", "Forget to weigh the flour"),
    ],
)
def test_a_phrase_hides_no_other_claim(a: str, b: str) -> None:
    assert compared(a, b).outcome != "same"


def test_what_stands_before_a_comma_may_go_to_the_end() -> None:
    assert compared("From the third lap on, drink tea", "Drink tea from the third lap on").outcome == "same"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The outer loop stops the inner loop", "The inner loop stops the outer loop"),
        ("Density is total mass divided by total volume", "Density is total volume divided by total mass"),
        ("Rinse, then dry", "Dry, then rinse"),
        ("Swap coins for notes", "Swap notes for coins"),
    ],
)
def test_exchanged_subject_and_object_keep_texts_apart(a: str, b: str) -> None:
    assert compared(a, b).outcome != "same"


def test_a_phrase_behind_a_preposition_may_stand_at_either_end() -> None:
    assert compared("In long races the pulse rises", "The pulse rises in long races").outcome == "same"


@pytest.mark.parametrize(
    ("right", "mistyped"),
    [
        ("Drain the lentils before salting them", "Drain the lentils brfore salting them"),
        ("Wait 12 minutes for the next tram", "Wait 12 mniutes for the next tram"),
        ("Label the second drawer of the metal cabinet", "Lable the second drwaer of the metal cabinet"),
        ("Use butter instead of margarine", "Use butter isntead of margarine"),
    ],
)
def test_typos_in_steering_words_are_ignored(right: str, mistyped: str) -> None:
    comparison = compared(right, mistyped)
    assert comparison.outcome == "same"
    assert comparison.score < 1
    assert compared(right, mistyped, threshold=1).outcome == "different"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use three cups of oats", "Use there cups of oats"),
        ("All guests except Ann pay", "All guests accept Ann pay"),
        ("Give weight to this argument", "Give eight to this argument"),
        ("Ask for a quiet room", "Ask for a quite room"),
        ("Open the gate after lunch", "Open the gate alter lunch"),
    ],
)
def test_a_real_word_is_no_typo_of_another(a: str, b: str) -> None:
    assert compared(a, b).outcome != "same"


def test_only_steering_words_of_the_other_text_are_corrected() -> None:
    assert correct_typos("Wash it brfore supper", "Wash it before supper") == ("Wash it before supper", 1)
    assert correct_typos("Wash it brfore supper", "Wash it after supper") == ("Wash it brfore supper", 0)
    assert correct_typos("Wash it before supper", "Wash it before dinner") == ("Wash it before supper", 0)
    assert is_typo("kettle", "ketle")
    assert not is_typo("height", "weight")


@pytest.mark.parametrize(
    ("a", "b", "guard"),
    [
        ("The ticket costs €40", "The ticket costs £40", "unit"),
        ("Heat the milk to 60 °C", "Heat the milk to 60 °F", "unit"),
        ("The lamp needs 2 watts", "The lamp needs 2 kW", "unit"),
        ("Die Frist beträgt 3 Monate", "Die Frist beträgt 3 Wochen", "unit"),
        ("Keep the dye between 2 and 8 degrees", "Keep the dye between 4 and 8 degrees", "number"),
        ("A budget of three calls is enough", "A budget of five calls is enough", "number"),
        ("The essay has a limit of 8 pages", "The essay has a limit of 9 pages", "number"),
        ("Rinse it for 3 days even if it is clean", "Rinse it for 9 days even if it is clean", "number"),
        ("Always: a fast lasts 12 hours", "A fast lasts 16 hours", "number"),
        ("Before the race, rest 2 days", "Rest 3 days before the race", "number"),
        ("Use the lift in the tower", "Avoid the lift in the tower", "negation"),
        ("Anyone may enter the lab", "No one may enter the lab", "negation"),
        ("Den Nenner kürzen", "Den Nenner nicht kürzen", "negation"),
        ("Round the fee up", "Round the fee down", "antonym"),
        ("Switch the heating on", "Switch the heating off", "antonym"),
        ("Log in before the update", "Log out before the update", "antonym"),
        ("The bakery is closed on Mondays", "The bakery is open on Mondays", "antonym"),
        ("The knot is loose", "The knot is tight", "antonym"),
    ],
)
def test_contradictions_are_rivals(a: str, b: str, guard: str) -> None:
    for comparison in (compared(a, b), compared(b, a)):
        assert (comparison.outcome, comparison.guard) == ("rival", guard)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Form W-2 is for employees", "Form W-9 is for employees"),
        ("Sign up before the event", "Sign in before the event"),
        ("Open the file in the loop", "Close the file in the loop"),
        ("For the most played song: sort the plays", "For the least played song: sort the plays"),
        ("For long routes, book the sleeper", "For short routes, book the sleeper"),
        ("Compute 2**3 for the volume", "Compute 2*3 for the volume"),
    ],
)
def test_a_different_fact_is_no_rival(a: str, b: str) -> None:
    assert compared(a, b).outcome == "different"


@pytest.mark.parametrize(
    "text",
    [
        "**Check** the seal",
        "(Check the seal)",
        "Generally speaking, check the seal",
        "You ought to check the seal",
        "By pressing it, check the seal",
        "It is good practice to check the seal",
    ],
)
def test_an_instruction_after_an_introductory_phrase_is_procedural(text: str) -> None:
    assert infer_memory_type(text) == "procedural"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Erst speichern, dann schließen", "Erst schließen, dann speichern"),
        ("Zuerst kürzen, danach addieren", "Zuerst addieren, danach kürzen"),
        ("D'abord enregistrer, ensuite fermer", "D'abord fermer, ensuite enregistrer"),
        ("Primero guarda, luego cierra", "Primero cierra, luego guarda"),
        ("Prima salva, poi chiudi", "Prima chiudi, poi salva"),
        ("Сначала сохрани, потом закрой", "Сначала закрой, потом сохрани"),
        ("先保存，然后关闭", "先关闭，然后保存"),
        ("Save it first, close it next", "Close it first, save it next"),
        ("Dogs chase cats or mice", "Cats or mice chase dogs"),
    ],
)
def test_words_of_order_keep_the_parts_in_their_places(a: str, b: str) -> None:
    assert compared(a, b).outcome != "same"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Erst speichern, dann schließen", "Dann schließen, erst speichern"),
        ("Rest for half an hour before a lap", "Rest for 30 minutes before a lap"),
        ("The meeting takes an hour and a half", "The meeting takes 90 minutes"),
        ("Wait 2 minutes before the next call", "Wait 120 seconds before the next call"),
        ("Cut the board to 1.5 m", "Cut the board to 150 cm"),
        ("Wait no more than 5 seconds", "Wait at most 5 seconds"),
        ("Use no fewer than 3 samples", "Use at least 3 samples"),
        ("Use a fast network for the upload", "Use a quick network for the upload"),
        ("Once the water boils, add the salt", "As soon as the water boils, add the salt"),
        ("First check the units of the result", "Check the units of the result first"),
        ("Write the parser in Python or Java", "Write the parser in Java or Python"),
        ("Use this for lists or tuples", "Use this for tuples or lists"),
        ("Also, check the units of the result", "Check the units of the result"),
    ],
)
def test_two_wordings_of_one_claim_fire_no_guard(a: str, b: str) -> None:
    assert compared(a, b).outcome == "same"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Wait 2 minutes before the next call", "Wait 120 minutes before the next call"),
        ("Rest for half an hour", "Rest for 30 seconds"),
        ("Use no more than 3 samples", "Use at least 3 samples"),
        ("Wait no longer than 5 seconds", "Wait no less than 5 seconds"),
        ("Use a quick network for the upload", "Use a slow network for the upload"),
        ("Take it once a day", "Take it twice a day"),
        ("The first attempt counts", "The second attempt counts"),
        ("Check the units of the result", "Check the units of the result first"),
        ("Use lists and tuples", "Use lists or tuples"),
    ],
)
def test_texts_that_only_look_alike_stay_apart(a: str, b: str) -> None:
    assert compared(a, b).outcome != "same"


@pytest.mark.parametrize(
    "lead",
    ["Also, ", "Also ", "Additionally, ", "In addition, ", "Finally, ", "In my view, ", "You will want to "],
)
def test_an_introductory_phrase_keeps_the_memory_type(lead: str) -> None:
    assert infer_memory_type(f"{lead}check the units of the result") == "procedural"
    assert infer_memory_type("Also, the sky is blue") == "semantic"


@pytest.mark.parametrize(("a", "b"), [("undo", "do"), ("mis", "no")])
def test_a_prefix_excludes_only_where_a_longer_word_follows_it(a: str, b: str) -> None:
    assert not are_mutually_exclusive(a, b)
    assert are_mutually_exclusive("valid", "invalid")


def test_a_unit_may_have_the_plural_in_es() -> None:
    assert unit_of("hertzes") == unit_of("hertz") == "hz"
