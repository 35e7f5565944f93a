"""The words of the simulated learners: skills that share words with each other, said in four ways each.

A skill is an action on an object in a context. The action has four names, which gives the four variants of a
rule; object and context are named in all of them, and each belongs to other skills as well. So a task is
found by its words, but never by one of them alone. In the hard wording the context has two names, too, so
that two variants may share one word of the subject only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

__all__ = ["OWN", "Wording"]

ACTIONS = (
    ("rounding", "approximating", "estimating", "trimming"),
    ("sorting", "ordering", "ranking", "arranging"),
    ("converting", "transforming", "translating", "adapting"),
    ("labelling", "tagging", "marking", "captioning"),
    ("citing", "referencing", "quoting", "crediting"),
    ("naming", "titling", "heading", "christening"),
    ("verifying", "proofing", "checking", "auditing"),
    ("drawing", "sketching", "plotting", "illustrating"),
    ("storing", "archiving", "filing", "saving"),
    ("splitting", "dividing", "partitioning", "separating"),
    ("counting", "tallying", "numbering", "totalling"),
    ("comparing", "contrasting", "matching", "weighing"),
    ("abbreviating", "shortening", "condensing", "summarizing"),
    ("copying", "duplicating", "cloning", "reproducing"),
)
OBJECTS = (
    "invoice", "fraction", "essay", "recipe", "map", "budget", "poem", "graph", "letter", "contract",
    "timeline", "experiment", "password", "photo", "ticket", "survey", "loan", "melody", "diary", "menu",
)  # fmt: skip
CONTEXTS = (
    ("tax office", "revenue service"),
    ("science lab", "research bench"),
    ("school newspaper", "student gazette"),
    ("football club", "soccer team"),
    ("city museum", "town gallery"),
    ("online shop", "web store"),
    ("family party", "home celebration"),
    ("summer camp", "holiday retreat"),
    ("job interview", "hiring talk"),
    ("chess league", "board-game ladder"),
)
VALUES = (
    "two decimal places", "three decimal places", "the metric scale", "the imperial scale", "red ink",
    "blue ink", "a numbered list", "a bulleted list", "the newest version first",
    "the oldest version first", "capital letters", "small letters", "a table of 4 columns",
    "a table of 6 columns", "the short form", "the long form", "the Harvard style", "the Chicago style",
    "a margin of 2 cm", "a margin of 3 cm", "the nearest ten", "the nearest hundred", "no headings at all",
    "headings on every part",
)  # fmt: skip
TASKS = (
    "Please help me with {action} the {object} of the {context}, number {number} from {person}.",
    "{person} wants me to finish {action} the {context} {object} until {day}. How should it look?",
    "I am {action} a {object} for the {context} and got stuck at part {number}. What now?",
    "What is expected when {action} the {object} that {person} sent to the {context} on {day}?",
    "My {context} {object}, page {number}, still needs {action}. Can you do it before {day}?",
)
LESSONS = (
    "When {action} the {object} of the {context}, use {value}",
    "The {context} {object}: {action} is done with {value}",
    "For {action} any {object} of the {context}, the expected choice is {value}",
    "Choose {value} for {action} the {object} in the {context}",
)
USELESS = (
    "Think carefully about {action} the {object} before answering",
    "Read the question about the {context} twice",
    "A clear answer about the {object} helps the learner",
    "Double-check the work when {action} the {object} of the {context}",
    "Be patient and friendly with the learner",
    "Explain every step in plain words",
    "Make sure that the answer is complete",
    "Ask the learner for details if something is missing",
)
PEOPLE = ("Alvarez", "Bauer", "Chen", "Dubois", "Eriksen", "Fontana", "Gupta", "Haddad", "Ivanov", "Jensen")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Wording:
    """The words of one world; `ask` makes a question of the words of a subject by chance.

    An action and a context may have several names, an object has one. `chat` are the words that questions
    hold beside their subject, which no memory is told of.
    """

    actions: Sequence[tuple[str, ...]]
    objects: Sequence[str]
    contexts: Sequence[tuple[str, ...]]
    values: Sequence[str]
    lessons: Sequence[str]
    useless: Sequence[str]
    ask: Callable[[Mapping[str, str], Random], str]
    chat: frozenset[str]


def _ask(words: Mapping[str, str], chance: Random) -> str:
    return chance.choice(TASKS).format(
        **words, number=chance.randrange(3, 90), person=chance.choice(PEOPLE), day=chance.choice(DAYS)
    )


def _chat() -> frozenset[str]:
    asked = " ".join(TASKS).format(action="", object="", context="", number="", person="", day="")
    said = (*asked.split(), *PEOPLE, *DAYS)
    return frozenset(word.strip(",.?").casefold() for word in said)


OWN = Wording(ACTIONS, OBJECTS, CONTEXTS, VALUES, LESSONS, USELESS, _ask, _chat())
"""The words of the first world."""
