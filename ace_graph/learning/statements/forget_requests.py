"""Reads what a learner wants forgotten, such as "forget my name", and which bullet is meant.

"Forget that" means what the turn before has stored. The request becomes an operation in explicit.py.
Forgetting everything needs a confirmation (clearing.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

from ace_graph.learning.statements.forms import asks_to_take_back, slots_asked
from ace_graph.learning.statements.rules import FILLER
from ace_graph.learning.statements.sentences import skip
from ace_graph.learning.statements.statement import Statement
from ace_graph.memory.bullet import Bullet, content_hash
from ace_graph.memory.delta.operations import Remove
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import terms

_COVERAGE = 0.6
"""Share of a request's words that a bullet must hold to be the one that is meant."""

FORGET = re.compile(
    r"(?P<verb>forget|don'?t remember|do not remember|stop remembering|delete|erase"
    r"|remove from memory|remove)"
    r"(?: that| about| what i said about)? (?=\S)",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"i (?P<no_longer>no longer|don'?t|do not) (?=\w)", re.IGNORECASE)
_ANY_MORE = re.compile(r" any ?more$| any longer$", re.IGNORECASE)
_OWN_WORD = re.compile(r"\b(?:i|i'?m|i'?ve|me|my|mine)\b", re.IGNORECASE)
_PARTS = re.compile(r",? and |, ", re.IGNORECASE)
_THAT = re.compile(
    r"(?:(?:you (?:can|may|should) )?(?:forget|delete|erase|remove|scratch|undo|wipe"
    r"|(?:don'?t|do not) (?:remember|keep|save|store))(?: about)? "
    r"(?:(?:it|that|this|that one|that last (?:one|thing)|the last one)(?: again)?"
    r"|(?:that )?(?:what|everything|all|all that|the (?:last )?(?:things?|message|sentence|statement))"
    r"(?: that)?(?: i(?:'ve| have)? (?:just )?(?:said|told you|wrote|typed|mentioned)(?: just now)?)"
    r"|(?:the|my) last (?:thing|message|sentence|statement|remark))(?: from (?:your )?memory)?"
    r"|take (?:that|it) back)"
    r"(?:,? (?:please|pls|now|again|thanks|thank you)){0,2}[ .!?]{0,9}",
    re.IGNORECASE,
)
"""A request to forget that names nothing."""
_MOST_SHOWN = 8
NOTHING_KNOWN = "nothing that you said is remembered"
_MOST_PARTS = 5
_MOST_DENIALS = 20
_VALUE = re.compile(
    r"(?:^|(?<=\bmy )|(?<=\bown )|(?<=\bfirst )|(?<=\blast )|(?<=\bfull )|(?<=\bold )|(?<=\bnew )"
    r"|(?<=\band ))(\w+)\b(?! (?:of|for)\b)"
)
"""What may name a value of the learner: not "the name of my dog", "my dog's name", "my best language"."""
_EDGES = ".!?;,。！ "
_ALL_BUT = re.compile(
    r"(?:all|everything|anything)\b[^.]{0,80} (?:but|except|apart from|besides) ", re.IGNORECASE
)


@dataclass(frozen=True)
class ForgetRequest:
    """What is to be forgotten, in the learner's words. `asked`: for certain, so that a failure is told."""

    words: str
    asked: bool

    @property
    def spares(self) -> bool:
        """Whether it names what is to stay ("everything but my name")."""
        return _ALL_BUT.match(self.words) is not None


def forget_request(text: str, masked: str) -> ForgetRequest | None:
    """Return the request that a clause is, None where it is none; `masked` hides what is quoted."""
    match = FORGET.match(masked)
    if match is not None:
        words = text[match.end() :].rstrip(_EDGES)
        verb = match["verb"].casefold()
        certain = verb == "forget" or (not verb.endswith("remember") and _OWN_WORD.search(words) is not None)
        return ForgetRequest(words, certain)
    match = _NO_LONGER.match(masked)
    if match is None:
        return None
    said = text[match.end() :].rstrip(_EDGES)
    words = _ANY_MORE.sub("", said)
    changed = words != said or match["no_longer"].casefold() == "no longer"
    return ForgetRequest(words, asked=False) if changed else None


