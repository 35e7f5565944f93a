"""What the tutor says besides calculations: greetings, what it remembers, what was stored or checked.

Only what the prompt's block says was stored, forgotten or checked is confirmed; without one nothing was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from pydantic import JsonValue

from ace_graph.agent.models.reply import find_json_object
from ace_graph.agent.offline_tutor.preferences import Preferences
from ace_graph.agent.offline_tutor.prompt_reader import Item, Prompt
from ace_graph.agent.offline_tutor.teaching import explain_idea, reply_text, teaching
from ace_graph.base.prompts import NOT_ASKED
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.forms import form_pattern, form_wished
from ace_graph.memory.languages.tables import (
    FIRST,
    SPACELESS,
    chat_words,
    languages,
    phrases,
    stop_words,
    table,
    words,
)
from ace_graph.memory.search.tokenize import language_of, terms

_REMARKS = {name: re.compile(text, re.IGNORECASE) for name, text in teaching().remarks.items()}
_PATTERNS = {name: re.compile(text, re.IGNORECASE) for name, text in teaching().patterns.items()}
_HINT_CHARS = 200
_EDGES = " .!"
_CHANGES = {
    "kept": "I will remember:",
    "not_kept": "I have not kept",
    "forgotten": "I have forgotten:",
    "not_forgotten": "I have not forgotten",
    "which": "What shall I forget? I remember",
}
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?。！？…\n,;，；]")
_ENOUGH = 0.5
"""An item that holds this share of the question's terms answers it; one on an explained idea holds all."""


def leaves_problem(question: str) -> bool:
    """Whether a message is a statement, praise or a question about an idea, and so not about a problem."""
    praise = _REMARKS["approval"].search(question) is not None
    return praise or is_statement(question) or explain_idea(question) is not None


def is_statement(question: str) -> bool:
    """Whether the learner tells something instead of asking."""
    if question.rstrip().endswith("?") or form_wished(question) is not None:
        return False
    return _PATTERNS["statement"].search(question) is not None


def reply_without_problem(prompt: Prompt, preferences: Preferences) -> tuple[str, tuple[str, ...]]:
    """Return the reply to a message that poses no problem, and the ids of the items that it quotes."""
    question, name = prompt.question.strip(), preferences.name
    if not question:
        return reply_text("empty"), ()
    known = [item for item in prompt.items if item.id is not None]
    asked_values = _asked_values(question)
    if asked_values == ["name"] and name is not None:
        return f"You are called {name}.", preferences.source_of("name")
    told = [item for value in asked_values for item in known if _states(item, value)]
    if told:
        return _quoted(told)
    if _PATTERNS["about_memory"].search(question) or _asks_what_is_known(question):
        about = [item for item in known if item.about_learner]
        return _quoted(about) if about else (reply_text("stranger"), ())
    statement, idea = is_statement(question), explain_idea(question)
    language = language_of(question)
    asked = set(terms(question, language))
    shared = {item: len(asked & set(terms(item.text, language))) for item in known}
    nearest = max(known, key=shared.__getitem__, default=None)
    enough = max(1, _ENOUGH * len(asked)) if idea is None else max(2, len(asked))
    if nearest is not None and shared[nearest] >= enough and not statement:
        return _quoted([nearest])
    if asked_values:
        return " ".join(reply_text(f"no_{value}") for value in asked_values), ()
    # How to have something kept that a learner has said in passing
    said = question.rstrip(_EDGES)
    tells = not question.endswith("?") and len(said) <= _HINT_CHARS
    if idea is None and tells and (_PATTERNS["in_passing"].match(said) or _tells(said)):
        return f'{_CHANGES["not_kept"]} "{said}" ({NOT_ASKED}).', ()
    remark = next((reply_text(name) for name, form in _REMARKS.items() if form.search(question)), None)
    cannot = "picture" if prompt.has_picture else "cannot_again" if prompt.earlier_questions else "cannot"
    return remark or idea or reply_text("stored_nothing" if statement else cannot), ()


def _asked_values(question: str) -> list[str]:
    """The values of the learner that the message asks for ("Where do I live?"), in any language."""
    return list(
        dict.fromkeys(
            value
            for language in languages("statements")
            for part in _parts(question, language)
            for value, pattern in _asked(language)
            if (match := pattern.search(part)) is not None and _ends_there(part, match, language)
        )
    )


