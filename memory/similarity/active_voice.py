"""A clause in the active voice, with verbs for the nouns that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ace_graph.memory.similarity.parts import Part, is_manner, is_participle
from ace_graph.memory.similarity.vocabulary import grammar, key_of, verb_of

__all__ = ["Clause", "active"]

_RELATIVE = frozenset({"who", "which", "whose", "where", "whom", "that"})
_SEPARATORS = frozenset({",", ";", ":", "but"})
_NAME = 2
"""The words of an article and a noun."""

_NECESSARY = frozenset({"necessary", "mandatory", "compulsory", "obligatory", "due"})
_BOUNDARIES = frozenset({"prep", "sub", "comma", "mark", "be", "modal", "not"})


class Clause(NamedTuple):
    """`mode` is must, may or can, else empty; a duty of nobody in particular is an instruction and has none.

    `generic` says that somebody does it who is not named.
    """

    mode: str
    parts: list[Part]
    generic: bool = False


def active(parts: Sequence[Part], *, main: bool) -> Clause | None:
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
    rest = _with_verbs(rest)
    if anonymous:
        rest = [part for part in rest if part.kind != "modal"]
    if mode == "must" and anonymous:
        return Clause("", rest)
    generic = not mode and anonymous and nobody not in ("you", "we", "one")
    return Clause(mode, _without_progressive(rest), generic)


def _deed(parts: Sequence[Part]) -> Clause | None:
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
    how = [Part("modal", mode, mode)] if mode and named else []
    verb_part = _verb(parts[start])
    done = [*subject, *how, verb_part] if intransitive else [*agent, *how, verb_part, *subject]
    return Clause("" if mode == "must" and not named else mode, [*done, *rest], not mode and not named)


def _predicate(parts: Sequence[Part], place: int) -> tuple[str, int] | None:
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


def _without_nobody(parts: Sequence[Part], *, main: bool) -> tuple[str, list[Part]]:
    """Return a first word that names nobody ("you", "somebody", "they"), and the parts behind it."""
    word = parts[0].word
    generic = word in grammar().nobody or (word in ("they", "i") and (not main or word == "they"))
    if not generic or len(parts) < 2 or parts[1].kind == "be":
        return "", list(parts)
    return word, list(parts[1:])


def _without_there(parts: list[Part]) -> list[Part]:
    """Return "eight people are in the room" for "there are eight people in the room"."""
    be = next((n for n, part in enumerate(parts[:3]) if part.kind == "be"), 0)
    if not be or parts[0].word != "there":
        return parts
    end = next((n for n, part in enumerate(parts) if part.kind == "prep"), len(parts))
    return [*parts[be + 1 : end], *parts[1 : be + 1], *parts[end:]]


def _passive(parts: Sequence[Part]) -> tuple[list[Part], list[Part]] | None:
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
    particles = list[Part]()
    while rest and rest[0].kind == "word" and rest[0].word in grammar().particles:
        particles.append(rest.pop(0))
    stranded = [rest.pop(0)] if len(rest) > 1 and rest[0].kind == rest[1].kind == "prep" else []
    agent, rest = _agent(rest)
    said = [*agent, *nots, parts[verb], *particles, *stranded, *patient, *adverbs, *rest]
    return agent, said


def _passive_verb(parts: Sequence[Part]) -> int | None:
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


def _agent(rest: list[Part]) -> tuple[list[Part], list[Part]]:
    """Return who does it, behind "by", and what is left without that."""
    for place, part in enumerate(rest[:-1]):
        if part.word == "by" and _names_agent(rest[place + 1 :]):
            end = next((n for n in range(place + 2, len(rest)) if _ends_agent(rest[n])), len(rest))
            return rest[place + 1 : end], [*rest[:place], *rest[end:]]
    return [], rest


def _ends_agent(part: Part) -> bool:
    frequency = (part.kind == "amount" and " " in part.key) or part.key == "all"
    return part.kind in ("prep", "sub", "comma", "mark") or frequency or is_manner(part)


def _names_agent(parts: Sequence[Part]) -> bool:
    words = [part for part in parts[:2] if part.kind != "det"]
    if not words or words[0].word.endswith("ing") or words[0].word in grammar().no_agents:
        return False
    return words[0].kind == "word" or (words[0].kind == "amount" and " " not in words[0].key)


def _with_verbs(parts: list[Part]) -> list[Part]:
    """Return "check the answer" for "do a check of the answer"; what follows an "of" else goes before it."""
    found, place = list[Part](), 0
    while place < len(parts):
        noun = place + 1 + (place + 1 < len(parts) and parts[place + 1].kind == "det")
        if parts[place].kind == "word" and parts[place].key in grammar().light and _is_deed(parts, noun):
            found.append(_verb(parts[noun]))
            place = noun + 1 + (noun + 1 < len(parts) and parts[noun + 1].kind == "of")
        else:
            found.append(parts[place])
            place += 1
    return _with_owners_first(_with_receiver_last(found))


def _with_receiver_last(parts: list[Part]) -> list[Part]:
    """Return "give the key to the guest" for "give the guest the key"."""
    place = next((n for n, part in enumerate(parts) if part.key in grammar().giving), len(parts))
    if place + 2 >= len(parts) or parts[place + 1].kind != "det" or parts[place].kind != "word":
        return parts
    end = next((n for n in range(place + 1, len(parts)) if parts[n].kind in (*_BOUNDARIES, "of")), len(parts))
    given = next((n for n in range(place + 2, end) if parts[n].kind == "det"), None)
    if given is None or (end < len(parts) and parts[end].word == "to"):
        return parts
    to = Part("prep", "to", "to")
    return [*parts[: place + 1], *parts[given:end], to, *parts[place + 1 : given], *parts[end:]]


def _is_deed(parts: Sequence[Part], place: int) -> bool:
    """Whether a noun made of a verb stands here, and ends its phrase but for an "of"."""
    if place >= len(parts) or parts[place].kind != "word" or verb_of(parts[place].word) is None:
        return False
    return place + 1 == len(parts) or parts[place + 1].kind in ("of", "prep", "comma")


def _verb(noun: Part) -> Part:
    phrase = noun.key != key_of(noun.word)
    return noun if phrase else noun._replace(key=verb_of(noun.word) or noun.key)


def _with_owners_first(parts: list[Part]) -> list[Part]:
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


def _is_whole(parts: Sequence[Part], start: int, place: int, end: int) -> bool:
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


def _opens(parts: Sequence[Part], start: int) -> bool:
    """Whether nothing but an article stands before this place."""
    return all(part.kind == "det" for part in parts[:start])


def _without_progressive(parts: list[Part]) -> list[Part]:
    """Return the parts without a form of "be" before a verb in -ing."""
    followed = [*parts[1:], Part("mark", "", "")] if parts else []
    pairs = zip(parts, followed, strict=True)
    return [part for part, behind in pairs if part.kind != "be" or not behind.word.endswith("ing")]
