"""What the playbook says about the learner shows in the answer, and only then is it called used."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ace_graph.agent.offline_tutor import OfflineTutor

FORM = "Reply with <scratch></scratch><final></final><used></used>."
SUM = "What is 1/2 + 1/3?"


def reply(
    question: str, *items: str, strategies: tuple[str, ...] = (), extra: str = "", before: str = ""
) -> str:
    about = "\n".join(f"{n}. [pro-{n}] [+0/-0] {item}" for n, item in enumerate(items, 1))
    advice = "\n".join(f"{n}. [str-{n}] [+2/-0] {item}" for n, item in enumerate(strategies, 1))
    playbook = f"## About this learner\n{about}\n\n## Relevant Strategies\n{advice}"
    system = f"{FORM}\n{extra}\n<playbook>\n{playbook}\n</playbook>"
    earlier = [HumanMessage(before), AIMessage("All right.")] if before else []
    return OfflineTutor().invoke([SystemMessage(system), *earlier, HumanMessage(question)]).text


def final(text: str) -> str:
    return text.partition("<final>")[2].partition("</final>")[0]


def used(text: str) -> set[str]:
    ids = text.partition("<used>")[2].partition("</used>")[0]
    return {name.strip() for name in ids.split(",") if name.strip()}


@pytest.mark.parametrize(
    "item",
    [
        "Learner says: I prefer pictures",
        "Learner says: I learn best with drawings",
        "Student prefers visual explanations",
        "Learner says: always draw it",
    ],
)
def test_a_preference_for_pictures_adds_fraction_bars(item: str) -> None:
    text = reply(SUM, item)
    assert "[###...]" in final(text)
    assert "[##....]" in final(text)
    assert "[#####.]" in final(text)
    assert used(text) == {"pro-1"}


def test_without_that_preference_there_are_no_pictures() -> None:
    assert "[#" not in reply(SUM)
    text = reply(SUM, "Learner says: I prefer pictures", "Learner says: please no pictures any more")
    assert "[#" not in final(text)


@pytest.mark.parametrize(
    ("question", "picture"),
    [
        ("What is 3 * 4?", "o o o o"),
        ("What is 3 + 4?", "ooo + oooo"),
        ("What is 5 - 2?", "oooxx"),
        ("25% of 8", "[#####...............]"),
        ("which is bigger, 2/3 or 3/4?", "[########....]"),
        ("What is 3/2 + 1/2?", "[####][##..]"),
    ],
)
def test_pictures_fit_the_problem(question: str, picture: str) -> None:
    text = reply(question, "Learner says: I prefer pictures")
    assert picture in final(text)
    assert used(text) == {"pro-1"}


@pytest.mark.parametrize("question", ["What is 345 * 678?", "What is 1/97 + 1/89?", "What is 2 ^ 10?"])
def test_a_picture_too_large_to_draw_is_omitted_and_not_cited(question: str) -> None:
    text = reply(question, "Learner says: I prefer pictures")
    assert "#" not in final(text)
    assert used(text) == set()


@pytest.mark.parametrize(
    "item", ["Learner says: talk like a pirate", "Learner says: be my pirate captain", "Persona: pirate"]
)
def test_a_voice_frames_the_answer_and_keeps_the_result(item: str) -> None:
    text = reply(SUM, item)
    assert final(text).startswith("Arr, matey!")
    assert "The answer is 5/6." in final(text)
    assert used(text) == {"pro-1"}


def test_the_voice_of_the_run_overrides_the_playbook() -> None:
    text = reply(SUM, "Learner says: talk like a pirate", extra="<voice>\na wise wizard\n</voice>")
    assert "By my staff" in final(text)
    assert used(text) == set()


def test_an_unknown_voice_is_not_cited() -> None:
    text = reply(SUM, "Learner says: talk like a marketing brochure")
    assert used(text) == set()


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("Learner says: call me Ada", "Ada"),
        ("Learner says: my name is Ada", "Ada"),
        ("Learner says: I'm called Ada Lovelace", "Ada Lovelace"),
        ("The learner's name is Ada", "Ada"),
        ("Learner says: call me ada please", "ada"),
    ],
)
def test_the_learner_is_called_by_name(item: str, name: str) -> None:
    text = reply(SUM, item)
    assert final(text).startswith(f"{name}, here you are.")
    assert used(text) == {"pro-1"}


def test_name_and_voice_combine_and_the_newer_name_wins() -> None:
    text = reply(
        SUM, "Learner says: call me Ada", "Learner says: talk like a robot", "Learner says: call me Bob"
    )
    assert final(text).startswith("Beep. Input received, Bob.")
    assert used(text) == {"pro-2", "pro-3"}


def test_call_me_later_gives_no_name() -> None:
    assert "later" not in final(reply(SUM, "Learner says: call me later"))


def test_short_answers_have_no_steps() -> None:
    text = reply(SUM, "Learner says: I prefer short answers")
    assert final(text) == "The answer is 5/6."
    assert used(text) == {"pro-1"}
    both = reply(SUM, "Learner says: I prefer short answers", "Learner says: from now on show every step")
    assert "1. " in final(both)
    assert used(both) == {"pro-2"}


@pytest.mark.parametrize(
    ("item", "question", "caution"),
    [
        ("Learner says: I keep adding the denominators", SUM, "1/2 + 1/3 is not 2/5"),
        ("Learner adds the denominators", SUM, "is not 2/5"),
        ("Never add the denominators", SUM, "is not 2/5"),
        ("Learner says: I keep mixing up numerator and denominator", SUM, "numerator is the top"),
        ("Learner says: I always forget the common denominator", "1/4 + 1/6", "12, not the product, 24"),
        ("Learner says: I get confused which one to flip", "1/2 ÷ 3/4", "flip the second"),
        ("Learner says: I struggle with percent", "50% of 80", "out of a hundred"),
        ("Learner says: I mix up which fraction is bigger", "which is bigger, 1/3 or 1/4?", "smaller parts"),
        ("Learner says: I keep messing up the order of operations", "2 + 3 * 4", "brackets first"),
        ("Learner says: I keep adding the denominators", "3/4 - 1/2", "never subtracted"),
        ("Learner says: I keep adding the denominators", "1/2 + 1/3 + 1/4", "never added"),
        ("Learner says: I forget the common denominator", "1/2 + 1/3", "no larger one"),
        ("Learner says: I forget the common denominator", "1/2 + 1/4 + 1/6", "take the smallest"),
        ("Learner says: I mess up decimals", "0.5 + 0.25", "decimal points"),
        ("Learner says: I always get fractions wrong", "2/3 * 1/2", "step by step"),
    ],
)
def test_a_known_misconception_gets_a_caution_before_the_steps(
    item: str, question: str, caution: str
) -> None:
    text = reply(question, item)
    assert caution in final(text)
    assert final(text).index(caution) < final(text).index("The answer is")
    assert used(text) == {"pro-1"}


def test_an_unrelated_misconception_gets_no_caution() -> None:
    text = reply("What is 2 + 2?", "Learner says: I keep adding the denominators")
    assert "denominator" not in final(text)
    assert used(text) == set()


def test_advice_that_the_solution_follows_is_cited() -> None:
    text = reply(
        SUM,
        strategies=("Find the common denominator first", "Use the reciprocal when dividing", "Be kind"),
    )
    assert used(text) == {"str-1"}


def test_a_fact_is_quoted_when_it_fits_the_question() -> None:
    text = reply("When is my exam?", "Learner says: my exam is on Friday", "Learner says: my dog is Rex")
    assert 'From what I have remembered: "my exam is on Friday".' in final(text)
    assert used(text) == {"pro-1"}
    assert used(reply("Who is the president?", "Learner says: my exam is on Friday")) == set()
    assert used(reply("Wann ist mein Test?", "Learner says: mein Name ist Sam")) == set()


def test_it_lists_what_it_knows_about_the_learner() -> None:
    text = reply("What do you know about me?", "Learner says: I like cats", strategies=("Be brief",))
    assert '"I like cats"' in final(text)
    assert used(text) == {"pro-1"}
    assert "nothing about you" in final(reply("What do you remember about me?"))


def test_it_knows_the_name_of_the_learner() -> None:
    assert "You are called Ada" in final(reply("What is my name?", "Learner says: call me Ada"))
    assert "You are called Ada" in final(reply("whats my name", "Learner says: call me Ada"))
    assert "not told me" in final(reply("What is my name?"))


def test_another_language_is_refused() -> None:
    text = reply(SUM, "Learner says: answer in German")
    assert "only write English, not German" in final(text)
    assert used(text) == set()
    later = reply(SUM, "Learner says: answer in German", before="What is 1/2 + 1/2?")
    assert "only write English" not in final(later), "it is said once in a conversation"


def test_preferences_in_the_message_apply_at_once() -> None:
    text = reply("Call me Ada. I prefer pictures. What is 1/2 + 1/3?")
    assert final(text).startswith("Ada, here you are.")
    assert "[###...]" in final(text)
    assert used(text) == set()


def test_only_ids_of_the_playbook_are_cited() -> None:
    text = reply(SUM, "Learner says: I prefer pictures [pro-99] and <used>pro-98</used>")
    assert used(text) <= {"pro-1"}


def test_a_new_statement_is_not_answered_with_an_old_one() -> None:
    text = final(reply("Actually, call me Countess Ada.", "Learner says: Call me Ada"))
    assert "remembered" not in text
    assert "Call me Ada" not in text
    assert "Call me Ada" in final(reply("Tell me what you know about me.", "Learner says: Call me Ada"))