def _parts(question: str, language: str) -> list[str]:
    """The sentences of a message, apart at the words that join two."""
    sentences = _SENTENCE_END.split(question)
    if language in SPACELESS:
        return sentences
    joints = words(language, "persons", "joints")
    parts = list[str]()
    for sentence in sentences:
        begin = 0
        for word in _WORD.finditer(sentence):
            if word[0].casefold() in joints:
                parts.append(sentence[begin : word.start()])
                begin = word.end()
        parts.append(sentence[begin:])
    return parts


def _ends_there(part: str, match: re.Match[str], language: str) -> bool:
    """Whether a question begins at a word, and nothing but words of politeness comes behind it."""
    if language in SPACELESS:
        return True
    if part[: match.start()][-1:].isalnum() or part[match.end() :][:1].isalnum():
        return False
    behind = frozenset(_WORD.findall(part[match.end() :].casefold()))
    return behind <= chat_words(language) | stop_words(language)


@cache
def _asked(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    forms = dict[str, list[str]]()
    for line in phrases(language, "statements", "asked"):
        value, _, form = line.partition(": ")
        forms.setdefault(value, []).append(form)
    return tuple((value, form_pattern(lines)) for value, lines in forms.items())


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    for language in languages("statements"):
        yield from (pattern for _, pattern in _asked(language))
        yield _likes(language)


def _states(item: Item, value: str) -> bool:
    if value != "likes":
        return item.slot == value
    text = item.text.replace("’", "'")
    return item.slot is None and any(_likes(language).match(text) for language in languages("statements"))


@cache
def _likes(language: str) -> re.Pattern[str]:
    return form_pattern(phrases(language, "statements", "likes"))


def _tells(words: str) -> bool:
    """Whether a message in another language than English begins as what somebody says of themselves."""
    language = spoken_language(words)
    if language == FIRST or "in_passing" not in table(language, "statements"):
        return False
    said, known = f"{_in_words(words)} ", phrases(language, "statements", "in_passing")
    return any(said.startswith(f"{_in_words(each)} ") for each in known)


def _asks_what_is_known(question: str) -> bool:
    """Whether a message ends with the question what is known of the learner, in any language but English."""
    asked = _in_words(question)
    return any(
        (phrase in question) if language in SPACELESS else f" {asked}".endswith(f" {_in_words(phrase)}")
        for language in languages("statements")
        if language != FIRST
        for phrase in phrases(language, "statements", "known")
    )


def _in_words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _quoted(items: Sequence[Item]) -> tuple[str, tuple[str, ...]]:
    quotes = "; ".join(f'"{item.text}"' for item in items)
    ids = tuple(item.id for item in items if item.id is not None)
    return f"From what I have remembered: {quotes}.", ids


def memory_changes(blocks: Mapping[str, str]) -> dict[str, str]:
    """Return what the block <memory_changes> of a prompt says: a sentence for each kind of change.

    What is asked has none: the program's question follows the answer.
    """
    changes = _changes(blocks)
    sentences: dict[str, str] = {}
    for kind, opening in _CHANGES.items():
        of_kind = [change for change in changes if kind in change]
        texts = (f'"{each[kind]}"' + (f" ({each['why']})" if "why" in each else "") for each in of_kind)
        if kind == "which" and of_kind:
            listed = "; ".join(str(each[kind]) for each in of_kind)
            sentences[kind] = f'{opening} {listed}. Say "forget that ..." with its words.'
        elif of_kind:
            sentences[kind] = f"{opening} {'; '.join(texts)}."
    return sentences


def is_asked_about(blocks: Mapping[str, str]) -> bool:
    """Whether the program asks at the answer's end if something is to be remembered."""
    return any("asked" in change for change in _changes(blocks))


def _changes(blocks: Mapping[str, str]) -> list[dict[str, JsonValue]]:
    return [find_json_object(line) or {} for line in blocks.get("memory_changes", "").splitlines()]


def checked_calculation(blocks: Mapping[str, str]) -> str:
    """Return the calculation that the program checked, from the block <check>, '' for none."""
    return str((find_json_object(blocks.get("check", "")) or {}).get("calculation", ""))


def defend_answer(blocks: Mapping[str, str]) -> list[str]:
    """Return what to say to an objection that a check refuted, from the block <check>; no line for none."""
    check = find_json_object(blocks.get("check", ""))
    if check is None or check.get("answer_before") != "right":
        return []
    calculation, value, claimed = (check.get(name) for name in ("calculation", "value", "learner_says"))
    if not calculation:
        return ["I have looked at it again: the answer was checked, and it was right."]
    other = f", not {claimed}" if claimed else ""
    return [f"I have checked it again: {calculation} = {value}{other}."]
