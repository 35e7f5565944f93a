"""What an English sentence says, in one form for all ways to say it: who does what, and when.

The passive is put into the active, a condition or a phrase from the front to the end, a noun made of a verb
("a check of the answer") into the verb, and every word into the one that stands for its synonyms. Nothing is
ever left out for that, and the words keep their order otherwise, so that two sentences have one form only if
they say the same of the same things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from ace_graph.base.tables import groups, pairs, word_sets
from ace_graph.memory.similarity.claim import (
    PhraseTable,
    Quantity,
    Token,
    canonical_number,
    forms_of_one_word,
    lexicon,
    normalized_tokens,
    number_of,
    root,
    unit_of,
)

# English words as keys: every form of a word has one key, and so has every word of the same meaning.
#
# The words are in data/rewordings.toml. A key is the root of the word that stands for all.


@dataclass(frozen=True)
class Grammar:
    """The word sets of the table, which says what each of them is for.

    `modals` maps a modal verb to the one that stands for all.
    """

    light: frozenset[str]
    participles: frozenset[str]
    subordinate: frozenset[str]
    prepositions: frozenset[str]
    no_agents: frozenset[str]
    nobody: frozenset[str]
    empty: frozenset[str]
    counts: frozenset[str]
    intransitive: frozenset[str]
    no_adverbs: frozenset[str]
    particles: frozenset[str]
    giving: frozenset[str]
    modals: Mapping[str, str]
    meanings: PhraseTable
    synonyms: PhraseTable


@cache
def grammar() -> Grammar:
    """Return the table, ready for use."""
    sets = {name: frozenset(text.split()) for name, text in _table().items()}
    modals = {word: group[0] for group in groups(_table()["modals"]) for word in group}
    irregular = {form for group in groups(_table()["irregular"]) for form in group[1:]}
    fillers = lexicon().fillers - sets["kept"] - modals.keys() - {"need", "needs"}
    return Grammar(
        light=frozenset(map(key_of, sets["light"])),
        participles=frozenset(irregular | sets["participles"]),
        subordinate=sets["subordinate"],
        prepositions=sets["prepositions"],
        no_agents=sets["no_agents"],
        nobody=sets["nobody"],
        empty=sets["empty"] | fillers,
        counts=sets["counts"],
        intransitive=frozenset(map(key_of, sets["intransitive"])),
        no_adverbs=sets["no_adverbs"],
        particles=sets["particles"],
        giving=frozenset(map(key_of, sets["giving"])),
        modals=MappingProxyType(modals),
        meanings=PhraseTable(dict(_meanings())),
        synonyms=PhraseTable(dict(_synonymous_phrases())),
    )


@lru_cache(maxsize=32_768)
def key_of(word: str) -> str:
    """Return the key of a case-folded word."""
    key = root(base_of(word))
    return _synonyms().get(key, key)


def base_of(word: str) -> str:
    """Return a case-folded word, the verb for a form of it that its endings don't show (paid, wrote)."""
    return _verbs_by_form().get(word, word)


def verb_of(word: str) -> str | None:
    """Return the key of the verb that a noun is made of (payment, paying), None where it is made of none."""
    verb = _verbs_by_noun().get(word) or _verbs_by_noun().get(word.removesuffix("s"))
    if verb is None and word.endswith("ing") and len(word) >= len("using"):
        verb = word
    return None if verb is None else key_of(verb)


def _meanings() -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    for entry in groups(_table()["meanings"]):
        yield tuple(entry[0].split("_")), tuple(entry[2:])