def values_named(words: str) -> frozenset[str]:
    """Return the words of a request by which it may name a value of the learner ("my age")."""
    return frozenset(_VALUE.findall(words.casefold()))


def points_back(sentence: str) -> bool:
    """Whether all that a sentence asks is to forget what was said just before, in any language."""
    said = skip(FILLER, sentence)
    return _THAT.fullmatch(sentence, said) is not None or asks_to_take_back(sentence)


def pointed_at(words: str, own: Own, last: str | None) -> list[Statement]:
    """Return what a request means that names nothing: what the turn `last` stored, else a question."""
    meant = own.said_in(last) if last is not None else []
    if meant:
        return [
            Statement("forget", own.words(each), Remove(bullet_id=each.id), request=words) for each in meant
        ]
    known = [own.words(each) for each, _ in own.bullets()]
    if not known:
        named = words.strip().rstrip(_EDGES)
        return [Statement("forget", named, why=NOTHING_KNOWN, request=named)]
    listed = "; ".join(f'"{each}"' for each in known[-_MOST_SHOWN:])
    return [Statement("which", listed, request=words)]


class Own:
    """The learner's own statements in a playbook, as a request names them."""

    def __init__(self, playbook: Playbook, attribution: str) -> None:
        self._playbook = playbook
        self._attribution = attribution
        self._read: list[tuple[Bullet, set[str]]] | None = None
        self._compared = 0

    def says(self, words: str) -> bool:
        """Whether the learner has said exactly this before, case and spacing aside."""
        return content_hash(f"{self._attribution}{words}") in self._hashes

    @cached_property
    def _hashes(self) -> frozenset[str]:
        return frozenset(bullet.content_hash for bullet, _ in self.bullets())

    def may_deny(self) -> bool:
        """Whether one more denial of this message is compared with the statements: the first 20 are."""
        self._compared += 1
        return self._compared <= _MOST_DENIALS

    def words(self, bullet: Bullet) -> str:
        """Return what the learner said, without who says it."""
        return bullet.content.removeprefix(self._attribution)

    def said_in(self, turn_id: str) -> list[Bullet]:
        """Return the statements that a turn has stored, or that were said again in it."""
        return [each for each, _ in self.bullets() if turn_id in (each.turn_id, *each.examples[-1:])]

    def meant(self, words: str) -> list[tuple[str, Bullet | None]]:
        """Return the bullet that is meant, None for none, or one for each part ("my dog and my cat")."""
        split = [part for part in _PARTS.split(words) if part.strip()]
        parts = [(part, self._one(part)) for part in split] if 1 < len(split) <= _MOST_PARTS else []
        if parts and all(bullet is not None for _, bullet in parts):
            return parts
        whole = self._one(words)
        return [(words, whole)] if whole is not None or not parts else parts

    def in_slot(self, slot: str) -> Bullet | None:
        """Return the statement in a slot, None for none."""
        return next((bullet for bullet, _ in self.bullets() if bullet.slot == slot), None)

    def _one(self, words: str) -> Bullet | None:
        """The statement in the slot that is named, or the one that holds most of the words."""
        named = values_named(words) | slots_asked(words)
        asked, own = set(terms(words)), self.bullets()
        for bullet, _ in own:
            if bullet.slot in named:
                return bullet
        shares = [(len(asked & known) / len(asked), bullet) for bullet, known in own] if asked else []
        best = max(shares, key=lambda share: share[0], default=None)
        return best[1] if best is not None and best[0] >= _COVERAGE else None

    def bullets(self) -> list[tuple[Bullet, set[str]]]:
        """Return the statements, each with its content terms."""
        if self._read is None:
            entries, core = self._playbook.entries, self._playbook.index.core
            profile = compress(entries.values(), map(core.__contains__, entries))
            own = (b for b in profile if b.content.startswith(self._attribution))
            self._read = [(b, set(terms(b.content.removeprefix(self._attribution)))) for b in own]
        return self._read
