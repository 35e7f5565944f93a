"""What a learner stated in one language is found when it is asked for in another one."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, ACEGraph, build_ace_graph, open_store
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.memory.stores import Store


def agent(store: Store) -> ACEGraph:
    return build_ace_graph(model=OfflineTutor(), store=store)


async def told(graph: ACEGraph, message: str) -> str:
    """The answer to a message that begins a conversation."""
    out = await graph.ainvoke({"messages": [HumanMessage(message)]}, context=ACEContext(learner_id="ada"))
    return out["messages"][-1].text


@pytest.mark.parametrize(
    ("said", "asked", "answer"),
    [
        ("Ich heiße Mia", "What's my name?", "You are called Mia."),
        ("Mein Name ist Mia Sommer", "do you know what my name is", "You are called Mia Sommer."),
        ("My name is Mia", "Wie heiße ich?", "You are called Mia."),
        ("Je m'appelle Mia", "Weißt du noch meinen Namen?", "You are called Mia."),
        ("Me llamo Mia", "What am I called?", "You are called Mia."),
        ("我叫小明", "What is my name?", "You are called 小明."),
        ("My name is Mia", "我叫什么名字？", "You are called Mia."),
        ("Du kannst mich Mia nennen", "Tell me my name, please!", "You are called Mia."),
        ("I moved to Rome", "Where do I live?", "I moved to Rome"),
        ("I moved to Rome", "Wo wohne ich?", "I moved to Rome"),
        ("Ich wohne in Bonn", "Hi, where do I live now?", "Ich wohne in Bonn"),
        ("J'habite à Lyon", "Can you tell me where I live?", "J'habite à Lyon"),
        ("Wir sind nach Köln gezogen", "Which city do I live in?", "Wir sind nach Köln gezogen"),
        ("Ich bin 12 Jahre alt", "How old am I?", "Ich bin 12 Jahre alt"),
        ("I'm 12 years old", "Wie alt bin ich?", "I'm 12 years old"),
        ("Ich gehe in die 6. Klasse", "What grade am I in?", "Ich gehe in die 6. Klasse"),
        ("I'm in 6th grade", "In welche Klasse gehe ich?", "I'm in 6th grade"),
        ("Meine Muttersprache ist Polnisch", "What's my first language?", "Meine Muttersprache ist Polnisch"),
        ("I like it when you draw", "Was mag ich?", "I like it when you draw"),
        ("Ich lerne am besten mit Bildern", "What do I like?", "Ich lerne am besten mit Bildern"),
        ("Prefiero los dibujos", "What do I prefer?", "Prefiero los dibujos"),
    ],
)  # fmt: skip
async def test_a_value_is_found_by_what_it_is(said: str, asked: str, answer: str) -> None:
    async with open_store("memory://") as store:
        graph = agent(store)
        await told(graph, "I prefer pictures of trains")
        await told(graph, said)
        assert answer in await told(graph, asked)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("What's my name?", "You have not told me your name yet."),
        ("Wie heiße ich?", "You have not told me your name yet."),
        ("Where do I live?", "You have not told me where you live yet."),
        ("Wie alt bin ich, und wo wohne ich?", "You have not told me how old you are yet."),
        ("Wie alt bin ich und wo wohne ich?", "You have not told me where you live yet."),
    ],
)  # fmt: skip
async def test_a_value_that_was_never_told_is_said_to_be_unknown(asked: str, answer: str) -> None:
    async with open_store("memory://") as store:
        assert answer in await told(agent(store), asked)


@pytest.mark.parametrize(
    "asked",
    ["What is my name in Spanish?", "Where do I live animals see?", "How do I write where do I livestock?"],
)
async def test_a_question_for_something_else_is_not_answered_with_a_value(asked: str) -> None:
    async with open_store("memory://") as store:
        graph = agent(store)
        await told(graph, "My name is Mia")
        await told(graph, "I live in Rome")
        answer = await told(graph, asked)
        assert "You are called" not in answer
        assert "Rome" not in answer


async def test_the_newer_of_two_homes_is_found_whatever_their_languages() -> None:
    async with open_store("memory://") as store:
        graph = agent(store)
        await told(graph, "Ich wohne in Berlin")
        await told(graph, "I moved to Rome")
        answer = await told(graph, "Où est-ce que j'habite ?")
        assert answer.index("Rome") < answer.index("before: Berlin")


@pytest.mark.parametrize("said", ["Ich heiße Mia", "My name is Mia", "Call me Mia", "Je m'appelle Mia"])
async def test_an_introduction_is_answered_with_a_hello(said: str) -> None:
    async with open_store("memory://") as store:
        graph = agent(store)
        answer = await told(graph, said)
        assert answer == f'Hello, Mia!\nI will remember: "{said}".'
        assert await told(graph, "Thanks") == "You are welcome."
        assert (await told(graph, "What is 2 + 2?")).startswith("Mia, here you are.\n")