def _synonymous_phrases() -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the phrases in keys of their words, as they are looked up behind `key_of`."""
    for group in groups(_table()["synonyms"]):
        for phrase in group:
            if "_" in phrase:
                yield tuple(map(key_of, phrase.split("_"))), (key_of(group[0]),)


@cache
def _synonyms() -> Mapping[str, str]:
    found = dict[str, str]()
    for group in groups(_table()["synonyms"]):
        for word in group:
            if "_" not in word:
                found.setdefault(root(word), root(group[0]))
    return MappingProxyType(found)


@cache
def _verbs_by_form() -> Mapping[str, str]:
    return MappingProxyType({form: group[0] for group in groups(_table()["irregular"]) for form in group[1:]})


@cache
def _verbs_by_noun() -> Mapping[str, str]:
    return pairs(_table()["nouns"])


@cache
def _table() -> Mapping[str, str]:
    return word_sets("ace_graph.memory.similarity", "rewordings.toml")


# An English sentence as parts: words by their keys, amounts, and the words that its grammar hangs on.
#
# What says nothing (fillers) is left out, and a phrase that stands for a word is that word. `None` comes
# back for a sentence that the rules can't be sure of: one with "would", "need not", or too long.


_LONGEST = 60
_LETTERS = 12
"""The longest sentence, in parts, and how many letters a part may have on average."""
_DUTY = re.compile(r"\b(?:(?:has|have|ought|needs?) to|(?:is|are) to(?= be\b))\b", re.IGNORECASE)
_UNCLEAR = re.compile(
    r"\b(?:would|hopes?|should have|need not|needn't|can't|cannot|couldn't|mayn't|mightn't)\b"
    r"|\b(?:won't|(?:not|don't|doesn't|never) (?:need|have|has) to)\b",
    re.IGNORECASE,
)
_BE = frozenset(["is", "are", "be", "been", "being", "was", "were", "am"])
_DETERMINERS = frozenset(["a", "an", "the", "your", "our", "my", "its", "their", "his", "her"])
_WITH_IS = frozenset(["it", "that", "there", "he", "she", "what"])
_PERIODS = frozenset(["hour", "minute", "day", "week", "month", "year"])
_CURRENCIES = frozenset("$€£¥")
_COMPARED: Mapping[tuple[str, str], str] = MappingProxyType(
    {("at", "least"): ">=", ("at", "most"): "<=", ("more", "than"): ">", ("less", "than"): "<"}
)
_LIMITS: Mapping[str, str] = MappingProxyType({"over": ">", "above": ">", "under": "<", "below": "<"})
_OPEN_ENDED: Mapping[str, str] = MappingProxyType({"more": ">=", "less": "<=", "fewer": "<="})
_PERSONS: Mapping[str, str] = MappingProxyType(
    {
        "her": "she",
        "she": "she",
        "him": "he",
        "he": "he",
        "them": "they",
        "they": "they",
        "us": "we",
        "me": "i",
    }
)
_TIMES: Mapping[str, str] = MappingProxyType({"once": "1", "twice": "2", "thrice": "3"})
Kind = Literal["word", "det", "amount", "be", "modal", "prep", "sub", "of", "not", "comma", "mark"]


class SentencePart(NamedTuple):
    """`key` stands for all words of the same meaning, `word` is as the text has it, case-folded."""

    kind: Kind
    key: str
    word: str


def parts_of(text: str) -> list[SentencePart] | None:
    """Return the parts of a sentence in their order, None where the rules are not sure to understand it."""
    if len(text) > _LONGEST * _LETTERS or _UNCLEAR.search(text):
        return None
    tokens = _with_meanings(normalized_tokens(_DUTY.sub("must", text)))
    return _Reader(tokens).read() if len(tokens) <= _LONGEST else None


def is_participle(word: str) -> bool:
    """Whether a case-folded word may be a past participle."""
    return (word.endswith("ed") and not word.endswith("eed")) or word in grammar().participles


def is_manner(part: SentencePart) -> bool:
    """Whether a part is an adverb in -ly."""
    word = part.word
    return (
        part.kind == "word"
        and word.endswith("ly")
        and len(word) > len("only")
        and word not in grammar().no_adverbs
    )


def _with_meanings(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with phrases put into the words that are read instead."""
    words, found, place = [token.word for token in tokens], list[Token](), 0
    while place < len(tokens):
        length, meaning = grammar().meanings.at(words, place)
        found.extend(Token("word", word, word) for word in meaning)
        if not length:
            found.append(tokens[place])
        place += length or 1
    return found


class _Reader:
    """Mutable only inside one call of `parts_of`."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._words = [token.word.removesuffix("'s") for token in tokens] + [""] * 2
        self._keys = [key_of(word) for word in self._words]
        self._parts: list[SentencePart] = []
        self._place = 0

    def read(self) -> list[SentencePart]:
        while self._place < len(self._tokens):
            token, word = self._tokens[self._place], self._words[self._place]
            if token.kind == "pause":
                self._add("comma" if word == "," else "mark", word)
            elif token.kind == "symbol":
                before = self._parts[-1] if self._parts else None
                if word == "%" and before is not None and before.kind == "amount":
                    self._parts[-1] = before._replace(key=f"{before.key} %")
                else:
                    self._add("mark", word)
            elif token.kind in ("number", "measure") or self._counts(word):
                self._take_number(word)
            elif not self._take_comparison(word):
                self._take_word(word, token.word)
            self._place += 1
        return self._parts

    @property
    def _next(self) -> str:
        return self._words[self._place + 1]

    def _add(self, kind: Kind, key: str, word: str = "") -> None:
        self._parts.append(SentencePart(kind, key, word or key))

    def _counts(self, word: str) -> bool:
        started = word in ("a", "an", "per") and self._next in _PERIODS
        return word in _TIMES or started or number_of(word) is not None

    def _take_number(self, word: str) -> None:
        value = _TIMES.get(word) or number_of(word) or ("1" if word in ("a", "an", "per") else word)
        value = canonical_number(value)
        if value.endswith(("st", "nd", "rd", "th")):
            self._add("word", value, word)
            return
        unit = "times" if word in _TIMES else ""
        if not unit and self._next in ("time", "times"):
            unit, self._place = "times", self._place + 1
        elif not unit and unit_of(self._next):
            unit, self._place = unit_of(self._next) or "", self._place + 1
        elif self._parts and self._parts[-1].key in _CURRENCIES:
            unit = unit_of(self._parts.pop().key) or ""
        amount = " ".join(Quantity(value, unit, "", "").amount).strip()
        limit = self._parts.pop().key if self._parts and self._parts[-1].word == "limit" else ""
        if self._next == "or" and (ending := _OPEN_ENDED.get(self._words[self._place + 2])):
            limit, self._place = ending, self._place + 2
        self._add("amount", f"{limit}{amount}")

    def _take_comparison(self, word: str) -> bool:
        """Take "at least" and the like: a limit of the amount behind it, or of the one shortly before."""
        limit = _COMPARED.get((word, self._next))
        behind = self._words[self._place + 2] if limit else self._next
        counted = behind != "" and (behind[0].isdigit() or behind in _CURRENCIES or self._is_amount(behind))
        limit = limit or (_LIMITS.get(word) if counted else None)
        if limit is None:
            return False
        self._place += (word, self._next) in _COMPARED
        near = [
            n
            for n, part in enumerate(self._parts[-2:], max(len(self._parts) - 2, 0))
            if part.kind == "amount"
        ]
        if counted:
            self._add("word", limit, "limit")
        elif near and limit in (">=", "<="):
            self._parts[near[-1]] = self._parts[near[-1]]._replace(key=f"{limit}{self._parts[near[-1]].key}")
        else:
            self._add("word", limit)
        return True

    def _is_amount(self, word: str) -> bool:
        return word in ("a", "an") or word in _TIMES or number_of(word) is not None

    def _take_word(self, word: str, full: str) -> None:
        table = grammar()
        length, meaning = table.synonyms.at(self._keys, self._place)
        if length:
            self._add("word", meaning[0], word)
            self._place += length - 1
        elif word in _BE:
            self._add("be", "be", word)
        elif word in _PERSONS and (word != "her" or self._ends_phrase(self._next)):
            self._add("word", _PERSONS[word], word)
        elif word in _DETERMINERS:
            self._add("det", "the", word)
        elif word in ("not", "never"):
            self._add("not", "not")
        elif word == "avoid":
            self._add("not", "not")
            if not self._next.endswith("ing"):
                self._add("word", key_of("use"), "use")
        elif word in table.modals:
            self._add("modal", table.modals[word], word)
        elif word == "of":
            self._add("of", word)
        elif word == "on" and self._ends_phrase(self._next):
            self._add("word", word)
        elif word in table.subordinate or word in table.prepositions:
            self._add_joint("sub" if word in table.subordinate else "prep", word)
        elif word in ("and", "or", "but"):
            self._add("mark", word)
        elif not self._is_auxiliary(word) and word not in table.empty:
            self._add("word", self._keys[self._place], word)
        if full != word and word in _WITH_IS:
            self._add("be", "be", "is")

    def _ends_phrase(self, word: str) -> bool:
        return word in ("", ",", ";", "and", "or") or word in grammar().subordinate | grammar().prepositions

    def _add_joint(self, kind: Kind, word: str) -> None:
        """Add a word that joins; an "only" or "even" before it belongs to it."""
        before = self._parts[-1].word if self._parts else ""
        if before in ("only", "even"):
            self._parts.pop()
            self._add(kind, f"{before} {word}", word)
        else:
            self._add(kind, word)

    def _is_auxiliary(self, word: str) -> bool:
        if word in ("have", "has", "had", "having"):
            return self._next in ("been", "not") or is_participle(self._next)
        return word in ("do", "does", "did") and self._next in ("not", "never")


# A clause in the active voice, with verbs for the nouns that are made of them.


_RELATIVE = frozenset({"who", "which", "whose", "where", "whom", "that"})
_SEPARATORS = frozenset({",", ";", ":", "but"})
_NAME = 2
"""The words of an article and a noun."""
_NECESSARY = frozenset({"necessary", "mandatory", "compulsory", "obligatory", "due"})
_BOUNDARIES = frozenset({"prep", "sub", "comma", "mark", "be", "modal", "not"})


class ActiveClause(NamedTuple):
    """`mode` is must, may or can, else empty; a duty of nobody in particular is an instruction and has none.

    `generic` says that somebody does it who is not named.
    """

    mode: str
    parts: list[SentencePart]
    generic: bool = False


def active(parts: Sequence[SentencePart], *, main: bool) -> ActiveClause | None:
    """Return a clause in the active voice, None for one with several modal verbs or without words."""
    modals = [part for part in parts if part.kind == "modal"]
    if len(modals) > 1 or not parts:
        return None
    deed = _deed(parts)
    if deed is not None:
        return deed
    mode = modals[0].key if modals else ""
    nobody, rest = _without_nobody(parts, main=main)
    rest = _without_there(rest)
    passive = _passive(rest)
    anonymous = bool(nobody) or (bool(modals) and parts[0].kind == "modal")
    if passive is not None:
        agent, rest = passive
        anonymous = not agent
    # Return "check the answer" for "do a check of the answer"; what follows an "of" else goes before it
    found, place = list[SentencePart](), 0
    while place < len(rest):
        noun = place + 1 + (place + 1 < len(rest) and rest[place + 1].kind == "det")
        if rest[place].kind == "word" and rest[place].key in grammar().light and _is_deed(rest, noun):
            found.append(_verb(rest[noun]))
            place = noun + 1 + (noun + 1 < len(rest) and rest[noun + 1].kind == "of")
        else:
            found.append(rest[place])
            place += 1
    rest = _with_owners_first(_with_receiver_last(found))
    if anonymous:
        rest = [part for part in rest if part.kind != "modal"]
    if mode == "must" and anonymous:
        return ActiveClause("", rest)
    generic = not mode and anonymous and nobody not in ("you", "we", "one")
    return ActiveClause(mode, _without_progressive(rest), generic)


def _deed(parts: Sequence[SentencePart]) -> ActiveClause | None:
    """Return "the nurse may open the safe" for "the opening of the safe by the nurse is allowed".

    None for a clause that does not begin with a noun made of a verb, or says something else of it.
    """
    start = int(parts[0].kind == "det")
    verb = verb_of(parts[start].word) if len(parts) > start + 1 and parts[start].kind == "word" else None
    gerund = start == 0 and parts[0].word.endswith("ing")
    followed = verb is not None and (parts[start + 1].kind == "of" or gerund)
    ends = (n for n, p in enumerate(parts) if n > start and (p.kind == "be" or p.key == key_of("happen")))
    place = next(ends, None)
    if verb is None or not followed or place is None:
        return None
    said = _predicate(parts, place) if parts[place].kind == "be" else ("", place + 1)
    if said is None:
        return None
    mode, behind = said
    subject = [part for part in parts[start + 1 : place] if part.kind != "modal"]
    agent, subject = _agent(subject[bool(subject) and subject[0].kind == "of" :])
    rest = list(parts[behind:])
    if not agent:
        agent, rest = _agent(rest)
    intransitive = verb in grammar().intransitive and not agent
    named = bool(agent) or intransitive
    how = [SentencePart("modal", mode, mode)] if mode and named else []
    verb_part = _verb(parts[start])
    done = [*subject, *how, verb_part] if intransitive else [*agent, *how, verb_part, *subject]
    return ActiveClause("" if mode == "must" and not named else mode, [*done, *rest], not mode and not named)


def _predicate(parts: Sequence[SentencePart], place: int) -> tuple[str, int] | None:
    """Return which mode a predicate means and where it ends: is done, is a must, is on Monday."""
    behind = [part for part in parts[place + 1 : place + 3] if part.kind != "det"]
    end = place + 2 + (place + 1 < len(parts) and parts[place + 1].kind == "det")
    if not behind or (place and parts[place - 1].kind in ("not", "modal")):
        return None
    if behind[0].kind in ("prep", "sub"):
        return "", place + 1
    if behind[0].kind == "modal":
        return behind[0].key, end
    if behind[0].word in _NECESSARY or behind[0].key == key_of("need"):
        return "must", end
    if behind[0].key == key_of("permit"):
        return "may", end
    done = behind[0].key in grammar().light or behind[0].key == key_of("perform")
    return ("", end) if done and is_participle(behind[0].word) else None


def _without_nobody(parts: Sequence[SentencePart], *, main: bool) -> tuple[str, list[SentencePart]]:
    """Return a first word that names nobody ("you", "somebody", "they"), and the parts behind it."""
    word = parts[0].word
    generic = word in grammar().nobody or (word in ("they", "i") and (not main or word == "they"))
    if not generic or len(parts) < 2 or parts[1].kind == "be":
        return "", list(parts)
    return word, list(parts[1:])


def _without_there(parts: list[SentencePart]) -> list[SentencePart]:
    """Return "eight people are in the room" for "there are eight people in the room"."""
    be = next((n for n, part in enumerate(parts[:3]) if part.kind == "be"), 0)
    if not be or parts[0].word != "there":
        return parts
    end = next((n for n, part in enumerate(parts) if part.kind == "prep"), len(parts))
    return [*parts[be + 1 : end], *parts[1 : be + 1], *parts[end:]]


def _passive(parts: Sequence[SentencePart]) -> tuple[list[SentencePart], list[SentencePart]] | None:
    """Return the agent and the clause in the active voice, None for a clause that is not passive."""
    verb = _passive_verb(parts)
    if verb is None:
        return None
    be = next(n for n in range(verb - 1, -1, -1) if parts[n].kind == "be")
    between = list(parts[be + 1 : verb])
    start = be
    while start and parts[start - 1].kind in ("not", "be", "modal"):
        start -= 1
    nots = [part for part in (*parts[start:be], *between) if part.kind in ("not", "modal")]
    adverbs = [part for part in between if part.kind != "not"]
    patient, rest = parts[:start], list(parts[verb + 1 :])
    particles = list[SentencePart]()
    while rest and rest[0].kind == "word" and rest[0].word in grammar().particles:
        particles.append(rest.pop(0))
    stranded = [rest.pop(0)] if len(rest) > 1 and rest[0].kind == rest[1].kind == "prep" else []
    agent, rest = _agent(rest)
    said = [*agent, *nots, parts[verb], *particles, *stranded, *patient, *adverbs, *rest]
    return agent, said


def _passive_verb(parts: Sequence[SentencePart]) -> int | None:
    """Return the place of the participle behind a form of "be", the only one that the subject allows."""
    for place, part in enumerate(parts):
        if (
            part.kind != "be"
            or place == 0
            or any(p.word in _RELATIVE for p in parts[max(place - 2, 0) : place])
        ):
            continue
        verb = place + 1
        while verb < len(parts) and (parts[verb].kind in ("not", "be") or is_manner(parts[verb])):
            verb += 1
        if verb < len(parts) and parts[verb].kind == "word" and is_participle(parts[verb].word):
            return None if any(p.key in _SEPARATORS for p in parts[:place]) else verb
    return None


def _agent(rest: list[SentencePart]) -> tuple[list[SentencePart], list[SentencePart]]:
    """Return who does it, behind "by", and what is left without that."""
    for place, part in enumerate(rest[:-1]):
        if part.word == "by" and _names_agent(rest[place + 1 :]):
            end = next((n for n in range(place + 2, len(rest)) if _ends_agent(rest[n])), len(rest))
            return rest[place + 1 : end], [*rest[:place], *rest[end:]]
    return [], rest


def _ends_agent(part: SentencePart) -> bool:
    frequency = (part.kind == "amount" and " " in part.key) or part.key == "all"
    return part.kind in ("prep", "sub", "comma", "mark") or frequency or is_manner(part)


def _names_agent(parts: Sequence[SentencePart]) -> bool:
    words = [part for part in parts[:2] if part.kind != "det"]
    if not words or words[0].word.endswith("ing") or words[0].word in grammar().no_agents:
        return False
    return words[0].kind == "word" or (words[0].kind == "amount" and " " not in words[0].key)


def _with_receiver_last(parts: list[SentencePart]) -> list[SentencePart]:
    """Return "give the key to the guest" for "give the guest the key"."""
    place = next((n for n, part in enumerate(parts) if part.key in grammar().giving), len(parts))
    if place + 2 >= len(parts) or parts[place + 1].kind != "det" or parts[place].kind != "word":
        return parts
    end = next((n for n in range(place + 1, len(parts)) if parts[n].kind in (*_BOUNDARIES, "of")), len(parts))
    given = next((n for n in range(place + 2, end) if parts[n].kind == "det"), None)
    if given is None or (end < len(parts) and parts[end].word == "to"):
        return parts
    to = SentencePart("prep", "to", "to")
    return [*parts[: place + 1], *parts[given:end], to, *parts[place + 1 : given], *parts[end:]]


def _is_deed(parts: Sequence[SentencePart], place: int) -> bool:
    """Whether a noun made of a verb stands here, and ends its phrase but for an "of"."""
    if place >= len(parts) or parts[place].kind != "word" or verb_of(parts[place].word) is None:
        return False
    return place + 1 == len(parts) or parts[place + 1].kind in ("of", "prep", "comma")


def _verb(noun: SentencePart) -> SentencePart:
    phrase = noun.key != key_of(noun.word)
    return noun if phrase else noun._replace(key=verb_of(noun.word) or noun.key)


def _with_owners_first(parts: list[SentencePart]) -> list[SentencePart]:
    """Return "the parent's consent" for "the consent of the parent", and a verb for a noun made of one.

    "The cleaning of the room" is "clean the room", "the start of the lesson" is "the lesson starts".
    """
    place = next((n for n, part in enumerate(parts) if n and part.kind == "of"), None)
    if place is None:
        return parts
    start = next((n for n in range(place - 1, -1, -1) if parts[n].kind in ("det", *_BOUNDARIES)), -1) + 1
    end = next((n for n in range(place + 1, len(parts)) if parts[n].kind in _BOUNDARIES), len(parts))
    owned, owner = parts[start:place], parts[place + 1 : end]
    led = start > 0 and parts[start - 1].kind == "det"
    if not owned or is_manner(owned[-1]) or not _is_whole(parts, start, place, end):
        return parts
    verb = verb_of(owned[0].word) if len(owned) == 1 else None
    if verb is not None and (start <= 1 or not led) and _opens(parts, start):
        moved = [*owner, _verb(owned[0])] if verb in grammar().intransitive else [_verb(owned[0]), *owner]
    elif led and owned[-1].word not in grammar().counts and owned[-1].kind == "word":
        moved = [*owner, *owned]
    else:
        return parts
    return [*parts[:start], *moved, *parts[end:]]


def _is_whole(parts: Sequence[SentencePart], start: int, place: int, end: int) -> bool:
    """Whether what follows an "of" at `place`, up to `end`, is a name of something and holds no verb.

    Before a verb only a form of "be" or the like shows where it ends; behind one, an article shows a verb.
    """
    owner = parts[place + 1 : end]
    if not owner or any(p.kind == "of" or (p.kind == "det" and n) for n, p in enumerate(owner)):
        return False
    if any(part.word in _RELATIVE or part.word == "whether" for part in parts[:end]):
        return False
    closed = end < len(parts) and parts[end].kind in ("be", "modal", "not")
    return (
        closed or not _opens(parts, start) or (len(owner) <= _NAME and verb_of(parts[start].word) is not None)
    )


def _opens(parts: Sequence[SentencePart], start: int) -> bool:
    """Whether nothing but an article stands before this place."""
    return all(part.kind == "det" for part in parts[:start])


def _without_progressive(parts: list[SentencePart]) -> list[SentencePart]:
    """Return the parts without a form of "be" before a verb in -ing."""
    followed = [*parts[1:], SentencePart("mark", "", "")] if parts else []
    pairs = zip(parts, followed, strict=True)
    return [part for part, behind in pairs if part.kind != "be" or not behind.word.endswith("ing")]


_BETWEEN = re.compile(r"(?<=[.!?])\s+")
_DUTIES = frozenset({"must", "should", "necessary", "needed"})
_MOST_SENTENCES = 5
_MOST_FRONTED = 3
_GENERIC = "~"
"""Stands for somebody who is not named."""
_Form = tuple[object, ...]


@dataclass(frozen=True)
class SentenceForm:
    """`form` is equal for two sentences that say the same; `words` maps its keys to the words of the text.

    `instruction` says that its first sentence is nobody's duty in particular, so that it tells what to do.
    """

    form: _Form
    instruction: bool
    words: Mapping[str, str]


def statement_of(text: str) -> SentenceForm | None:
    """Return what a text of few sentences says, None where the rules are not sure to understand one."""
    sentences = _sentences(text)
    if len(sentences) > _MOST_SENTENCES:
        return None
    read = [_read(sentence) for sentence in sentences]
    known = [each for each in read if each is not None]
    if len(known) < len(read):
        return None
    first = known[0]
    duty = first.form[0] == "" and any(part.word in _DUTIES for part in first.parts)
    words = {part.key: part.word for each in known for part in each.parts}
    return SentenceForm(tuple(each.form for each in known), duty, MappingProxyType(words))


def say_the_same(a: str, b: str) -> bool:
    """Whether two English sentences say the same in other words, for certain."""
    pairs = _sentences(a), _sentences(b)
    if len(pairs[0]) != len(pairs[1]) or not all(map(_of_one_form, *pairs)):
        return False
    first, second = statement_of(a), statement_of(b)
    if first is None or second is None:
        return False
    return all(
        _same_word(word, second.words[key]) for key, word in first.words.items() if key in second.words
    )


class _Sentence(NamedTuple):
    parts: tuple[SentencePart, ...]
    form: _Form


def _sentences(text: str) -> list[str]:
    return _BETWEEN.split(text.strip(), maxsplit=_MOST_SENTENCES)


@lru_cache(maxsize=8_192)
def _read(sentence: str) -> _Sentence | None:
    """Return the parts and the form of a sentence, None where the rules are not sure to understand it."""
    parts = parts_of(sentence)
    form = _form(parts, main=True) if parts else None
    return None if parts is None or form is None else _Sentence(tuple(parts), form)


def _of_one_form(a: str, b: str) -> bool:
    first, second = _read(a), _read(b)
    return first is not None and second is not None and first.form == second.form


def _same_word(x: str, y: str) -> bool:
    """Whether two words of one key are forms of one word, or listed as synonyms."""
    first, second = base_of(x), base_of(y)
    return root(first) != root(second) or forms_of_one_word(first, second)


def _form(parts: Sequence[SentencePart], *, main: bool) -> _Form | None:
    """Return the form of a clause with all that depends on it; what stood in front goes to the end."""
    fronted, rest = _with_antecedent(*_split_fronted(list(parts)))
    place = next((n for n, part in enumerate(rest) if n and part.kind == "sub"), len(rest))
    place = _with_amount(rest, place)
    clause = active(_without_comma(rest[:place]), main=main and not fronted)
    if clause is None:
        return None
    dependent = [rest[place:]] if place < len(rest) else []
    joined = [each for each in (*dependent, *fronted) if _joins(each)]
    phrases = [phrase for each in fronted if not _joins(each) for phrase in _phrases(each)]
    clauses = [_dependent(each) for each in joined]
    if None in clauses:
        return None
    head, chunks, adverbs = _chunks(clause.parts)
    said_by_nobody = (_GENERIC,) if clause.generic and main else ()
    return (clause.mode, (*said_by_nobody, *head), (*chunks, *phrases), tuple(clauses), adverbs)


def _split_fronted(parts: list[SentencePart]) -> tuple[list[list[SentencePart]], list[SentencePart]]:
    """Return what stands in front of the clause, each up to its comma, and the clause."""
    fronted = list[list[SentencePart]]()
    while len(fronted) < _MOST_FRONTED:
        comma = next((n for n, part in enumerate(parts) if part.kind == "comma"), 0)
        if not comma or comma + 1 == len(parts) or not _may_be_fronted(parts[:comma]):
            break
        fronted.append(parts[:comma])
        parts = parts[comma + 1 :]
        parts = parts[parts[0].word == "then" :] or parts
    return fronted, parts


def _with_antecedent(
    fronted: list[list[SentencePart]], rest: list[SentencePart]
) -> tuple[list[list[SentencePart]], list[SentencePart]]:
    """Return "metals expand when they are heated" for "when metals are heated, they expand"."""
    if not rest or rest[0].word not in ("they", "it") or len(fronted) != 1 or not _joins(fronted[0]):
        return fronted, rest
    clause = fronted[0]
    start = next(n for n, part in enumerate(clause) if part.kind == "sub") + 1
    end = next((n for n, part in enumerate(clause) if part.kind in ("be", "prep", "modal", "not")), start)
    if end <= start or clause[end].kind != "be":
        return fronted, rest
    return [[*clause[:start], rest[0], *clause[end:]]], [*clause[start:end], *rest[1:]]


def _joins(parts: Sequence[SentencePart]) -> bool:
    return any(part.kind == "sub" for part in parts)


def _may_be_fronted(parts: Sequence[SentencePart]) -> bool:
    first = parts[0]
    measured = first.kind == "amount" and any(part.kind in ("sub", "prep") for part in parts[1:2])
    return first.kind in ("sub", "prep") or measured or (len(parts) == 1 and _is_adverb(first))


def _with_amount(parts: Sequence[SentencePart], place: int) -> int:
    """Return the place where a joined clause begins: at the "two hours" of "two hours before"."""
    if not 1 < place < len(parts) or parts[place - 2].kind == "prep":
        return place
    before = parts[place - 1]
    return place - 1 if before.kind == "amount" and " " in before.key else place


def _without_comma(parts: Sequence[SentencePart]) -> list[SentencePart]:
    """Return the parts without a last comma, and without those before "and" and "or"."""
    kept = list[SentencePart]()
    for place, part in enumerate(parts):
        behind = parts[place + 1] if place + 1 < len(parts) else None
        if part.kind != "comma" or (behind is not None and behind.kind != "mark"):
            kept.append(part)
    return kept


def _dependent(parts: Sequence[SentencePart]) -> _Form | None:
    """Return the form of a clause behind "if", "before" and the like."""
    place = next(n for n, part in enumerate(parts) if part.kind == "sub")
    form = _form(parts[place + 1 :], main=False) if place + 1 < len(parts) else None
    return None if form is None else (*(part.key for part in parts[: place + 1]), form)


def _phrases(parts: Sequence[SentencePart]) -> _Form:
    """Return the phrases that stand in front of a clause."""
    head, chunks, adverbs = _chunks(parts)
    return (*((head,) if head else ()), *chunks, *adverbs)


def _chunks(parts: Sequence[SentencePart]) -> tuple[tuple[str, ...], tuple[_Form, ...], tuple[str, ...]]:
    """Return the keys up to the first preposition, those from each one to the next, and a lone adverb."""
    parts, adverbs = _without_adverb(list(parts))
    found: list[list[str]] = [[]]
    for part in parts:
        if part.kind == "prep":
            found.append([])
        if part.kind != "det":
            found[-1].append(part.key)
    head, *chunks = (_joined_phrases(keys) for keys in found)
    return _particle_behind_verb(head), tuple(chunks), adverbs


def _without_adverb(parts: list[SentencePart]) -> tuple[list[SentencePart], tuple[str, ...]]:
    """Return the parts without their only adverb, which may stand anywhere, and this adverb."""
    places = [n for n, part in enumerate(parts) if _is_adverb(part) and _stands_alone(parts, n)]
    if len(places) != 1 or any(part.kind == "mark" for part in parts):
        return parts, ()
    adverb = parts[places[0]].key
    return [part for n, part in enumerate(parts) if n != places[0]], (adverb,)


def _is_adverb(part: SentencePart) -> bool:
    return is_manner(part) or part.word == "first"


def _stands_alone(parts: Sequence[SentencePart], place: int) -> bool:
    """Whether an adverb qualifies the clause: "first" at an end of it, others before no adjective."""
    behind = parts[place + 1] if place + 1 < len(parts) else None
    at_end = behind is None or behind.kind in ("prep", "comma")
    if parts[place].word == "first":
        return place == 0 or (at_end and parts[place - 1].kind not in ("det", "prep"))
    return at_end or parts[place - 1].kind not in ("det", "be", "prep")


def _joined_phrases(keys: Sequence[str]) -> tuple[str, ...]:
    found, place = list[str](), 0
    while place < len(keys):
        length, meaning = grammar().synonyms.at(keys, place)
        found.extend(meaning or (keys[place],))
        place += length or 1
    return tuple(found)


def _particle_behind_verb(head: tuple[str, ...]) -> tuple[str, ...]:
    """Return "switch off the gas" for "switch the gas off"."""
    verb = 1 if head[:1] == ("not",) else 0
    if len(head) > verb + 2 and head[-1] in grammar().particles:
        return _joined_phrases((*head[: verb + 1], head[-1], *head[verb + 1 : -1]))
    return head
